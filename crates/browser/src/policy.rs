//! Where a page may come from, and what it may reach.

mod address;

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use parking_lot::Mutex;
use thiserror::Error;
use url::{Host, Url};

pub use self::address::is_public;
use crate::{Problem, ProblemKind};

/// The longest address that is followed, in bytes.
pub const URL_BYTES_MAX: usize = 8 << 10;

/// Who wants to go somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// A person: typed it, or started with it.
    Human,
    /// A program.
    Agent,
}

/// What is reachable although its address is not public: `private` for all of it, or `HOST`,
/// `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allow {
    /// Every address that is not public.
    Private,
    /// One host, as it is named in the address, on one port or on all.
    Host {
        /// In the form that [`Url`] gives it.
        host: String,
        /// All ports without one.
        port: Option<u16>,
    },
}

/// Not `private`, `HOST` or `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{given:?} is not allowed as such: it must be `private`, a host or host:port")]
pub struct InvalidAllow {
    given: String,
}

impl FromStr for Allow {
    type Err = InvalidAllow;

    fn from_str(text: &str) -> Result<Self, InvalidAllow> {
        let invalid = || InvalidAllow { given: text.chars().take(100).collect() };
        if text == "private" {
            return Ok(Self::Private);
        }
        let url = Url::parse(&format!("http://{text}")).map_err(|_| invalid())?;
        // A URL keeps no port that is its scheme's own; here it was given, or it was not.
        let port = if text.ends_with(":80") { Some(80) } else { url.port() };
        let is_bare = matches!(url.path(), "" | "/")
            && !text.ends_with('/')
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty();
        let host = url.host_str().filter(|_| is_bare).ok_or_else(invalid)?;
        Ok(Self::Host { host: host.to_owned(), port })
    }
}

impl fmt::Display for Allow {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private => formatter.write_str("private"),
            Self::Host { host, port: Some(port) } => write!(formatter, "{host}:{port}"),
            Self::Host { host, port: None } => formatter.write_str(host),
        }
    }
}

/// Which addresses may be reached.
///
/// A page comes by http or https only. What is not public (this machine, its network, link-local
/// addresses with the metadata services of clouds) is reached only if a setting allows it or a
/// person went there, and then by its host and port only. Ports of Waypost are reached by nobody.
#[derive(Debug, Default)]
pub struct Policy {
    allow: Vec<Allow>,
    own_ports: Mutex<BTreeSet<u16>>,
    /// Where a person went.
    granted: Mutex<BTreeSet<(String, u16)>>,
}

impl Policy {
    /// A policy that allows these beyond public addresses, and never the ports of `own_ports` on an
    /// address that is not public.
    #[must_use]
    pub fn new(allow: Vec<Allow>, own_ports: impl IntoIterator<Item = u16>) -> Self {
        let own_ports = Mutex::new(own_ports.into_iter().collect());
        Self { allow, own_ports, granted: Mutex::default() }
    }

    /// Keeps one more port from pages.
    pub fn add_own_port(&self, port: u16) {
        self.own_ports.lock().insert(port);
    }

    /// The address that a text means, relative to `base`, if anybody may go there by its form. What a
    /// person names is granted.
    ///
    /// # Errors
    /// [`ProblemKind::Invalid`] if it is no address, [`ProblemKind::Forbidden`] for a scheme other
    /// than http and https, and for an agent's address whose form shows that it is not public.
    pub fn url(&self, text: &str, base: Option<&Url>, who: Who) -> Result<Url, Problem> {
        if text.len() > URL_BYTES_MAX {
            return Err(Problem::invalid(format!("url: longer than {URL_BYTES_MAX} bytes")));
        }
        let url = Url::options().base_url(base).parse(text).map_err(|error| {
            Problem::invalid(format!("url: {error}; an address like https://example.org is needed"))
        })?;
        if url.as_str() == "about:blank" {
            return Ok(url);
        }
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(scheme_refused(&url));
        };
        if !matches!(url.scheme(), "http" | "https") {
            return Err(scheme_refused(&url));
        }
        let name = host.to_string();
        if who == Who::Human {
            self.granted.lock().insert((name.clone(), port));
        }
        let literal = match host {
            Host::Ipv4(address) => Some(IpAddr::V4(address)),
            Host::Ipv6(address) => Some(IpAddr::V6(address)),
            Host::Domain(_) => None,
        };
        if let Some(address) = literal {
            self.admit(&name, port, &[address])?;
        }
        Ok(url)
    }

    /// Whether a host, which has these addresses, may be reached on a port.
    ///
    /// # Errors
    /// [`ProblemKind::Forbidden`] if one of the addresses is not public and nobody allowed it.
    pub fn admit(&self, host: &str, port: u16, addresses: &[IpAddr]) -> Result<(), Problem> {
        let Some(address) = addresses.iter().find(|it| !is_public(**it)) else { return Ok(()) };
        if self.own_ports.lock().contains(&port) {
            let detail = format!("{host}:{port} is a port of Waypost itself; no page may reach it");
            return Err(Problem::new(ProblemKind::Forbidden, detail));
        }
        let is_allowed = self.allow.iter().any(|it| match it {
            Allow::Private => true,
            Allow::Host { host: allowed, port: on } => {
                allowed.eq_ignore_ascii_case(host) && on.is_none_or(|it| it == port)
            }
        });
        if is_allowed || self.granted.lock().contains(&(host.to_ascii_lowercase(), port)) {
            return Ok(());
        }
        let detail = format!(
            "{host}:{port} is {address}, which is not a public address; a person can go there, or \
             allow it with --allow {host}:{port}"
        );
        Err(Problem::new(ProblemKind::Forbidden, detail))
    }
}

fn scheme_refused(url: &Url) -> Problem {
    let detail = format!("url: {}: is not followed; http and https are", url.scheme());
    Problem::new(ProblemKind::Forbidden, detail)
}

#[cfg(test)]
mod tests {
    use super::{Allow, Policy, Who};
    use crate::ProblemKind;

    #[test]
    fn what_is_not_public_needs_a_person_or_a_setting() {
        let policy = Policy::new(vec!["10.0.0.7:8080".parse().expect("a host and port")], [4747]);
        for text in [
            "http://127.0.0.1/",
            "http://0x7f000001",
            "http://2130706433",
            "http://017700000001",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]/",
            "http://169.254.169.254/latest",
            "http://0/",
            "http://[fd00::1]/",
            "http://10.0.0.7/",
            "http://192.168.1.1",
        ] {
            let problem = policy.url(text, None, Who::Agent).expect_err(text);
            assert_eq!(problem.kind, ProblemKind::Forbidden, "{text}");
        }
        for text in
            ["http://10.0.0.7:8080/a", "https://example.org/", "http://1.1.1.1/", "about:blank"]
        {
            policy.url(text, None, Who::Agent).expect(text);
        }
        policy.url("http://192.168.1.1/", None, Who::Human).expect("a person may");
        policy.url("http://192.168.1.1/more", None, Who::Agent).expect("where the person is");
        policy.url("http://192.168.1.1:81/", None, Who::Agent).expect_err("another port");
        policy.url("http://127.0.0.1:4747/", None, Who::Human).expect_err("our own port");
    }

    #[test]
    fn only_http_and_https_are_followed() {
        let policy = Policy::new(vec![Allow::Private], []);
        for text in [
            "file:///etc/passwd",
            "chrome://version",
            "javascript:alert(1)",
            "data:text/html,x",
            "view-source:http://a.example",
            "blob:http://a.example/1",
            "devtools://x",
            "ftp://a.example",
            "about:version",
        ] {
            let problem = policy.url(text, None, Who::Human).expect_err(text);
            assert_eq!(problem.kind, ProblemKind::Forbidden, "{text}");
        }
        // The host is shown as it is asked for: letters that only look like others are told apart.
        let lookalike = policy.url("https://\u{430}pple.example/", None, Who::Human);
        assert_eq!(lookalike.expect("a host").as_str(), "https://xn--pple-43d.example/");
        for text in ["", "nowhere", "http://", "http://a b/"] {
            let problem = policy.url(text, None, Who::Human).expect_err(text);
            assert_eq!(problem.kind, ProblemKind::Invalid, "{text}");
        }
    }

    #[test]
    fn what_is_allowed_is_read_strictly() {
        for (text, shown) in [
            ("private", "private"),
            ("LocalHost:80", "localhost:80"),
            ("[::1]:9", "[::1]:9"),
            ("a.example", "a.example"),
        ] {
            assert_eq!(text.parse::<Allow>().expect(text).to_string(), shown);
        }
        for text in ["", "http://a", "a/b", "a:b", "u@a", "a:70000"] {
            text.parse::<Allow>().expect_err(text);
        }
    }
}
