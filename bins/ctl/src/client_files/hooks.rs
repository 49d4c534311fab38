//! Our commands among the hooks of an agent.

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp};
use serde_json::Value;

use super::json;
use super::own_command::{self, Found, Own};
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
        // Those of others stay, in place of ours.
        let (had, kept): (Vec<_>, Vec<_>) =
            own_hooks(&list)?.into_iter().partition(|hook| hook.found.is_ours());
        let is_kept = |event: &Event| kept.iter().any(|hook| hook.event == event.name);
        let wanted: Vec<&Event> = self.events.iter().filter(|event| !is_kept(event)).collect();
        if had.len() == wanted.len() && wanted.iter().all(|event| event.is_among(&had)) {
            return Ok(Edited { text: text.to_owned(), change: Change::Nothing });
        }
        let change = if had.is_empty() { Change::Added } else { Change::Updated };
        remove_own(&list, Found::is_ours)?;
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
        if !own_hooks(&list)?.iter().any(|hook| hook.found.is_alone) {
            return Ok(Edited { text: text.to_owned(), change: Change::Nothing });
        }
        remove_own(&list, |found| found.is_alone)?;
        json::remove_if_empty(&outer, LIST)?;
        finished(text, root.to_string(), Change::Removed)
    }

    fn foreign(&self, text: &str) -> Result<Vec<String>, String> {
        let list = json::object_of(&json::document(text)?.1, LIST)?;
        let found = list.map(|list| own_hooks(&list)).transpose()?.unwrap_or_default();
        let foreign = found.iter().filter(|hook| !hook.found.is_ours());
        Ok(foreign
            .map(|hook| hook.found.shown(&format!("a hook of `{}`", hook.event), &hook.element))
            .collect())
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
    /// Whether one of the hooks is this one.
    fn is_among(&self, had: &[OwnHook]) -> bool {
        had.iter().any(|OwnHook { event, hook, .. }| {
            event == self.name
                && hook["command"] == self.command.as_str()
                && hook["timeout"] == self.timeout_seconds
                && hook["async"].as_bool().unwrap_or(false) == self.is_async
        })
    }
}

/// A hook of a file that runs ours, or looks as if it did.
struct OwnHook {
    event: String,
    hook: Value,
    /// The hook, or the group that has it.
    element: Value,
    found: Found,
}

/// What a hook is, in the element of an event's array that it is or that has it.
fn found(hook: &Value, element: &Value) -> Option<Found> {
    let words = hook["command"].as_str().and_then(own_command::words).unwrap_or_default();
    let found = Own::Hook
        .found(&words, &own_command::texts(&serde_json::json!([hook["command"], hook["args"]])))?;
    let found = found.with_members(hook, &["command", "timeout", "async"]);
    Some(if hook == element { found } else { found.with_members(element, &[LIST]) })
}

/// The array that a member has, if the member exists.
fn array_of(object: &CstObject, name: &str) -> Result<Option<CstArray>, String> {
    let Some(member) = json::member(object, name) else { return Ok(None) };
    let value = member.array_value();
    value.map(Some).ok_or_else(|| format!("\"{name}\" of \"{LIST}\" is not an array"))
}

fn own_hooks(list: &CstObject) -> Result<Vec<OwnHook>, String> {
    let mut own = Vec::new();
    for event in list.properties() {
        let event = event.decoded_name().unwrap_or_default();
        for element in array_of(list, &event)?.iter().flat_map(CstArray::elements) {
            let element = element.to_serde_value().unwrap_or_default();
            let nested = element[LIST].as_array().into_iter().flatten();
            own.extend(nested.chain([&element]).filter_map(|hook| {
                let found = found(hook, &element)?;
                let (event, element) = (event.clone(), element.clone());
                Some(OwnHook { event, hook: hook.clone(), element, found })
            }));
        }
    }
    Ok(own)
}

/// Removes those hooks, and the groups and events that have no others.
fn remove_own(list: &CstObject, is_removed: fn(&Found) -> bool) -> Result<(), String> {
    for event in list.properties() {
        let Some(elements) = array_of(list, &event.decoded_name().unwrap_or_default())? else {
            continue;
        };
        let mut is_changed = false;
        for element in elements.elements() {
            let value = element.to_serde_value().unwrap_or_default();
            let is_own = |hook: &Value| found(hook, &value).is_some_and(|found| is_removed(&found));
            let nested = element.as_object().and_then(|object| object.array_value(LIST));
            if is_own(&value) {
                element.remove();
                is_changed = true;
            } else if let Some(nested) = nested {
                let is_ours = |node: &CstNode| is_own(&node.to_serde_value().unwrap_or_default());
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
    let is_own = |hook: &Value| found(hook, hook).is_some_and(|found| found.is_alone);
    list.retain(|_, event| {
        let Some(elements) = event.as_array_mut() else { return true };
        elements.retain_mut(|element| {
            if let Some(nested) = element.get_mut(LIST).and_then(Value::as_array_mut) {
                nested.retain(|nested| !is_own(nested));
                return !nested.is_empty();
            }
            !is_own(element)
        });
        !elements.is_empty()
    });
    if list.is_empty() {
        outer.remove(LIST);
    }
}
