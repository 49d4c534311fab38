//! Locates a repository, and decides whether it may be read.
//!
//! Outside the project only the repository's own folder is read, and only if it clearly belongs to
//! the project:
//!
//! - `.git` in the project's folder, or in a folder above it on the same file system and of the
//!   same owner;
//! - where `.git` is a file, as in a linked worktree or a submodule, the folder that it names, if
//!   that folder refers back to the working tree. The author of a malicious project cannot make
//!   another repository do that.
//!
//! Objects are read from that folder alone: a repository that borrows them (`alternates`), or whose
//! object folders are symbolic links, is rejected. So is one of an unsupported format. Symbolic
//! links are never followed below the repository's folder.

use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::{Error, Result};

/// More than any file that only names a folder.
const POINTER_BYTES_MAX: u64 = 4 << 10;
/// More than any configuration.
const CONFIG_BYTES_MAX: u64 = 1 << 20;
/// Loose objects and packs; git packs them at some 7,000.
const ENTRIES_MAX: usize = 500_000;

/// The location of a repository's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The files of this working tree: HEAD and the index.
    pub(super) git_dir: PathBuf,
    /// The files shared by all working trees: objects and branches.
    pub(super) common_dir: PathBuf,
    /// The project's folder in the working tree: "" or "a/b/".
    pub(super) prefix: String,
}

impl Place {
    /// The repository of a folder; nothing if there is none.
    pub(super) fn find(root: &Path) -> Result<Option<Self>> {
        let root = fs::canonicalize(root).map_err(|error| Error::io(root, error))?;
        let own = fs::metadata(&root).map_err(|error| Error::io(&root, error))?;
        for top in root.ancestors() {
            let here = fs::metadata(top).map_err(|error| Error::io(top, error))?;
            if here.dev() != own.dev() || (top != root && here.uid() != own.uid()) {
                return Ok(None);
            }
            let Some((git_dir, common_dir)) = at(top, &root, own.uid())? else { continue };
            let below = root.strip_prefix(top).unwrap_or(Path::new(""));
            // Git's paths are bytes, but ours are text.
            let Some(below) = below.to_str() else { return Ok(None) };
            let prefix = if below.is_empty() { String::new() } else { format!("{below}/") };
            let place = Self { git_dir, common_dir, prefix };
            place.check_format()?;
            return Ok(Some(place));
        }
        Ok(None)
    }

    /// Whether the project is a repository without a working tree.
    pub(super) fn is_bare(&self) -> bool {
        self.git_dir == self.common_dir
            && !self.git_dir.join("index").exists()
            && !self.git_dir.ends_with(".git")
    }

    fn check_format(&self) -> Result<()> {
        if self.common_dir.join("reftable").exists() {
            return refused(
                &self.common_dir,
                "its branches are a reftable, which is not read here",
            );
        }
        let config = read_small(&self.common_dir.join("config"), CONFIG_BYTES_MAX)?;
        let format =
            config.as_deref().and_then(|config| value(config, "extensions", "objectformat"));
        if format.is_some_and(|format| !format.eq_ignore_ascii_case("sha1")) {
            return refused(&self.common_dir, "only objects named by SHA-1 are read here");
        }
        Ok(())
    }

    /// The object folder, after checking that all objects are in it.
    pub(super) fn objects(&self) -> Result<PathBuf> {
        let objects = self.common_dir.join("objects");
        let alternates = objects.join("info/alternates");
        if read_small(&alternates, CONFIG_BYTES_MAX)?
            .is_some_and(|small| !small.trim_ascii().is_empty())
        {
            return refused(&alternates, "objects are borrowed from another repository");
        }
        if !fs::symlink_metadata(&objects).is_ok_and(|metadata| metadata.is_dir()) {
            return refused(&objects, "not a folder, but objects are to be in it");
        }
        let mut left = ENTRIES_MAX;
        for folder in plain_entries(&objects, &mut left)? {
            plain_entries(&folder, &mut left)?;
        }
        Ok(objects)
    }
}

/// The folders in a folder that contains only folders and files: a link could lead elsewhere, and
/// opening a pipe could block forever.
fn plain_entries(folder: &Path, left: &mut usize) -> Result<Vec<PathBuf>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| Error::io(folder, error))? {
        let entry = entry.map_err(|error| Error::io(folder, error))?;
        let kind = entry.file_type().map_err(|error| Error::io(entry.path(), error))?;
        if kind.is_dir() {
            folders.push(entry.path());
        } else if !kind.is_file() {
            return refused(&entry.path(), "neither folder nor file, but objects are to be here");
        }
        *left = left.saturating_sub(1);
        if *left == 0 {
            return refused(folder, "too many files; `git gc` packs them");
        }
    }
    Ok(folders)
}

/// The folders of the repository whose top folder this is.
fn at(top: &Path, root: &Path, uid: u32) -> Result<Option<(PathBuf, PathBuf)>> {
    let dot_git = top.join(".git");
    let Ok(kind) = fs::symlink_metadata(&dot_git) else {
        // A bare repository can be the project itself, but not contain it.
        return Ok((top == root && is_repository(top)).then(|| (top.into(), top.into())));
    };
    if top != root && kind.uid() != uid {
        return Ok(None);
    }
    if kind.is_symlink() {
        return refused(&dot_git, "a symbolic link; let it be a folder, or `git worktree add`");
    }
    if kind.is_dir() {
        if fs::symlink_metadata(dot_git.join("commondir")).is_ok() {
            return refused(&dot_git, "it belongs to another repository");
        }
        return Ok(is_repository(&dot_git).then(|| (dot_git.clone(), dot_git)));
    }
    pointed(top, &dot_git, root).map(Some)
}

/// The folders that a `.git` file points to.
fn pointed(top: &Path, dot_git: &Path, root: &Path) -> Result<(PathBuf, PathBuf)> {
    let git_dir = read_path(dot_git, Some(b"gitdir:"))?
        .and_then(|path| fs::canonicalize(top.join(path)).ok())
        .filter(|path| path.is_dir());
    let Some(git_dir) = git_dir else {
        return refused(dot_git, "it names no folder of a repository");
    };
    let common_dir = read_path(&git_dir.join("commondir"), None)?
        .and_then(|path| fs::canonicalize(git_dir.join(path)).ok());
    if let Some(common_dir) = common_dir {
        let back = read_path(&git_dir.join("gitdir"), None)?
            .and_then(|path| fs::canonicalize(git_dir.join(path)).ok());
        let named = back.is_some_and(|back| back == dot_git);
        if named && git_dir.parent().is_some_and(|parent| parent == common_dir.join("worktrees")) {
            return Ok((git_dir, common_dir));
        }
        return refused(
            dot_git,
            "the repository it names does not know this worktree; `git worktree repair` tells it",
        );
    }
    let config = read_small(&git_dir.join("config"), CONFIG_BYTES_MAX)?;
    let back = config
        .as_deref()
        .and_then(|config| value(config, "core", "worktree"))
        .and_then(|value| fs::canonicalize(git_dir.join(value)).ok());
    if git_dir.starts_with(root) || back.is_some_and(|back| back == top) {
        return Ok((git_dir.clone(), git_dir));
    }
    refused(dot_git, "the repository it names is elsewhere, and does not name this folder")
}

/// Whether a folder has what git requires in a repository.
fn is_repository(folder: &Path) -> bool {
    let has = |name| fs::symlink_metadata(folder.join(name)).is_ok();
    has("HEAD") && has("objects") && has("refs")
}

/// The path in a file whose only line it is.
fn read_path(file: &Path, begin: Option<&[u8]>) -> Result<Option<PathBuf>> {
    let Some(bytes) = read_small(file, POINTER_BYTES_MAX)? else { return Ok(None) };
    let text = begin.map_or(Some(&*bytes), |prefix| bytes.strip_prefix(prefix));
    Ok(text.and_then(|text| std::str::from_utf8(text.trim_ascii()).ok()).map(PathBuf::from))
}

/// A setting in git's configuration that is written in the plain form that git itself writes; the
/// last one wins. Includes are not followed.
fn value(config: &[u8], section: &str, key: &str) -> Option<String> {
    let mut within = false;
    let mut found = None;
    for line in std::str::from_utf8(config).ok()?.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix('[') {
            within = rest.split(']').next().is_some_and(|part| part.eq_ignore_ascii_case(section));
        } else if within
            && let Some((name, value)) = line.split_once('=')
            && name.trim().eq_ignore_ascii_case(key)
        {
            found = Some(value.trim().trim_matches('"').to_owned());
        }
    }
    found
}

/// The contents of a regular file that is not a link; nothing if it does not exist.
pub(super) fn read_small(file: &Path, bytes_max: u64) -> Result<Option<Vec<u8>>> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = match rustix::fs::open(file, flags, Mode::empty()) {
        Ok(it) => fs::File::from(it),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
        Err(rustix::io::Errno::LOOP) => return refused(file, "a symbolic link"),
        Err(it) => return Err(Error::io(file, it.into())),
    };
    let metadata = opened.metadata().map_err(|error| Error::io(file, error))?;
    if !metadata.is_file() || metadata.len() > bytes_max {
        return refused(file, &format!("not a file of at most {bytes_max} bytes"));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    let read: io::Result<usize> = opened.take(bytes_max).read_to_end(&mut bytes);
    read.map_err(|error| Error::io(file, error))?;
    Ok(Some(bytes))
}

pub(super) fn refused<T>(path: &Path, why: &str) -> Result<T> {
    Err(Error::Repository { path: path.into(), why: why.to_owned() })
}
