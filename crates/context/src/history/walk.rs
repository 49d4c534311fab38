//! Walks back from HEAD, newest commit first.

use std::collections::{BinaryHeap, HashMap, HashSet};

use gix_diff::tree::State;
use gix_hash::ObjectId;
use gix_object::bstr::{BStr, ByteSlice};
use gix_object::commit::MessageRef;

use super::diff::{Difference, Missing, below, differing};
use super::objects::{Commit, Objects};
use super::record::{Draft, Record};
use super::{COMMITS_MAX, History, Redact, USED_MAX};
use crate::Result;
use crate::discover::is_work;

/// The most commits visited, including merges and those that change nothing below the folder.
const VISITED_MAX: usize = 10_000;
const SUBJECT_CHARS_MAX: usize = 300;
const BODY_CHARS_MAX: usize = 1_500;
/// How much of a message is searched for secrets, and cut only afterwards, so that no secret is cut
/// in two before it is found.
const MESSAGE_BYTES_MAX: usize = 16 << 10;

pub(super) struct Walk {
    /// Newest first.
    pub(super) drafts: Vec<Draft>,
    pub(super) truncated: bool,
}

/// Reads the commits that count.
pub(super) fn walk(
    objects: &Objects<'_>,
    head: ObjectId,
    prefix: &str,
    known: Option<&History>,
    redact: Redact<'_>,
) -> Result<Walk> {
    let known: HashMap<&str, (&History, &Record)> = known
        .map(|history| history.records().iter().map(|it| (&*it.id, (history, it))).collect())
        .unwrap_or_default();
    let mut walk = Walk { drafts: Vec::new(), truncated: false };
    let mut reader = Reader { objects, prefix, redact, state: State::default() };
    let mut queue = BinaryHeap::new();
    let mut seen = HashSet::from([head]);
    let mut buffer = Vec::new();
    match objects.commit(&head, &mut buffer) {
        Some(it) => queue.push((it.time, head)),
        None => walk.truncated = true,
    }
    let (mut visited, mut used) = (0, 0);
    while let Some((_, id)) = queue.pop() {
        objects.check()?;
        visited += 1;
        if visited > VISITED_MAX || objects.spent() {
            walk.truncated = true;
            break;
        }
        let Some(commit) = objects.commit(&id, &mut buffer) else {
            walk.truncated = true;
            continue;
        };
        let mut before = Before::Nothing;
        let mut parent_buffer = Vec::new();
        for parent in &commit.parents {
            if let Some(it) = objects.commit(parent, &mut parent_buffer) {
                before = Before::Tree(it.tree);
                if seen.insert(*parent) {
                    queue.push((it.time, *parent));
                }
            } else {
                // As in a shallow clone.
                before = Before::Missing;
                walk.truncated = true;
            }
        }
        if commit.parents.len() > 1 {
            continue;
        }
        let name = id.to_string();
        let again = known.get(&*name).and_then(|(history, it)| history.draft(it));
        let draft = match again {
            Some(it) => Some(it),
            None => reader.draft(name, &commit, before),
        };
        if let Some(draft) = draft {
            walk.truncated |= !draft.whole;
            used += usize::from(draft.paths.iter().any(|it| is_work(it)));
            walk.drafts.push(draft);
        }
        if used == USED_MAX || walk.drafts.len() == COMMITS_MAX {
            break;
        }
    }
    objects.check()?;
    Ok(walk)
}

/// What a commit is compared with.
#[derive(Debug, Clone, Copy)]
enum Before {
    /// It is the first commit.
    Nothing,
    Tree(ObjectId),
    Missing,
}

struct Reader<'a> {
    objects: &'a Objects<'a>,
    prefix: &'a str,
    redact: Redact<'a>,
    state: State,
}

impl Reader<'_> {
    /// The stored form of a commit; nothing if it changes nothing below the folder.
    fn draft(&mut self, id: String, commit: &Commit<'_>, before: Before) -> Option<Draft> {
        let (paths, moves, whole) = match self.difference(before, commit.tree) {
            Ok(Difference::Files(paths, _)) if paths.is_empty() && !self.prefix.is_empty() => {
                return None;
            }
            Ok(Difference::Files(paths, moves)) => (paths, moves, true),
            Ok(Difference::Many) => (Vec::new(), Vec::new(), true),
            Ok(Difference::Unknown) | Err(Missing) => (Vec::new(), Vec::new(), false),
        };
        let (subject, body) = self.texts(commit.message);
        Some(Draft { id: id.into(), time: commit.time, subject, body, paths, moves, whole })
    }

    fn difference(&mut self, before: Before, new: ObjectId) -> Result<Difference, Missing> {
        let old = match before {
            Before::Nothing => None,
            Before::Tree(it) => below(self.objects, it, self.prefix)?,
            Before::Missing => return Err(Missing),
        };
        let new = below(self.objects, new, self.prefix)?;
        Ok(differing(self.objects, &mut self.state, old, new))
    }

    fn texts(&self, message: &BStr) -> (Box<str>, Box<str>) {
        let message = &message[..message.len().min(MESSAGE_BYTES_MAX)];
        let message = message.to_str_lossy();
        let message = (self.redact)(message.trim());
        let message = MessageRef::from_bytes(message.as_bytes());
        let subject = message.summary().to_str_lossy().into_owned();
        let body = message.body().map(|it| it.without_trailer().to_str_lossy().into_owned());
        let body = body.unwrap_or_default();
        (cut(subject.trim(), SUBJECT_CHARS_MAX), cut(body.trim(), BODY_CHARS_MAX))
    }
}

fn cut(text: &str, chars_max: usize) -> Box<str> {
    let end = text.char_indices().nth(chars_max).map_or(text.len(), |(at, _)| at);
    text[..end].into()
}
