//! A commit as a working tree, with the history that leads to it.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Checks `commit` of a bare repository out into `root`. One or two large files may be missing there:
/// they are left out.
pub(crate) fn checkout(bare: &Path, commit: &str, root: &Path) -> Result<()> {
    let parent = root.parent().context("a folder to check out into")?;
    let bare = bare.to_string_lossy();
    let root_name = root.to_string_lossy();
    git(parent, &["clone", "--quiet", "--local", "--no-checkout", &bare, &root_name])?;
    git(root, &["update-ref", "--no-deref", "HEAD", commit])?;
    git(root, &["read-tree", commit])?;
    // Says so of each file that is missing, and goes on.
    Command::new("git")
        .current_dir(root)
        .args(["checkout-index", "--all", "--force", "--quiet"])
        .stderr(Stdio::null())
        .status()?;
    Ok(())
}

/// Brings a checked-out project to what another commit has, and its history to what leads there.
pub(crate) fn go_to(root: &Path, commit: &str) -> Result<()> {
    git(root, &["update-ref", "--no-deref", "HEAD", commit])?;
    git(root, &["read-tree", "--reset", "-u", commit])
}

fn git(folder: &Path, arguments: &[&str]) -> Result<()> {
    let done = Command::new("git").current_dir(folder).args(arguments).output()?;
    if !done.status.success() {
        bail!("git {}: {}", arguments.join(" "), String::from_utf8_lossy(&done.stderr));
    }
    Ok(())
}
