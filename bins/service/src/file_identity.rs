//! Whether a path still leads to the same file or folder.

use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// A path, and the file or folder that it led to.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    path: PathBuf,
    /// Its device and inode.
    identity: (u64, u64),
}

impl Placed {
    pub(crate) fn of(path: PathBuf) -> io::Result<Self> {
        let identity = identity(&path)?;
        Ok(Self { path, identity })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// `false` if the path leads nowhere or elsewhere now, or cannot be followed.
    pub(crate) fn is_in_place(&self) -> bool {
        identity(&self.path).is_ok_and(|identity| identity == self.identity)
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = path.metadata()?;
    Ok((metadata.dev(), metadata.ino()))
}
