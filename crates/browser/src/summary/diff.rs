//! What is new on a page since it was last read.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use serde_json::Value;

use super::lines::{compare, compare_texts};
use super::page::{Part, Removed, Summary};
use super::show::Parts;
use crate::engine::Reference;

/// How many removed entries of each list are named.
const GONE_MAX: usize = 20;
/// Letters of a text that are kept for a comparison.
const LETTERS_MAX: usize = 400_000;
/// Letters of an entry's name that are kept.
const NAME_MAX: usize = 160;

/// A page as it was last read, before the budget's cut.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(super) url: String,
    title: String,
    /// The number of the document.
    document: u64,
    lists: [List; 6],
    text: String,
    is_text_cut: bool,
}

/// A list as it was last read.
#[derive(Debug, Clone, Default)]
struct List {
    entries: Vec<Entry>,
    /// Not all of its entries were read.
    is_cut: bool,
    /// All entries in view were read.
    has_view: bool,
}

/// An entry as it was last read.
#[derive(Debug, Clone)]
struct Entry {
    /// The element.
    reference: Option<Reference>,
    /// A hash of all that is shown of it.
    exact: u64,
    /// A hash of what stays the same when the page is loaded again.
    content: u64,
    name: String,
}

impl Entry {
    fn of(value: &Value) -> Self {
        let hash =
            |it: &Value| BuildHasherDefault::<DefaultHasher>::default().hash_one(it.to_string());
        let reference = value.get("ref").and_then(Value::as_str).and_then(Reference::parse);
        let mut content = value.clone();
        if let Some(members) = content.as_object_mut() {
            for name in ["ref", "refs", "selector", "selectors"] {
                members.remove(name);
            }
        }
        let name = name(value).chars().take(NAME_MAX).collect();
        Self { reference, exact: hash(value), content: hash(&content), name }
    }
}

/// The name of an entry.
fn name(entry: &Value) -> &str {
    let named = match entry {
        Value::Object(members) => ["text", "id", "selector"].iter().find_map(|it| members.get(*it)),
        other => Some(other),
    };
    named.and_then(Value::as_str).unwrap_or_default()
}

impl Known {
    pub(super) fn of(summary: &Summary, parts: &Parts, document: u64) -> Self {
        let list = |at: usize| List {
            entries: parts.entries[at].iter().map(Entry::of).collect(),
            is_cut: parts.is_cut[at],
            // Those in view are read first.
            has_view: !parts.is_cut[at] || parts.seen[at].iter().any(|it| !it.in_view),
        };
        let text = &parts.content.text;
        let end = text.char_indices().nth(LETTERS_MAX).map(|it| it.0);
        Self {
            url: summary.url.clone(),
            title: summary.title.clone(),
            document,
            lists: std::array::from_fn(list),
            text: text[..end.unwrap_or(text.len())].to_owned(),
            is_text_cut: parts.is_text_cut || end.is_some(),
        }
    }

    /// The elements of all entries.
    pub(crate) fn references(&self) -> Vec<Reference> {
        self.lists.iter().flat_map(|it| &it.entries).filter_map(|it| it.reference).collect()
    }
}

/// What changed in a list.
struct Changed {
    /// Which of its entries are new or changed.
    kept: Vec<bool>,
    /// The names of those that are gone.
    gone: Vec<String>,
    is_moved: bool,
}

/// Keeps only the new and the changed entries in `parts`, and returns how the page differs besides.
/// `present` are elements of `before` that are not read again, but still visible.
pub(super) fn reduce(
    parts: &mut Parts,
    before: &Known,
    now: &Known,
    present: &[Reference],
) -> Removed {
    let mut removed = Removed {
        title: (before.title != now.title).then(|| before.title.clone()),
        reloaded: before.document != now.document,
        ..Removed::default()
    };
    let present: HashSet<Reference> = present.iter().copied().collect();
    for (at, list) in Part::LISTS.into_iter().enumerate() {
        let (old, new) = (&before.lists[at], &now.lists[at]);
        let has_elements = (1..=4).contains(&at);
        let mut changed = if has_elements && !removed.reloaded {
            elements(parts, at, old, new, &present)
        } else {
            contents(old, new)
        };
        if has_elements && removed.reloaded {
            // Their references are new.
            changed.kept.fill(true);
        }
        parts.retain(at, &changed.kept);
        removed.more += changed.gone.len().saturating_sub(GONE_MAX) as u64;
        changed.gone.truncate(GONE_MAX);
        if !changed.gone.is_empty() {
            removed.entries.push((list, changed.gone));
        }
        if changed.is_moved {
            removed.reordered.push(list);
        }
        if old.is_cut || new.is_cut {
            removed.partial.push(list);
        }
    }
    let text = std::mem::take(&mut parts.content.text);
    let cut = (before.is_text_cut, parts.is_text_cut);
    let (added, mut gone, is_moved) = compare_texts(&before.text, &text, cut);
    parts.content.text = added.join("\n");
    removed.more += gone.len().saturating_sub(GONE_MAX) as u64;
    gone.truncate(GONE_MAX);
    removed.text = (!gone.is_empty()).then(|| gone.join("\n"));
    if is_moved {
        removed.reordered.push(Part::Text);
    }
    if cut.0 || cut.1 {
        removed.partial.push(Part::Text);
    }
    removed
}

/// Compares a list of elements of the same document.
fn elements(
    parts: &Parts,
    at: usize,
    old: &List,
    new: &List,
    present: &HashSet<Reference>,
) -> Changed {
    let places: HashMap<Option<Reference>, usize> =
        old.entries.iter().enumerate().map(|(at, it)| (it.reference, at)).collect();
    let is_new = |(entry, seen): (&Entry, &super::show::Seen)| match places.get(&entry.reference) {
        Some(place) => old.entries[*place].exact != entry.exact,
        // An entry that was not read when the page was last read is not new for that reason, but
        // one that came into view is shown.
        None => !old.is_cut || !seen.met || (seen.in_view && old.has_view),
    };
    let kept = new.entries.iter().zip(&parts.seen[at]).map(is_new).collect();
    let here: HashSet<Option<Reference>> = new.entries.iter().map(|it| it.reference).collect();
    let is_gone = |it: &&Entry| {
        let is_present = || it.reference.is_some_and(|it| present.contains(&it));
        !(here.contains(&it.reference) || (new.is_cut && is_present()))
    };
    let gone = old.entries.iter().filter(is_gone).map(|it| it.name.clone()).collect();
    let order: Vec<usize> =
        new.entries.iter().filter_map(|it| places.get(&it.reference)).copied().collect();
    Changed { kept, gone, is_moved: order.windows(2).any(|it| it[0] > it[1]) }
}

/// Compares a list by what its entries show.
fn contents(old: &List, new: &List) -> Changed {
    let shown = |list: &List| list.entries.iter().map(|it| it.content).collect::<Vec<u64>>();
    let delta = compare(&shown(old), &shown(new), (old.is_cut, new.is_cut));
    let mut kept = vec![false; new.entries.len()];
    for at in delta.added {
        kept[at] = true;
    }
    let gone = delta.removed.iter().map(|it| old.entries[*it].name.clone()).collect();
    Changed { kept, gone, is_moved: delta.is_moved }
}
