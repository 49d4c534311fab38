//! Profile folders: named ones that stay, and fresh ones that are removed with their owner.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};

use super::ChromiumSettings;

/// The prefix of fresh folders, before 16 hexadecimal digits.
const FRESH: &str = "waypost-browser-";
const FRESH_DIGITS: usize = 16;
/// In a fresh folder: locked as long as its owner runs.
const OWNER: &str = ".owner";
/// Chromium's name for its socket: a link in the profile, to another folder.
const SOCKET: &str = "SingletonSocket";
const COOKIE: &str = "SingletonCookie";
const SOCKET_FOLDERS: &[&str] = &["org.chromium.", "com.google."];
/// Another process may take a folder for abandoned in the moment before it is locked.
const TRIES: usize = 8;
/// How many entries of the parent folder of fresh folders are examined.
const ENTRIES_MAX: usize = 10_000;

/// A profile folder.
#[derive(Debug)]
pub(super) struct Profile {
    pub(super) path: PathBuf,
    /// For a fresh folder, its lock.
    fresh: Option<File>,
}

impl Profile {
    /// The folder from the settings, or a fresh one. Also removes folders that killed owners left
    /// behind.
    pub(super) fn open(settings: &ChromiumSettings) -> io::Result<Self> {
        let Some(named) = &settings.profile else {
            remove_left(&settings.temporary);
            return Self::fresh(&settings.temporary);
        };
        if !named.try_exists()? {
            DirBuilder::new().mode(0o700).recursive(true).create(named)?;
        }
        check_private(named)?;
        Ok(Self { path: named.clone(), fresh: None })
    }

    fn fresh(parent: &Path) -> io::Result<Self> {
        for _ in 0..TRIES {
            let mut random = [0_u8; 8];
            getrandom::fill(&mut random).map_err(|error| io::Error::other(error.to_string()))?;
            let path = parent.join(format!("{FRESH}{:016x}", u64::from_le_bytes(random)));
            DirBuilder::new().mode(0o700).create(&path)?;
            if let Some(owner) = own(&path, OFlags::CREATE | OFlags::EXCL) {
                return Ok(Self { path, fresh: Some(owner) });
            }
        }
        Err(io::Error::other(format!(
            "cannot create a folder for the profile in {}",
            parent.display()
        )))
    }

    /// Removes a fresh folder.
    pub(super) fn end(self) {
        if self.fresh.is_some() {
            remove(&self.path);
        }
    }
}

/// Removes fresh folders whose owners are gone. What cannot be removed is left for another time.
fn remove_left(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.take(ENTRIES_MAX).flatten() {
        let name = entry.file_name();
        let digits = name.to_str().and_then(|text| text.strip_prefix(FRESH));
        let is_fresh = digits.is_some_and(|digit| {
            digit.len() == FRESH_DIGITS && digit.bytes().all(|byte| byte.is_ascii_hexdigit())
        });
        // Whoever holds the lock has the folder exclusively until it is removed.
        if is_fresh && let Some(owner) = own(&entry.path(), OFlags::empty()) {
            remove(&entry.path());
            drop(owner);
        }
    }
}

/// Removes a fresh folder, and also the socket folder through which a killed Chromium could have
/// been asked to open a window.
fn remove(folder: &Path) {
    let socket = fs::read_link(folder.join(SOCKET)).ok();
    let beside = socket.as_deref().and_then(Path::parent).filter(|parent| {
        let name = parent.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        parent.parent() == folder.parent()
            && SOCKET_FOLDERS.iter().any(|start| name.starts_with(start))
            && fs::symlink_metadata(parent).is_ok_and(|metadata| is_private(&metadata))
    });
    if let Some(beside) = beside {
        for name in [SOCKET, COOKIE] {
            fs::remove_file(beside.join(name)).unwrap_or_default();
        }
        // It stays if it contains anything else.
        fs::remove_dir(beside).unwrap_or_default();
    }
    // The lock is removed last: a folder that a dying Chromium still writes to is removed another
    // time.
    if remove_inside(folder).is_ok() {
        fs::remove_dir_all(folder).unwrap_or_default();
    }
}

/// Removes the content of a fresh folder except for its lock.
fn remove_inside(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == OWNER {
            continue;
        }
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Locks a folder that is ours, is not a link and that no other user can access; `None` if it
/// belongs to someone else or is gone.
fn own(folder: &Path, create: OFlags) -> Option<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = File::from(openat(CWD, folder, flags, Mode::empty()).ok()?);
    let found = opened.metadata().ok()?;
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | create;
    let owner = openat(&opened, OWNER, flags, Mode::RUSR | Mode::WUSR).ok().map(File::from)?;
    owner.try_lock().ok().filter(|()| is_private(&found))?;
    // It was locked after it had just been removed.
    (owner.metadata().ok()?.nlink() > 0).then_some(owner)
}

fn is_private(found: &fs::Metadata) -> bool {
    found.is_dir()
        && found.uid() == rustix::process::geteuid().as_raw()
        && found.mode() & 0o777 == 0o700
}

/// A profile contains sessions: it must be a folder of ours that no other user can access.
fn check_private(folder: &Path) -> io::Result<()> {
    if is_private(&fs::symlink_metadata(folder)?) {
        return Ok(());
    }
    let detail = format!(
        "the profile {} must be a folder that you own, with mode 0700, and not a symbolic link",
        folder.display()
    );
    Err(io::Error::other(detail))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::Path;

    use super::{OWNER, Profile, SOCKET, remove_left};

    fn folder(parent: &Path, name: &str, mode: u32) {
        let path = parent.join(name);
        fs::create_dir(&path).expect("a folder");
        fs::write(path.join(OWNER), "").expect("a file");
        fs::write(path.join("Cookies"), "sid").expect("a file");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a mode");
    }

    #[test]
    fn only_leftovers_of_killed_owners_are_removed() {
        let parent = tempfile::tempdir().expect("a folder");
        let parent = parent.path();
        let alive = Profile::fresh(parent).expect("a fresh one");
        assert_eq!(fs::metadata(&alive.path).expect("it is there").mode() & 0o777, 0o700);
        // Folder of a killed owner: of its lock, only the file remains.
        folder(parent, "waypost-browser-00000000000000aa", 0o700);
        let socket = parent.join("org.chromium.Chromium.x1");
        folder(parent, "org.chromium.Chromium.x1", 0o700);
        for name in [OWNER, "Cookies"] {
            fs::rename(socket.join(name), socket.join(SOCKET)).expect("a file");
        }
        symlink(socket.join(SOCKET), parent.join("waypost-browser-00000000000000aa").join(SOCKET))
            .expect("a link");
        let kept = [
            "waypost-browser-00000000000000bb",
            "waypost-browser-work",
            "waypost-browser-00000000000000zz",
            "another",
        ];
        folder(parent, kept[0], 0o750);
        for name in &kept[1..] {
            folder(parent, name, 0o700);
        }
        symlink(parent.join("another"), parent.join("waypost-browser-00000000000000cc"))
            .expect("a link");
        let unowned = parent.join("waypost-browser-00000000000000dd");
        fs::create_dir(&unowned).expect("a folder");
        fs::set_permissions(&unowned, Permissions::from_mode(0o700)).expect("a mode");

        remove_left(parent);
        assert!(!parent.join("waypost-browser-00000000000000aa").exists(), "it is removed");
        assert!(!socket.exists(), "with the folder of its socket");
        assert!(alive.path.join(OWNER).exists() && unowned.exists());
        for name in kept {
            assert!(parent.join(name).join("Cookies").exists(), "{name}");
        }
        assert!(parent.join("waypost-browser-00000000000000cc").is_symlink());

        let path = alive.path.clone();
        alive.end();
        assert!(!path.exists(), "it goes with its owner");
    }
}
