//! Strict parsing of commands.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::engine::{
    Action, Condition, DialogAnswer, Direction, ElementState, Journey, Reference, TabId, Target,
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

/// The requested command.
#[derive(Debug)]
pub(crate) enum Command {
    Navigate(String),
    Go(Journey),
    Read { mode: Mode, tokens: usize, scope: Option<Target>, viewport: bool },
    Act(Option<Target>, Action),
    Wait(Condition),
    Screenshot,
    Tabs(TabsAction),
}

/// A command, with the arguments that every command may have.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) command: Command,
    /// The tab that it is for; the current one if `None`.
    pub(crate) tab: Option<TabId>,
    /// How long the caller waits for the page.
    pub(crate) wait: Duration,
}

/// What to do with the tabs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TabsAction {
    #[default]
    List,
    Open,
    Select,
    Close,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NavigateArguments {
    url: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NoArguments {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    #[serde(default)]
    mode: Mode,
    budget: Option<usize>,
    scope: Option<String>,
    #[serde(default)]
    viewport: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClickArguments {
    selector: Option<String>,
    r#ref: Option<String>,
    #[serde(default)]
    dialog: DialogAnswer,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeArguments {
    selector: Option<String>,
    r#ref: Option<String>,
    text: String,
    #[serde(default)]
    append: bool,
    #[serde(default)]
    submit: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SelectArguments {
    selector: Option<String>,
    r#ref: Option<String>,
    value: OneOrMore,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PressArguments {
    key: String,
    selector: Option<String>,
    r#ref: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScrollArguments {
    direction: Option<Direction>,
    selector: Option<String>,
    r#ref: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WaitArguments {
    selector: Option<String>,
    state: Option<ElementState>,
    text: Option<String>,
    url: Option<String>,
    #[serde(default)]
    network_idle: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TabsArguments {
    #[serde(default)]
    action: TabsAction,
}

fn read<T: DeserializeOwned>(name: &str, arguments: Value) -> Result<T, Problem> {
    serde_json::from_value(arguments).map_err(|error| {
        Problem::invalid(format!("{name}: {}", crate::clean_line(&error.to_string())))
    })
}

/// The element that a selector or a reference denotes; giving both is an error.
fn target(selector: Option<String>, reference: Option<String>) -> Result<Option<Target>, Problem> {
    match (selector, reference) {
        (None, None) => Ok(None),
        (Some(selector), None) => Selector::parse(&selector).map(|it| Some(Target::Selector(it))),
        (None, Some(text)) => {
            let reference = Reference::parse(&text).ok_or_else(|| {
                Problem::invalid("ref: it must be as a summary gives it, such as d3e12")
            })?;
            Ok(Some(Target::Ref(reference)))
        }
        (Some(_), Some(_)) => Err(Problem::invalid("selector, ref: give one of them")),
    }
}

fn needed(target: Option<Target>) -> Result<Option<Target>, Problem> {
    if target.is_none() {
        return Err(Problem::invalid("selector: it is missing; CSS, or a ref of a summary"));
    }
    Ok(target)
}

/// Takes an argument that every command may have.
fn take<T: DeserializeOwned>(
    members: &mut Map<String, Value>,
    name: &str,
) -> Result<Option<T>, Problem> {
    let Some(given) = members.remove(name) else { return Ok(None) };
    serde_json::from_value(given).map_err(|error| {
        Problem::invalid(format!("{name}: {}", crate::clean_line(&error.to_string())))
    })
}

impl Asked {
    /// Parses a command and its arguments.
    pub(crate) fn parse(name: &str, arguments: Value) -> Result<Self, Problem> {
        let mut members = match arguments {
            Value::Null => Map::new(),
            Value::Object(members) => members,
            _ => return Err(Problem::invalid(format!("{name}: its arguments must be an object"))),
        };
        let tab = take(&mut members, "tab")?;
        let timeout: Option<u64> = take(&mut members, "timeout")?;
        let command = Command::parse(name, Value::Object(members))?;
        let (least, usual) = match &command {
            Command::Navigate(_) | Command::Go(_) => (1, JOURNEY_MS_DEFAULT),
            // Without time, it checks once.
            Command::Wait(_) => (0, WAIT_MS_DEFAULT),
            _ => (1, COMMAND_MS_DEFAULT),
        };
        let milliseconds = timeout.unwrap_or(usual);
        if !(least..=WAIT_MS_MAX).contains(&milliseconds) {
            let detail =
                format!("timeout: {milliseconds} ms; {least} to {WAIT_MS_MAX} are allowed");
            return Err(Problem::invalid(detail));
        }
        Ok(Self { command, tab, wait: Duration::from_millis(milliseconds) })
    }
}

impl Command {
    fn parse(name: &str, arguments: Value) -> Result<Self, Problem> {
        let nothing = |arguments| read::<NoArguments>(name, arguments).map(drop);
        match name {
            "navigate" => {
                let given: NavigateArguments = read(name, arguments)?;
                Ok(Self::Navigate(given.url))
            }
            "back" => nothing(arguments).map(|()| Self::Go(Journey::Back)),
            "forward" => nothing(arguments).map(|()| Self::Go(Journey::Forward)),
            "reload" => nothing(arguments).map(|()| Self::Go(Journey::Reload)),
            "screenshot" => nothing(arguments).map(|()| Self::Screenshot),
            "read" => read_command(read(name, arguments)?),
            "click" => {
                let given: ClickArguments = read(name, arguments)?;
                let target = needed(target(given.selector, given.r#ref)?)?;
                Ok(Self::Act(target, Action::Click(given.dialog)))
            }
            "type" => {
                let TypeArguments { selector, r#ref, text, append, submit } =
                    read(name, arguments)?;
                if text.len() > TEXT_BYTES_MAX {
                    let detail = format!("text: longer than {TEXT_BYTES_MAX} bytes");
                    return Err(Problem::invalid(detail));
                }
                let target = needed(target(selector, r#ref)?)?;
                Ok(Self::Act(target, Action::Type { text, append, submit }))
            }
            "select" => {
                let given: SelectArguments = read(name, arguments)?;
                let values = match given.value {
                    OneOrMore::One(value) => vec![value],
                    OneOrMore::More(values) => values,
                };
                let target = needed(target(given.selector, given.r#ref)?)?;
                Ok(Self::Act(target, Action::Select(values)))
            }
            "press" => {
                let given: PressArguments = read(name, arguments)?;
                let target = target(given.selector, given.r#ref)?;
                Ok(Self::Act(target, Action::Press(given.key.parse()?)))
            }
            "scroll" => scroll_command(read(name, arguments)?),
            "wait" => wait_command(read(name, arguments)?),
            "tabs" => {
                let given: TabsArguments = read(name, arguments)?;
                Ok(Self::Tabs(given.action))
            }
            _ => {
                let name: String = name.chars().take(60).collect();
                let detail =
                    format!("there is no command {name:?}; there are {}", COMMANDS.join(", "));
                Err(Problem::new(ProblemKind::UnknownCommand, detail))
            }
        }
    }
}

fn read_command(given: ReadArguments) -> Result<Command, Problem> {
    let tokens = given.budget.unwrap_or(TOKENS_DEFAULT);
    if !(TOKENS_MIN..=TOKENS_MAX).contains(&tokens) {
        let detail = format!("budget: {tokens} tokens; {TOKENS_MIN} to {TOKENS_MAX} are allowed");
        return Err(Problem::invalid(detail));
    }
    let scope = match given.scope {
        Some(text) => match Reference::parse(&text) {
            Some(reference) => Some(Target::Ref(reference)),
            None => Some(Target::Selector(Selector::parse(&text)?)),
        },
        None => None,
    };
    Ok(Command::Read { mode: given.mode, tokens, scope, viewport: given.viewport })
}

fn scroll_command(given: ScrollArguments) -> Result<Command, Problem> {
    let target = target(given.selector, given.r#ref)?;
    let action = match (given.direction, &target) {
        // A part of the previous view stays visible.
        (Some(direction), None) => Action::Scroll { direction, share: 0.85 },
        (None, Some(_)) => Action::ScrollTo,
        _ => {
            let detail = "direction: up, down, left, right, top or bottom is needed, or a selector";
            return Err(Problem::invalid(detail));
        }
    };
    Ok(Command::Act(target, action))
}

fn wait_command(given: WaitArguments) -> Result<Command, Problem> {
    if given.state.is_some() && given.selector.is_none() {
        return Err(Problem::invalid("state: it needs a selector"));
    }
    let mut conditions = Vec::new();
    if let Some(selector) = given.selector {
        let state = given.state.unwrap_or_default();
        conditions.push(Condition::Element(Selector::parse(&selector)?, state));
    }
    conditions.extend(given.text.map(Condition::Text));
    conditions.extend(given.url.map(Condition::Url));
    if given.network_idle {
        conditions.push(Condition::NetworkIdle);
    }
    let (Some(condition), true) = (conditions.pop(), conditions.is_empty()) else {
        let detail = "wait: exactly one of selector, text, url and networkIdle is needed";
        return Err(Problem::invalid(detail));
    };
    Ok(Command::Wait(condition))
}
