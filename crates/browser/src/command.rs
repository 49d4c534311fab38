//! Strict parsing of the commands of programs.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::protocol::{
    Action, Condition, DialogAnswer, Direction, ElementState, Navigation, Reference, TabId, Target,
};
use crate::summary::{Mode, TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN};
use crate::{Problem, ProblemKind, Selector};

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

/// The names of all commands.
pub const COMMANDS: &[&str] = &[
    "navigate",
    "read",
    "click",
    "type",
    "scroll",
    "wait",
    "back",
    "forward",
    "reload",
    "select",
    "press",
    "screenshot",
    "tabs",
];

/// What a program requests.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Command {
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
pub(crate) struct Reading {
    /// How much the summary contains.
    pub(crate) mode: Mode,
    /// The token budget, [`TOKENS_MIN`] to [`TOKENS_MAX`].
    pub(crate) tokens: usize,
    /// Only what is inside this element.
    pub(crate) scope: Option<Target>,
    /// Only what is in view.
    pub(crate) viewport: bool,
    /// Who reads: [`Mode::Diff`] compares with what the same reader read last.
    pub(crate) reader: Option<String>,
}

/// What to do with the tabs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TabsAction {
    /// List them.
    #[default]
    List,
    /// Open one, and make it the current one.
    Open,
    /// Make the given one the current one.
    Select,
    /// Close the given one.
    Close,
}

/// A command with its tab and its time limit.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    pub(crate) command: Command,
    /// The tab that it is for; the current one if `None`.
    pub(crate) tab: Option<TabId>,
    /// How long the caller waits for the page.
    pub(crate) wait: Duration,
}

impl Request {
    /// Parses a command and its arguments.
    ///
    /// # Errors
    /// [`ProblemKind::UnknownCommand`] and [`ProblemKind::Invalid`].
    pub(crate) fn parse(name: &str, arguments: Value) -> Result<Self, Problem> {
        let mut members = match arguments {
            Value::Null => Map::new(),
            Value::Object(members) => members,
            _ => return Err(Problem::invalid(format!("{name}: the arguments must be an object"))),
        };
        if !COMMANDS.contains(&name) {
            let name: String = name.chars().take(60).collect();
            let detail =
                format!("unknown command {name:?}; the commands are {}", COMMANDS.join(", "));
            return Err(Problem::new(ProblemKind::UnknownCommand, detail));
        }
        let mut take = |member: &str| {
            members.remove(member).map_or(Ok(None), |given| read::<Option<u64>>(member, given))
        };
        let (tab, timeout) = (take("tab")?.map(TabId), take("timeout")?);
        let given: Arguments = read(name, json!({ name: members }))?;
        let command = given.command(tab)?;
        let (least, default) = match &command {
            Command::Navigate(_) | Command::Go(_) => (1, JOURNEY_MS_DEFAULT),
            // Without time, `wait` checks once.
            Command::Wait(_) => (0, WAIT_MS_DEFAULT),
            _ => (1, COMMAND_MS_DEFAULT),
        };
        let milliseconds = timeout.unwrap_or(default);
        if !(least..=WAIT_MS_MAX).contains(&milliseconds) {
            let detail =
                format!("timeout: {milliseconds} ms; {least} to {WAIT_MS_MAX} are allowed");
            return Err(Problem::invalid(detail));
        }
        Ok(Self { command, tab, wait: Duration::from_millis(milliseconds) })
    }
}

fn read<T: DeserializeOwned>(name: &str, given: Value) -> Result<T, Problem> {
    serde_json::from_value(given).map_err(|error| Problem::invalid(format!("{name}: {error}")))
}

/// The arguments of each command.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", deny_unknown_fields)]
enum Arguments {
    Navigate {
        url: String,
    },
    Read {
        #[serde(default)]
        mode: Mode,
        budget: Option<usize>,
        scope: Option<String>,
        #[serde(default)]
        viewport: bool,
        reader: Option<String>,
    },
    Click {
        selector: Option<String>,
        r#ref: Option<String>,
        #[serde(default)]
        dialog: DialogAnswer,
    },
    Type {
        selector: Option<String>,
        r#ref: Option<String>,
        text: String,
        #[serde(default)]
        append: bool,
        #[serde(default)]
        submit: bool,
    },
    Scroll {
        direction: Option<Direction>,
        selector: Option<String>,
        r#ref: Option<String>,
    },
    Wait {
        selector: Option<String>,
        state: Option<ElementState>,
        text: Option<String>,
        url: Option<String>,
        #[serde(default)]
        network_idle: bool,
    },
    Back {},
    Forward {},
    Reload {},
    Select {
        selector: Option<String>,
        r#ref: Option<String>,
        value: OneOrMore,
    },
    Press {
        key: String,
        selector: Option<String>,
        r#ref: Option<String>,
    },
    Screenshot {},
    Tabs {
        #[serde(default)]
        action: TabsAction,
    },
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl Arguments {
    fn command(self, tab: Option<TabId>) -> Result<Command, Problem> {
        Ok(match self {
            Self::Navigate { url } => Command::Navigate(url),
            Self::Back {} => Command::Go(Navigation::Back),
            Self::Forward {} => Command::Go(Navigation::Forward),
            Self::Reload {} => Command::Go(Navigation::Reload),
            Self::Screenshot {} => Command::Screenshot,
            Self::Read { mode, budget, scope, viewport, reader } => {
                let tokens = budget.unwrap_or(TOKENS_DEFAULT);
                if !(TOKENS_MIN..=TOKENS_MAX).contains(&tokens) {
                    let detail = format!(
                        "budget: {tokens} tokens; {TOKENS_MIN} to {TOKENS_MAX} are allowed"
                    );
                    return Err(Problem::invalid(detail));
                }
                let scope = match scope {
                    Some(text) => match Reference::parse(&text) {
                        Some(reference) => Some(Target::Ref(reference)),
                        None => Some(Target::Selector(Selector::parse(&text)?)),
                    },
                    None => None,
                };
                let reader = reader.map(check_reader).transpose()?;
                Command::Read(Reading { mode, tokens, scope, viewport, reader })
            }
            Self::Click { selector, r#ref, dialog } => {
                Command::Act(Some(needed(selector, r#ref)?), Action::Click(dialog))
            }
            Self::Type { selector, r#ref, text, append, submit } => {
                if text.len() > TEXT_BYTES_MAX {
                    let detail = format!("text: longer than {TEXT_BYTES_MAX} bytes");
                    return Err(Problem::invalid(detail));
                }
                let action = Action::Type { text, append, submit };
                Command::Act(Some(needed(selector, r#ref)?), action)
            }
            Self::Select { selector, r#ref, value } => {
                let values = match value {
                    OneOrMore::One(value) => vec![value],
                    OneOrMore::More(values) => values,
                };
                Command::Act(Some(needed(selector, r#ref)?), Action::Select(values))
            }
            Self::Press { key, selector, r#ref } => {
                Command::Act(target(selector, r#ref)?, Action::Press(key.parse()?))
            }
            Self::Scroll { direction, selector, r#ref } => {
                let target = target(selector, r#ref)?;
                let action = match (direction, &target) {
                    // A part of the previous view stays visible.
                    (Some(direction), None) => Action::Scroll { direction, share: 0.85 },
                    (None, Some(_)) => Action::ScrollTo,
                    _ => {
                        return Err(Problem::invalid(
                            "direction: expected up, down, left, right, top or bottom, or else a selector",
                        ));
                    }
                };
                Command::Act(target, action)
            }
            Self::Wait { selector, state, text, url, network_idle } => {
                if state.is_some() && selector.is_none() {
                    return Err(Problem::invalid("state: requires a selector"));
                }
                let element = selector.map(|selector| Selector::parse(&selector)).transpose()?;
                let conditions = [
                    element.map(|element| Condition::Element(element, state.unwrap_or_default())),
                    text.map(Condition::Text),
                    url.map(Condition::Url),
                    network_idle.then_some(Condition::NetworkIdle),
                ];
                let mut conditions = conditions.into_iter().flatten();
                let (Some(condition), None) = (conditions.next(), conditions.next()) else {
                    return Err(Problem::invalid(
                        "wait: expected exactly one of selector, text, url and networkIdle",
                    ));
                };
                Command::Wait(condition)
            }
            Self::Tabs { action } => {
                if matches!(action, TabsAction::Select | TabsAction::Close) && tab.is_none() {
                    return Err(Problem::invalid("tab: the number of the tab is required"));
                }
                Command::Tabs(action)
            }
        })
    }
}

/// The element that a selector or a reference denotes; giving both is an error.
fn target(selector: Option<String>, reference: Option<String>) -> Result<Option<Target>, Problem> {
    match (selector, reference) {
        (None, None) => Ok(None),
        (Some(selector), None) => {
            Selector::parse(&selector).map(|value| Some(Target::Selector(value)))
        }
        (None, Some(text)) => {
            let reference = Reference::parse(&text).ok_or_else(|| {
                Problem::invalid("ref: expected a reference from a summary, such as d3e12")
            })?;
            Ok(Some(Target::Ref(reference)))
        }
        (Some(_), Some(_)) => Err(Problem::invalid("selector, ref: give only one of them")),
    }
}

fn needed(selector: Option<String>, reference: Option<String>) -> Result<Target, Problem> {
    let required = "selector: required; CSS, or instead a `ref` from a summary";
    target(selector, reference)?.ok_or_else(|| Problem::invalid(required))
}

/// Checks the name that a reader of pages gives itself: 1 to [`READER_BYTES_MAX`] of `A-Z`, `a-z`,
/// `0-9`, `.`, `_`, `:` and `-`. The service distinguishes its tokens with a prefix of 1 to 32 of
/// `A-Z`, `a-z` and `0-9` and a `/`, which are not counted.
fn check_reader(name: String) -> Result<String, Problem> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    let is_prefix = |text: &str| {
        (1..=READER_PREFIX_BYTES_MAX).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    let own = match name.split_once('/') {
        Some((prefix, own)) if is_prefix(prefix) => own,
        _ => &name,
    };
    if own.is_empty() || own.len() > READER_BYTES_MAX || !own.chars().all(is_part) {
        let detail =
            format!("reader: expected 1 to {READER_BYTES_MAX} letters, digits or any of `._:-`");
        return Err(Problem::invalid(detail));
    }
    Ok(name)
}
