//! Checks `Host`, `Origin` and `Sec-Fetch-Site`, to accept only requests that were meant for this server.
//!
//! A web page can make a browser send requests to loopback, and a name whose owner points it at 127.0.0.1 makes them
//! same-origin. `Origin` and `Sec-Fetch-Site` detect the first, `Host` the second.

#![expect(
    clippy::result_large_err,
    reason = "a refused request is rare, and its caller wants the problem itself"
)]

use std::net::{IpAddr, SocketAddr};

use http::Uri;
use http::header::{HOST, HeaderMap, HeaderName, ORIGIN};
use http::uri::Authority;

use crate::{Problem, ProblemKind};

static SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Which `Host` and `Origin` values are ours.
#[derive(Debug, Clone)]
pub struct Gate {
    address: SocketAddr,
    usual: String,
    /// The port for an authority without one.
    default_port: u16,
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Whether this server has web pages of its own.
    has_pages: bool,
    /// What else can be done about a name that is not accepted.
    remedy: &'static str,
}

impl Gate {
    /// For an address that only programs of this machine may use.
    pub fn new(address: SocketAddr) -> Self {
        let usual = format!("127.0.0.1:{}", address.port());
        let default_port = 80;
        let (hosts, origins) = (Vec::new(), Vec::new());
        Self { address, usual, default_port, hosts, origins, has_pages: false, remedy: "" }
    }

    /// The same behind TLS.
    #[must_use]
    pub fn with_tls(self) -> Self {
        Self { default_port: 443, ..self }
    }

    /// The same for a server with web pages of its own, which may send requests to it.
    #[must_use]
    pub fn with_pages(self) -> Self {
        Self { has_pages: true, ..self }
    }

    /// The same with values from the settings: `hosts` are additional names, with or without a port, `origins` are
    /// complete origins of web pages.
    #[must_use]
    pub fn with_settings(self, hosts: &[String], origins: &[String]) -> Self {
        let lower = |strings: &[String]| strings.iter().map(|it| it.to_ascii_lowercase()).collect();
        Self {
            hosts: lower(hosts),
            origins: lower(origins),
            remedy: ", or add the name to allowed_hosts",
            ..self
        }
    }

    /// Rejects requests that were not meant for this server.
    ///
    /// # Errors
    /// 421 for an unknown `Host`, 403 for a request of a web page, 400 for a missing `Host` and for repeated headers.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        self.check_host(uri, headers)?;
        self.check_origin(headers, self.is_own_page(headers))
    }

    /// The same for a page that says nothing about stored data: a link of any other page, or a file, may lead there.
    ///
    /// # Errors
    /// As [`check`](Self::check), but a request that opens the page in a tab has no wrong origin.
    pub fn check_visit(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        self.check_host(uri, headers)?;
        let is = |name, value: &str| headers.get(name).is_some_and(|header| header == value);
        let is_visit = is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document");
        if is_visit && !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        self.check_origin(headers, self.is_own_page(headers))
    }

    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        check_sole(headers)?;
        let host = headers
            .get(HOST)
            .ok_or_else(|| Problem::new(400, "the Host header is missing; send exactly one"))?;
        let named = std::str::from_utf8(host.as_bytes()).ok().filter(|text| self.is_ours(text));
        let target_is_ours =
            uri.authority().is_none_or(|authority| self.is_ours(authority.as_str()));
        if named.is_none() || !target_is_ours {
            let (port, remedy) = (self.address.port(), self.remedy);
            return Err(Problem::new(
                421,
                format!("unknown host; use 127.0.0.1:{port} or localhost:{port}{remedy}"),
            ));
        }
        Ok(())
    }

    /// Whether a request is from one of the server's own pages: its `Origin` is that of its `Host`, which must have been
    /// checked.
    pub fn is_own_page(&self, headers: &HeaderMap) -> bool {
        let text = |name| headers.get(name).and_then(|header| header.to_str().ok());
        let (Some(origin), Some(host)) = (text(&ORIGIN), text(&HOST)) else { return false };
        let origin = origin.to_ascii_lowercase();
        let own = if self.default_port == 443 { "https" } else { "http" };
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        // A proxy in front of the service may add the encryption.
        let is_known = scheme == own || self.origins.contains(&origin);
        let site = headers.get(&SITE).is_none_or(|header| header == "same-origin");
        self.has_pages && is_known && site && authority.eq_ignore_ascii_case(host)
    }

    /// The same for requests over a Unix socket, where a name means nothing: a page can still reach it through a proxy
    /// that has access to the socket.
    ///
    /// # Errors
    /// 403 for a request of a web page, 400 for repeated headers.
    pub fn check_page(&self, headers: &HeaderMap) -> Result<(), Problem> {
        check_sole(headers)?;
        self.check_origin(headers, false)
    }

    fn check_origin(&self, headers: &HeaderMap, is_own: bool) -> Result<(), Problem> {
        if let Some(origin) = headers.get(ORIGIN) {
            let origin = String::from_utf8_lossy(origin.as_bytes()).to_ascii_lowercase();
            if !is_own && !self.origins.contains(&origin) {
                return Err(Problem::new(
                    403,
                    "requests from web pages are rejected: this Origin is not allowed",
                )
                .of(ProblemKind::WebPage));
            }
        } else if let Some(site) = headers.get(&SITE)
            && !matches!(site.as_bytes(), b"none" | b"same-origin")
        {
            return Err(Problem::new(
                403,
                "requests from web pages are rejected: Sec-Fetch-Site must be none or same-origin",
            )
            .of(ProblemKind::WebPage));
        }
        Ok(())
    }

    fn is_ours(&self, authority: &str) -> bool {
        // The usual value of nearly all clients.
        if authority == self.usual {
            return true;
        }
        let authority = authority.to_ascii_lowercase();
        // No user part, no path, nothing that only resembles an authority.
        let Ok(parsed) = authority.parse::<Authority>() else { return false };
        if authority.contains('@') {
            return false;
        }
        if self.hosts.iter().any(|host| *host == authority || *host == parsed.host()) {
            return true;
        }
        if parsed.port_u16().unwrap_or(self.default_port) != self.address.port() {
            return false;
        }
        let host = parsed.host();
        if matches!(host, "127.0.0.1" | "localhost" | "[::1]") {
            return true;
        }
        // A literal address cannot be rebound, so a program that listens on several addresses accepts each of them.
        let literal: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        literal.is_some_and(|literal| {
            literal == self.address.ip() || self.address.ip().is_unspecified()
        })
    }
}

/// Rejects a request that has one of the checked headers twice: a proxy could have checked the other one.
fn check_sole(headers: &HeaderMap) -> Result<(), Problem> {
    let judged = [(&HOST, "Host"), (&ORIGIN, "Origin"), (&SITE, "Sec-Fetch-Site")];
    for (name, shown) in judged {
        if headers.get_all(name).iter().nth(1).is_some() {
            let detail = format!("more than one {shown} header; send exactly one");
            return Err(Problem::new(400, detail));
        }
    }
    Ok(())
}
