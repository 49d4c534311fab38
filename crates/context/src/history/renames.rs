//! Where the files of earlier commits are now.
//!
//! A commit that removes a file and adds one of the same content, or of the same name with the
//! longest common end, has moved it. Where that commit is not known (it is too large, or lies beyond
//! the limits), a path that HEAD lacks has become the path of HEAD with the same last
//! [`END_PARTS`] parts, if there is only one.

use std::collections::{HashMap, HashSet};

use gix_hash::ObjectId;
use gix_object::FindExt;

use super::diff::below;
use super::objects::Objects;
use super::record::Draft;
use crate::Result;
use crate::text::file_name;

/// Two files in different folders often have the same name, and often the same folder's name:
/// `src/lib.rs`. They have not as many parts in common as this by accident.
const END_PARTS: usize = 5;
/// A file is moved no more often than this in the commits that are read.
const STEPS_MAX: usize = 16;

/// A file's path before and after a commit.
pub(super) type Move = (Box<str>, Box<str>);

/// A file that a commit removed or added.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) path: Box<str>,
    pub(super) content: ObjectId,
}

/// Pairs the files that a commit removed with those that it added.
pub(super) fn pairs(removed: &[Side], added: &[Side]) -> Vec<Move> {
    let mut by_content: HashMap<ObjectId, Vec<&Side>> = HashMap::new();
    let mut by_name: HashMap<&str, Vec<&Side>> = HashMap::new();
    for side in added {
        by_content.entry(side.content).or_default().push(side);
        by_name.entry(file_name(&side.path)).or_default().push(side);
    }
    for sides in by_content.values_mut().chain(by_name.values_mut()) {
        sides.sort_unstable_by(|one, other| from_end(&one.path).cmp(from_end(&other.path)));
    }
    let heir = |side: &Side| {
        let same = by_content.get(&side.content).and_then(|content| nearest(&side.path, content));
        same.or_else(|| nearest(&side.path, by_name.get(file_name(&side.path))?))
    };
    removed
        .iter()
        .filter_map(|removed| Some((removed.path.clone(), heir(removed)?.into())))
        .collect()
}

/// The side whose path ends most like a path; nothing if several do. `sides` are sorted from the ends
/// of their paths, so these are next to the place of the path.
fn nearest<'a>(path: &str, sides: &[&'a Side]) -> Option<&'a str> {
    let at = sides.partition_point(|side| from_end(&side.path).lt(from_end(path)));
    let sides = &sides[at.saturating_sub(2)..sides.len().min(at + 2)];
    let most = sides.iter().map(|side| common(path, &side.path)).max()?;
    let mut nearest = sides.iter().filter(|side| common(path, &side.path) == most);
    let first = nearest.next()?;
    nearest.next().is_none().then_some(&first.path)
}

/// How many last parts two paths have in common.
fn common(one: &str, other: &str) -> usize {
    from_end(one).zip(from_end(other)).take_while(|pair| pair.0 == pair.1).count()
}

/// The parts of a path, the last one first.
fn from_end(path: &str) -> std::str::RSplit<'_, char> {
    path.rsplit('/')
}

/// The last parts of a path that has as many.
fn end(path: &str) -> Option<&str> {
    let (at, _) = path.rmatch_indices('/').nth(END_PARTS - 1)?;
    Some(&path[at..])
}

/// The files of HEAD that earlier ones may have become.
#[derive(Debug, Default)]
pub(super) struct Present {
    paths: HashSet<Box<str>>,
    /// By their last parts; nothing if several end so.
    by_end: HashMap<Box<str>, Option<Box<str>>>,
    moves: HashMap<Box<str>, Box<str>>,
}

impl Present {
    /// Reads the trees of HEAD. If one is missing, no file is known to have moved.
    ///
    /// `known` are the moves that were found when some of the commits were read before.
    pub(super) fn read(
        objects: &Objects<'_>,
        head: ObjectId,
        prefix: &str,
        drafts: &[Draft],
        known: impl Iterator<Item = Move>,
    ) -> Result<Self> {
        let mut present = Self::default();
        let mut buffer = Vec::new();
        let tree = objects.commit(&head, &mut buffer).map(|commit| commit.tree);
        let tree = tree.and_then(|tree| below(objects, tree, prefix).ok().flatten());
        let mut folders: Vec<_> = tree.map(|tree| (String::new(), tree)).into_iter().collect();
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
                } else {
                    present.add(path.into());
                }
            }
        }
        // The newest move of a path counts.
        for (from, to) in drafts.iter().flat_map(|draft| draft.moves.iter().cloned()).chain(known) {
            present.moves.entry(from).or_insert(to);
        }
        Ok(present)
    }

    fn add(&mut self, path: Box<str>) {
        if let Some(end) = end(&path) {
            let only = self.by_end.entry(end.into()).or_insert_with(|| Some(path.clone()));
            if only.as_ref() != Some(&path) {
                *only = None;
            }
        }
        self.paths.insert(path);
    }

    /// What a path has become, if HEAD does not have it.
    pub(super) fn heir<'a>(&'a self, path: &'a str) -> Option<&'a str> {
        let mut heir = path;
        for _ in 0..STEPS_MAX {
            if self.paths.contains(heir) {
                return Some(heir).filter(|heir| *heir != path);
            }
            let next = self.moves.get(heir).or_else(|| self.by_end.get(end(heir)?)?.as_ref());
            heir = next?;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(path: &str, content: u8) -> Side {
        Side { path: path.into(), content: ObjectId::from_bytes_or_panic(&[content; 20]) }
    }

    fn check(removed: &[Side], added: &[Side], expected: &[(&str, &str)]) {
        let found = pairs(removed, added);
        let found: Vec<_> = found.iter().map(|found| (&*found.0, &*found.1)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_same_content_or_name_makes_a_pair_unless_several_are_as_near() {
        check(&[side("a.rs", 1)], &[side("b.rs", 1)], &[("a.rs", "b.rs")]);
        check(&[side("a.rs", 1)], &[side("b.rs", 2)], &[]);
        check(&[side("x/a.rs", 1)], &[side("y/a.rs", 2)], &[("x/a.rs", "y/a.rs")]);
        check(&[side("a.rs", 1)], &[side("x/a.rs", 2), side("y/a.rs", 3)], &[]);
        check(
            &[side("x/p/a.rs", 1)],
            &[side("y/p/a.rs", 2), side("y/q/a.rs", 3)],
            &[("x/p/a.rs", "y/p/a.rs")],
        );
    }

    #[test]
    fn a_path_follows_moves_and_long_ends_to_what_is_there() {
        let mut present = Present::default();
        for path in ["c.rs", "b/src/lib.rs", "new/p/q/r/s/t.rs"] {
            present.add(path.into());
        }
        for (from, to) in [("a.rs", "b.rs"), ("b.rs", "c.rs"), ("c.rs", "d.rs"), ("x", "x")] {
            present.moves.insert(from.into(), to.into());
        }
        assert_eq!(present.heir("a.rs"), Some("c.rs"));
        assert_eq!(present.heir("c.rs"), None);
        assert_eq!(present.heir("x"), None);
        assert_eq!(present.heir("a/src/lib.rs"), None);
        assert_eq!(present.heir("old/p/q/r/s/t.rs"), Some("new/p/q/r/s/t.rs"));
        present.add("other/p/q/r/s/t.rs".into());
        assert_eq!(present.heir("old/p/q/r/s/t.rs"), None);
    }
}
