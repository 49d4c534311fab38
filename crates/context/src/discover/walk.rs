//! The walk over a whole project.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Dir, FileType};

use super::ignores::join;
use super::root::{skip, stat_at};
use super::rules::Place;
use super::{Found, Root, Rules, Skip};
use crate::{Error, Result};

/// The most paths that a [`Walk`] names for each reason of skipping.
pub const SAMPLES_MAX: usize = 20;

/// The contents of a project.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walk {
    /// The files to read: those of a folder by name, then those of its subfolders.
    pub found: Vec<Found>,
    /// How many files and folders were left out, by reason.
    pub skipped: BTreeMap<Skip, u64>,
    /// The first [`SAMPLES_MAX`] paths of each reason; bytes that are not UTF-8 are replaced.
    pub samples: BTreeMap<Skip, Vec<String>>,
    /// The folders that were listed, relative to the root, which is `""`: those to watch.
    pub dirs: Vec<String>,
    /// Whether [`Limits::files_max`](super::Limits::files_max) or
    /// [`Limits::text_bytes_max`](super::Limits::text_bytes_max) ended the walk early.
    pub truncated: bool,
    /// Whether the caller cancelled it. The result is then valid, but incomplete.
    pub cancelled: bool,
}

/// Lists the files to read below a root, in an order that depends only on names.
///
/// `cancel` is called once for each folder.
///
/// # Errors
///
/// If the root itself cannot be listed. A folder below it that cannot be listed is counted as
/// [`Skip::Unreadable`].
pub fn walk(root: &Root, rules: &Rules, cancel: &dyn Fn() -> bool) -> Result<Walk> {
    let mut walk = Walk::default();
    let mut bytes = 0;
    let mut left = vec![rules.top(root)];
    while let Some(place) = left.pop() {
        if cancel() {
            walk.cancelled = true;
            break;
        }
        let (dir, names) = match list(root, &place.dir) {
            Ok(listed) => listed,
            Err(Skip::Gone) if !place.dir.is_empty() => continue,
            Err(why) if !place.dir.is_empty() => {
                walk.skip(why, &place.dir);
                continue;
            }
            Err(why) => {
                let text = format!("cannot list the project: {why}");
                return Err(Error::io(root.path(), std::io::Error::other(text)));
            }
        };
        let mut below = Vec::new();
        for name in names {
            let Some(name_text) = name.to_str() else {
                walk.skip(Skip::Name, &join(&place.dir, &name.to_string_lossy()));
                continue;
            };
            let path = join(&place.dir, name_text);
            match stat_at(&dir, &name) {
                Ok((FileType::Directory, _)) => {
                    below.extend(enter(root, rules, &place, &path, name_text, &mut walk));
                }
                Ok((kind, stat)) => match rules.file(&place, &path, name_text, kind, stat) {
                    Ok(found) => {
                        if walk.found.len() >= rules.limits().files_max
                            || bytes + stat.bytes > rules.limits().text_bytes_max
                        {
                            walk.truncated = true;
                            walk.skip(Skip::Limit, &path);
                            return Ok(walk);
                        }
                        bytes += stat.bytes;
                        walk.found.push(found);
                    }
                    Err(why) => walk.skip(why, &path),
                },
                Err(why) => walk.skip(why, &path),
            }
        }
        walk.dirs.push(place.dir);
        below.reverse();
        left.append(&mut below);
    }
    Ok(walk)
}

fn enter(
    root: &Root,
    rules: &Rules,
    place: &Place,
    path: &str,
    name: &str,
    walk: &mut Walk,
) -> Option<Place> {
    let (below, _) = rules.enter(root, place, path, name)?;
    if path.split('/').count() > rules.limits().depth_max {
        walk.skip(Skip::Limit, path);
        return None;
    }
    Some(below)
}

/// The sorted names in a folder, and the open folder.
fn list(root: &Root, path: &str) -> Result<(std::os::fd::OwnedFd, Vec<OsString>), Skip> {
    let dir = root.folder(path)?;
    let mut names = Vec::new();
    for entry in Dir::read_from(&dir).map_err(skip)? {
        let entry = entry.map_err(skip)?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(OsStr::from_bytes(name).to_owned());
        }
    }
    names.sort_unstable();
    Ok((dir, names))
}

impl Walk {
    fn skip(&mut self, why: Skip, path: &str) {
        if !why.is_counted() {
            return;
        }
        *self.skipped.entry(why).or_default() += 1;
        let samples = self.samples.entry(why).or_default();
        if samples.len() < SAMPLES_MAX {
            samples.push(path.to_owned());
        }
    }
}
