//! What is asked of an engine, and what it answers.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::{Problem, ProblemKind, Selector};

/// A tab's id, unique among all tabs that this engine ever had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct TabId(pub u64);

/// A tab, as shown in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TabInfo {
    /// Its id.
    pub tab: TabId,
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// A page opened it.
    pub popup: bool,
    /// Its process ended.
    pub crashed: bool,
}

/// Where to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Navigation {
    /// To an address that the policy let pass.
    To(Url),
    /// Back in the tab's history.
    Back,
    /// Forward in the tab's history.
    Forward,
    /// Reloads the current page.
    Reload,
}

/// Where a tab has arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arrival {
    /// The address.
    pub url: String,
    /// The page's title.
    pub title: String,
    /// The status of HTTP, if there was one.
    #[serde(skip_serializing_if = "is_default")]
    pub status: Option<u16>,
    /// The page is there, but parts of it are still loading.
    #[serde(skip_serializing_if = "is_default")]
    pub loading: bool,
}

/// An element, found by a selector or known by a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    /// The element that a selector finds.
    Selector(Selector),
    /// The element that a summary gave this reference.
    Ref(Reference),
}

/// A reference to an element in a summary: the document's number and the element's, `d3e12`.
/// Neither number is ever reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The document.
    pub document: u64,
    /// The element in it.
    pub element: u64,
}

impl Reference {
    /// Parses `d3e12`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (document, element) = text.strip_prefix('d')?.split_once('e')?;
        let number = |text: &str| {
            let is_plain = text.len() <= 15 && text.bytes().all(|byte| byte.is_ascii_digit());
            if is_plain { text.parse().ok() } else { None }
        };
        Some(Self { document: number(document)?, element: number(element)? })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "d{}e{}", self.document, self.element)
    }
}

/// How to answer a dialog that opens meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DialogAnswer {
    /// Yes.
    Accept,
    /// No; an alert can only be accepted, and leaving a page is never prevented.
    #[default]
    Dismiss,
}

/// The direction to scroll in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum Direction {
    Up,
    Down,
    Left,
    Right,
    Top,
    Bottom,
}

/// An action on a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Action {
    /// Click an element.
    Click(DialogAnswer),
    /// Type a text into a field, replacing its content.
    Type {
        /// The text.
        text: String,
        /// Append to the content instead.
        append: bool,
        /// Then submit its form with the Enter key.
        submit: bool,
    },
    /// Choose options of a list, by value or label.
    Select(Vec<String>),
    /// Press a key, with the focus where it is or on an element.
    Press(crate::Key),
    /// Scroll the page.
    Scroll {
        /// The direction.
        direction: Direction,
        /// The distance, as a share of the view.
        share: f64,
    },
    /// Scroll an element into view.
    ScrollTo,
    /// Click at a position in the view, in CSS pixels, whatever is there.
    ClickAt {
        /// The distance from the left.
        x: f64,
        /// The distance from the top.
        y: f64,
    },
    /// Insert a text at the focus.
    Insert(String),
    /// Select the next occurrence of a text, and scroll it into view.
    Find {
        /// The text, case-insensitive.
        text: String,
        /// Search backwards instead.
        backwards: bool,
    },
    /// Remove the focus from the focused element.
    Unfocus,
}

/// The result of an action. Which members are set depends on the action and on the engine.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// The element that was clicked or typed into.
    #[serde(skip_serializing_if = "is_default")]
    pub element: Option<Element>,
    /// The options that are now chosen.
    #[serde(skip_serializing_if = "is_default")]
    pub chosen: Option<Vec<String>>,
    /// The target's reference.
    #[serde(rename = "ref", skip_serializing_if = "is_default")]
    pub reference: Option<String>,
    /// How many elements the target's selector matches; the action was performed on the first.
    #[serde(skip_serializing_if = "is_default")]
    pub matches: Option<u64>,
    /// The scroll position.
    #[serde(flatten)]
    pub scrolled: Map<String, Value>,
    /// The searched text occurs in the page.
    #[serde(skip)]
    pub found: bool,
    /// The action closed the tab.
    #[serde(skip_serializing_if = "is_default")]
    pub closed: bool,
    /// The address afterwards, if it was checked.
    #[serde(skip_serializing_if = "is_default")]
    pub url: Option<String>,
    /// The tab has another document or address than before, if that was checked.
    #[serde(skip_serializing_if = "is_default")]
    pub navigated: Option<bool>,
    /// The new page is still loading.
    #[serde(skip_serializing_if = "is_default")]
    pub loading: bool,
    /// Dialogs that opened.
    #[serde(skip_serializing_if = "is_default")]
    pub dialogs: Vec<Dialog>,
    /// Downloads that started.
    #[serde(skip_serializing_if = "is_default")]
    pub downloads: Vec<Download>,
    /// The number of popups that opened.
    #[serde(skip_serializing_if = "is_default")]
    pub popups: u64,
    /// The number of file choosers that the page tried to open.
    #[serde(skip_serializing_if = "is_default")]
    pub file_choosers: u64,
}

/// Whether a member is left out of an answer.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A dialog that a page opened, and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its text.
    pub message: String,
    /// It was accepted, not dismissed.
    pub accepted: bool,
}

/// A download that a page started. It was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename = "refused")]
pub struct Download {
    /// The suggested name of the file.
    pub name: String,
    /// Its address.
    pub url: String,
}

/// A condition to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Condition {
    /// An element is visible, attached, or no longer visible.
    Element(Selector, ElementState),
    /// The page shows this text.
    Text(String),
    /// The address contains this text.
    Url(String),
    /// Nothing has been loading for half a second.
    NetworkIdle,
}

/// The state of an element to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ElementState {
    #[default]
    Visible,
    Attached,
    Hidden,
}

/// Which parts of a page to read, and how much at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadScope {
    /// Only what is inside this element.
    pub(crate) scope: Option<Target>,
    /// Only what is in view.
    pub(crate) viewport: bool,
    /// The maximum number of items in each list.
    pub(crate) items_max: usize,
    /// The maximum number of characters of text.
    pub(crate) characters_max: usize,
    /// The token budget of the summary: what certainly exceeds it may be left out.
    pub(crate) tokens_max: Option<usize>,
    /// Elements that were listed before: of those that are not listed again although they are
    /// visible, [`Extract::present`] has the references.
    pub(crate) known: Vec<Reference>,
}

/// Evidence of whether someone is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is seen or not")]
pub struct Evidence {
    /// Scheme, host and port of the page.
    pub origin: String,
    /// The page's document is complete.
    pub ready: bool,
    /// Which of the tab's documents it is.
    pub document: u64,
    /// The number of visible fields for passwords and codes.
    pub password_fields: u64,
    /// The page has a logout control.
    pub logout: bool,
    /// A keyed digest of the names and values of the page's cookies.
    pub cookies: String,
    /// How many of the cookies scripts cannot read: usually session cookies.
    pub guarded_cookies: u64,
    /// The focus is in a secret field.
    pub secret_focused: bool,
    /// A secret field shows its content.
    pub secret_revealed: bool,
}

/// An element as events show it: never with the content of a field.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Element {
    /// Its tag.
    pub tag: String,
    /// Its classes.
    pub class: String,
    /// Its text, at most 60 characters; empty for a field.
    pub text: String,
    /// A selector that finds it.
    #[serde(skip_serializing_if = "is_default")]
    pub selector: Option<String>,
}

/// The element at a point, or with the focus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hit {
    pub(crate) element: Element,
    /// It is a secret field.
    pub(crate) secret: bool,
}

pub(crate) fn no_tab(tab: TabId) -> Problem {
    Problem::new(ProblemKind::NotFound, format!("tab: no tab {}; `tabs` lists them", tab.0))
}

pub(crate) fn stale(reference: Reference) -> Problem {
    let detail = format!("ref: the element {reference} no longer exists; `read` again");
    Problem::new(ProblemKind::StaleRef, detail)
}

/// The static engine cannot do this.
pub(crate) fn unsupported(what: &str) -> Problem {
    let detail = format!("{what} needs scripts or layout, which only the engine chromium has");
    Problem::new(ProblemKind::Unsupported, detail)
}
