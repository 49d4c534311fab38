//! The commands, read strictly.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::engine::{
    Action, Condition, DialogAnswer, Direction, ElementState, Journey, Reference, TabId, Target,
};
use crate::summary::{Mode, TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN};
use crate::{Problem, ProblemKind, Selector};

/// How long `wait` waits if nobody says how long, in milliseconds.
pub const WAIT_MS_DEFAULT: u64 = 10_000;
/// How long it may wait.
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

/// What is asked for.
#[derive(Debug)]
pub(crate) enum Command {
    Navigate(String),
    Go(Journey),
    Read { mode: Mode, tokens: usize, scope: Option<Target>, viewport: bool },
    Act(Option<Target>, Action),
    Wait { condition: Condition, milliseconds: u64 },
    Screenshot,
    Tabs(TabsAction),
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
    tab: Option<TabId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TabArguments {
    tab: Option<TabId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    #[serde(default)]
    mode: Mode,
    budget: Option<usize>,
    scope: Option<String>,
    #[serde(default)]
    viewport: bool,
    tab: Option<TabId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClickArguments {
    selector: Option<String>,
    r#ref: Option<String>,
    #[serde(default)]
    dialog: DialogAnswer,
    tab: Option<TabId>,
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
    tab: Option<TabId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SelectArguments {
    selector: Option<String>,
    r#ref: Option<String>,
    value: OneOrMore,
    tab: Option<TabId>,
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
    tab: Option<TabId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScrollArguments {
    direction: Option<Direction>,
    selector: Option<String>,
    r#ref: Option<String>,
    tab: Option<TabId>,
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
    timeout: Option<u64>,
    tab: Option<TabId>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TabsArguments {
    #[serde(default)]
    action: TabsAction,
    tab: Option<TabId>,
}

fn read<T: DeserializeOwned>(name: &str, arguments: Value) -> Result<T, Problem> {
    serde_json::from_value(arguments).map_err(|error| {
        Problem::invalid(format!("{name}: {}", crate::clean_line(&error.to_string())))
    })
}

/// The element that is meant by a selector or a reference; both at once mean none.
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

impl Command {
    /// Reads a command with its arguments, and the tab that it is for.
    pub(crate) fn parse(name: &str, arguments: Value) -> Result<(Self, Option<TabId>), Problem> {
        let arguments = match arguments {
            Value::Null => Value::Object(serde_json::Map::new()),
            Value::Object(members) => Value::Object(members),
            _ => return Err(Problem::invalid(format!("{name}: its arguments must be an object"))),
        };
        let of_tab = |arguments| read::<TabArguments>(name, arguments).map(|it| it.tab);
        match name {
            "navigate" => {
                let given: NavigateArguments = read(name, arguments)?;
                Ok((Self::Navigate(given.url), given.tab))
            }
            "back" => Ok((Self::Go(Journey::Back), of_tab(arguments)?)),
            "forward" => Ok((Self::Go(Journey::Forward), of_tab(arguments)?)),
            "reload" => Ok((Self::Go(Journey::Reload), of_tab(arguments)?)),
            "screenshot" => Ok((Self::Screenshot, of_tab(arguments)?)),
            "read" => read_command(read(name, arguments)?),
            "click" => {
                let given: ClickArguments = read(name, arguments)?;
                let target = needed(target(given.selector, given.r#ref)?)?;
                Ok((Self::Act(target, Action::Click(given.dialog)), given.tab))
            }
            "type" => {
                let TypeArguments { selector, r#ref, text, append, submit, tab } =
                    read(name, arguments)?;
                if text.len() > TEXT_BYTES_MAX {
                    let detail = format!("text: longer than {TEXT_BYTES_MAX} bytes");
                    return Err(Problem::invalid(detail));
                }
                let target = needed(target(selector, r#ref)?)?;
                Ok((Self::Act(target, Action::Type { text, append, submit }), tab))
            }
            "select" => {
                let given: SelectArguments = read(name, arguments)?;
                let values = match given.value {
                    OneOrMore::One(value) => vec![value],
                    OneOrMore::More(values) => values,
                };
                let target = needed(target(given.selector, given.r#ref)?)?;
                Ok((Self::Act(target, Action::Select(values)), given.tab))
            }
            "press" => {
                let given: PressArguments = read(name, arguments)?;
                let target = target(given.selector, given.r#ref)?;
                Ok((Self::Act(target, Action::Press(given.key.parse()?)), given.tab))
            }
            "scroll" => scroll_command(read(name, arguments)?),
            "wait" => wait_command(read(name, arguments)?),
            "tabs" => {
                let given: TabsArguments = read(name, arguments)?;
                Ok((Self::Tabs(given.action), given.tab))
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

fn read_command(given: ReadArguments) -> Result<(Command, Option<TabId>), Problem> {
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
    let command = Command::Read { mode: given.mode, tokens, scope, viewport: given.viewport };
    Ok((command, given.tab))
}

fn scroll_command(given: ScrollArguments) -> Result<(Command, Option<TabId>), Problem> {
    let target = target(given.selector, given.r#ref)?;
    let action = match (given.direction, &target) {
        // A little of what was seen stays in view.
        (Some(direction), None) => Action::Scroll { direction, share: 0.85 },
        (None, Some(_)) => Action::ScrollTo,
        _ => {
            let detail = "direction: up, down, left, right, top or bottom is needed, or a selector";
            return Err(Problem::invalid(detail));
        }
    };
    Ok((Command::Act(target, action), given.tab))
}

fn wait_command(given: WaitArguments) -> Result<(Command, Option<TabId>), Problem> {
    let milliseconds = given.timeout.unwrap_or(WAIT_MS_DEFAULT);
    if milliseconds > WAIT_MS_MAX {
        let detail = format!("timeout: {milliseconds} ms; at most {WAIT_MS_MAX} are waited");
        return Err(Problem::invalid(detail));
    }
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
    Ok((Command::Wait { condition, milliseconds }, given.tab))
}
