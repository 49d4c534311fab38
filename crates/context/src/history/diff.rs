//! Differences between two trees.

use gix_diff::tree::{Recorder, State, Visit, recorder, visit};
use gix_hash::{Kind, ObjectId};
use gix_object::bstr::BStr;
use gix_object::{FindExt, TreeRefIter};

use super::objects::Objects;
use super::renames::{Move, Side, pairs};

/// A commit with more changes is an import or a reformat, and its files are not listed.
const CHANGES_MAX: usize = 2_000;

/// The files that differ, unordered, and those of them that were moved.
pub(super) type Difference = (Vec<Box<str>>, Vec<Move>);

/// The tree of the folder `prefix` ("" or "a/b/") in a tree: nothing if the folder does not exist.
pub(super) fn below(
    objects: &Objects<'_>,
    tree: ObjectId,
    prefix: &str,
) -> Result<Option<ObjectId>, Missing> {
    let mut tree = tree;
    let mut buffer = Vec::new();
    for part in prefix.split_terminator('/') {
        let entries = objects.find_tree_iter(&tree, &mut buffer).map_err(|_| Missing)?;
        let mut found = None;
        for entry in entries {
            let entry = entry.map_err(|_| Missing)?;
            if entry.filename == part.as_bytes() && entry.mode.is_tree() {
                found = Some(entry.oid.to_owned());
            }
        }
        let Some(id) = found else { return Ok(None) };
        tree = id;
    }
    Ok(Some(tree))
}

/// A tree that is missing or damaged.
#[derive(Debug)]
pub(super) struct Missing;

/// Compares two trees, of which nothing means an empty one; nothing if more files differ than are
/// listed.
pub(super) fn differing(
    objects: &Objects<'_>,
    state: &mut State,
    old: Option<ObjectId>,
    new: Option<ObjectId>,
) -> Result<Option<Difference>, Missing> {
    if old == new {
        return Ok(Some((Vec::new(), Vec::new())));
    }
    let (mut old_buffer, mut new_buffer) = (Vec::new(), Vec::new());
    let old = entries(objects, old, &mut old_buffer)?;
    let new = entries(objects, new, &mut new_buffer)?;
    let mut found = Found { recorder: Recorder::default(), changes: 0 };
    match gix_diff::tree(old, new, state, objects, &mut found) {
        Ok(()) => Ok(Some(found.files())),
        Err(gix_diff::tree::Error::Cancelled) => Ok(None),
        Err(gix_diff::tree::Error::Failure(_)) => Err(Missing),
    }
}

fn entries<'b>(
    objects: &Objects<'_>,
    tree: Option<ObjectId>,
    buffer: &'b mut Vec<u8>,
) -> Result<TreeRefIter<'b>, Missing> {
    match tree {
        Some(id) => objects.find_tree_iter(&id, buffer).map_err(|_| Missing),
        None => Ok(TreeRefIter::from_bytes(&[], Kind::Sha1)),
    }
}

/// Records files, but not folders, links or submodules.
struct Found {
    recorder: Recorder,
    changes: usize,
}

impl Found {
    /// A path that is not text cannot be queried.
    fn files(self) -> Difference {
        let (mut files, mut removed, mut added) = (Vec::new(), Vec::new(), Vec::new());
        for change in self.recorder.records {
            let (path, oid, side) = match change {
                recorder::Change::Addition { path, oid, .. } => (path, oid, Some(&mut added)),
                recorder::Change::Deletion { path, oid, .. } => (path, oid, Some(&mut removed)),
                recorder::Change::Modification { path, oid, .. } => (path, oid, None),
            };
            let Ok(path) = String::from_utf8(path.into()).map(String::into_boxed_str) else {
                continue;
            };
            if let Some(side) = side {
                side.push(Side { path: path.clone(), content: oid });
            }
            files.push(path);
        }
        (files, pairs(&removed, &added))
    }
}

impl Visit for Found {
    fn pop_front_tracked_path_and_set_current(&mut self) {
        self.recorder.pop_front_tracked_path_and_set_current();
    }

    fn push_back_tracked_path_component(&mut self, component: &BStr) {
        self.recorder.push_back_tracked_path_component(component);
    }

    fn push_path_component(&mut self, component: &BStr) {
        self.recorder.push_path_component(component);
    }

    fn pop_path_component(&mut self) {
        self.recorder.pop_path_component();
    }

    fn visit(&mut self, change: visit::Change) -> visit::Action {
        self.changes += 1;
        if self.changes > CHANGES_MAX {
            return visit::Action::Break(());
        }
        if !change.entry_mode().is_blob() {
            return visit::Action::Continue(());
        }
        self.recorder.visit(change)
    }
}
