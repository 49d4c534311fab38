//! Detects a change of the checked out commit.

use std::path::{Path, PathBuf};

use super::place::Place;
use super::refs;
use crate::Result;

/// Which commit is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// In hexadecimal; nothing before the first commit.
    pub id: Option<String>,
    /// The branch, such as `main`; nothing if HEAD is detached.
    pub branch: Option<String>,
    /// Absolute paths of the files that are written when the commit, the branch or the staged
    /// changes change. Some may not exist.
    pub files: Vec<PathBuf>,
}

/// The commit checked out in the repository that contains `root`; nothing if there is none. Reads a
/// few small files.
///
/// # Errors
///
/// As [`History::read`](crate::History::read).
pub fn head(root: &Path) -> Result<Option<Head>> {
    let Some(place) = Place::find(root)? else { return Ok(None) };
    let head = refs::head(&place)?;
    let mut files = head.files;
    files.push(place.common_dir.join("packed-refs"));
    files.push(place.git_dir.join("index"));
    // Written whenever HEAD moves, even if its branch has no file yet.
    files.push(place.git_dir.join("logs/HEAD"));
    Ok(Some(Head {
        id: head.id.map(|it| it.to_string()),
        branch: head.name.map(|it| it.strip_prefix("refs/heads/").unwrap_or(&it).to_owned()),
        files,
    }))
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
    Ok(main.map(|it| it.join(&place.prefix)))
}
