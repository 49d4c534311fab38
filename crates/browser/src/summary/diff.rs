//! What is new on a page since it was last read.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::show::{LISTS, Parts};

/// Of what is gone, so many are named in each list.
const GONE_MAX: usize = 20;

/// A page as it was read before.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(super) url: String,
    pub(super) parts: Parts,
}

/// What an entry is, whatever it is called now.
fn identity(entry: &Value) -> String {
    let mut entry = entry.clone();
    if let Some(members) = entry.as_object_mut() {
        members.remove("ref");
        members.remove("refs");
    }
    entry.to_string()
}

/// How an entry that is gone is named.
fn name(entry: &Value) -> Value {
    match entry {
        Value::Object(members) => {
            let named = ["text", "id", "selector"].iter().find_map(|it| members.get(*it));
            named.cloned().unwrap_or(Value::Null)
        }
        other => other.clone(),
    }
}

/// Leaves in `parts` what was not there before, and gives what is not there any more.
pub(super) fn reduce(parts: &mut Parts, before: &Parts) -> Value {
    let mut removed = Map::new();
    for (at, list) in LISTS.iter().enumerate() {
        let old: HashSet<String> = before.lists[at].iter().map(identity).collect();
        let new: HashSet<String> = parts.lists[at].iter().map(identity).collect();
        let gone = before.lists[at].iter().filter(|it| !new.contains(&identity(it)));
        let gone: Vec<Value> = gone.take(GONE_MAX).map(name).collect();
        let mut is_new = parts.lists[at].iter().map(|it| !old.contains(&identity(it)));
        let kept: Vec<bool> = is_new.by_ref().collect();
        parts.retain(at, &kept);
        if !gone.is_empty() {
            removed.insert((*list).to_owned(), gone.into());
        }
    }
    let old: HashSet<&str> = before.text.lines().collect();
    let new: HashSet<&str> = parts.text.lines().collect();
    let gone: Vec<&str> =
        before.text.lines().filter(|it| !new.contains(it)).take(GONE_MAX).collect();
    if !gone.is_empty() {
        removed.insert("text_content".to_owned(), json!(gone.join("\n")));
    }
    let added: Vec<&str> = parts.text.lines().filter(|it| !old.contains(it)).collect();
    parts.text = added.join("\n");
    Value::Object(removed)
}
