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

/// Reads the commits that count, newest first. What is missing, as in a shallow clone, is left out.
pub(super) fn walk(
    objects: &Objects<'_>,
    head: ObjectId,
    prefix: &str,
    known: Option<&History>,
    redact: Redact<'_>,
) -> Result<Vec<Draft>> {
    let known: HashMap<&str, (&History, &Record)> = known
        .map(|history| {
            history.records.iter().map(|record| (&*record.id, (history, record))).collect()
        })
        .unwrap_or_default();
    let mut drafts = Vec::new();
    let mut reader = Reader { objects, prefix, redact, state: State::default() };
    let mut queue = BinaryHeap::new();
    let mut seen = HashSet::from([head]);
    let mut buffer = Vec::new();
    queue.extend(objects.commit(&head, &mut buffer).map(|commit| (commit.time, head)));
    let (mut visited, mut used) = (0, 0);
    while let Some((_, id)) = queue.pop() {
        objects.check()?;
        visited += 1;
        if visited > VISITED_MAX || objects.spent() {
            break;
        }
        let Some(commit) = objects.commit(&id, &mut buffer) else { continue };
        // The tree that it is compared with; nothing for the first commit.
        let mut before = Ok(None);
        let mut parent_buffer = Vec::new();
        for parent in &commit.parents {
            if let Some(it) = objects.commit(parent, &mut parent_buffer) {
                before = Ok(Some(it.tree));
                if seen.insert(*parent) {
                    queue.push((it.time, *parent));
                }
            } else {
                // As in a shallow clone.
                before = Err(Missing);
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
            used += usize::from(draft.paths.iter().any(|path| is_work(path)));
            drafts.push(draft);
        }
        if used == USED_MAX || drafts.len() == COMMITS_MAX {
            break;
        }
    }
    objects.check()?;
    Ok(drafts)
}

struct Reader<'a> {
    objects: &'a Objects<'a>,
    prefix: &'a str,
    redact: Redact<'a>,
    state: State,
}

impl Reader<'_> {
    /// The stored form of a commit; nothing if it changes nothing below the folder.
    fn draft(
        &mut self,
        id: String,
        commit: &Commit<'_>,
        before: Result<Option<ObjectId>, Missing>,
    ) -> Option<Draft> {
        let difference = before.and_then(|old| self.difference(old, commit.tree));
        let whole = difference.is_ok();
        let (paths, moves) = match difference {
            Ok(Some((paths, _))) if paths.is_empty() && !self.prefix.is_empty() => return None,
            Ok(difference) => difference.unwrap_or_default(),
            Err(Missing) => Difference::default(),
        };
        let (subject, body) = self.texts(commit.message);
        let (id, time) = (id.into(), commit.time);
        let record = Record { id, time, subject, body, paths: Vec::new(), whole };
        Some(Draft { record, paths, moves })
    }

    fn difference(
        &mut self,
        old: Option<ObjectId>,
        new: ObjectId,
    ) -> Result<Option<Difference>, Missing> {
        let below = |tree| below(self.objects, tree, self.prefix);
        let old = old.map(below).transpose()?.flatten();
        differing(self.objects, &mut self.state, old, below(new)?)
    }

    fn texts(&self, message: &BStr) -> (Box<str>, Box<str>) {
        let message = &message[..message.len().min(MESSAGE_BYTES_MAX)];
        let message = message.to_str_lossy();
        let message = (self.redact)(message.trim());
        let message = MessageRef::from_bytes(message.as_bytes());
        let subject = message.summary().to_str_lossy().into_owned();
        let body = message.body().map(|body| body.without_trailer().to_str_lossy().into_owned());
        let body = body.unwrap_or_default();
        (cut(subject.trim(), SUBJECT_CHARS_MAX), cut(body.trim(), BODY_CHARS_MAX))
    }
}

fn cut(text: &str, chars_max: usize) -> Box<str> {
    let end = text.char_indices().nth(chars_max).map_or(text.len(), |(at, _)| at);
    text[..end].into()
}
