//! The differences between the working tree and the checked out commit.
//!
//! The caller, who has walked the project, provides the files with their times and sizes; here they
//! are compared with the index, and the index with the commit's trees. A file is read (by the
//! caller's closure) only where time and size do not decide, and then without git's filters, so a
//! touched file that a filter changes counts as modified.

use std::fs;
use std::ops::Range;
use std::path::Path;
use std::time::UNIX_EPOCH;

use gix_hash::{Kind, ObjectId};
use gix_index::State;
use gix_index::decode::Options;
use gix_index::entry::{Flags, Mode};
use gix_index::extension;
use gix_object::FindExt;
use gix_object::bstr::{BStr, BString, ByteSlice};

use super::diff::below;
use super::guarded;
use super::head::resolve;
use super::objects::Objects;
use super::place::{Place, read_small, refused};
use crate::Result;

/// An index of some three million files.
const INDEX_BYTES_MAX: u64 = 512 << 20;
/// The most bytes read to find out whether touched files are changed; beyond it they count as
/// changed.
const READ_BYTES_MAX: u64 = 64 << 20;
/// More changes than these are not work in progress but a whole project that was never added.
const CHANGES_MAX: usize = 5_000;
/// The most tracked files reported.
const TRACKED_MAX: usize = 100;
const SPLIT: &str = "split in two (core.splitIndex), which is not read here";

/// An existing file, as the caller found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Present<'a> {
    /// Relative to the project's folder, with `/`.
    pub path: &'a str,
    /// Its size.
    pub bytes: u64,
    /// When it was last modified, in nanoseconds since 1970.
    pub modified_ns: i64,
}

/// Which files of `present` are not as in the commit, sorted; at most 5,000. Deleted files and files
/// that the caller ignores are not included.
///
/// `read` returns a file's content, or nothing if it cannot be read. It is called for files whose
/// time does not decide, up to 64 MiB of them. On `cancel`, the files found so far are returned.
///
/// # Errors
///
/// As [`History::read`](crate::History::read), except for cancellation; and an index that is
/// damaged or split (`core.splitIndex`).
pub fn changed<'a>(
    root: &Path,
    present: impl IntoIterator<Item = Present<'a>>,
    read: &dyn Fn(&str) -> Option<Vec<u8>>,
    cancel: &dyn Fn() -> bool,
) -> Result<Vec<String>> {
    let Some(place) = Place::find(root)? else { return Ok(Vec::new()) };
    if place.is_bare() {
        return Ok(Vec::new());
    }
    let index = guarded(&place, || Index::read(&place, cancel))?;
    let mut left = READ_BYTES_MAX;
    let mut changes = Vec::new();
    for file in present {
        if cancel() || changes.len() == CHANGES_MAX {
            break;
        }
        if index.is_changed(file, read, &mut left) {
            changes.push(file.path.to_owned());
        }
    }
    changes.sort_unstable();
    Ok(changes)
}

/// What is staged.
struct Index {
    prefix: String,
    state: State,
    /// Since 1970, in seconds and nanoseconds.
    written: (i64, u32),
    /// For each entry, whether the commit has it as well.
    committed: Vec<bool>,
}

impl Index {
    fn read(place: &Place, cancel: &dyn Fn() -> bool) -> Result<Self> {
        let state = staged(place)?;
        if state.link().is_some() {
            return refused(&place.git_dir.join("index"), SPLIT);
        }
        let since = fs::symlink_metadata(place.git_dir.join("index"))
            .and_then(|metadata| metadata.modified());
        let since = since.ok().and_then(|since| since.duration_since(UNIX_EPOCH).ok());
        let written = since.map_or((0, 0), |since| (since.as_secs() as i64, since.subsec_nanos()));
        let committed = vec![false; state.entries().len()];
        let mut index = Self { prefix: place.prefix.clone(), state, written, committed };
        if let Some(head) = resolve(place)?.0 {
            index.compare(&Objects::open(place, cancel)?, head);
        }
        Ok(index)
    }

    /// Finds out which entries the commit has. Where its trees are missing, all count as committed.
    fn compare(&mut self, objects: &Objects<'_>, head: ObjectId) {
        let mut buffer = Vec::new();
        let tree = objects.commit(&head, &mut buffer).map(|commit| commit.tree);
        let tree = tree.map(|tree| below(objects, tree, &self.prefix));
        let Some(Ok(tree)) = tree else { return self.committed.fill(true) };
        let mut node = self.state.tree();
        for part in self.prefix.split_terminator('/') {
            node = node.and_then(|node| child(node, part.as_bytes()));
        }
        let mut same: Vec<Range<usize>> = Vec::new();
        let mut folders: Vec<_> =
            tree.map(|tree| (BString::from(&*self.prefix), tree, node)).into_iter().collect();
        while let Some((path, tree, node)) = folders.pop() {
            let unchanged = node.is_some_and(|node| node.num_entries.is_some() && node.id == tree);
            let entries = objects.find_tree_iter(&tree, &mut buffer);
            let (false, Ok(entries)) = (unchanged, entries) else {
                same.extend(self.state.prefixed_entries_range(path.as_bstr()));
                continue;
            };
            for entry in entries.map_while(|entry| entry.ok()) {
                let mut path = path.clone();
                path.extend_from_slice(entry.filename);
                if entry.mode.is_tree() {
                    path.push(b'/');
                    let node = node.and_then(|node| child(node, entry.filename));
                    folders.push((path, entry.oid.to_owned(), node));
                } else if let Ok(at) = self.state.entry_index_by_path(path.as_bstr())
                    && self.state.entry(at).id == entry.oid
                    && self.state.entry(at).mode == mode(entry.mode)
                {
                    same.push(at..at + 1);
                }
            }
        }
        for range in same {
            self.committed[range].fill(true);
        }
    }

    fn is_changed(
        &self,
        file: Present<'_>,
        read: &dyn Fn(&str) -> Option<Vec<u8>>,
        left: &mut u64,
    ) -> bool {
        let path = format!("{}{}", self.prefix, file.path);
        let path: &BStr = path.as_str().into();
        let Some(range) = self.state.entry_range(path) else { return true };
        let entry = self.state.entry(range.start);
        let is_conflict = range.len() > 1 || entry.stage_raw() != 0;
        let trusted = entry.flags.intersects(Flags::ASSUME_VALID | Flags::SKIP_WORKTREE);
        is_conflict
            || !self.committed[range.start]
            || !trusted && self.modified(entry, file, read, left)
    }

    /// Git's rule: by time and size, and by the content where these do not decide.
    fn modified(
        &self,
        entry: &gix_index::Entry,
        file: Present<'_>,
        read: &dyn Fn(&str) -> Option<Vec<u8>>,
        left: &mut u64,
    ) -> bool {
        let stat = entry.stat;
        // Git writes a size of 0 to force a comparison of contents.
        if stat.size != 0 && stat.size != file.bytes as u32 {
            return true;
        }
        let modified = (
            file.modified_ns.div_euclid(1_000_000_000),
            file.modified_ns.rem_euclid(1_000_000_000) as u32,
        );
        let same_time = i64::from(stat.mtime.secs) == modified.0
            && (stat.mtime.nsecs == modified.1 || stat.mtime.nsecs == 0);
        // A file written at the same time as the index may have been written again after it.
        if same_time && u64::from(stat.size) == file.bytes && modified < self.written {
            return false;
        }
        let Some(less) = left.checked_sub(file.bytes) else { return true };
        *left = less;
        let Some(content) = read(file.path) else { return false };
        let id = gix_object::compute_hash(Kind::Sha1, gix_object::Kind::Blob, &content);
        !id.is_ok_and(|id| id == entry.id)
    }
}

/// The index as git wrote it; an empty one if the file does not exist.
fn staged(place: &Place) -> Result<State> {
    let file = place.git_dir.join("index");
    let state = State::new(Kind::Sha1);
    let Some(bytes) = read_small(&file, INDEX_BYTES_MAX)? else { return Ok(state) };
    let options = Options {
        thread_limit: Some(1),
        alloc_limit_bytes: Some(INDEX_BYTES_MAX as usize),
        ..Options::default()
    };
    match State::from_bytes(&bytes, state.timestamp(), Kind::Sha1, options) {
        Ok((read, _)) => Ok(read),
        Err(_) => refused(&file, "damaged; `git status` says more"),
    }
}

/// What [`tracked_below`] finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tracked {
    /// These files.
    Files(Vec<String>),
    /// The repository cannot be read, for this reason.
    Unknown(String),
}

/// The files of the index at one of `paths`, below it, or in place of a folder above it (a link or
/// a submodule there would include what is below). Paths and results are relative to `root`; at
/// most 100 are returned. Case is ignored, as on some file systems.
///
/// # Errors
///
/// An index that is damaged or too large.
pub fn tracked_below(root: &Path, paths: &[String]) -> Result<Tracked> {
    let place = match Place::find(root) {
        Ok(place) => place.filter(|place| !place.is_bare()),
        Err(error) => return Ok(Tracked::Unknown(error.to_string())),
    };
    let Some(place) = place else { return Ok(Tracked::Files(Vec::new())) };
    let state = guarded(&place, || staged(&place))?;
    if state.link().is_some() {
        let index = place.git_dir.join("index");
        let why = format!("{}: it is a split index, which is not read here", index.display());
        return Ok(Tracked::Unknown(why));
    }
    let wanted: Vec<String> = paths.iter().map(|path| format!("{}{path}/", place.prefix)).collect();
    let begins = |path: &[u8], with: &[u8]| {
        path.get(..with.len()).is_some_and(|path| path.eq_ignore_ascii_case(with))
    };
    // A folder ends with `/` only where a sparse checkout leaves it out.
    let is_above =
        |file: &[u8], path: &[u8]| begins(path, file) && path.get(file.len()) == Some(&b'/');
    let entries = state.entries().iter().map(|entry| entry.path(&state));
    let tracked = entries.filter(|path| {
        wanted
            .iter()
            .any(|wanted| begins(path, wanted.as_bytes()) || is_above(path, wanted.as_bytes()))
    });
    let named = tracked.map(|tracked| {
        let path = tracked.to_string();
        path.strip_prefix(&place.prefix).unwrap_or(&path).to_owned()
    });
    Ok(Tracked::Files(named.take(TRACKED_MAX).collect()))
}

fn child<'a>(node: &'a extension::Tree, name: &[u8]) -> Option<&'a extension::Tree> {
    node.children.iter().find(|child| child.name.as_slice() == name)
}

fn mode(mode: gix_object::tree::EntryMode) -> Mode {
    Mode::from_bits_retain(u32::from(mode.value()))
}
