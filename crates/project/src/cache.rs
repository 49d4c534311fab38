//! The user's folders outside of projects: models, approvals and settings.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// How the environment is passed in: a function from a variable's name to its value.
pub type Environment<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

const IS_MACOS: bool = cfg!(target_os = "macos");

/// `waypost/models` in the user's cache folder: `$XDG_CACHE_HOME`, else `~/.cache`; on macOS `~/Library/Caches`. `None`
/// for a user without a home.
pub fn models_dir(environment: &Environment<'_>) -> Option<PathBuf> {
    Some(cache_dir(IS_MACOS, environment)?.join("waypost").join("models"))
}

/// The user's folder for approvals and the project registry: `waypost` in the user's state folder: `$XDG_STATE_HOME`,
/// else `~/.local/state`; on macOS `~/Library/Application Support`. `None` for a user without a home.
pub fn state_dir(environment: &Environment<'_>) -> Option<PathBuf> {
    let usual = if IS_MACOS { "Library/Application Support" } else { ".local/state" };
    Some(user_dir("XDG_STATE_HOME", usual, environment)?.join("waypost"))
}

/// The user's own settings: `waypost/config.yaml` in `$XDG_CONFIG_HOME`, else in `~/.config`. `None` for a user without
/// a home.
pub fn user_config_file(environment: &Environment<'_>) -> Option<PathBuf> {
    Some(config_home(environment)?.join("waypost").join("config.yaml"))
}

/// The folder in which the peers of a project meet: `waypost/` and a short name derived from the
/// project's path, in `$XDG_RUNTIME_DIR`. `None` if there is no such folder.
pub(crate) fn mesh_dir(project: &Path, environment: &Environment<'_>) -> Option<PathBuf> {
    let runtime = absolute("XDG_RUNTIME_DIR", environment)?;
    // Socket addresses are short: 64 bits distinguish the projects of one user.
    Some(runtime.join("waypost").join(&name_of(project)[..16]))
}

/// The longest path of a Unix socket.
const SOCKET_PATH_BYTES_MAX: usize = 107;

/// The socket on which a program of a project listens for its own user: the file `NAME.sock` in the
/// store's folder, or, if that path is too long for a socket, `waypost/ID.sock` in
/// `$XDG_RUNTIME_DIR`, where `ID` is derived from the folder's path (for programs other than the
/// service, `ID-NAME.sock`). If that folder does not exist either, the returned path is too long,
/// and nothing can listen there.
pub fn socket_path(data_dir: &Path, name: &str, environment: &Environment<'_>) -> PathBuf {
    let usual = data_dir.join(format!("{name}.sock"));
    if usual.as_os_str().len() <= SOCKET_PATH_BYTES_MAX {
        return usual;
    }
    let Some(runtime) = absolute("XDG_RUNTIME_DIR", environment) else {
        return usual;
    };
    let id = &name_of(data_dir)[..32];
    let file = match name {
        "service" => format!("{id}.sock"),
        other => format!("{id}-{other}.sock"),
    };
    runtime.join("waypost").join(file)
}

/// The file with which a person opens a page of a project: `waypost/ID-open.html` in
/// `$XDG_RUNTIME_DIR`, where `ID` is derived from the store's folder, or, without that folder,
/// `open.html` in the store's folder.
pub fn open_file(data_dir: &Path, environment: &Environment<'_>) -> PathBuf {
    match absolute("XDG_RUNTIME_DIR", environment) {
        Some(runtime) => {
            let id = &name_of(data_dir)[..32];
            runtime.join("waypost").join(format!("{id}-open.html"))
        }
        None => data_dir.join("open.html"),
    }
}

/// A name derived from a project's path: 64 hexadecimal digits.
fn name_of(project: &Path) -> String {
    hex(&Sha256::digest(project.as_os_str().as_encoded_bytes()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])).collect()
}

/// The file with git's global ignore rules for this user, at git's default path; it may be missing.
pub(crate) fn git_ignore_file(environment: &Environment<'_>) -> Option<PathBuf> {
    Some(config_home(environment)?.join("git").join("ignore"))
}

fn config_home(environment: &Environment<'_>) -> Option<PathBuf> {
    user_dir("XDG_CONFIG_HOME", ".config", environment)
}

fn cache_dir(is_macos: bool, environment: &Environment<'_>) -> Option<PathBuf> {
    user_dir("XDG_CACHE_HOME", if is_macos { "Library/Caches" } else { ".cache" }, environment)
}

/// The folder of a variable of the XDG Base Directory Specification, else this one in the home folder.
fn user_dir(name: &str, usual: &str, environment: &Environment<'_>) -> Option<PathBuf> {
    absolute(name, environment).or_else(|| Some(absolute("HOME", environment)?.join(usual)))
}

/// The folder that a variable names. The specification requires ignoring relative paths; they would depend on the
/// current folder.
fn absolute(name: &str, environment: &Environment<'_>) -> Option<PathBuf> {
    environment(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::{cache_dir, mesh_dir, socket_path, state_dir, user_config_file};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    fn set(variables: &[(&str, &str)]) -> impl Fn(&str) -> Option<OsString> {
        move |name: &str| {
            variables.iter().find(|(it, _)| *it == name).map(|(_, value)| OsString::from(value))
        }
    }

    fn text(path: Option<PathBuf>) -> Option<String> {
        path.map(|path| path.display().to_string())
    }

    fn folder(is_macos: bool, variables: &[(&str, &str)]) -> Option<String> {
        text(cache_dir(is_macos, &set(variables)))
    }

    #[test]
    fn approvals_are_in_the_state_folder() {
        let home = [("HOME", "/home/a")];
        let state = |variables: &[(&str, &str)]| text(state_dir(&set(variables)));
        assert_eq!(state(&home).as_deref(), Some("/home/a/.local/state/waypost"));
        let moved = [home[0], ("XDG_STATE_HOME", "/s")];
        assert_eq!(state(&moved).as_deref(), Some("/s/waypost"));
        assert_eq!(state(&[]), None);
        let config = |variables: &[(&str, &str)]| text(user_config_file(&set(variables)));
        assert_eq!(config(&home).as_deref(), Some("/home/a/.config/waypost/config.yaml"));
        let moved = [home[0], ("XDG_CONFIG_HOME", "/c")];
        assert_eq!(config(&moved).as_deref(), Some("/c/waypost/config.yaml"));
    }

    #[test]
    fn peers_meet_in_the_runtime_folder_apart_for_each_project() {
        let environment = set(&[("XDG_RUNTIME_DIR", "/run/user/1000")]);
        let [one, other] =
            ["/a", "/b"].map(|it| mesh_dir(Path::new(it), &environment).expect("a folder"));
        assert_ne!(one, other);
        assert!(one.starts_with("/run/user/1000/waypost"), "{}", one.display());
        assert!(one.as_os_str().len() < 60, "{}", one.display());
        assert_eq!(mesh_dir(Path::new("/a"), &|_| None), None);
        assert_eq!(mesh_dir(Path::new("/a"), &set(&[("XDG_RUNTIME_DIR", "run")])), None);
    }

    #[test]
    fn a_socket_is_in_the_store_s_folder_or_where_its_path_is_short_enough() {
        let environment = set(&[("XDG_RUNTIME_DIR", "/run/user/1000")]);
        let near = Path::new("/p/.waypost/data");
        assert_eq!(
            socket_path(near, "service", &environment),
            Path::new("/p/.waypost/data/service.sock")
        );
        // With the longest folder whose socket path fits, and with one that is a byte longer.
        let fits = PathBuf::from(format!("/{}", "d".repeat(107 - 1 - "/service.sock".len())));
        assert_eq!(socket_path(&fits, "service", &environment).as_os_str().len(), 107);
        let far = PathBuf::from(format!("{}d", fits.display()));
        let [service, browser] =
            ["service", "browser"].map(|it| socket_path(&far, it, &environment));
        assert!(service.starts_with("/run/user/1000/waypost"), "{}", service.display());
        assert!(browser.starts_with("/run/user/1000/waypost"), "{}", browser.display());
        assert_ne!(service, browser);
        assert!(browser.as_os_str().len() <= 107);
        assert_eq!(socket_path(&far, "service", &|_| None), far.join("service.sock"));
    }

    #[test]
    fn each_system_has_its_folder() {
        let home = ("HOME", "/home/a");
        assert_eq!(folder(false, &[home]).as_deref(), Some("/home/a/.cache"));
        assert_eq!(folder(false, &[home, ("XDG_CACHE_HOME", "/c")]).as_deref(), Some("/c"));
        for ignored in ["", "relative"] {
            let found = folder(false, &[home, ("XDG_CACHE_HOME", ignored)]);
            assert_eq!(found.as_deref(), Some("/home/a/.cache"));
        }
        assert_eq!(folder(true, &[home]).as_deref(), Some("/home/a/Library/Caches"));
        assert_eq!(folder(false, &[]), None);
    }
}
