//! Where models are kept between projects.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How a program's environment is handed in: a variable's name to its value.
pub type Environment<'a> = dyn Fn(&str) -> Option<OsString> + 'a;

#[derive(Debug, Clone, Copy)]
enum System {
    Windows,
    MacOs,
    /// Follows the XDG Base Directory Specification.
    Other,
}

/// `waypost/models` in the user's cache folder: `$XDG_CACHE_HOME`, else `~/.cache`; on macOS
/// `~/Library/Caches`, on Windows `%LOCALAPPDATA%`. `None` for a user without a home.
pub fn models_dir(environment: &Environment<'_>) -> Option<PathBuf> {
    let system = if cfg!(windows) {
        System::Windows
    } else if cfg!(target_os = "macos") {
        System::MacOs
    } else {
        System::Other
    };
    Some(cache_dir(system, environment)?.join("waypost").join("models"))
}

fn cache_dir(system: System, environment: &Environment<'_>) -> Option<PathBuf> {
    // The specification says to ignore relative paths; they would depend on the current folder.
    let absolute =
        |name: &str| environment(name).map(PathBuf::from).filter(|path| is_absolute(system, path));
    absolute("XDG_CACHE_HOME").or_else(|| match system {
        System::Windows => absolute("LOCALAPPDATA")
            .or_else(|| Some(absolute("USERPROFILE")?.join("AppData").join("Local"))),
        System::MacOs => Some(absolute("HOME")?.join("Library").join("Caches")),
        System::Other => Some(absolute("HOME")?.join(".cache")),
    })
}

fn is_absolute(system: System, path: &Path) -> bool {
    match system {
        System::Windows => path.as_os_str().as_encoded_bytes().get(1) == Some(&b':'),
        System::MacOs | System::Other => path.as_os_str().as_encoded_bytes().first() == Some(&b'/'),
    }
}

#[cfg(test)]
mod tests {
    use super::{System, cache_dir};
    use std::ffi::OsString;
    use std::path::Path;

    fn folder(system: System, variables: &[(&str, &str)]) -> Option<String> {
        let environment = |name: &str| {
            variables.iter().find(|(it, _)| *it == name).map(|(_, value)| OsString::from(value))
        };
        cache_dir(system, &environment).map(|path| path.display().to_string().replace('\\', "/"))
    }

    #[test]
    fn each_system_has_its_folder() {
        let home = ("HOME", "/home/a");
        assert_eq!(folder(System::Other, &[home]).as_deref(), Some("/home/a/.cache"));
        assert_eq!(folder(System::Other, &[home, ("XDG_CACHE_HOME", "/c")]).as_deref(), Some("/c"));
        for ignored in ["", "relative"] {
            let found = folder(System::Other, &[home, ("XDG_CACHE_HOME", ignored)]);
            assert_eq!(found.as_deref(), Some("/home/a/.cache"));
        }
        assert_eq!(folder(System::MacOs, &[home]).as_deref(), Some("/home/a/Library/Caches"));
        let windows = folder(System::Windows, &[("LOCALAPPDATA", "C:/a/Local")]);
        assert_eq!(windows.as_deref().map(Path::new), Some(Path::new("C:/a/Local")));
        assert_eq!(folder(System::Other, &[]), None);
    }
}
