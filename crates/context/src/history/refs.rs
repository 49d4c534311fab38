//! Resolves HEAD to a commit.

use std::fs;
use std::path::{Path, PathBuf};

use gix_hash::ObjectId;

use super::place::{Place, read_small, refused};
use crate::Result;

/// More than a file of one ref.
const REF_BYTES_MAX: u64 = 4 << 10;
/// A million branches.
const PACKED_BYTES_MAX: u64 = 128 << 20;
/// The most refs that name refs; git's own limit.
const HOPS_MAX: usize = 5;

/// The result of resolving HEAD.
#[derive(Debug, Default)]
pub(super) struct Head {
    /// Nothing before the first commit.
    pub(super) id: Option<ObjectId>,
    /// The ref it names, such as `refs/heads/main`; nothing if it is a commit itself.
    pub(super) name: Option<String>,
    /// The files that were read, or would have been if they existed.
    pub(super) files: Vec<PathBuf>,
}

/// Resolves HEAD.
pub(super) fn head(place: &Place) -> Result<Head> {
    let mut head = Head::default();
    let mut name = "HEAD".to_owned();
    for _ in 0..HOPS_MAX {
        let file = file_of(place, &name)?;
        let found = read_small(&file, REF_BYTES_MAX)?;
        head.files.push(file);
        let Some(bytes) = found else {
            head.id = packed(place, &name)?;
            return Ok(head);
        };
        let text = bytes.trim_ascii();
        let Some(target) = text.strip_prefix(b"ref:") else {
            // An invalid commit id, as after a power cut, counts as none.
            head.id = ObjectId::from_hex(text).ok();
            return Ok(head);
        };
        name = match gix_validate::reference::name(target.trim_ascii().into()) {
            Ok(it) => it.to_string(),
            Err(_) => return refused(&place.git_dir, "HEAD does not name a branch"),
        };
        head.name.get_or_insert(name.clone());
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
        if fs::symlink_metadata(&file).is_ok_and(|it| it.is_symlink()) {
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
    let id = bytes.split(|it| *it == b'\n').find_map(|line| {
        let id = line.trim_ascii_end().strip_suffix(name.as_bytes())?.strip_suffix(b" ")?;
        ObjectId::from_hex(id).ok()
    });
    Ok(id)
}
