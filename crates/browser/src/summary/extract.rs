//! What an engine finds on a page, before anything is left out for its length.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// What is on a page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Extract {
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// The status of HTTP that it came with.
    pub status: Option<u16>,
    /// Parts of it still come.
    pub loading: bool,
    /// Headings, in the page's order, as all lists.
    pub headings: Listing<Heading>,
    /// Forms.
    pub forms: Listing<Form>,
    /// Links.
    pub links: Listing<Link>,
    /// Tables that hold data.
    pub tables: Listing<Table>,
    /// Buttons, fields and whatever else can be used, links apart.
    pub controls: Listing<Control>,
    /// What went wrong on it, and what it says has gone wrong.
    pub errors: Vec<PageError>,
    /// The text that a reader sees.
    pub text: String,
    /// About how many letters there are in all of it, read or not.
    pub letters: u64,
    /// How many texts no reader sees, by the reason.
    pub left: BTreeMap<String, u64>,
    /// The limit at which reading stopped, if one was met.
    pub truncated: Option<String>,
    /// Frames in it that were read with it.
    pub frames: Vec<FrameInfo>,
    /// Dialogs that it opened.
    pub dialogs: Vec<Value>,
    /// Downloads that it began.
    pub downloads: Vec<Value>,
    /// Elements that were looked at.
    pub elements: u64,
}

/// The first of something, and how many there are.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Listing<T> {
    /// How many.
    pub total: u64,
    /// The first of them.
    pub kept: Vec<T>,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { total: 0, kept: Vec::new() }
    }
}

impl<T> Listing<T> {
    /// All of them.
    #[must_use]
    pub fn whole(kept: Vec<T>) -> Self {
        Self { total: kept.len() as u64, kept }
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.total += other.total;
        self.kept.extend(other.kept);
    }
}

/// Where an element is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Place {
    /// Its number in its document.
    #[serde(skip_serializing)]
    pub number: u64,
    /// What it is called from now on.
    #[serde(rename = "ref", skip_deserializing)]
    pub reference: String,
    /// A selector that finds it alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
    /// It is in view.
    #[serde(skip_serializing)]
    pub in_view: bool,
    /// It was there when the page was read before, whether or not there was room for it.
    #[serde(skip_serializing)]
    pub met: bool,
}

/// A heading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heading {
    /// What it says.
    pub text: String,
    /// 1 to 6.
    pub level: u8,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// What it says.
    pub text: String,
    /// Where it goes, absolute.
    pub href: String,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
}

/// A form.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Form {
    /// Its own id, or one made of what it is.
    pub id: String,
    /// What can be filled in.
    pub fields: Vec<Field>,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Field {
    /// Its name, or its label where it has none.
    pub name: String,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Table {
    /// Its own id, or one made of what it is.
    pub id: String,
    /// All its rows, the head's included.
    pub rows: u64,
    /// What its columns are called, as far as it says so.
    pub columns: Vec<String>,
    /// What it is called.
    pub caption: String,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
}

/// Something that can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// `button`, `text`, `select` and the like; `clickable` for what only its scripts make one.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it is called.
    pub text: String,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
    /// Its state: `checked`, `disabled`, `value` (never that of a secret field) and more, where they
    /// are so.
    #[serde(flatten)]
    pub state: Map<String, Value>,
}

/// A message that the page shows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Message {
    /// What it says.
    pub text: String,
    /// Where it is.
    #[serde(flatten)]
    pub place: Place,
}

/// A frame that was read with its page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FrameInfo {
    /// Its address.
    pub url: String,
    /// What finds it; selectors of what is inside begin with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

/// Where an error was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ErrorKind {
    /// A script wrote it to the console, or ended by it.
    Console,
    /// Something could not be loaded.
    Request,
    /// The page shows it.
    Message,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageError {
    /// Where it was found.
    #[serde(rename = "type")]
    pub kind: ErrorKind,
    /// What it says.
    pub text: String,
    /// What could not be loaded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// With which status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Where the page shows it.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

impl PageError {
    /// One that has no place in the page.
    #[must_use]
    pub fn new(kind: ErrorKind, text: &str) -> Self {
        Self { kind, text: text.to_owned(), url: None, status: None, place: None }
    }

    /// A message of the page.
    #[must_use]
    pub fn of(message: Message) -> Self {
        let place = Some(message.place);
        Self { kind: ErrorKind::Message, text: message.text, url: None, status: None, place }
    }
}

/// What a tab remembers beside its page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shown {
    pub(crate) dialogs: Vec<Value>,
    pub(crate) downloads: Vec<Value>,
    pub(crate) errors: Vec<PageError>,
}

impl Extract {
    /// The places of all that has one, to be named.
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
