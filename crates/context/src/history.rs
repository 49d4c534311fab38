//! What git tells of a project: which files are changed often and lately, and in which words.
//!
//! Only objects, refs and the index are read, by gitoxide's parts for them; no configuration is
//! looked at but where a submodule has its files, so that nothing in a repository can have a
//! program started: there are no hooks, filters, monitors or transports here. What is read, and
//! what is refused because it lies elsewhere, is in [`place`].

mod codec;
mod diff;
mod head;
mod objects;
mod place;
mod record;
mod refs;
mod status;
mod walk;

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use crate::Result;
use objects::Objects;
use place::Place;
use record::{File, Record};

pub use head::{Head, head, main_worktree};
pub use status::{Change, Present, changed, tracked_below};

/// Takes the secrets out of a text before it is kept.
pub type Redact<'a> = &'a dyn Fn(&str) -> Cow<'_, str>;

/// Commits that count, merges aside. More were measured to add nothing.
const COMMITS_MAX: usize = 600;
/// Commits that are items by themselves.
const ITEMS_MAX: usize = 500;
/// Subjects that a file is found by.
const SUBJECTS_MAX: usize = 60;
/// A commit with more files says nothing about which of them belong together or are worked on.
const FRECENCY_FILES_MAX: usize = 30;
/// A commit with more files is not described by its subject as far as one of them is concerned.
const SUBJECT_FILES_MAX: usize = 20;
/// What the newest commit counts for what is worked on just now, and what is left of it with each
/// newer one: half after 14.
const LATELY: (f32, f32) = (0.8, 0.95);
/// The same for what is worked on in general: half after 346.
const OFTEN: (f32, f32) = (0.2, 0.998);

/// The newest commits of a repository, as seen from a folder in it. Paths are relative to that
/// folder, and those outside it are left out.
///
/// It is made by [`History::read`], and costs nothing to ask: everything is worked out by then.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The folder in its working tree: "" or "a/b/".
    prefix: String,
    head: String,
    truncated: bool,
    /// Every path that a record names, in order.
    paths: Vec<Box<str>>,
    /// Of each path.
    files: Vec<File>,
    /// The newest first.
    records: Vec<Record>,
}

impl History {
    /// Reads the repository that `root` is in: its last 600 commits that are no merges (and, where
    /// `root` is below the repository's top folder, change something in it), by time. Nothing if
    /// there is no repository, or no commit in it yet.
    ///
    /// Commits that `known` has are not compared with their parents again, whichever branch they
    /// were read from, so that a new commit costs little. Otherwise every commit costs as many
    /// trees as folders that it changes. A commit with more than 2,000 changes has no paths here.
    ///
    /// # Errors
    ///
    /// A repository that lies elsewhere than in a folder above, that takes objects from elsewhere,
    /// or is of a format that is not read here; [`Cancelled`](crate::Error::Cancelled), which is
    /// asked for at each object. Objects that are missing or damaged are no error: what they would
    /// have told is missing.
    pub fn read(
        root: &Path,
        known: Option<&Self>,
        redact: Redact<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<Option<Self>> {
        let Some(place) = Place::find(root)? else { return Ok(None) };
        let Some(head) = refs::head(&place)?.id else { return Ok(None) };
        let known = known.filter(|it| it.prefix == place.prefix);
        let walk = guarded(&place, || {
            let objects = Objects::open(&place, cancel)?;
            walk::walk(&objects, head, &place.prefix, known, redact)
        })?;
        Ok(Some(Self::build(place.prefix, head.to_string(), walk.drafts, walk.truncated)))
    }

    /// The commit that was checked out, in hexadecimal.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// Whether some of the last 600 commits, or the paths of one, could not be read: a shallow or
    /// partial clone, damage, or a repository beyond the limits.
    pub fn truncated(&self) -> bool {
        self.truncated
    }

    /// How often and lately a file was changed: `Σ (0.8·0.95^age + 0.2·0.998^age) / √files` over the
    /// commits of at most 30 files that changed it, where `age` counts the newer commits, not days (a project that
    /// rests keeps what it was about), and `files` those of the commit. 0 if it was not changed.
    ///
    /// The word and the idea are Mozilla's, for visited pages. What it is worth here was measured
    /// by how well it tells the files of the next commit: `docs/context.md`.
    pub fn frecency(&self, path: &str) -> f32 {
        self.file(path).map_or(0.0, |it| it.frecency)
    }

    /// Every file that has a frecency, the greatest first, then by path.
    pub fn frecent(&self) -> impl Iterator<Item = (&str, f32)> {
        let mut order: Vec<_> =
            self.paths.iter().zip(&self.files).filter(|(_, it)| it.frecency > 0.0).collect();
        order.sort_by(|a, b| b.1.frecency.total_cmp(&a.1.frecency));
        order.into_iter().map(|(path, it)| (&**path, it.frecency))
    }

    /// The subjects of the newest commits of at most 20 files that changed a file, at most 60, the
    /// newest first.
    pub fn subjects(&self, path: &str) -> impl Iterator<Item = &str> {
        let commits = self.file(path).map_or(&[][..], |it| &it.subjects);
        commits.iter().map(|&it| &*self.records[usize::from(it)].subject)
    }

    /// When a file was last changed by a commit that was read, in seconds since 1970.
    pub fn last_change(&self, path: &str) -> Option<i64> {
        self.file(path).map(|it| it.last_change)
    }

    /// The newest commits, at most 500, the newest first.
    pub fn commits(&self) -> impl ExactSizeIterator<Item = Commit<'_>> {
        self.records.iter().take(ITEMS_MAX).map(|record| Commit { history: self, record })
    }

    /// One of them, by its place.
    pub(crate) fn commit(&self, place: usize) -> Option<Commit<'_>> {
        let record = self.records[..self.records.len().min(ITEMS_MAX)].get(place)?;
        Some(Commit { history: self, record })
    }

    /// How many paths the commits name together.
    pub(crate) fn paths_len(&self) -> usize {
        self.paths.len()
    }

    /// As bytes with a version and a checksum, for [`decode`](Self::decode).
    pub fn encode(&self) -> Vec<u8> {
        codec::encode(self)
    }

    /// What [`encode`](Self::encode) gave; nothing if it is damaged, or of another version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        codec::decode(bytes)
    }

    fn file(&self, path: &str) -> Option<&File> {
        let at = self.paths.binary_search_by(|it| (**it).cmp(path)).ok()?;
        Some(&self.files[at])
    }
}

/// Reads what others may have written. Should a parser of theirs run into something that it did not
/// expect, a repository is not read; nothing else ends.
fn guarded<T>(place: &Place, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| place::refused(&place.git_dir, "damaged; `git fsck` says more"))
}

/// A commit that is no merge.
#[derive(Debug, Clone, Copy)]
pub struct Commit<'a> {
    history: &'a History,
    record: &'a Record,
}

impl<'a> Commit<'a> {
    /// In hexadecimal.
    pub fn id(&self) -> &'a str {
        &self.record.id
    }

    /// When it was committed, in seconds since 1970, within the years 1970 to 9999.
    pub fn time(&self) -> i64 {
        self.record.time
    }

    /// The first paragraph of its message in one line, at most 300 characters.
    pub fn subject(&self) -> &'a str {
        &self.record.subject
    }

    /// The rest of its message without trailers such as `Signed-off-by`, at most 1,500 characters.
    pub fn body(&self) -> &'a str {
        &self.record.body
    }

    /// The files below the folder that it made, changed or removed, in order; a file that was
    /// renamed is two.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        self.places().map(|it| it.1)
    }

    /// The same, each with its place among the paths that all commits name.
    pub(crate) fn places(&self) -> impl ExactSizeIterator<Item = (u32, &'a str)> + use<'a> {
        let paths = &self.history.paths;
        self.record.paths.iter().map(|&it| (it, &*paths[it as usize]))
    }
}
