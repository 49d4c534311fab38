//! What is new on a page since it was last read.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher};

use serde_json::{Map, Value};

use super::extract::{self, CONTROLS, Extract, FORMS, LISTS, TEXT};
use super::lines::{compare, compare_texts};
use crate::protocol::Reference;

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
        let hash = |value: &Value| {
            BuildHasherDefault::<DefaultHasher>::default().hash_one(value.to_string())
        };
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
    pub(super) fn of(extract: &Extract) -> Self {
        let list = |at: usize| {
            let extract::List { entries, cut, .. } = &extract.lists[at];
            List {
                entries: entries.iter().map(|entry| Entry::of(&entry.shown)).collect(),
                is_cut: *cut,
                // Those in view are read first.
                has_view: !cut || entries.iter().any(|entry| !entry.in_view),
            }
        };
        let text = &extract.text;
        let end = text.char_indices().nth(LETTERS_MAX).map(|at| at.0);
        Self {
            url: extract.url.clone(),
            title: extract.title.clone(),
            document: extract.document,
            lists: std::array::from_fn(list),
            text: text[..end.unwrap_or(text.len())].to_owned(),
            is_text_cut: extract.text_cut || end.is_some(),
        }
    }

    /// The elements of all entries.
    pub(crate) fn references(&self) -> Vec<Reference> {
        self.lists
            .iter()
            .flat_map(|list| &list.entries)
            .filter_map(|entries| entries.reference)
            .collect()
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

/// Keeps only what is new or changed in a page, and returns the members of the summary that say how
/// the page differs besides.
pub(super) fn reduce(extract: &mut Extract, before: &Known, now: &Known) -> Map<String, Value> {
    let (mut removed, mut more) = (Map::new(), 0);
    let (mut reordered, mut partial) = (Vec::new(), Vec::new());
    let is_reloaded = before.document != now.document;
    let present: HashSet<Reference> = extract.present.iter().copied().collect();
    for (at, name) in LISTS.into_iter().enumerate() {
        let (old, new) = (&before.lists[at], &now.lists[at]);
        let has_elements = (FORMS..=CONTROLS).contains(&at);
        let mut changed = if has_elements && !is_reloaded {
            elements(&extract.lists[at], old, new, &present)
        } else {
            contents(old, new)
        };
        if has_elements && is_reloaded {
            // Their references are new.
            changed.kept.fill(true);
        }
        extract.lists[at].retain(&changed.kept);
        more += changed.gone.len().saturating_sub(GONE_MAX);
        changed.gone.truncate(GONE_MAX);
        if !changed.gone.is_empty() {
            removed.insert(name.to_owned(), changed.gone.into());
        }
        reordered.extend(changed.is_moved.then_some(name));
        partial.extend((old.is_cut || new.is_cut).then_some(name));
    }
    let cut = (before.is_text_cut, extract.text_cut);
    let (added, mut gone, is_moved) = compare_texts(&before.text, &extract.text, cut);
    let added = added.join("\n");
    more += gone.len().saturating_sub(GONE_MAX);
    gone.truncate(GONE_MAX);
    if !gone.is_empty() {
        removed.insert(TEXT.to_owned(), gone.join("\n").into());
    }
    extract.text = added;
    reordered.extend(is_moved.then_some(TEXT));
    partial.extend((cut.0 || cut.1).then_some(TEXT));
    if before.title != now.title {
        removed.insert("title".to_owned(), before.title.as_str().into());
    }
    if more > 0 {
        removed.insert("more".to_owned(), more.into());
    }
    let mut delta = Map::from_iter([("removed".to_owned(), removed.into())]);
    if is_reloaded {
        delta.insert("reloaded".to_owned(), true.into());
    }
    for (name, parts) in [("reordered", reordered), ("partial", partial)] {
        if !parts.is_empty() {
            delta.insert(name.to_owned(), parts.into());
        }
    }
    delta
}

/// Compares a list of elements of the same document.
fn elements(read: &extract::List, old: &List, new: &List, present: &HashSet<Reference>) -> Changed {
    let places: HashMap<Option<Reference>, usize> =
        old.entries.iter().enumerate().map(|(at, it)| (it.reference, at)).collect();
    let is_new = |(entry, seen): (&Entry, &extract::Entry)| match places.get(&entry.reference) {
        Some(place) => old.entries[*place].exact != entry.exact,
        // An entry that was not read when the page was last read is not new for that reason, but
        // one that came into view is shown.
        None => !old.is_cut || !seen.met || (seen.in_view && old.has_view),
    };
    let kept = new.entries.iter().zip(&read.entries).map(is_new).collect();
    let here: HashSet<Option<Reference>> =
        new.entries.iter().map(|entry| entry.reference).collect();
    let is_gone = |entry: &&Entry| {
        let is_present = || entry.reference.is_some_and(|reference| present.contains(&reference));
        !(here.contains(&entry.reference) || (new.is_cut && is_present()))
    };
    let gone = old.entries.iter().filter(is_gone).map(|entry| entry.name.clone()).collect();
    let order: Vec<usize> =
        new.entries.iter().filter_map(|entry| places.get(&entry.reference)).copied().collect();
    Changed { kept, gone, is_moved: order.windows(2).any(|window| window[0] > window[1]) }
}

/// Compares a list by what its entries show.
fn contents(old: &List, new: &List) -> Changed {
    let shown = |list: &List| list.entries.iter().map(|entry| entry.content).collect::<Vec<u64>>();
    let delta = compare(&shown(old), &shown(new), (old.is_cut, new.is_cut));
    let mut kept = vec![false; new.entries.len()];
    for at in delta.added {
        kept[at] = true;
    }
    let gone = delta.removed.iter().map(|removed| old.entries[*removed].name.clone()).collect();
    Changed { kept, gone, is_moved: delta.is_moved }
}
