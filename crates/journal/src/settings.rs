//! How the database is reached.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use percent_encoding::percent_decode_str;

use crate::error::{Error, Result};
use crate::password::Passwords;
use crate::tls::Tls;

/// The port of PostgreSQL.
const PORT: u16 = 5432;
/// How long one server may take to answer a new connection, unless the URL says otherwise.
const CONNECT: Duration = Duration::from_secs(5);

const PARAMETERS: &str = "host, port, sslmode, sslrootcert, connect_timeout and application_name";

/// How the database is reached: servers, user, TLS.
#[derive(Clone)]
pub struct Settings {
    pub(crate) servers: Vec<Server>,
    pub(crate) user: String,
    pub(crate) database: String,
    pub(crate) application: String,
    pub(crate) connect: Duration,
    pub(crate) schema: String,
    pub(crate) notify: bool,
    pub(crate) passwords: Passwords,
}

/// One server of the URL.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) host: Host,
    pub(crate) port: u16,
    pub(crate) tls: Tls,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    Tcp(String),
    /// The folder of the socket.
    Unix(PathBuf),
}

impl Settings {
    /// Reads a URL: `postgresql://USER@HOST[:PORT][,HOST…]/DATABASE?sslmode=…&sslrootcert=…`.
    ///
    /// - A host that is a path, percent-encoded or as the parameter `host`, is the folder of a Unix
    ///   socket. With several hosts, the primary among them is used.
    /// - `sslmode` is `verify-full` or `disable`. The default is `disable` for Unix sockets and for
    ///   `localhost`, `127.0.0.0/8` and `::1`, and `verify-full` for all others.
    /// - `sslrootcert` is the file of the certificates that `verify-full` trusts, in PEM.
    /// - The password is `PGPASSWORD`, or that of the file `PGPASSFILE`, or of `~/.pgpass`; a file
    ///   is read at each connection.
    ///
    /// `variable` looks an environment variable up.
    ///
    /// # Errors
    /// [`Error::Setting`], which names the part of the URL and what is valid. It quotes neither the
    /// URL nor a password.
    pub fn parse(url: &str, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let rest = url
            .strip_prefix("postgresql://")
            .or_else(|| url.strip_prefix("postgres://"))
            .ok_or_else(|| {
                wrong("the URL of the database must begin with postgresql://".to_owned())
            })?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        // A password with `?` that is not percent-encoded: what follows is the rest of it.
        if query.contains('@') {
            return Err(wrong(
                "the parameters in the URL of the database have an «@»; write %40 in a value, and \
                 put a password into ~/.pgpass, the file PGPASSFILE, or the variable PGPASSWORD"
                    .to_owned(),
            ));
        }
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        if user.contains(':') {
            return Err(password_in_url());
        }
        let user = match decode(user)? {
            user if user.is_empty() => {
                return Err(wrong("the URL of the database names no user (USER@HOST)".to_owned()));
            }
            user => user,
        };
        let database = match decode(database)? {
            name if name.is_empty() => user.clone(),
            name => name,
        };
        let parameters = Parameters::parse(query)?;
        let hosts = match &parameters.host {
            Some(host) if hosts.is_empty() => host.clone(),
            Some(_) => return Err(wrong("the URL of the database names hosts twice".to_owned())),
            None => hosts.to_owned(),
        };
        let servers = hosts
            .split(',')
            .map(|part| server(part, &parameters))
            .collect::<Result<Vec<Server>>>()?;
        Ok(Self {
            servers,
            user,
            database,
            application: parameters.application.unwrap_or_else(|| "waypost".to_owned()),
            connect: parameters.connect.unwrap_or(CONNECT),
            schema: "waypost".to_owned(),
            notify: true,
            passwords: Passwords::from_environment(variable)?,
        })
    }

    /// Sets the schema of the tables. The default is `waypost`.
    ///
    /// # Errors
    /// [`Error::Setting`] if it is not 1 to 40 characters of `a-z`, `0-9` and `_`, of which the
    /// first is no digit.
    pub fn with_schema(mut self, schema: &str) -> Result<Self> {
        let valid = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let first = schema.as_bytes().first();
        if schema.len() > 40
            || first.is_none_or(u8::is_ascii_digit)
            || !schema.bytes().all(valid)
            || schema.starts_with("pg_")
        {
            return Err(wrong(
                "a schema has 1 to 40 characters of a-z, 0-9 and _; the first is no digit, and it \
                 does not begin with pg_"
                    .to_owned(),
            ));
        }
        schema.clone_into(&mut self.schema);
        Ok(self)
    }

    /// Sets whether appends are announced by NOTIFY, and LISTEN hears of others'. The default is
    /// true. Polling finds them, too; behind PgBouncer in transaction mode, it alone does.
    #[must_use]
    pub fn with_notify(mut self, notify: bool) -> Self {
        self.notify = notify;
        self
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("servers", &self.servers)
            .field("user", &self.user)
            .field("database", &self.database)
            .field("schema", &self.schema)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Tcp(host) => write!(f, "{}:{}", host.escape_debug(), self.port),
            Host::Unix(folder) => {
                write!(f, "{}:{}", folder.display().to_string().escape_debug(), self.port)
            }
        }
    }
}

#[derive(Default)]
struct Parameters {
    host: Option<String>,
    port: Option<u16>,
    mode: Option<Mode>,
    roots: Option<PathBuf>,
    connect: Option<Duration>,
    application: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    VerifyFull,
    Disable,
}

impl Parameters {
    fn parse(query: &str) -> Result<Self> {
        let mut found = Self::default();
        for pair in query.split('&').filter(|part| !part.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = decode(value)?;
            match name {
                "host" => found.host = Some(value),
                "port" => found.port = Some(port(&value)?),
                "sslmode" => found.mode = Some(mode(&value)?),
                "sslrootcert" => found.roots = Some(PathBuf::from(value)),
                "application_name" => found.application = Some(value),
                "connect_timeout" => {
                    let seconds =
                        value.parse::<u32>().ok().filter(|value| (1..=600).contains(value));
                    let seconds = seconds.ok_or_else(|| {
                        wrong("connect_timeout is a number of seconds from 1 to 600".to_owned())
                    })?;
                    found.connect = Some(Duration::from_secs(seconds.into()));
                }
                "password" => return Err(password_in_url()),
                other => {
                    return Err(wrong(format!(
                        "unknown parameter «{}» in the URL of the database; it may have {PARAMETERS}",
                        other.escape_debug()
                    )));
                }
            }
        }
        Ok(found)
    }
}

fn server(text: &str, parameters: &Parameters) -> Result<Server> {
    let (host, number) = match text.rsplit_once(':') {
        Some((host, number)) if !host.is_empty() && !number.contains(']') => {
            (host, Some(port(number)?))
        }
        _ => (text, None),
    };
    let host = decode(host.trim_start_matches('[').trim_end_matches(']'))?;
    if host.is_empty() {
        return Err(wrong("the URL of the database names no host".to_owned()));
    }
    let port = number.or(parameters.port).unwrap_or(PORT);
    let host = if host.starts_with('/') { Host::Unix(host.into()) } else { Host::Tcp(host) };
    let mode = parameters.mode.unwrap_or(match &host {
        Host::Tcp(name) if !is_loopback(name) => Mode::VerifyFull,
        Host::Tcp(_) | Host::Unix(_) => Mode::Disable,
    });
    let tls = match (mode, &host) {
        (Mode::Disable, _) | (_, Host::Unix(_)) => Tls::Plain,
        (Mode::VerifyFull, Host::Tcp(_)) => Tls::verify_full(roots(parameters)?)?,
    };
    Ok(Server { host, port, tls })
}

fn roots(parameters: &Parameters) -> Result<&Path> {
    parameters.roots.as_deref().ok_or_else(|| {
        wrong(
            "sslmode=verify-full needs sslrootcert=FILE in the URL of the database: the \
             certificates to trust, in PEM (those of Debian are in \
             /etc/ssl/certs/ca-certificates.crt)"
                .to_owned(),
        )
    })
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|value| value.is_loopback())
}

fn port(text: &str) -> Result<u16> {
    let number = text.parse::<u16>().ok().filter(|value| *value > 0);
    number.ok_or_else(|| wrong("a port is a number from 1 to 65535".to_owned()))
}

fn mode(text: &str) -> Result<Mode> {
    match text {
        "verify-full" => Ok(Mode::VerifyFull),
        "disable" => Ok(Mode::Disable),
        other => Err(wrong(format!(
            "sslmode={} does not verify which server answers; use verify-full with \
             sslrootcert=FILE, or disable in a network that nobody else can reach",
            other.escape_debug()
        ))),
    }
}

fn decode(text: &str) -> Result<String> {
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| {
        wrong("the URL of the database has percent-encoded bytes that are no UTF-8".to_owned())
    })?;
    if decoded.contains('\0') {
        return Err(wrong("the URL of the database has a NUL character".to_owned()));
    }
    Ok(decoded.into_owned())
}

fn password_in_url() -> Error {
    wrong(
        "the URL of the database has a password, which configuration files and lists of processes \
         would show; put it into ~/.pgpass, the file PGPASSFILE, or the variable PGPASSWORD"
            .to_owned(),
    )
}

pub(crate) fn wrong(what: String) -> Error {
    Error::Setting(what)
}
