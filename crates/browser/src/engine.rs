//! What an engine does, whichever it is.

use std::fmt;
use std::pin::Pin;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use url::Url;

use crate::{Deadline, Extract, Frame, PictureKey, Pixels, Problem, Seen, Selector, View};

/// What an engine answers, in time.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send + 'a>>;

/// A tab, told apart from every other that this engine ever had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TabId(pub u64);

impl fmt::Display for TabId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What an engine can do beyond reading, following links and sending forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Capabilities {
    /// Its name.
    pub engine: &'static str,
    /// Scripts of pages run.
    pub scripts: bool,
    /// Pages are laid out: clicks have a place, things can be covered.
    pub layout: bool,
    /// It makes pictures.
    pub screenshots: bool,
}

/// A tab, as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TabInfo {
    /// Which one.
    pub tab: TabId,
    /// Where it is.
    pub url: String,
    /// What it is called.
    pub title: String,
    /// A page opened it.
    pub popup: bool,
    /// Its process ended.
    pub crashed: bool,
}

/// Where to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Journey {
    /// To an address that the policy let pass.
    To(Url),
    /// Back in the tab's history.
    Back,
    /// Forward again.
    Forward,
    /// Where it is, anew.
    Reload,
}

/// Where a tab has come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arrival {
    /// The address.
    pub url: String,
    /// The page's title.
    pub title: String,
    /// The status of HTTP, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The page is there, but parts of it still come.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub loading: bool,
}

/// An element, found by a selector or known by a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// What a selector finds.
    Selector(Selector),
    /// What a summary called by this reference.
    Ref(Reference),
}

/// What a summary calls an element: the document's number and the element's, `d3e12`. Neither is ever
/// given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The document.
    pub document: u64,
    /// The element in it.
    pub element: u64,
}

impl Reference {
    /// Reads `d3e12`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (document, element) = text.strip_prefix('d')?.split_once('e')?;
        let number = |text: &str| {
            let is_plain = text.len() <= 15 && text.bytes().all(|it| it.is_ascii_digit());
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

/// How a dialog that opens meanwhile is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DialogAnswer {
    /// Yes.
    Accept,
    /// No; alerts have no other answer than yes, and leaving a page is never refused.
    #[default]
    Dismiss,
}

/// Where to scroll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
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

impl Direction {
    /// As it is on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Left => "left",
            Self::Right => "right",
            Self::Top => "top",
            Self::Bottom => "bottom",
        }
    }
}

/// What to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Click an element.
    Click(DialogAnswer),
    /// Type a text into a field, in place of what is there.
    Type {
        /// The text.
        text: String,
        /// After what is there instead.
        append: bool,
        /// And send its form with the Enter key.
        submit: bool,
    },
    /// Choose options of a list, by value or label.
    Select(Vec<String>),
    /// Press a key, with the focus where it is or on an element.
    Press(crate::Key),
    /// Scroll the page.
    Scroll {
        /// Where to.
        direction: Direction,
        /// By which part of the view.
        share: f64,
    },
    /// Scroll an element into view.
    ScrollTo,
    /// Click at a place of the view, in CSS pixels, whatever is there.
    ClickAt {
        /// From the left.
        x: f64,
        /// From the top.
        y: f64,
    },
    /// Put a text where the focus is.
    Insert(String),
    /// Select the next place of a text, and bring it into view.
    Find {
        /// The text, in any case of its letters.
        text: String,
        /// The place before instead.
        backwards: bool,
    },
    /// Take the focus away from what has it.
    Unfocus,
}

/// What an action did: members of an object.
pub type Done = Map<String, Value>;

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// An element is visible, attached, or not visible any more.
    Element(Selector, ElementState),
    /// The page shows this text.
    Text(String),
    /// The address contains this.
    Url(String),
    /// Nothing has been loading for half a second.
    NetworkIdle,
}

/// How an element is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum ElementState {
    #[default]
    Visible,
    Attached,
    Hidden,
}

/// What of a page is read, and how much at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// Only what is inside this element.
    pub scope: Option<Target>,
    /// Only what is in view.
    pub viewport: bool,
    /// Items in each list.
    pub items_max: usize,
    /// Characters of text.
    pub characters_max: usize,
    /// Of what is read, so many tokens will be shown: what is certainly beyond them may be left out.
    pub tokens_max: Option<usize>,
}

/// What tells whether somebody is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is seen or not")]
pub struct Evidence {
    /// Scheme, host and port of the page.
    pub origin: String,
    /// The address without query and fragment.
    pub path: String,
    /// The page's document is there whole.
    pub ready: bool,
    /// Which of the tab's documents it is.
    pub document: u64,
    /// Fields for passwords and codes that are shown.
    pub password_fields: u64,
    /// There is something that logs out.
    pub logout: bool,
    /// A keyed digest of the names and values of the page's cookies.
    pub cookies: String,
    /// How many of them scripts cannot read: those of sessions usually.
    pub guarded_cookies: u64,
    /// The focus is in a secret field.
    pub secret_focused: bool,
    /// A secret field shows what it holds.
    pub secret_revealed: bool,
}

/// An element, as events show it: never with what a field holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Element {
    /// Its tag.
    pub tag: String,
    /// Its classes.
    pub class: String,
    /// What it says, 60 characters at most; empty for a field.
    pub text: String,
    /// A selector that finds it.
    pub selector: String,
}

/// What is under a point, or has the focus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The element.
    pub element: Element,
    /// It is a secret field.
    pub secret: bool,
}

/// Something that shows pages. Every call answers by its deadline, whatever the page does.
pub trait Engine: Send + Sync + fmt::Debug {
    /// What it can do.
    fn capabilities(&self) -> Capabilities;
    /// Every tab, the oldest first.
    fn tabs(&self) -> Vec<TabInfo>;
    /// Opens an empty tab.
    fn open(&self, by: Deadline) -> Answer<'_, TabId>;
    /// Closes a tab.
    fn close(&self, tab: TabId, by: Deadline) -> Answer<'_, ()>;
    /// Goes somewhere, and answers once the page is there.
    fn go(&self, tab: TabId, journey: Journey, by: Deadline) -> Answer<'_, Arrival>;
    /// What is on the page.
    fn read(&self, tab: TabId, reach: Reach, by: Deadline) -> Answer<'_, Extract>;
    /// Does something, to an element or where the focus is.
    fn act(
        &self,
        tab: TabId,
        target: Option<Target>,
        action: Action,
        by: Deadline,
    ) -> Answer<'_, Done>;
    /// Whether something holds now.
    fn holds(&self, tab: TabId, condition: Condition, by: Deadline) -> Answer<'_, bool>;
    /// What tells whether somebody is logged in.
    fn evidence(&self, tab: TabId, by: Deadline) -> Answer<'_, Evidence>;
    /// What is at a place of the view, or has the focus where no place is given.
    fn hit(&self, tab: TabId, place: Option<(f64, f64)>, by: Deadline) -> Answer<'_, Option<Hit>>;
    /// What is in view, drawn; nothing if it is still what was seen, half a second later.
    fn frame(
        &self,
        tab: TabId,
        view: View,
        seen: Option<Seen>,
        by: Deadline,
    ) -> Answer<'_, Option<Frame>>;
    /// What is in the pictures of a frame that was seen, as far as they are to be seen now; with so
    /// many colours a cell. For the person alone: no program is given them.
    fn pictures<'a>(
        &'a self,
        tab: TabId,
        seen: Seen,
        wanted: &'a [PictureKey],
        dots: (u16, u16),
        by: Deadline,
    ) -> Answer<'a, Vec<Pixels>>;
    /// A picture of the view, so many times as large as it is: PNG in base64.
    fn screenshot(&self, tab: TabId, scale: f64, by: Deadline) -> Answer<'_, String>;
    /// The address of a tab.
    fn url(&self, tab: TabId) -> Option<String> {
        self.tabs().into_iter().find(|it| it.tab == tab).map(|it| it.url)
    }
    /// The text without anything that was typed into a secret field.
    fn mask(&self, text: &str) -> String;
    /// Ends the engine, with everything that it keeps on disk written.
    fn end(&self, by: Deadline) -> Answer<'_, ()>;
}
