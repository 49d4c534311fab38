//! The stored form of a commit, and the per-file data derived from all commits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::renames::{Move, Present};
use super::{FRECENCY_FILES_MAX, History, LATELY, OFTEN};
use crate::discover::is_work;

/// The most paths in all commits together, so that no repository fills the memory; commits that are
/// too large for frecency anyway lose theirs first.
const MENTIONS_MAX: usize = 200_000;

/// A commit as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: Box<str>,
    pub(super) time: i64,
    pub(super) subject: Box<str>,
    pub(super) body: Box<str>,
    /// Indices into the list of paths, sorted.
    pub(super) paths: Vec<u32>,
    /// Whether all changes of the commit could be read, so that it need not be read again.
    pub(super) whole: bool,
}

/// A commit as read: its record, of which the paths are not yet in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) record: Record,
    pub(super) paths: Vec<Box<str>>,
    /// The files that it moved; nothing if it was read before.
    pub(super) moves: Vec<Move>,
}

/// What the commits say about a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct File {
    pub(super) frecency: f32,
    pub(super) last_change: i64,
}

impl History {
    /// Builds a history from drafts, newest first.
    pub(super) fn build(
        prefix: String,
        head: String,
        mut drafts: Vec<Draft>,
        present: &Present,
    ) -> Self {
        bound_mentions(&mut drafts);
        let named = drafts.iter().flat_map(|draft| &draft.paths);
        let mut places: BTreeMap<Box<str>, u32> =
            named.clone().map(|named| (named.clone(), 0)).collect();
        let moved: Vec<Move> = places
            .keys()
            .filter_map(|key| Some((key.clone(), present.heir(key)?.into())))
            .collect();
        places.extend(moved.iter().map(|moved| (moved.1.clone(), 0)));
        for (place, (_, it)) in places.iter_mut().enumerate() {
            *it = place as u32;
        }
        let record = |draft: Draft| {
            let mut paths: Vec<u32> = draft.paths.iter().map(|path| places[path]).collect();
            paths.sort_unstable();
            paths.dedup();
            Record { paths, ..draft.record }
        };
        let records = drafts.into_iter().map(record).collect();
        let moved = moved.iter().map(|(from, to)| (places[from], places[to])).collect();
        let paths = places.into_keys().collect();
        Self { prefix, head, paths, moved, files: Vec::new(), records }.derive()
    }

    /// Derives what the commits say about each file. All indices are valid.
    pub(super) fn derive(mut self) -> Self {
        let mut files = vec![File::default(); self.paths.len()];
        let mut lately = LATELY.0;
        for record in &self.records {
            let present = present(record, &self.moved);
            let count = present.len();
            for path in present {
                let file = &mut files[path as usize];
                file.last_change = file.last_change.max(record.time);
                if count <= FRECENCY_FILES_MAX {
                    file.frecency += (lately + OFTEN) / (count as f32).sqrt();
                }
            }
            if record.paths.iter().any(|&path| is_work(&self.paths[path as usize])) {
                lately *= LATELY.1;
            }
        }
        self.files = files;
        self
    }

    /// The record of a commit as a draft, if nothing of it was missing.
    pub(super) fn draft(&self, record: &Record) -> Option<Draft> {
        record.whole.then(|| Draft {
            record: record.clone(),
            paths: record.paths.iter().map(|&path| self.paths[path as usize].clone()).collect(),
            moves: Vec::new(),
        })
    }

    /// The files that have moved, and where they were when this was read.
    pub(super) fn moves(&self) -> impl Iterator<Item = Move> {
        let path = |number: u32| self.paths[number as usize].clone();
        self.moved.iter().map(move |(&from, &to)| (path(from), path(to)))
    }
}

/// The files of a commit where they are now, each once: one that it moved has two paths.
pub(super) fn present(record: &Record, moved: &BTreeMap<u32, u32>) -> Vec<u32> {
    let mut paths = record.paths.clone();
    if !moved.is_empty() {
        for path in &mut paths {
            *path = moved.get(path).copied().unwrap_or(*path);
        }
        paths.sort_unstable();
        paths.dedup();
    }
    paths
}

fn bound_mentions(drafts: &mut [Draft]) {
    let mut left = MENTIONS_MAX;
    for draft in drafts {
        match left.checked_sub(draft.paths.len()) {
            Some(less) => left = less,
            // No longer `whole`: once newer commits are gone, there may be room again.
            None if draft.paths.len() > FRECENCY_FILES_MAX => {
                draft.paths.clear();
                draft.record.whole = false;
            }
            None => left = 0,
        }
    }
}
