//! Strict parsing of commands.

use std::time::Duration;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::command::{Command, Reader, Reading, Request, TabsAction};
use crate::engine::{
    Action, Condition, DialogAnswer, Direction, ElementState, Navigation, Reference, TabId, Target,
};
use crate::summary::{Mode, TOKENS_DEFAULT};
use crate::{Problem, ProblemKind, Selector};

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

/// Parses a command and its arguments.
///
/// # Errors
/// [`ProblemKind::UnknownCommand`] and [`ProblemKind::Invalid`].
pub fn request(name: &str, arguments: Value) -> Result<Request, Problem> {
    parse(name, arguments).map_err(|it| Problem { detail: crate::clean(&it.detail), ..it })
}

fn parse(name: &str, arguments: Value) -> Result<Request, Problem> {
    let mut members = match arguments {
        Value::Null => Map::new(),
        Value::Object(members) => members,
        _ => return Err(Problem::invalid(format!("{name}: the arguments must be an object"))),
    };
    let tab = take(&mut members, "tab")?.map(TabId);
    let timeout = take(&mut members, "timeout")?.map(Duration::from_millis);
    let request = Request::new(command(name, tab, Value::Object(members))?);
    Ok(Request { tab, wait: timeout.unwrap_or(request.wait), ..request })
}

fn command(name: &str, tab: Option<TabId>, arguments: Value) -> Result<Command, Problem> {
    let nothing = |arguments| read::<NoArguments>(name, arguments).map(drop);
    match name {
        "navigate" => {
            let given: NavigateArguments = read(name, arguments)?;
            Ok(Command::Navigate(given.url))
        }
        "back" => nothing(arguments).map(|()| Command::Go(Navigation::Back)),
        "forward" => nothing(arguments).map(|()| Command::Go(Navigation::Forward)),
        "reload" => nothing(arguments).map(|()| Command::Go(Navigation::Reload)),
        "screenshot" => nothing(arguments).map(|()| Command::Screenshot),
        "read" => read_command(read(name, arguments)?),
        "click" => {
            let given: ClickArguments = read(name, arguments)?;
            let target = needed(target(given.selector, given.r#ref)?)?;
            Ok(Command::Act(target, Action::Click(given.dialog)))
        }
        "type" => {
            let TypeArguments { selector, r#ref, text, append, submit } = read(name, arguments)?;
            let target = needed(target(selector, r#ref)?)?;
            Ok(Command::Act(target, Action::Type { text, append, submit }))
        }
        "select" => {
            let given: SelectArguments = read(name, arguments)?;
            let values = match given.value {
                OneOrMore::One(value) => vec![value],
                OneOrMore::More(values) => values,
            };
            let target = needed(target(given.selector, given.r#ref)?)?;
            Ok(Command::Act(target, Action::Select(values)))
        }
        "press" => {
            let given: PressArguments = read(name, arguments)?;
            let target = target(given.selector, given.r#ref)?;
            Ok(Command::Act(target, Action::Press(given.key.parse()?)))
        }
        "scroll" => scroll_command(read(name, arguments)?),
        "wait" => wait_command(read(name, arguments)?),
        "tabs" => {
            let given: TabsArguments = read(name, arguments)?;
            let tab =
                || tab.ok_or_else(|| Problem::invalid("tab: the number of the tab is required"));
            Ok(Command::Tabs(match given.action {
                TabsName::List => TabsAction::List,
                TabsName::Open => TabsAction::Open,
                TabsName::Select => TabsAction::Select(tab()?),
                TabsName::Close => TabsAction::Close(tab()?),
            }))
        }
        _ => {
            let name: String = name.chars().take(60).collect();
            let detail =
                format!("unknown command {name:?}; the commands are {}", COMMANDS.join(", "));
            Err(Problem::new(ProblemKind::UnknownCommand, detail))
        }
    }
}

fn read_command(given: ReadArguments) -> Result<Command, Problem> {
    let tokens = given.budget.unwrap_or(TOKENS_DEFAULT);
    let scope = match given.scope {
        Some(text) => match Reference::parse(&text) {
            Some(reference) => Some(Target::Ref(reference)),
            None => Some(Target::Selector(Selector::parse(&text)?)),
        },
        None => None,
    };
    let reader = given.reader.as_deref().map(Reader::parse).transpose()?;
    let ReadArguments { mode, viewport, .. } = given;
    Ok(Command::Read(Reading { mode, tokens, scope, viewport, reader }))
}

fn scroll_command(given: ScrollArguments) -> Result<Command, Problem> {
    let target = target(given.selector, given.r#ref)?;
    let action = match (given.direction, &target) {
        // A part of the previous view stays visible.
        (Some(DirectionGiven(direction)), None) => Action::Scroll { direction, share: 0.85 },
        (None, Some(_)) => Action::ScrollTo,
        _ => {
            let detail =
                "direction: expected up, down, left, right, top or bottom, or else a selector";
            return Err(Problem::invalid(detail));
        }
    };
    Ok(Command::Act(target, action))
}

fn wait_command(given: WaitArguments) -> Result<Command, Problem> {
    if given.state.is_some() && given.selector.is_none() {
        return Err(Problem::invalid("state: requires a selector"));
    }
    let mut conditions = Vec::new();
    if let Some(selector) = given.selector {
        let state = given.state.unwrap_or_default().0;
        conditions.push(Condition::Element(Selector::parse(&selector)?, state));
    }
    conditions.extend(given.text.map(Condition::Text));
    conditions.extend(given.url.map(Condition::Url));
    if given.network_idle {
        conditions.push(Condition::NetworkIdle);
    }
    let (Some(condition), true) = (conditions.pop(), conditions.is_empty()) else {
        let detail = "wait: expected exactly one of selector, text, url and networkIdle";
        return Err(Problem::invalid(detail));
    };
    Ok(Command::Wait(condition))
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
                Problem::invalid("ref: expected a reference from a summary, such as d3e12")
            })?;
            Ok(Some(Target::Ref(reference)))
        }
        (Some(_), Some(_)) => Err(Problem::invalid("selector, ref: give only one of them")),
    }
}

fn needed(target: Option<Target>) -> Result<Option<Target>, Problem> {
    if target.is_none() {
        return Err(Problem::invalid("selector: required; CSS, or instead a `ref` from a summary"));
    }
    Ok(target)
}

/// Takes an argument that every command may have.
fn take(members: &mut Map<String, Value>, name: &str) -> Result<Option<u64>, Problem> {
    members.remove(name).map_or(Ok(None), |given| read(name, given))
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
    #[serde(default, with = "ModeName")]
    mode: Mode,
    budget: Option<usize>,
    scope: Option<String>,
    #[serde(default)]
    viewport: bool,
    reader: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClickArguments {
    selector: Option<String>,
    r#ref: Option<String>,
    #[serde(default, with = "DialogName")]
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
    direction: Option<DirectionGiven>,
    selector: Option<String>,
    r#ref: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct WaitArguments {
    selector: Option<String>,
    state: Option<StateGiven>,
    text: Option<String>,
    url: Option<String>,
    #[serde(default)]
    network_idle: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TabsArguments {
    #[serde(default)]
    action: TabsName,
}

// Names of domain types on the wire.

#[derive(Deserialize)]
#[serde(remote = "Mode", rename_all = "lowercase")]
enum ModeName {
    Outline,
    Interactive,
    Full,
    Diff,
}

#[derive(Deserialize)]
#[serde(remote = "DialogAnswer", rename_all = "lowercase")]
enum DialogName {
    Accept,
    Dismiss,
}

#[derive(Deserialize)]
#[serde(remote = "Direction", rename_all = "lowercase")]
enum DirectionName {
    Up,
    Down,
    Left,
    Right,
    Top,
    Bottom,
}

#[derive(Deserialize)]
struct DirectionGiven(#[serde(with = "DirectionName")] Direction);

#[derive(Deserialize)]
#[serde(remote = "ElementState", rename_all = "lowercase")]
enum StateName {
    Visible,
    Attached,
    Hidden,
}

#[derive(Default, Deserialize)]
struct StateGiven(#[serde(with = "StateName")] ElementState);

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TabsName {
    #[default]
    List,
    Open,
    Select,
    Close,
}
