//! The password of the database: from `PGPASSWORD`, or from a file in the format of libpq.

use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::settings::{Host, wrong};

/// The folder of the socket that libpq writes as `localhost` in the file.
const SOCKETS: [&str; 2] = ["/var/run/postgresql", "/tmp"];
/// The most bytes of a password file.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Where passwords come from.
#[derive(Clone)]
pub(crate) enum Passwords {
    Fixed(String),
    File { path: PathBuf, required: bool },
    None,
}

/// What a line of the file must match.
pub(crate) struct Wanted<'a> {
    pub(crate) host: &'a Host,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
    pub(crate) user: &'a str,
}

impl Passwords {
    pub(crate) fn from_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let set = |name| variable(name).filter(|variable| !variable.is_empty());
        if let Some(password) = set("PGPASSWORD") {
            let password = password.into_string();
            return Ok(Self::Fixed(
                password.map_err(|_| wrong("PGPASSWORD is not UTF-8".to_owned()))?,
            ));
        }
        if let Some(path) = set("PGPASSFILE") {
            return Ok(Self::File { path: path.into(), required: true });
        }
        Ok(set("HOME").map_or(Self::None, |home| Self::File {
            path: Path::new(&home).join(".pgpass"),
            required: false,
        }))
    }

    /// The password for a server, `None` for none.
    ///
    /// # Errors
    /// If the file cannot be read or others can read it.
    pub(crate) fn find(&self, wanted: &Wanted<'_>) -> Result<Option<String>> {
        let (path, required) = match self {
            Self::Fixed(password) => return Ok(Some(password.clone())),
            Self::None => return Ok(None),
            Self::File { path, required } => (path, *required),
        };
        match read(path) {
            Ok(text) => Ok(text.lines().find_map(|line| matching(line, wanted))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !required => Ok(None),
            Err(error) => {
                Err(wrong(format!("failed to read the passwords in {}: {error}", path.display())))
            }
        }
    }
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(_) => f.write_str("PGPASSWORD"),
            Self::File { path, .. } => write!(f, "{}", path.display()),
            Self::None => f.write_str("none"),
        }
    }
}

fn read(path: &Path) -> io::Result<String> {
    let file = fs::File::open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if about.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::other("other users may read it; run chmod 600 on it"));
        }
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// The password of a line `host:port:database:user:password` that matches.
fn matching(line: &str, wanted: &Wanted<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let fields: Vec<&str> = fields(line).collect();
    let &[host, port, database, user, password, ..] = fields.as_slice() else { return None };
    let is = |field: &str, value: &str| field == "*" || unescaped(field) == value;
    let host_is = match wanted.host {
        Host::Tcp(name) => is(host, name),
        Host::Unix(folder) => {
            let folder = folder.to_string_lossy();
            is(host, &folder) || (SOCKETS.contains(&&*folder) && is(host, "localhost"))
        }
    };
    let found = host_is
        && is(port, &wanted.port.to_string())
        && is(database, wanted.database)
        && is(user, wanted.user);
    (found && !password.is_empty()).then(|| unescaped(password))
}

/// Splits at colons; a backslash escapes a colon and a backslash.
fn fields(line: &str) -> impl Iterator<Item = &str> {
    let mut is_escaped = false;
    line.trim_end_matches('\r').split(move |c: char| {
        let is_end = c == ':' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    })
}

fn unescaped(field: &str) -> String {
    let mut chars = field.chars();
    let mut text = String::new();
    while let Some(it) = chars.next() {
        text.extend(if it == '\\' { chars.next() } else { Some(it) });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, host: &str, expected: Option<&str>) {
        let host = if host.starts_with('/') {
            Host::Unix(host.into())
        } else {
            Host::Tcp(host.to_owned())
        };
        let wanted = Wanted { host: &host, port: 5432, database: "d", user: "u" };
        let found = file.lines().find_map(|line| matching(line, &wanted));
        assert_eq!(found.as_deref(), expected, "{file}");
    }

    #[test]
    fn the_first_line_that_matches_counts() {
        check("a:5432:d:u:first\na:5432:d:u:second", "a", Some("first"));
        check("a:5432:d:v:other\n*:*:*:*:any", "a", Some("any"));
        check("# a:5432:d:u:x\na:5432:d:u:y", "a", Some("y"));
        check("a:5432:d:u:", "a", None);
        check("a:5432:d:u", "a", None);
    }

    #[test]
    fn a_backslash_escapes() {
        check(r"a:5432:d:u:p\:w\\d", "a", Some(r"p:w\d"));
        check(r"\*:5432:d:u:x", "a", None);
    }

    #[test]
    fn the_standard_socket_is_localhost() {
        check("localhost:5432:d:u:x", "/var/run/postgresql", Some("x"));
        check("localhost:5432:d:u:x", "/elsewhere", None);
        check("/elsewhere:5432:d:u:x", "/elsewhere", Some("x"));
    }
}
