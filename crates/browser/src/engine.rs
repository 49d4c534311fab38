//! The interface of every engine.

use std::fmt;
use std::pin::Pin;

use url::Url;

use crate::{
    Deadline, Extract, Frame, PictureKey, Pixels, Problem, Scrolled, Seen, Selector, View,
};

/// The response of an engine, within its deadline.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Problem>> + Send + 'a>>;

/// A tab's id, unique among all tabs that this engine ever had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TabId(pub u64);

impl fmt::Display for TabId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// What an engine supports besides reading, following links and submitting forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// Its name.
    pub engine: &'static str,
    /// It runs scripts of pages.
    pub scripts: bool,
    /// It lays pages out: clicks have a position, and elements can be covered.
    pub layout: bool,
    /// It takes screenshots.
    pub screenshots: bool,
}

/// A tab, as shown in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The address.
    pub url: String,
    /// The page's title.
    pub title: String,
    /// The status of HTTP, if there was one.
    pub status: Option<u16>,
    /// The page is there, but parts of it are still loading.
    pub loading: bool,
}

/// An element, found by a selector or known by a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The element that a selector finds.
    Selector(Selector),
    /// The element that a summary gave this reference.
    Ref(Reference),
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Selector(selector) => selector.fmt(formatter),
            Self::Ref(reference) => reference.fmt(formatter),
        }
    }
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

/// How to answer a dialog that opens meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DialogAnswer {
    /// Yes.
    Accept,
    /// No; an alert can only be accepted, and leaving a page is never prevented.
    #[default]
    Dismiss,
}

/// The direction to scroll in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Its name on the wire.
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

/// An action on a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
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

impl Action {
    /// The name of the command that performs it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Click(_) | Self::ClickAt { .. } => "click",
            Self::Type { .. } | Self::Insert(_) => "type",
            Self::Select(_) => "select",
            Self::Press(_) => "press",
            Self::Scroll { .. } | Self::ScrollTo => "scroll",
            Self::Find { .. } => "find",
            Self::Unfocus => "unfocus",
        }
    }
}

/// The result of an action. Which members are set depends on the action and on the engine.
#[derive(Debug, Clone, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that happened or not")]
pub struct Done {
    /// The element that was clicked or typed into.
    pub element: Option<Element>,
    /// The options that are now chosen.
    pub chosen: Option<Vec<String>>,
    /// The target's reference.
    pub reference: Option<Reference>,
    /// How many elements the target's selector matches; the action was performed on the first.
    pub matches: u64,
    /// The scroll position.
    pub scrolled: Option<Scrolled>,
    /// The searched text occurs in the page.
    pub found: bool,
    /// The action closed the tab.
    pub closed: bool,
    /// The address afterwards, if it was checked.
    pub url: Option<String>,
    /// The tab has another document or address than before.
    pub navigated: bool,
    /// The new page is still loading.
    pub loading: bool,
    /// Dialogs that opened.
    pub dialogs: Vec<Dialog>,
    /// Downloads that started.
    pub downloads: Vec<Download>,
    /// The number of popups that opened.
    pub popups: u64,
    /// The number of file choosers that the page tried to open.
    pub file_choosers: u64,
}

/// A dialog that a page opened, and how it was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialog {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    pub kind: String,
    /// Its text.
    pub message: String,
    /// It was accepted, not dismissed.
    pub accepted: bool,
}

/// A download that a page started. It was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// The suggested name of the file.
    pub name: String,
    /// Its address.
    pub url: String,
}

/// A condition to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "they are what they are called")]
pub enum ElementState {
    #[default]
    Visible,
    Attached,
    Hidden,
}

impl ElementState {
    /// Its name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::Attached => "attached",
            Self::Hidden => "hidden",
        }
    }
}

/// Which parts of a page to read, and how much at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadScope {
    /// Only what is inside this element.
    pub scope: Option<Target>,
    /// Only what is in view.
    pub viewport: bool,
    /// The maximum number of items in each list.
    pub items_max: usize,
    /// The maximum number of characters of text.
    pub characters_max: usize,
    /// The token budget of the summary: what certainly exceeds it may be left out.
    pub tokens_max: Option<usize>,
    /// Elements that were listed before: of those that are not listed again although they are
    /// visible, [`Extract::present`] has the references.
    pub known: Vec<Reference>,
}

/// Evidence of whether someone is logged in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is seen or not")]
pub struct Evidence {
    /// Scheme, host and port of the page.
    pub origin: String,
    /// The address without query and fragment.
    pub path: String,
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
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Element {
    /// Its tag.
    pub tag: String,
    /// Its classes.
    pub class: String,
    /// Its text, at most 60 characters; empty for a field.
    pub text: String,
    /// A selector that finds it.
    pub selector: Option<String>,
}

/// The element at a point, or with the focus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// The element.
    pub element: Element,
    /// It is a secret field.
    pub secret: bool,
}

/// Shows pages. Every call returns by its deadline, whatever the page does.
pub trait Engine: Send + Sync + fmt::Debug {
    /// What it supports.
    fn capabilities(&self) -> Capabilities;
    /// All tabs, oldest first.
    fn tabs(&self) -> Vec<TabInfo>;
    /// Opens an empty tab.
    fn open(&self, by: Deadline) -> Answer<'_, TabId>;
    /// Closes a tab.
    fn close(&self, tab: TabId, by: Deadline) -> Answer<'_, ()>;
    /// Navigates, and returns once the page is there.
    fn go(&self, tab: TabId, journey: Navigation, by: Deadline) -> Answer<'_, Arrival>;
    /// The content of the page.
    fn read(&self, tab: TabId, reach: ReadScope, by: Deadline) -> Answer<'_, Extract>;
    /// Performs an action on an element or at the focus.
    fn act(
        &self,
        tab: TabId,
        target: Option<Target>,
        action: Action,
        by: Deadline,
    ) -> Answer<'_, Done>;
    /// Whether a condition holds now.
    fn holds(&self, tab: TabId, condition: Condition, by: Deadline) -> Answer<'_, bool>;
    /// Evidence of whether someone is logged in.
    fn evidence(&self, tab: TabId, by: Deadline) -> Answer<'_, Evidence>;
    /// The element at a position in the view, or the focused one if no position is given.
    fn hit(&self, tab: TabId, place: Option<(f64, f64)>, by: Deadline) -> Answer<'_, Option<Hit>>;
    /// The view, drawn; `None` if it is still unchanged half a second later.
    fn frame(
        &self,
        tab: TabId,
        view: View,
        seen: Option<Seen>,
        by: Deadline,
    ) -> Answer<'_, Option<Frame>>;
    /// The content of the pictures of a seen frame, as far as they are visible now, with this many
    /// colours per cell. For the person only: programs do not get them.
    fn pictures<'a>(
        &'a self,
        tab: TabId,
        seen: Seen,
        wanted: &'a [PictureKey],
        dots: (u16, u16),
        by: Deadline,
    ) -> Answer<'a, Vec<Pixels>>;
    /// A screenshot of the view, scaled by this factor: PNG in base64.
    fn screenshot(&self, tab: TabId, scale: f64, by: Deadline) -> Answer<'_, String>;
    /// The address of a tab.
    fn url(&self, tab: TabId) -> Option<String> {
        self.tabs().into_iter().find(|it| it.tab == tab).map(|it| it.url)
    }
    /// The text with everything masked that was typed into a secret field.
    fn mask(&self, text: &str) -> String;
    /// Ends the engine; everything that it stores is written to disk.
    fn end(&self, by: Deadline) -> Answer<'_, ()>;
}
