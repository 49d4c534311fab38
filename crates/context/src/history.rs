//! The git history of a project: which files change often and recently, and the commit subjects
//! that describe the changes.
//!
//! Only objects, refs and the index are read, by gitoxide's crates for them. The only configuration
//! read is where a submodule has its files, so nothing in a repository can cause a program to be
//! started: there are no hooks, filters, monitors or transports here. [`place`] documents what is
//! read, and what is rejected because it is elsewhere.

mod diff;
mod head;
mod objects;
mod place;
mod record;
mod renames;
mod status;
mod walk;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Result;
use objects::Objects;
use place::Place;
use record::{File, Record};

pub use head::{head_files, main_worktree};
pub use status::{Present, Tracked, changed, tracked_below};
use waypost_time::Timestamp;

/// Removes the secrets from a text before it is stored.
pub type Redact<'a> = &'a dyn Fn(&str) -> Cow<'_, str>;

/// The start of a stored history; another number for another format.
const MAGIC: &[u8] = b"WPgh\x03\0";
/// The most commits read, merges excluded.
const COMMITS_MAX: usize = 2_000;
/// The most commits used that change code or documents, and not only the settings of tools.
const USED_MAX: usize = 1_000;
/// The most commits that are items.
const ITEMS_MAX: usize = 500;
/// A commit with more files does not show which of them belong together or are being worked on.
const FRECENCY_FILES_MAX: usize = 30;
/// The weight of the newest commit as current work, and the factor for each newer commit: half
/// after 14.
const LATELY: (f32, f32) = (0.8, 0.95);
/// The weight of every commit.
const OFTEN: f32 = 0.2;

/// The newest commits of a repository, as seen from a folder in it. Paths are relative to that
/// folder, and paths outside it are omitted.
///
/// [`History::read`] creates it; every result is precomputed, so queries are cheap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The folder in its working tree: "" or "a/b/".
    prefix: String,
    head: String,
    /// Every path that a record names, and where it is now, sorted.
    paths: Vec<Box<str>>,
    /// For each path that HEAD does not have: which one it has become.
    moved: BTreeMap<u32, u32>,
    /// One for each path: derived from the rest.
    #[serde(skip)]
    files: Vec<File>,
    /// Newest first.
    records: Vec<Record>,
}

impl History {
    /// Reads the repository that contains `root`: its last commits by time that are not merges
    /// (and, if `root` is below the repository's top folder, that change something in it), until
    /// 1,000 of them change code or documents, at most 2,000. Returns nothing if there is
    /// no repository, or no commit in it yet.
    ///
    /// Commits that `known` contains are not compared with their parents again, whichever branch
    /// they were read from, so a new commit costs little. Every other commit costs as many trees as
    /// it changes folders. A commit with more than 2,000 changes has no paths here.
    ///
    /// # Errors
    ///
    /// A repository that is not in a folder above, that takes objects from elsewhere, or whose
    /// format is not supported; [`Cancelled`](crate::Error::Cancelled), which is checked at each
    /// object. Missing or damaged objects are not an error: only their data is missing.
    pub fn read(
        root: &Path,
        known: Option<&Self>,
        redact: Redact<'_>,
        cancel: &dyn Fn() -> bool,
    ) -> Result<Option<Self>> {
        let Some(place) = Place::find(root)? else { return Ok(None) };
        let Some(head) = head::resolve(&place)?.0 else { return Ok(None) };
        let known = known.filter(|known| known.prefix == place.prefix);
        guarded(&place, || {
            let objects = Objects::open(&place, cancel)?;
            let drafts = walk::walk(&objects, head, &place.prefix, known, redact)?;
            let moves = known.into_iter().flat_map(Self::moves);
            let present = renames::Present::read(&objects, head, &place.prefix, &drafts, moves)?;
            Ok(Some(Self::build(place.prefix.clone(), head.to_string(), drafts, &present)))
        })
    }

    /// The checked out commit, in hexadecimal.
    pub fn head(&self) -> &str {
        &self.head
    }

    /// How often and recently a file was changed: `Σ (0.8·0.95^age + 0.2) / √files` over the commits of
    /// at most 30 files that changed it, also under an earlier path. `age` is the number of newer
    /// commits that change code or documents, not days (so a project at rest keeps its values), and
    /// `files` the number of files of the commit. 0 if it was not changed.
    ///
    /// The word and the idea are Mozilla's, for visited pages. Its value here was measured by how
    /// well it predicts the files of the next commit: `docs/context.md`.
    pub fn frecency(&self, path: &str) -> f32 {
        self.file(path).map_or(0.0, |file| file.frecency)
    }

    /// When a commit in this history last changed a file.
    pub fn last_change(&self, path: &str) -> Option<Timestamp> {
        self.file(path).map(|file| Timestamp::from_secs(file.last_change))
    }

    /// The newest commits, at most 500, newest first.
    pub fn commits(&self) -> impl ExactSizeIterator<Item = Commit<'_>> {
        self.records.iter().take(ITEMS_MAX).map(|record| Commit { history: self, record })
    }

    /// One of them, by position.
    pub(crate) fn commit(&self, place: usize) -> Option<Commit<'_>> {
        let record = self.records[..self.records.len().min(ITEMS_MAX)].get(place)?;
        Some(Commit { history: self, record })
    }

    /// The number of distinct paths that the commits name.
    pub(crate) fn paths_len(&self) -> usize {
        self.paths.len()
    }

    /// Encodes it, with a version and a checksum, for [`decode`](Self::decode).
    pub fn encode(&self) -> Vec<u8> {
        let content = postcard::to_extend(self, Vec::new()).expect("a history can be written");
        let sum = crc32c::crc32c(&content).to_le_bytes();
        [MAGIC, &sum, &content].concat()
    }

    /// Decodes the bytes from [`encode`](Self::encode); nothing if they are damaged, or of another
    /// version.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (sum, content) = bytes.strip_prefix(MAGIC)?.split_first_chunk()?;
        if crc32c::crc32c(content) != u32::from_le_bytes(*sum) {
            return None;
        }
        let history: Self = postcard::from_bytes(content).ok()?;
        history.is_valid().then(|| history.derive())
    }

    /// Whether all indices are those of paths, which are sorted.
    fn is_valid(&self) -> bool {
        let moved = self.moved.iter().flat_map(|(from, to)| [from, to]);
        let mut places = self.records.iter().flat_map(|record| &record.paths).chain(moved);
        places.all(|place| (*place as usize) < self.paths.len()) && self.paths.is_sorted()
    }

    fn file(&self, path: &str) -> Option<&File> {
        let at = self.paths.binary_search_by(|other| (**other).cmp(path)).ok()?;
        Some(&self.files[at])
    }
}

/// Reads data that others may have written. If one of the third-party parsers panics, the
/// repository is not read; nothing else fails.
fn guarded<T>(place: &Place, read: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| place::refused(&place.git_dir, "damaged; `git fsck` says more"))
}

/// A commit that is not a merge.
#[derive(Debug, Clone, Copy)]
pub struct Commit<'a> {
    history: &'a History,
    record: &'a Record,
}

impl<'a> Commit<'a> {
    /// Its id in hexadecimal.
    pub fn id(&self) -> &'a str {
        &self.record.id
    }

    /// When it was committed, within the years 1970 to 9999.
    pub fn time(&self) -> Timestamp {
        Timestamp::from_secs(self.record.time)
    }

    /// The first paragraph of its message in one line, at most 300 characters.
    pub fn subject(&self) -> &'a str {
        &self.record.subject
    }

    /// The rest of its message without trailers such as `Signed-off-by`, at most 1,500 characters.
    pub fn body(&self) -> &'a str {
        &self.record.body
    }

    /// The files below the folder that it added, changed or removed, sorted; a renamed file counts
    /// as two.
    pub fn paths(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let paths = &self.history.paths;
        self.record.paths.iter().map(|&path| &*paths[path as usize])
    }

    /// Where these files are now, each with its position among the paths that all commits name.
    pub(crate) fn places(&self) -> impl ExactSizeIterator<Item = (u32, &'a str)> + use<'a> {
        let history = self.history;
        let present = record::present(self.record, &history.moved);
        present.into_iter().map(|present| (present, &*history.paths[present as usize]))
    }
}
