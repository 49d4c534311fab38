//! Noticing that another commit is checked out.

use std::path::{Path, PathBuf};

use super::place::Place;
use super::refs;
use crate::Result;

/// Which commit is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// In hexadecimal; nothing before the first commit.
    pub id: Option<String>,
    /// The branch, such as `main`; nothing if none is checked out.
    pub branch: Option<String>,
    /// Absolute paths of the files that are written when the commit, the branch or what is staged
    /// changes. Some need not be there.
    pub files: Vec<PathBuf>,
}

/// Which commit is checked out in the repository that `root` is in; nothing if there is none.
/// Reads a few small files.
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
    // Written whenever HEAD moves, also where its branch has no file yet.
    files.push(place.git_dir.join("logs/HEAD"));
    Ok(Some(Head {
        id: head.id.map(|it| it.to_string()),
        branch: head.name.map(|it| it.strip_prefix("refs/heads/").unwrap_or(&it).to_owned()),
        files,
    }))
}

/// The folder that is to the main working tree what `root` is to its own, if that is a linked one
/// (`git worktree add`); nothing for the main working tree, or beside a bare repository.
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
