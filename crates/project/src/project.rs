//! The project folder and the places in it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::OFlags;

use crate::error::{Error, Result};
use crate::private::{self, Owners};

const FOLDER: &str = ".waypost";
const GITIGNORE: &str = "# The store and the admin token are this machine's own.\n\
    /data/\n\
    /token\n";

/// A project: a folder, and `.waypost/` in it, which may not be there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
    owners: Owners,
}

/// What [`Project::prepare`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepared {
    /// `.waypost/` was made: this is the first start.
    Created,
    /// `.waypost/` was there.
    Existing,
}

impl Project {
    /// The project that a folder belongs to: the nearest folder upwards that holds `.waypost/`,
    /// else the nearest that holds `.git`, else the folder itself.
    ///
    /// # Errors
    /// [`Error::NotAFolder`] or [`Error::Io`] if there is no such folder to start from,
    /// [`Error::Exposed`] if `.waypost/` or the folder that it is in belongs to another user than
    /// this one and root, or others can write to it.
    pub fn find(start: &Path) -> Result<Self> {
        let start = folder(start)?;
        let own = Owners::own_only();
        let is_repository = |it: &Path| it.join(".git").exists();
        let above = |is_root: &dyn Fn(&Path) -> bool| {
            start.ancestors().find(|it| is_root(it)).map(Path::to_owned)
        };
        let root = above(&|it| it.join(FOLDER).is_dir())
            // A file in work trees and submodules. One that somebody else put there decides nothing.
            .or_else(|| {
                above(&|it| is_repository(it) && (it == start || own.owns(&it.join(".git"))))
            })
            .unwrap_or_else(|| start.clone());
        // Root works in the folder of another user only where it was sent to that folder itself.
        let owners = if root == start { Owners::of(&root)? } else { own };
        Self { root, owners }.checked()
    }

    /// The project of exactly that folder, as a `--project` flag means it.
    ///
    /// # Errors
    /// [`Error::NotAFolder`] or [`Error::Io`] if there is no such folder, and [`Error::Exposed`] as
    /// [`find`](Self::find) has it.
    pub fn at(root: &Path) -> Result<Self> {
        let root = folder(root)?;
        let owners = Owners::of(&root)?;
        Self { root, owners }.checked()
    }

    /// Refuses a project that another user could have put there, such as `/tmp/.waypost`: its settings
    /// would be that user's.
    fn checked(self) -> Result<Self> {
        let owners = self.owners;
        // Also before there is a `.waypost/`: who can write to the folder can replace it at any time.
        owners.check_folder(&self.root)?;
        let dir = self.dir();
        match dir.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(self),
            Err(error) => return Err(io_error("look at", &dir, error)),
            // A file of that name is no project's folder.
            Ok(found) if !found.is_dir() && !found.is_symlink() => return Ok(self),
            Ok(_) => {}
        }
        owners.check_folder(&dir)?;
        Ok(self)
    }

    /// Who may own what is in the project.
    pub fn owners(&self) -> Owners {
        self.owners
    }

    /// The project's folder, absolute and without links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `.waypost/`: what belongs to Waypost.
    pub fn dir(&self) -> PathBuf {
        self.root.join(FOLDER)
    }

    /// The project's settings, relative to its folder.
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

    /// What of the project is this machine's own, and never a file of a repository: the data folder,
    /// the token and the pairing, relative to the project's folder.
    pub fn private_paths(&self, data_dir: &Path, token_file: &Path) -> Vec<String> {
        let mut paths: Vec<String> =
            ["data", "token", "pairing"].iter().map(|it| format!("{FOLDER}/{it}")).collect();
        for path in [data_dir, token_file] {
            let within = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
            let is_new = |it: &&str| !it.is_empty() && !paths.iter().any(|known| known == it);
            let within = within.filter(is_new).map(str::to_owned);
            paths.extend(within);
        }
        paths
    }

    /// Makes `.waypost/` and a `.gitignore` in it that keeps the store and the token out of
    /// version control. One that is there stays, and gets these rules at its end if they do not
    /// hold; a link in its place is replaced, which git does not follow either. Many processes may
    /// do this at once.
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
            self.write_gitignore(&ignore, &rules)
                .map_err(|error| io_error("write", &ignore, error))?;
        }
        Ok(prepared)
    }

    /// By a temporary file of this call's own and a rename, so that nobody ever sees half of it.
    fn write_gitignore(&self, ignore: &Path, rules: &[u8]) -> io::Result<()> {
        static CALLS: AtomicU64 = AtomicU64::new(0);
        let (process, call) = (std::process::id(), CALLS.fetch_add(1, Ordering::Relaxed));
        let temporary = self.dir().join(format!(".gitignore.{process}-{call}.tmp"));
        let mut file = File::create_new(&temporary)?;
        file.write_all(rules)?;
        file.sync_all()?;
        fs::rename(&temporary, ignore)?;
        #[cfg(unix)]
        File::open(self.dir())?.sync_all()?;
        Ok(())
    }
}

/// What is in a `.gitignore`: nothing if it is a link, or not there.
fn read_gitignore(path: &Path) -> Result<Vec<u8>> {
    const BYTES_MAX: u64 = 1 << 20;

    let failed = |error| io_error("read", path, error);
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
        Ok(metadata) if metadata.is_symlink() => return Ok(Vec::new()),
        Ok(_) => {}
    }
    // A pipe has nobody at its other end, and would be waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let file = file.map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        let reason = "is not a file; put a plain one there, or remove it".to_owned();
        return Err(Error::Exposed { path: path.to_owned(), reason });
    }
    if metadata.len() > BYTES_MAX {
        return Err(Error::TooLarge { path: path.to_owned(), bytes_max: BYTES_MAX });
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Whether these rules of git leave out the store and the token: nothing after ours takes one back.
fn keeps_out(rules: &[u8]) -> bool {
    let lines: Vec<&[u8]> = rules.split(|it| *it == b'\n').collect();
    let last = |wanted: &[u8]| lines.iter().rposition(|it| *it == wanted);
    let (Some(data), Some(token)) = (last(b"/data/"), last(b"/token")) else { return false };
    !lines[data.min(token)..].iter().any(|it| it.starts_with(b"!"))
}

/// Makes the store's folder, whatever the umask is readable by its owner alone, and its parents. One
/// that is there stays as it is: [`tighten`](crate::tighten) looks at it.
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
