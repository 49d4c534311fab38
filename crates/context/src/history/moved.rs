//! Where the files of earlier commits are now.
//!
//! A path that HEAD does not have has become the path of HEAD that ends like it: the one with the
//! most last parts in common, at least two. If several are equally near, none has.
//!
//! Git compares contents instead. That costs more, and does not help where a branch that still has
//! the old folders is merged.

use std::collections::{HashMap, HashSet};

use gix_hash::ObjectId;
use gix_object::FindExt;

use super::diff::below;
use super::objects::Objects;
use super::record::Draft;
use crate::Result;

/// More files that end alike say nothing about where one of them came from.
const ALIKE_MAX: usize = 100;

/// The files of HEAD.
#[derive(Debug, Default)]
pub(super) struct Present {
    /// By their last two parts; only those that end like a path of a draft.
    by_end: HashMap<Box<str>, Vec<Box<str>>>,
}

impl Present {
    /// Reads the trees of a commit. If one is missing, no file is known to have moved.
    pub(super) fn read(
        objects: &Objects<'_>,
        head: ObjectId,
        prefix: &str,
        drafts: &[Draft],
    ) -> Result<Self> {
        let ends: HashSet<&str> =
            drafts.iter().flat_map(|it| &it.paths).filter_map(|it| end(it)).collect();
        let mut present = Self::default();
        let mut buffer = Vec::new();
        let tree = objects.commit(&head, &mut buffer).map(|it| it.tree);
        let tree = tree.and_then(|it| below(objects, it, prefix).ok().flatten());
        let mut folders: Vec<_> = tree.map(|it| (String::new(), it)).into_iter().collect();
        while let Some((folder, tree)) = folders.pop() {
            let Ok(entries) = objects.find_tree_iter(&tree, &mut buffer) else {
                objects.check()?;
                return Ok(Self::default());
            };
            for entry in entries.map_while(std::result::Result::ok) {
                let Ok(name) = std::str::from_utf8(entry.filename) else { continue };
                let path = format!("{folder}{name}");
                if entry.mode.is_tree() {
                    folders.push((path + "/", entry.oid.to_owned()));
                } else if let Some(end) = end(&path).filter(|it| ends.contains(it)) {
                    present.by_end.entry(end.into()).or_default().push(path.into());
                }
            }
        }
        Ok(present)
    }

    /// What a path has become, if HEAD does not have it.
    pub(super) fn heir(&self, path: &str) -> Option<&str> {
        let alike = self.by_end.get(end(path)?).filter(|it| it.len() <= ALIKE_MAX)?;
        let common =
            |it: &str| it.rsplit('/').zip(path.rsplit('/')).take_while(|it| it.0 == it.1).count();
        let most = alike.iter().map(|it| common(it)).max()?;
        let mut nearest = alike.iter().filter(|it| common(it) == most);
        let heir = nearest.next().filter(|it| ***it != *path)?;
        nearest.next().is_none().then_some(heir)
    }
}

/// The last two parts of a path that has as many.
fn end(path: &str) -> Option<&str> {
    let name = path.rfind('/')?;
    let folder = path[..name].rfind('/').map_or(0, |it| it + 1);
    Some(&path[folder..])
}
