//! What is new on a page since it was last read.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::show::{LISTS, Parts};

/// How many removed entries of each list are named.
const GONE_MAX: usize = 20;

/// A page as it was last read.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(super) url: String,
    pub(super) parts: Parts,
}

/// The identity of an entry, whatever its reference is now.
fn identity(entry: &Value) -> String {
    let mut entry = entry.clone();
    if let Some(members) = entry.as_object_mut() {
        members.remove("ref");
        members.remove("refs");
    }
    entry.to_string()
}

/// The name of a removed entry.
fn name(entry: &Value) -> Value {
    match entry {
        Value::Object(members) => {
            let named = ["text", "id", "selector"].iter().find_map(|it| members.get(*it));
            named.cloned().unwrap_or(Value::Null)
        }
        other => other.clone(),
    }
}

/// Keeps only the new entries in `parts`, and returns the removed ones.
pub(super) fn reduce(parts: &mut Parts, before: &Parts) -> Value {
    let mut removed = Map::new();
    for (at, list) in LISTS.iter().enumerate() {
        let old: HashSet<String> = before.lists[at].iter().map(identity).collect();
        let new: HashSet<String> = parts.lists[at].iter().map(identity).collect();
        let gone = before.lists[at].iter().filter(|it| !new.contains(&identity(it)));
        let gone: Vec<Value> = gone.take(GONE_MAX).map(name).collect();
        // An entry that did not fit when the page was last read is not new for that reason.
        let was_met = |at: usize, entry: usize| parts.met[at].get(entry) == Some(&true);
        let is_known = |(entry, it): (usize, &Value)| {
            old.contains(&identity(it)) || (before.is_cut(at) && was_met(at, entry))
        };
        let kept: Vec<bool> = parts.lists[at].iter().enumerate().map(|it| !is_known(it)).collect();
        parts.retain(at, &kept);
        if !gone.is_empty() {
            removed.insert((*list).to_owned(), gone.into());
        }
    }
    let old: HashSet<&str> = before.text.lines().collect();
    let known_to = before.read_to(&parts.text);
    let new: HashSet<&str> = parts.text.lines().collect();
    let gone: Vec<&str> =
        before.text.lines().filter(|it| !new.contains(it)).take(GONE_MAX).collect();
    if !gone.is_empty() {
        removed.insert("text_content".to_owned(), json!(gone.join("\n")));
    }
    let added: Vec<&str> =
        parts.text.lines().take(known_to).filter(|it| !old.contains(it)).collect();
    parts.text = added.join("\n");
    Value::Object(removed)
}

impl Parts {
    /// Whether some entries of a list were not read.
    fn is_cut(&self, list: usize) -> bool {
        (self.lists[list].len() as u64) < self.totals[list]
    }

    /// How many of these lines, of the same page later, can be compared with those that were read:
    /// all of them, or if not all were read, those up to the last known one.
    fn read_to(&self, text: &str) -> usize {
        if self.text.chars().count() as u64 >= self.letters {
            return usize::MAX;
        }
        let lines: Vec<&str> = self.text.lines().collect();
        // The last one may have been truncated.
        let whole: HashSet<&str> = lines.iter().rev().skip(1).copied().collect();
        text.lines().enumerate().filter(|it| whole.contains(it.1)).last().map_or(0, |it| it.0 + 1)
    }
}
