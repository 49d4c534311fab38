//! Our commands among the hooks of an agent.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp};
use serde_json::Value;

use super::json;
use super::own::HookCommand;
use super::{Change, Edited, Entries};

/// The member that has all hooks.
const LIST: &str = "hooks";

/// How a file lists the hooks of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Groups of hooks: `[{"hooks": [{"type": "command", …}]}]`.
    Groups,
    /// Hooks, in a file with a version: `[{"command": …}]`.
    Flat,
}

/// One of our hooks.
#[derive(Debug)]
pub(crate) struct Event {
    /// The event, as the agent calls it.
    pub(crate) name: &'static str,
    /// The command, for a shell.
    pub(crate) command: String,
    pub(crate) timeout_seconds: usize,
    /// Whether the agent does not wait for it.
    pub(crate) is_async: bool,
}

/// Our hooks in an agent's file.
#[derive(Debug)]
pub(crate) struct Hooks {
    pub(crate) shape: Shape,
    pub(crate) events: Vec<Event>,
}

impl Entries for Hooks {
    fn what(&self) -> &'static str {
        "the hooks of Waypost"
    }

    fn install(&self, text: &str) -> Result<Edited, String> {
        let (root, outer) = json::document(text)?;
        if self.shape == Shape::Flat && json::member(&outer, "version").is_none() {
            outer.insert(0, "version", CstInputValue::from(1_usize));
        }
        let list = match json::object_of(&outer, LIST)? {
            Some(it) => it,
            None => outer.object_value_or_set(LIST),
        };
        // Those that somebody gave variables stay, instead of ours.
        let (had, kept): (Vec<_>, Vec<_>) =
            own_hooks(&list)?.into_iter().partition(|(_, it)| is_plain_hook(it));
        let is_kept = |event: &Event| kept.iter().any(|(name, _)| name == event.name);
        let wanted: Vec<&Event> = self.events.iter().filter(|it| !is_kept(it)).collect();
        if had.len() == wanted.len() && wanted.iter().all(|it| it.is_among(&had)) {
            return Ok(Edited { text: text.to_owned(), change: Change::Nothing });
        }
        let change = if had.is_empty() { Change::Added } else { Change::Updated };
        remove_own(&list, is_plain_hook)?;
        for event in wanted {
            let hooks = match array_of(&list, event.name)? {
                Some(it) => it,
                None => list.array_value_or_set(event.name),
            };
            hooks.append(self.input(event));
        }
        finished(text, root.to_string(), change)
    }

    fn remove(&self, text: &str) -> Result<Edited, String> {
        let (root, outer) = json::document(text)?;
        let Some(list) = json::object_of(&outer, LIST)? else {
            return Ok(Edited { text: text.to_owned(), change: Change::Nothing });
        };
        if own_hooks(&list)?.is_empty() {
            return Ok(Edited { text: text.to_owned(), change: Change::Nothing });
        }
        remove_own(&list, is_own_hook)?;
        json::remove_if_empty(&outer, LIST)?;
        finished(text, root.to_string(), Change::Removed)
    }
}

impl Hooks {
    /// The element of an event's array.
    fn input(&self, event: &Event) -> CstInputValue {
        let mut members = vec![
            ("command".to_owned(), CstInputValue::from(event.command.as_str())),
            ("timeout".to_owned(), CstInputValue::from(event.timeout_seconds)),
        ];
        if event.is_async {
            members.push(("async".to_owned(), CstInputValue::from(true)));
        }
        if self.shape == Shape::Flat {
            return CstInputValue::Object(members);
        }
        members.insert(0, ("type".to_owned(), CstInputValue::from("command")));
        let hooks = CstInputValue::Array(vec![CstInputValue::Object(members)]);
        CstInputValue::Object(vec![(LIST.to_owned(), hooks)])
    }
}

impl Event {
    /// Whether one of the hooks, each with its event, is this one.
    fn is_among(&self, had: &[(String, Value)]) -> bool {
        had.iter().any(|(event, hook)| {
            event == self.name
                && hook["command"] == self.command.as_str()
                && hook["timeout"] == self.timeout_seconds
                && hook["async"].as_bool().unwrap_or(false) == self.is_async
        })
    }
}

fn command_of(hook: &Value) -> Option<HookCommand> {
    hook["command"].as_str().and_then(HookCommand::of)
}

fn is_own_hook(hook: &Value) -> bool {
    command_of(hook).is_some()
}

fn is_plain_hook(hook: &Value) -> bool {
    command_of(hook) == Some(HookCommand::Plain)
}

/// The array that a member has, if the member exists.
fn array_of(object: &CstObject, name: &str) -> Result<Option<CstArray>, String> {
    let Some(member) = json::member(object, name) else { return Ok(None) };
    let value = member.array_value();
    value.map(Some).ok_or_else(|| format!("\"{name}\" of \"{LIST}\" is not an array"))
}

/// Our hooks, each with its event.
fn own_hooks(list: &CstObject) -> Result<Vec<(String, Value)>, String> {
    let mut found = Vec::new();
    for event in list.properties() {
        let name = event.decoded_name().unwrap_or_default();
        let Some(elements) = array_of(list, &name)? else { continue };
        for element in elements.elements() {
            let element = element.to_serde_value().unwrap_or_default();
            let nested = element[LIST].as_array().into_iter().flatten();
            let own = nested.chain([&element]).filter(|it| is_own_hook(it));
            found.extend(own.map(|it| (name.clone(), it.clone())));
        }
    }
    Ok(found)
}

/// Removes those hooks, and the groups and events that have no others.
fn remove_own(list: &CstObject, is_own_hook: fn(&Value) -> bool) -> Result<(), String> {
    for event in list.properties() {
        let Some(elements) = array_of(list, &event.decoded_name().unwrap_or_default())? else {
            continue;
        };
        let mut is_changed = false;
        for element in elements.elements() {
            let value = element.to_serde_value().unwrap_or_default();
            let nested = element.as_object().and_then(|it| it.array_value(LIST));
            if is_own_hook(&value) {
                element.remove();
                is_changed = true;
            } else if let Some(nested) = nested {
                let is_ours = |it: &CstNode| is_own_hook(&it.to_serde_value().unwrap_or_default());
                let own: Vec<CstNode> = nested.elements().into_iter().filter(is_ours).collect();
                is_changed |= !own.is_empty();
                if !own.is_empty() && own.len() == nested.elements().len() {
                    element.remove();
                } else {
                    own.into_iter().for_each(CstNode::remove);
                }
            }
        }
        if is_changed && elements.elements().is_empty() {
            CstObjectProp::remove(event);
        }
    }
    Ok(())
}

fn finished(old: &str, mut new: String, change: Change) -> Result<Edited, String> {
    if !new.ends_with('\n') && old.trim().is_empty() {
        new.push('\n');
    }
    json::check_others(old, &new, strip)?;
    Ok(Edited { text: new, change })
}

/// Removes our hooks, what is empty without them, and the version.
fn strip(document: &mut Value) {
    let Some(outer) = document.as_object_mut() else { return };
    if outer.get("version") == Some(&Value::from(1)) {
        outer.remove("version");
    }
    let Some(list) = outer.get_mut(LIST).and_then(Value::as_object_mut) else { return };
    list.retain(|_, event| {
        let Some(elements) = event.as_array_mut() else { return true };
        elements.retain_mut(|element| {
            if let Some(nested) = element.get_mut(LIST).and_then(Value::as_array_mut) {
                nested.retain(|it| !is_own_hook(it));
                return !nested.is_empty();
            }
            !is_own_hook(element)
        });
        !elements.is_empty()
    });
    if list.is_empty() {
        outer.remove(LIST);
    }
}
