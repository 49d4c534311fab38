//! What an engine finds on a page, before anything is left out for its length.

use std::collections::BTreeMap;

use crate::engine::Reference;
use crate::{Dialog, Download};

/// The content of a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extract {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// The HTTP status of the page.
    pub status: Option<u16>,
    /// Parts of it are still loading.
    pub loading: bool,
    /// Headings, in page order, like all lists.
    pub headings: Listing<Heading>,
    /// Forms.
    pub forms: Listing<Form>,
    /// Links.
    pub links: Listing<Link>,
    /// Tables that hold data.
    pub tables: Listing<Table>,
    /// Buttons, fields and all other usable elements except links.
    pub controls: Listing<Control>,
    /// Errors of the page, and errors that it reports.
    pub errors: Vec<PageError>,
    /// The visible text.
    pub text: String,
    /// The approximate number of letters in all of it, read or not.
    pub letters: u64,
    /// Not all of the text was read.
    pub text_cut: bool,
    /// The number of its document.
    pub document: u64,
    /// Of the known elements that are asked for: those that are still visible, but not in a list
    /// because that was cut.
    pub present: Vec<Reference>,
    /// The number of invisible texts, by reason.
    pub left: BTreeMap<String, u64>,
    /// The limit at which reading stopped, if one was reached.
    pub truncated: Option<String>,
    /// Its frames that were read with it.
    pub frames: Vec<FrameInfo>,
    /// Dialogs that it opened.
    pub dialogs: Vec<Dialog>,
    /// Downloads that it started.
    pub downloads: Vec<Download>,
    /// The number of elements that were examined.
    pub elements: u64,
}

/// The first items of a list, and the total number.
#[derive(Debug, Clone, PartialEq)]
pub struct Listing<T> {
    /// The total number.
    pub total: u64,
    /// The first items.
    pub kept: Vec<T>,
    /// Not all visible items were read.
    pub cut: bool,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { total: 0, kept: Vec::new(), cut: false }
    }
}

impl<T> Listing<T> {
    /// A complete list.
    #[must_use]
    pub fn whole(kept: Vec<T>) -> Self {
        Self { total: kept.len() as u64, kept, cut: false }
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.total += other.total;
        self.kept.extend(other.kept);
        self.cut |= other.cut;
    }
}

/// The location of an element.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// Its number in its document.
    pub number: u64,
    /// Its reference from now on.
    pub reference: String,
    /// A selector that finds only this element.
    pub selector: Option<String>,
    /// It is in view.
    pub in_view: bool,
    /// It existed when the page was last read, whether or not it fitted.
    pub met: bool,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heading {
    /// Its text.
    pub text: String,
    /// 1 to 6.
    pub level: u8,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its text.
    pub text: String,
    /// Its absolute address.
    pub href: String,
    /// Its location.
    pub place: Place,
}

/// A form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// Its own id, or a derived one.
    pub id: String,
    /// Its fields.
    pub fields: Vec<Field>,
    /// Its location.
    pub place: Place,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Its name, or its label if it has none.
    pub name: String,
    /// Its location.
    pub place: Place,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its own id, or a derived one.
    pub id: String,
    /// The number of all rows, including those of the head.
    pub rows: u64,
    /// The names of its columns, as far as they are given.
    pub columns: Vec<String>,
    /// Its caption.
    pub caption: String,
    /// Its location.
    pub place: Place,
}

/// A usable element.
#[derive(Debug, Clone, PartialEq)]
pub struct Control {
    /// `button`, `text`, `select` and the like; `clickable` for an element that only scripts make
    /// usable.
    pub kind: String,
    /// Its label.
    pub text: String,
    /// Its location.
    pub place: Place,
    /// Its state.
    pub state: ControlState,
}

/// The state of a control. A member that does not apply to the control is `false` or `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are what they are called")]
#[expect(clippy::struct_excessive_bools, reason = "each is a state of its own")]
pub struct ControlState {
    pub disabled: bool,
    /// It is a field for a secret; `value` is never set.
    pub secret: bool,
    /// Whether a field for a secret is filled in.
    pub filled: Option<bool>,
    pub value: Option<String>,
    pub checked: Option<bool>,
    /// The first options of a list.
    pub options: Option<Vec<String>>,
    /// The number of options, if there are more.
    pub option_count: Option<u64>,
    pub required: bool,
    pub invalid: bool,
    pub expanded: Option<bool>,
    pub selected: bool,
    pub pressed: bool,
    pub read_only: bool,
}

/// A message that the page shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its text.
    pub text: String,
    /// Its location.
    pub place: Place,
}

/// A frame that was read with its page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameInfo {
    /// Its address.
    pub url: String,
    /// The selector that finds it; selectors of its content start with it.
    pub selector: Option<String>,
}

/// Where an error was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A script logged it to the console, or ended with it.
    Console,
    /// A resource could not be loaded.
    Request,
    /// The page shows it.
    Message,
}

/// An error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageError {
    /// Where it was found.
    pub kind: ErrorKind,
    /// Its text.
    pub text: String,
    /// The address that could not be loaded.
    pub url: Option<String>,
    /// The HTTP status.
    pub status: Option<u16>,
    /// Where the page shows it.
    pub place: Option<Place>,
}

impl PageError {
    /// An error without a location in the page.
    #[must_use]
    pub fn new(kind: ErrorKind, text: &str) -> Self {
        Self { kind, text: text.to_owned(), url: None, status: None, place: None }
    }

    /// An error from a message of the page.
    #[must_use]
    pub fn of(message: Message) -> Self {
        let place = Some(message.place);
        Self { kind: ErrorKind::Message, text: message.text, url: None, status: None, place }
    }
}

/// What a tab remembers besides its page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    pub(crate) dialogs: Vec<Dialog>,
    pub(crate) downloads: Vec<Download>,
    pub(crate) errors: Vec<PageError>,
}

impl Extract {
    /// The locations of all entries that have one, to be named.
    pub(crate) fn places_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        let forms = self.forms.kept.iter_mut().flat_map(|it| {
            std::iter::once(&mut it.place).chain(it.fields.iter_mut().map(|it| &mut it.place))
        });
        let links = self.links.kept.iter_mut().map(|it| &mut it.place);
        let tables = self.tables.kept.iter_mut().map(|it| &mut it.place);
        let controls = self.controls.kept.iter_mut().map(|it| &mut it.place);
        forms.chain(links).chain(tables).chain(controls)
    }
}
