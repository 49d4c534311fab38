//! The project folder and the paths in it.

use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};
use crate::private::{self, Owners};
use crate::trusted;

const FOLDER: &str = ".waypost";
const GITIGNORE: &str = "# The store and the admin token are this machine's own.\n\
    /data/\n\
    /token\n";

/// A project: a folder with `.waypost/` in it, which may not exist yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
    owners: Owners,
}

/// The result of [`Project::prepare`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepared {
    /// `.waypost/` was created: this is the first start.
    Created,
    /// `.waypost/` already existed.
    Existing,
}

impl Project {
    /// The project that a folder belongs to: the nearest folder upwards that contains `.waypost/`,
    /// else the nearest that contains `.git`, else the folder itself.
    ///
    /// # Errors
    /// [`Error::NotAFolder`] or [`Error::Io`] if there is no such start folder, [`Error::Exposed`]
    /// if `.waypost/` or its parent folder belongs to a user other than this one and root, or if
    /// other users can write to it.
    pub fn find(start: &Path) -> Result<Self> {
        let start = folder(start)?;
        let own = Owners::own_only();
        let is_repository = |path: &Path| path.join(".git").exists();
        let above = |is_root: &dyn Fn(&Path) -> bool| {
            start.ancestors().find(|folder| is_root(folder)).map(Path::to_owned)
        };
        let root = above(&|it| it.join(FOLDER).is_dir())
            // In work trees and submodules it is a file. One that another user created is ignored.
            .or_else(|| {
                above(&|it| is_repository(it) && (it == start || own.owns(&it.join(".git"))))
            })
            .unwrap_or_else(|| start.clone());
        // Root works in the folder of another user only if it was started for that folder itself.
        let owners = if root == start { Owners::of(&root)? } else { own };
        Self { root, owners }.checked()
    }

    /// The project at exactly that folder, as given with the `--project` flag.
    ///
    /// # Errors
    /// [`Error::NotAFolder`] or [`Error::Io`] if there is no such folder, and [`Error::Exposed`] as
    /// for [`find`](Self::find).
    pub fn at(root: &Path) -> Result<Self> {
        let root = folder(root)?;
        let owners = Owners::of(&root)?;
        Self { root, owners }.checked()
    }

    /// Rejects a project that another user could have created, such as `/tmp/.waypost`: its
    /// settings would be that user's.
    fn checked(self) -> Result<Self> {
        let owners = self.owners;
        // Also before `.waypost/` exists: a user who can write to the folder can replace it at any
        // time.
        owners.check_folder(&self.root)?;
        let dir = self.dir();
        match dir.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(self),
            Err(error) => return Err(io_error("inspect", &dir, error)),
            // A file of that name is not a project's folder.
            Ok(found) if !found.is_dir() && !found.is_symlink() => return Ok(self),
            Ok(_) => {}
        }
        owners.check_folder(&dir)?;
        Ok(self)
    }

    /// Who may own the files of the project.
    pub fn owners(&self) -> Owners {
        self.owners
    }

    /// The project's folder, absolute and without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `.waypost/`: the files of Waypost.
    pub fn dir(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// The project's settings file, relative to its folder.
    pub const CONFIG_FILE: &str = ".waypost/config.yaml";

    /// `.waypost/config.yaml`.
    pub fn config_file(&self) -> PathBuf {
        self.dir().join("config.yaml")
    }

    /// `.waypost/flows/`.
    pub fn flows_dir(&self) -> PathBuf {
        self.dir().join("flows")
    }

    /// `.waypost/journal/`.
    pub fn journal_dir(&self) -> PathBuf {
        self.dir().join("journal")
    }

    /// Paths that belong to this machine only and must never be in a repository: the data folder,
    /// the token and the pairing, relative to the project's folder.
    pub fn private_paths(&self, data_dir: &Path, token_file: &Path) -> Vec<String> {
        let mut paths: Vec<String> =
            ["data", "token", "pairing"].iter().map(|it| format!("{FOLDER}/{it}")).collect();
        for path in [data_dir, token_file] {
            let within = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
            let is_new = |text: &&str| !text.is_empty() && !paths.iter().any(|known| known == text);
            let within = within.filter(is_new).map(str::to_owned);
            paths.extend(within);
        }
        paths
    }

    /// Creates `.waypost/` and a `.gitignore` in it that keeps the store and the token out of
    /// version control. An existing one is kept, and gets these rules at its end if they do not
    /// apply; a link in its place is replaced, because git does not follow it either. Many
    /// processes may do this at the same time.
    pub fn prepare(&self) -> Result<Prepared> {
        let dir = self.dir();
        let prepared = match private::create_dir(&dir, 0o755) {
            Ok(()) => Prepared::Created,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !dir.is_dir() {
                    return Err(Error::NotAFolder { path: dir });
                }
                Prepared::Existing
            }
            Err(error) => return Err(io_error("create", &dir, error)),
        };
        let ignore = dir.join(".gitignore");
        let mut rules = read_gitignore(&ignore)?;
        if !keeps_out(&rules) {
            if !rules.is_empty() && !rules.ends_with(b"\n") {
                rules.push(b'\n');
            }
            rules.extend_from_slice(GITIGNORE.as_bytes());
            // Nobody else writes rules for git, whatever the umask. Several threads may do this at once.
            static CALLS: AtomicU64 = AtomicU64::new(0);
            let end = format!("{}.tmp", CALLS.fetch_add(1, Ordering::Relaxed));
            private::replace(&ignore, &rules, 0o644, &end)
                .map_err(|error| io_error("write", &ignore, error))?;
        }
        Ok(prepared)
    }

    /// Checks what [`prepare`](Self::prepare) would read, and changes nothing.
    pub fn check(&self) -> Result<()> {
        read_gitignore(&self.dir().join(".gitignore")).map(drop)
    }
}

/// The content of a `.gitignore`; empty if it is a link, or missing.
fn read_gitignore(path: &Path) -> Result<Vec<u8>> {
    const BYTES_MAX: u64 = 1 << 20;

    let failed = |error| io_error("read", path, error);
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
        Ok(metadata) if metadata.is_symlink() => return Ok(Vec::new()),
        Ok(_) => {}
    }
    let Some((file, metadata)) = trusted::open_regular(path).map_err(failed)? else {
        let reason = "is not a regular file; replace it with one, or remove it".to_owned();
        return Err(Error::Exposed { path: path.to_owned(), reason });
    };
    if metadata.len() > BYTES_MAX {
        return Err(Error::TooLarge { path: path.to_owned(), bytes_max: BYTES_MAX });
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Whether these git rules exclude the store and the token: no later rule includes them again.
fn keeps_out(rules: &[u8]) -> bool {
    let lines: Vec<&[u8]> = rules.split(|rule| *rule == b'\n').collect();
    let last = |wanted: &[u8]| lines.iter().rposition(|line| *line == wanted);
    let (Some(data), Some(token)) = (last(b"/data/"), last(b"/token")) else { return false };
    !lines[data.min(token)..].iter().any(|line| line.starts_with(b"!"))
}

/// Creates the store's folder, readable by its owner only, whatever the umask, and its parents. An
/// existing one is not changed: [`tighten`](crate::tighten) checks it.
pub fn create_data_dir(dir: &Path) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    let failed = |error| io_error("create", dir, error);
    if let Some(parent) = dir.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o755).create(parent).map_err(failed)?;
    }
    match private::create_dir(dir, 0o700) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        created => created.map_err(failed),
    }
}

fn folder(path: &Path) -> Result<PathBuf> {
    let folder = path.canonicalize().map_err(|error| io_error("find", path, error))?;
    if folder.is_dir() { Ok(folder) } else { Err(Error::NotAFolder { path: folder }) }
}

pub(crate) fn io_error(action: &'static str, path: &Path, source: io::Error) -> Error {
    Error::Io { action, path: path.to_owned(), source }
}
