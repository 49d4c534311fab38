//! What is new on a page since it was last read.

use std::collections::HashSet;

use serde_json::Value;

use super::page::{Part, Removed};
use super::show::Parts;

/// How many removed entries of each list are named.
const GONE_MAX: usize = 20;

/// A page as it was last read.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(super) url: String,
    /// The entries of each list that were read, on the wire.
    pub(super) entries: [Vec<Value>; 6],
    /// The number of entries on the page.
    pub(super) totals: [u64; 6],
    pub(super) text: String,
    /// The approximate number of letters in the whole text.
    pub(super) letters: u64,
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

/// The element of an entry.
fn reference(entry: &Value) -> Option<&str> {
    entry.get("ref").and_then(Value::as_str)
}

/// The name of a removed entry.
fn name(entry: &Value) -> String {
    let named = match entry {
        Value::Object(members) => ["text", "id", "selector"].iter().find_map(|it| members.get(*it)),
        other => Some(other),
    };
    named.and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Keeps only the new entries in `parts`, and returns the removed ones.
pub(super) fn reduce(parts: &mut Parts, before: &Known) -> Removed {
    let mut removed = Removed::default();
    for (at, list) in Part::LISTS.into_iter().enumerate() {
        let old: HashSet<String> = before.entries[at].iter().map(identity).collect();
        let new: HashSet<String> = parts.entries[at].iter().map(identity).collect();
        // One that has changed is among the new ones.
        let present: HashSet<&str> = parts.entries[at].iter().filter_map(reference).collect();
        let gone = before.entries[at].iter().filter(|it| {
            !new.contains(&identity(it)) && reference(it).is_none_or(|it| !present.contains(it))
        });
        let gone: Vec<String> = gone.take(GONE_MAX).map(name).collect();
        // An entry that did not fit when the page was last read is not new for that reason.
        let was_met = |at: usize, entry: usize| parts.met[at].get(entry) == Some(&true);
        let is_known = |(entry, it): (usize, &Value)| {
            old.contains(&identity(it)) || (before.is_cut(at) && was_met(at, entry))
        };
        let kept: Vec<bool> =
            parts.entries[at].iter().enumerate().map(|it| !is_known(it)).collect();
        parts.retain(at, &kept);
        if !gone.is_empty() {
            removed.entries.push((list, gone));
        }
    }
    let text = std::mem::take(&mut parts.content.text);
    let old: HashSet<&str> = before.text.lines().collect();
    let new: HashSet<&str> = text.lines().collect();
    let gone: Vec<&str> =
        before.text.lines().filter(|it| !new.contains(it)).take(GONE_MAX).collect();
    removed.text = (!gone.is_empty()).then(|| gone.join("\n"));
    let added = text.lines().take(before.read_to(&text)).filter(|it| !old.contains(it));
    parts.content.text = added.collect::<Vec<&str>>().join("\n");
    removed
}

impl Known {
    /// Whether some entries of a list were not read.
    fn is_cut(&self, list: usize) -> bool {
        (self.entries[list].len() as u64) < self.totals[list]
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
