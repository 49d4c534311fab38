//! What a program gets of a page.

use super::extract::{Control, Form, FrameInfo, Heading, Link, PageError, Table};
use crate::{AuthChange, AuthState, Dialog, Download, TabId};

/// How much a summary contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// Headings, forms, tables and errors.
    Outline,
    /// Usable elements: forms, controls, links.
    Interactive,
    /// Everything.
    #[default]
    Full,
    /// What is new since the same page was last read, and what is gone.
    Diff,
}

impl Mode {
    /// Its name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Outline => "outline",
            Self::Interactive => "interactive",
            Self::Full => "full",
            Self::Diff => "diff",
        }
    }
}

/// A part of a page's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Part {
    Headings,
    Forms,
    Links,
    Tables,
    Controls,
    Errors,
    Text,
}

impl Part {
    /// The parts that are lists, in the order of all arrays that have an entry for each list.
    pub(super) const LISTS: [Self; 6] =
        [Self::Headings, Self::Forms, Self::Links, Self::Tables, Self::Controls, Self::Errors];

    /// Its name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Headings => "headings",
            Self::Forms => "forms",
            Self::Links => "links",
            Self::Tables => "tables",
            Self::Controls => "interactive",
            Self::Errors => "errors",
            Self::Text => "text_content",
        }
    }
}

/// The content of a page. Lists are in page order.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(missing_docs, reason = "they are what they are called")]
pub struct Content {
    pub headings: Vec<Heading>,
    pub forms: Vec<Form>,
    pub links: Vec<Link>,
    pub tables: Vec<Table>,
    pub controls: Vec<Control>,
    pub errors: Vec<PageError>,
    pub text: String,
}

impl Content {
    /// Keeps the marked entries of a list.
    pub(super) fn retain(&mut self, list: Part, kept: &[bool]) {
        fn retain<T>(entries: &mut Vec<T>, kept: &[bool]) {
            let mut is_kept = kept.iter();
            entries.retain(|_| is_kept.next() == Some(&true));
        }
        match list {
            Part::Headings => retain(&mut self.headings, kept),
            Part::Forms => retain(&mut self.forms, kept),
            Part::Links => retain(&mut self.links, kept),
            Part::Tables => retain(&mut self.tables, kept),
            Part::Controls => retain(&mut self.controls, kept),
            Part::Errors => retain(&mut self.errors, kept),
            Part::Text => {}
        }
    }
}

/// How much of a part was left out to stay within the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The part.
    pub part: Part,
    /// The number of entries, or of letters, that the summary contains.
    pub shown: u64,
    /// The number on the page.
    pub of: u64,
}

/// How the page differs from the one that was last read, besides its new and changed entries.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Removed {
    /// The names of removed entries, for each list that lost some.
    pub entries: Vec<(Part, Vec<String>)>,
    /// The removed lines of the text, if there are any.
    pub text: Option<String>,
    /// The earlier title, if it has changed.
    pub title: Option<String>,
    /// The number of removed entries and lines that are not named.
    pub more: u64,
    /// The document was loaded again: earlier references are gone, and all that have one are new.
    pub reloaded: bool,
    /// The parts whose remaining entries or lines are in another order.
    pub reordered: Vec<Part>,
    /// The parts that were not compared to their end.
    pub partial: Vec<Part>,
}

/// The login state of a tab.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Login {
    /// The state.
    pub state: AuthState,
    /// The last change, and how many milliseconds ago it was detected.
    pub last: Option<(AuthChange, u64)>,
}

/// Something that a reader of the page would not notice. Flags are hints, not a security boundary.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flag {
    /// Texts that the page hides.
    HiddenText {
        /// How it hides them.
        reason: String,
        /// Their number.
        count: u64,
    },
    /// Invisible characters.
    UnseenCharacters(usize),
    /// The text addresses a language model.
    AddressesAssistants,
}

/// A page within a token budget. All of its texts are untrusted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Summary {
    /// The address.
    pub url: String,
    /// The title.
    pub title: String,
    /// The HTTP status of the page.
    pub status: Option<u16>,
    /// Parts of the page are still loading.
    pub loading: bool,
    /// The tab.
    pub tab: TabId,
    /// How much was requested.
    pub mode: Mode,
    /// The name of the engine.
    pub engine: &'static str,
    /// The content, as far as it fits.
    pub content: Content,
    /// The parts that did not fit.
    pub cuts: Vec<Cut>,
    /// The limit at which reading stopped, if one was reached.
    pub limit: Option<String>,
    /// In a diff with an earlier reading: what is gone since then.
    pub removed: Option<Removed>,
    /// Frames that were read with the page.
    pub frames: Vec<FrameInfo>,
    /// Dialogs that the page opened.
    pub dialogs: Vec<Dialog>,
    /// Downloads that the page started.
    pub downloads: Vec<Download>,
    /// Whether someone is logged in.
    pub auth: Login,
    /// What a reader of the page would not notice.
    pub flags: Vec<Flag>,
    /// The approximate number of tokens of this summary on the wire.
    pub tokens: usize,
}
