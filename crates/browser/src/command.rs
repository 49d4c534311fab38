//! Commands of programs.

use std::fmt;
use std::time::Duration;

use crate::Problem;
use crate::engine::{Action, Arrival, Condition, Done, Navigation, TabId, TabInfo, Target};
use crate::scrub::Scrub;
use crate::summary::{Mode, Summary, TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN};

/// How long `wait` waits unless `timeout` is given, in milliseconds.
pub const WAIT_MS_DEFAULT: u64 = 10_000;
/// The same for `navigate`, `back`, `forward` and `reload`, which wait for the page.
pub const JOURNEY_MS_DEFAULT: u64 = 30_000;
/// The same for every other command, which also waits for the page.
pub const COMMAND_MS_DEFAULT: u64 = 20_000;
/// The longest `timeout` of a command, in milliseconds.
pub const WAIT_MS_MAX: u64 = 120_000;
/// The longest name that a program gives itself as a reader, in bytes.
pub const READER_BYTES_MAX: usize = 128;
/// The longest prefix of a reader's name, in bytes.
const READER_PREFIX_BYTES_MAX: usize = 32;
/// The longest text that is typed at once, in bytes.
pub const TEXT_BYTES_MAX: usize = 64 << 10;

/// What a program requests.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Go to an address, which may be relative to the current one.
    Navigate(String),
    /// Go back or forward, or reload.
    Go(Navigation),
    /// Read the page.
    Read(Reading),
    /// Perform an action on an element, or on the page.
    Act(Option<Target>, Action),
    /// Wait until a condition holds.
    Wait(Condition),
    /// Take a screenshot, if a person allowed it.
    Screenshot,
    /// List or change the tabs.
    Tabs(TabsAction),
}

/// What to read of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// How much the summary contains.
    pub mode: Mode,
    /// The token budget, [`TOKENS_MIN`] to [`TOKENS_MAX`].
    pub tokens: usize,
    /// Only what is inside this element.
    pub scope: Option<Target>,
    /// Only what is in view.
    pub viewport: bool,
    /// Who reads: [`Mode::Diff`] compares with what the same reader read last.
    pub reader: Option<Reader>,
}

impl Default for Reading {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            tokens: TOKENS_DEFAULT,
            scope: None,
            viewport: false,
            reader: None,
        }
    }
}

/// The name that a reader of pages gives itself: 1 to [`READER_BYTES_MAX`] of `A-Z`, `a-z`, `0-9`,
/// `.`, `_`, `:` and `-`. The service distinguishes its tokens with a prefix of 1 to 32 of `A-Z`, `a-z`
/// and `0-9` and a `/`, which are not counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reader(String);

impl Reader {
    /// Parses a name.
    ///
    /// # Errors
    /// [`ProblemKind::Invalid`](crate::ProblemKind::Invalid).
    pub fn parse(name: &str) -> Result<Self, Problem> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
        let is_prefix = |it: &str| {
            (1..=READER_PREFIX_BYTES_MAX).contains(&it.len())
                && it.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        let whole = name;
        let name = match name.split_once('/') {
            Some((prefix, own)) if is_prefix(prefix) => own,
            _ => name,
        };
        if name.is_empty() || name.len() > READER_BYTES_MAX || !name.chars().all(is_part) {
            let detail = format!(
                "reader: expected 1 to {READER_BYTES_MAX} letters, digits or any of `._:-`"
            );
            return Err(Problem::invalid(detail));
        }
        Ok(Self(whole.to_owned()))
    }
}

/// What to do with the tabs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TabsAction {
    /// List them.
    #[default]
    List,
    /// Open one, and make it the current one.
    Open,
    /// Make this one the current one.
    Select(TabId),
    /// Close this one.
    Close(TabId),
}

impl fmt::Display for Command {
    /// Writes the name and the object. Of a typed text, only the field is shown.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Navigate(url) => write!(formatter, "navigate {url}"),
            Self::Go(Navigation::To(url)) => write!(formatter, "navigate {url}"),
            Self::Go(Navigation::Back) => formatter.write_str("back"),
            Self::Go(Navigation::Forward) => formatter.write_str("forward"),
            Self::Go(Navigation::Reload) => formatter.write_str("reload"),
            Self::Read(_) => formatter.write_str("read"),
            Self::Act(Some(target), action) => write!(formatter, "{} {target}", action.name()),
            Self::Act(None, Action::Press(key)) => write!(formatter, "press {key}"),
            Self::Act(None, Action::Scroll { direction, .. }) => {
                write!(formatter, "scroll {}", direction.as_str())
            }
            Self::Act(None, action) => formatter.write_str(action.name()),
            Self::Wait(Condition::Element(selector, _)) => write!(formatter, "wait {selector}"),
            Self::Wait(Condition::Url(part)) => write!(formatter, "wait {part}"),
            Self::Wait(_) => formatter.write_str("wait"),
            Self::Screenshot => formatter.write_str("screenshot"),
            Self::Tabs(TabsAction::List) => formatter.write_str("tabs"),
            Self::Tabs(TabsAction::Open) => formatter.write_str("tabs open"),
            Self::Tabs(TabsAction::Select(_)) => formatter.write_str("tabs select"),
            Self::Tabs(TabsAction::Close(_)) => formatter.write_str("tabs close"),
        }
    }
}

/// A command with its tab and its time limit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The command.
    pub command: Command,
    /// The tab that it is for; the current one if `None`.
    pub tab: Option<TabId>,
    /// How long the caller waits for the page, up to [`WAIT_MS_MAX`].
    pub wait: Duration,
}

impl Request {
    /// A command for the current tab, with its default time limit.
    #[must_use]
    pub fn new(command: Command) -> Self {
        let milliseconds = match &command {
            Command::Navigate(_) | Command::Go(_) => JOURNEY_MS_DEFAULT,
            Command::Wait(_) => WAIT_MS_DEFAULT,
            _ => COMMAND_MS_DEFAULT,
        };
        Self { command, tab: None, wait: Duration::from_millis(milliseconds) }
    }

    /// The same for this tab.
    #[must_use]
    pub fn with_tab(self, tab: TabId) -> Self {
        Self { tab: Some(tab), ..self }
    }

    /// The same with this time limit.
    #[must_use]
    pub fn with_wait(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Checks all limits.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        // Without time, `wait` checks once.
        let least = u64::from(!matches!(self.command, Command::Wait(_)));
        let milliseconds = self.wait.as_millis();
        if !(u128::from(least)..=u128::from(WAIT_MS_MAX)).contains(&milliseconds) {
            let detail =
                format!("timeout: {milliseconds} ms; {least} to {WAIT_MS_MAX} are allowed");
            return Err(Problem::invalid(detail));
        }
        match &self.command {
            Command::Read(Reading { tokens, .. })
                if !(TOKENS_MIN..=TOKENS_MAX).contains(tokens) =>
            {
                let detail =
                    format!("budget: {tokens} tokens; {TOKENS_MIN} to {TOKENS_MAX} are allowed");
                Err(Problem::invalid(detail))
            }
            Command::Act(_, Action::Type { text, .. }) if text.len() > TEXT_BYTES_MAX => {
                Err(Problem::invalid(format!("text: longer than {TEXT_BYTES_MAX} bytes")))
            }
            _ => Ok(()),
        }
    }
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// The tab has arrived at a page.
    Arrived {
        /// The tab.
        tab: TabId,
        /// Where it is.
        arrival: Arrival,
    },
    /// The page.
    Read(Box<Summary>),
    /// An action was performed.
    Acted(Box<Done>),
    /// The condition holds.
    Held {
        /// How long that took.
        waited: Duration,
        /// The address of the tab.
        url: Option<String>,
    },
    /// A screenshot.
    Screenshot {
        /// The scale, 1 or less.
        scale: f64,
        /// PNG in base64.
        data: String,
    },
    /// The tabs.
    Tabs {
        /// All tabs, oldest first.
        tabs: Vec<TabInfo>,
        /// The current one.
        current: Option<TabId>,
    },
}

impl Scrub for Outcome {
    fn scrub(&mut self, change: &dyn Fn(&str) -> String) {
        match self {
            Self::Arrived { arrival, .. } => arrival.scrub(change),
            Self::Acted(done) => done.scrub(change),
            Self::Held { url, .. } => url.scrub(change),
            Self::Tabs { tabs, .. } => tabs.scrub(change),
            // A summary is scrubbed before it is fitted into its budget; a picture has no text.
            Self::Read(_) | Self::Screenshot { .. } => {}
        }
    }
}
