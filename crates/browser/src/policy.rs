//! Where a page may come from, and what it may access.

mod address;
mod names;

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use parking_lot::Mutex;
use thiserror::Error;
use url::{Host, Url};

pub use self::address::is_public;
use self::address::{Class, class};
use self::names::Names;
use crate::{Problem, ProblemKind};

/// The longest address that is followed, in bytes.
pub const URL_BYTES_MAX: usize = 8 << 10;

/// Who wants to navigate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Actor {
    /// A person: typed the address, or started the program with it.
    Human,
    /// A program.
    Agent,
}

/// An exception that makes non-public addresses reachable: `private` for all of them, or `HOST`,
/// `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allow {
    /// Every address that is not public.
    Private,
    /// One host, as the address names it, on one port or on all.
    Host {
        /// In the form that [`Url`] returns.
        host: String,
        /// The port; `None` means all.
        port: Option<u16>,
    },
}

/// Not `private`, `HOST` or `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("invalid host {given:?}: expected `private`, HOST or HOST:PORT")]
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
        // A URL drops its scheme's default port; this finds out whether it was given.
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

/// Which addresses may be accessed.
///
/// Pages are loaded over http or https only. A non-public address (this machine, its network,
/// link-local addresses with the metadata services of clouds) is accessible only if a setting
/// allows it or a person went there, and then only with that host and port. Waypost's own ports are
/// never accessible.
///
/// A permission for a name is bound to the class of address that the name had: a name that ever was
/// public can access no other class as long as the policy lives, whoever allows it, and a name that
/// was on this machine can access nothing on the network. So pointing a name at another address
/// gains nothing.
#[derive(Debug, Default)]
pub struct Policy {
    allow: Vec<Allow>,
    own_ports: Mutex<BTreeSet<u16>>,
    /// Says whether a port is one of Waypost's that is not in `own_ports`.
    is_own_port: Option<IsOwnPort>,
    /// The hosts and ports that a person went to.
    granted: Mutex<BTreeSet<(String, u16)>>,
    /// The address classes of names so far.
    names: Mutex<Names>,
    /// Whether the connection from the second address, to the first, is of this user.
    is_own_client: Option<fn(SocketAddr, SocketAddr) -> bool>,
}

/// Looks at each check whether a port is one of Waypost's.
struct IsOwnPort(Box<dyn Fn(u16) -> bool + Send + Sync>);

impl fmt::Debug for IsOwnPort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("IsOwnPort")
    }
}

impl Policy {
    /// A policy that allows these exceptions besides public addresses, and never the ports in
    /// `own_ports` on a non-public address.
    #[must_use]
    pub fn new(allow: Vec<Allow>, own_ports: impl IntoIterator<Item = u16>) -> Self {
        let own_ports = Mutex::new(own_ports.into_iter().collect());
        Self { allow, own_ports, ..Self::default() }
    }

    /// Blocks also the ports for which `is_own` is true. It is asked before each access to an address that is not
    /// public, because a service may start later, on another port than its settings have.
    #[must_use]
    pub fn with_own_port(mut self, is_own: impl Fn(u16) -> bool + Send + Sync + 'static) -> Self {
        self.is_own_port = Some(IsOwnPort(Box::new(is_own)));
        self
    }

    /// Has the proxy of the engines serve only connections for which `is_own` is true: it is given
    /// the proxy's address and the client's. Otherwise every user of the machine can use it.
    #[must_use]
    pub fn with_own_clients(mut self, is_own: fn(SocketAddr, SocketAddr) -> bool) -> Self {
        self.is_own_client = Some(is_own);
        self
    }

    pub(crate) fn serves(&self, proxy: SocketAddr, client: SocketAddr) -> bool {
        self.is_own_client.is_none_or(|other| other(proxy, client))
    }

    /// Blocks one more port for pages.
    pub fn add_own_port(&self, port: u16) {
        self.own_ports.lock().insert(port);
    }

    /// The address that a text means, relative to `base`, if its form permits going there. An
    /// address that a person names is permitted from then on.
    ///
    /// # Errors
    /// [`ProblemKind::Invalid`] if it is not a valid address, [`ProblemKind::Forbidden`] for a
    /// scheme other than http and https, and for an agent's address whose form shows that it is not
    /// public.
    pub fn url(&self, text: &str, base: Option<&Url>, who: Actor) -> Result<Url, Problem> {
        if text.len() > URL_BYTES_MAX {
            return Err(Problem::invalid(format!("url: longer than {URL_BYTES_MAX} bytes")));
        }
        let url = Url::options().base_url(base).parse(text).map_err(|error| {
            Problem::invalid(format!(
                "url: {error}; expected an address such as https://example.org"
            ))
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
        if who == Actor::Human {
            self.granted.lock().insert((plain(&name), port));
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

    /// Checks whether a host with these addresses may be accessed on a port.
    ///
    /// # Errors
    /// [`ProblemKind::Forbidden`] if one of the addresses is not public and nothing permits it, or
    /// if the name had addresses of another class before.
    pub fn admit(&self, host: &str, port: u16, addresses: &[IpAddr]) -> Result<(), Problem> {
        let name = plain(host);
        let is_name =
            addresses.iter().any(|address| address.to_string() != name.trim_matches(['[', ']']));
        let classes: Vec<Class> = addresses.iter().map(|address| class(*address)).collect();
        let inside = addresses.iter().zip(&classes).find(|pair| *pair.1 != Class::Public);
        let Some((address, class)) = inside else {
            if is_name {
                self.names.lock().note(&name, &classes);
            }
            return Ok(());
        };
        let refused = |detail| Err(Problem::new(ProblemKind::Forbidden, detail));
        let is_own = self.own_ports.lock().contains(&port)
            || self.is_own_port.as_ref().is_some_and(|other| other.0(port));
        if is_own {
            return refused(format!(
                "{host}:{port} is a port of Waypost itself, which pages cannot access"
            ));
        }
        if !self.is_granted(&name, port) {
            return refused(format!(
                "{host}:{port} is {address}, which is not a public address; a person can navigate \
                 there, or allow it with --allow {host}:{port}"
            ));
        }
        if is_name && !self.names.lock().note(&name, &classes) {
            return refused(format!(
                "{host}:{port} is now {address} ({class}), and had an address of another kind when it \
                 was allowed; if the change is intended, restart the browser"
            ));
        }
        Ok(())
    }

    /// Whether a setting or a person permits access to a non-public host on a port.
    fn is_granted(&self, name: &str, port: u16) -> bool {
        let is_allowed = self.allow.iter().any(|rule| match rule {
            Allow::Private => true,
            Allow::Host { host: allowed, port: on } => {
                plain(allowed) == name && on.is_none_or(|on| on == port)
            }
        });
        is_allowed || self.granted.lock().contains(&(name.to_owned(), port))
    }
}

/// A host in the form in which it is compared: a trailing dot means the same name.
fn plain(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn scheme_refused(url: &Url) -> Problem {
    let detail = format!("url: unsupported scheme {}:; expected http or https", url.scheme());
    Problem::new(ProblemKind::Forbidden, detail)
}

#[cfg(test)]
mod tests {
    use super::{Actor, Allow, Policy};
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
            let problem = policy.url(text, None, Actor::Agent).expect_err(text);
            assert_eq!(problem.kind, ProblemKind::Forbidden, "{text}");
        }
        for text in
            ["http://10.0.0.7:8080/a", "https://example.org/", "http://1.1.1.1/", "about:blank"]
        {
            policy.url(text, None, Actor::Agent).expect(text);
        }
        policy.url("http://192.168.1.1/", None, Actor::Human).expect("a person may");
        policy.url("http://192.168.1.1/more", None, Actor::Agent).expect("where the person is");
        policy.url("http://192.168.1.1:81/", None, Actor::Agent).expect_err("another port");
        policy.url("http://127.0.0.1:4747/", None, Actor::Human).expect_err("our own port");
    }

    const PUBLIC: &str = "93.184.216.34";

    fn admit(policy: &Policy, host: &str, addresses: &[&str]) -> bool {
        let addresses: Vec<_> =
            addresses.iter().map(|address| address.parse().expect("an address")).collect();
        policy.admit(host, 80, &addresses).is_ok()
    }

    #[test]
    fn a_name_that_was_public_reaches_only_public_addresses() {
        let inner = [
            "127.0.0.1",
            "10.0.0.1",
            "192.168.0.1",
            "100.64.0.1",
            "169.254.1.1",
            "169.254.169.254",
            "::1",
            "fd00::1",
            "fe80::1",
            "::ffff:127.0.0.1",
        ];
        for allow in [vec![], vec![Allow::Private], vec!["evil.example".parse().expect("a host")]] {
            for address in inner {
                let policy = Policy::new(allow.clone(), []);
                policy.url("http://evil.example/", None, Actor::Human).expect("a person may");
                assert!(admit(&policy, "evil.example", &[PUBLIC]));
                for name in ["evil.example", "EVIL.example", "evil.example."] {
                    assert!(!admit(&policy, name, &[address]), "{name} {address} {allow:?}");
                    assert!(!admit(&policy, name, &[PUBLIC, address]), "{name} {address}");
                }
                // Going there again as a person changes nothing.
                policy.url("http://evil.example/", None, Actor::Human).expect("a person may");
                assert!(!admit(&policy, "evil.example", &[address]), "{address}");
                assert!(admit(&policy, "evil.example", &[PUBLIC]));
            }
        }
    }

    #[test]
    fn a_permission_of_a_name_covers_its_class_of_addresses() {
        let policy = Policy::new(vec![], []);
        policy.url("http://printer.example/", None, Actor::Human).expect("a person may");
        policy.url("http://both.example/", None, Actor::Human).expect("a person may");
        assert!(!admit(&policy, "both.example", &["10.0.0.7", PUBLIC]), "both at once");
        assert!(!admit(&policy, "both.example", &["10.0.0.7"]), "it was public, too");
        assert!(admit(&policy, "printer.example", &["10.0.0.7", "fd00::7"]));
        assert!(admit(&policy, "printer.example", &["10.0.0.8"]), "another one of the network");
        for address in ["127.0.0.1", "169.254.169.254", "169.254.7.7", "100.100.100.200"] {
            assert!(!admit(&policy, "printer.example", &[address]), "{address}");
        }
        // Once it has been public, it stays public.
        assert!(admit(&policy, "printer.example", &[PUBLIC]));
        assert!(!admit(&policy, "printer.example", &["10.0.0.7"]));
        // A literal address denotes itself.
        policy.url("http://10.0.0.9/", None, Actor::Human).expect("a person may");
        policy.url("http://[fd00::9]/", None, Actor::Human).expect("a person may");
        for _ in 0..2 {
            assert!(admit(&policy, "10.0.0.9", &["10.0.0.9"]));
            assert!(admit(&policy, "[fd00::9]", &["fd00::9"]));
        }
        let local = Policy::new(vec!["localhost".parse().expect("a host")], []);
        assert!(admit(&local, "localhost", &["127.0.0.1", "::1"]));
        assert!(admit(&local, "localhost", &["::1"]));
        assert!(!admit(&local, "localhost", &["10.0.0.1"]));
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
            let problem = policy.url(text, None, Actor::Human).expect_err(text);
            assert_eq!(problem.kind, ProblemKind::Forbidden, "{text}");
        }
        // The host is shown as it is requested, so lookalike letters are recognizable.
        let lookalike = policy.url("https://\u{430}pple.example/", None, Actor::Human);
        assert_eq!(lookalike.expect("a host").as_str(), "https://xn--pple-43d.example/");
        for text in ["", "nowhere", "http://", "http://a b/"] {
            let problem = policy.url(text, None, Actor::Human).expect_err(text);
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
