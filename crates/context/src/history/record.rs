//! The stored form of a commit, and the per-file data derived from all commits.

use std::collections::BTreeMap;

use super::{
    COMMITS_MAX, FRECENCY_FILES_MAX, History, LATELY, OFTEN, SUBJECT_FILES_MAX, SUBJECTS_MAX,
};

/// The most paths in all commits together, so that no repository fills the memory; commits that are
/// too large for frecency anyway lose theirs first.
const MENTIONS_MAX: usize = 200_000;

/// A commit as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// A commit as read, with its own paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Draft {
    pub(super) id: Box<str>,
    pub(super) time: i64,
    pub(super) subject: Box<str>,
    pub(super) body: Box<str>,
    pub(super) paths: Vec<Box<str>>,
    pub(super) whole: bool,
}

/// What the commits say about a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct File {
    pub(super) frecency: f32,
    pub(super) last_change: i64,
    /// Indices of the records with its subjects, newest first.
    pub(super) subjects: Vec<u16>,
}

impl History {
    /// Builds a history from drafts, newest first.
    pub(super) fn build(
        prefix: String,
        head: String,
        mut drafts: Vec<Draft>,
        truncated: bool,
    ) -> Self {
        drafts.truncate(COMMITS_MAX);
        bound_mentions(&mut drafts);
        let mut places: BTreeMap<Box<str>, u32> =
            drafts.iter().flat_map(|it| &it.paths).map(|it| (it.clone(), 0)).collect();
        for (place, (_, it)) in places.iter_mut().enumerate() {
            *it = place as u32;
        }
        let records = drafts
            .into_iter()
            .map(|it| {
                let mut paths: Vec<u32> = it.paths.iter().map(|path| places[path]).collect();
                paths.sort_unstable();
                paths.dedup();
                Record {
                    id: it.id,
                    time: it.time,
                    subject: it.subject,
                    body: it.body,
                    paths,
                    whole: it.whole,
                }
            })
            .collect();
        Self::derive(prefix, head, places.into_keys().collect(), records, truncated)
    }

    /// Derives the rest from sorted paths and at most 600 records whose indices are valid.
    pub(super) fn derive(
        prefix: String,
        head: String,
        paths: Vec<Box<str>>,
        records: Vec<Record>,
        truncated: bool,
    ) -> Self {
        let mut files = vec![File::default(); paths.len()];
        let (mut lately, mut often) = (LATELY.0, OFTEN.0);
        for (place, record) in records.iter().enumerate() {
            let count = record.paths.len();
            for &path in &record.paths {
                let file = &mut files[path as usize];
                file.last_change = file.last_change.max(record.time);
                if count <= FRECENCY_FILES_MAX {
                    file.frecency += (lately + often) / (count as f32).sqrt();
                }
                if count <= SUBJECT_FILES_MAX && file.subjects.len() < SUBJECTS_MAX {
                    file.subjects.push(place as u16);
                }
            }
            lately *= LATELY.1;
            often *= OFTEN.1;
        }
        Self { prefix, head, truncated, paths, files, records }
    }

    /// The record of a commit as a draft, if nothing of it was missing.
    pub(super) fn draft(&self, record: &Record) -> Option<Draft> {
        record.whole.then(|| Draft {
            id: record.id.clone(),
            time: record.time,
            subject: record.subject.clone(),
            body: record.body.clone(),
            paths: record.paths.iter().map(|&it| self.paths[it as usize].clone()).collect(),
            whole: true,
        })
    }

    pub(super) fn records(&self) -> &[Record] {
        &self.records
    }
}

fn bound_mentions(drafts: &mut [Draft]) {
    let mut left = MENTIONS_MAX;
    for draft in drafts {
        match left.checked_sub(draft.paths.len()) {
            Some(less) => left = less,
            // No longer `whole`: once newer commits are gone, there may be room again.
            None if draft.paths.len() > FRECENCY_FILES_MAX => {
                draft.paths.clear();
                draft.whole = false;
            }
            None => left = 0,
        }
    }
}
