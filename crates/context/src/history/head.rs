//! Resolves HEAD to a commit, and names the files that show a change of it.

use std::fs;
use std::path::{Path, PathBuf};

use gix_hash::ObjectId;

use super::place::{Place, read_small, refused};
use crate::Result;

/// Absolute paths of the files that are written when the checked out commit, the branch or the
/// staged changes of the repository that contains `root` change; none if there is no repository.
/// Some may not exist. Reads a few small files.
///
/// # Errors
///
/// As [`History::read`](crate::History::read).
pub fn head_files(root: &Path) -> Result<Vec<PathBuf>> {
    let Some(place) = Place::find(root)? else { return Ok(Vec::new()) };
    let (_, mut files) = resolve(&place)?;
    files.push(place.common_dir.join("packed-refs"));
    files.push(place.git_dir.join("index"));
    // Written whenever HEAD moves, even if its branch has no file yet.
    files.push(place.git_dir.join("logs/HEAD"));
    Ok(files)
}

/// The folder in the main working tree that corresponds to `root`, if `root` is in a linked working
/// tree (`git worktree add`); nothing for the main working tree, or for a bare repository.
///
/// # Errors
///
/// As [`History::read`](crate::History::read).
pub fn main_worktree(root: &Path) -> Result<Option<PathBuf>> {
    let Some(place) = Place::find(root)? else { return Ok(None) };
    let is_linked = place.git_dir != place.common_dir && place.common_dir.ends_with(".git");
    let main = place.common_dir.parent().filter(|_| is_linked);
    Ok(main.map(|main| main.join(&place.prefix)))
}

/// More than a file of one ref.
const REF_BYTES_MAX: u64 = 4 << 10;
/// A million branches.
const PACKED_BYTES_MAX: u64 = 128 << 20;
/// The most refs that name refs; git's own limit.
const HOPS_MAX: usize = 5;

/// The commit that HEAD names, nothing before the first one, and the files that were read to find
/// it, or would have been if they existed.
pub(super) fn resolve(place: &Place) -> Result<(Option<ObjectId>, Vec<PathBuf>)> {
    let mut files = Vec::new();
    let mut name = "HEAD".to_owned();
    for _ in 0..HOPS_MAX {
        let file = file_of(place, &name)?;
        let found = read_small(&file, REF_BYTES_MAX)?;
        files.push(file);
        let Some(bytes) = found else { return Ok((packed(place, &name)?, files)) };
        let text = bytes.trim_ascii();
        let Some(target) = text.strip_prefix(b"ref:") else {
            // An invalid commit id, as after a power cut, counts as none.
            return Ok((ObjectId::from_hex(text).ok(), files));
        };
        name = match gix_validate::reference::name(target.trim_ascii().into()) {
            Ok(it) => it.to_string(),
            Err(_) => return refused(&place.git_dir, "HEAD does not name a branch"),
        };
    }
    refused(&place.git_dir, "HEAD leads from name to name")
}

/// The file of a loose ref. No folder in the path may be a link.
fn file_of(place: &Place, name: &str) -> Result<PathBuf> {
    let own = name == "HEAD"
        || ["refs/bisect/", "refs/worktree/", "refs/rewritten/"]
            .iter()
            .any(|it| name.starts_with(it));
    let mut file = if own { place.git_dir.clone() } else { place.common_dir.clone() };
    for part in Path::new(name) {
        if fs::symlink_metadata(&file).is_ok_and(|metadata| metadata.is_symlink()) {
            return refused(&file, "a symbolic link");
        }
        file.push(part);
    }
    Ok(file)
}

/// A ref in the file that `git pack-refs` writes.
fn packed(place: &Place, name: &str) -> Result<Option<ObjectId>> {
    let Some(bytes) = read_small(&place.common_dir.join("packed-refs"), PACKED_BYTES_MAX)? else {
        return Ok(None);
    };
    let id = bytes.split(|bytes| *bytes == b'\n').find_map(|line| {
        let id = line.trim_ascii_end().strip_suffix(name.as_bytes())?.strip_suffix(b" ")?;
        ObjectId::from_hex(id).ok()
    });
    Ok(id)
}
