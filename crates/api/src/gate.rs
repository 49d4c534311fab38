//! Which requests were meant for us: the `Host`, `Origin` and `Sec-Fetch-Site` checks.
//!
//! A web page can make a browser send requests to loopback, and a name that its owner points at 127.0.0.1 makes them
//! same-origin. The first is caught by `Origin` and `Sec-Fetch-Site`, the second by `Host`.

#![expect(
    clippy::result_large_err,
    reason = "a refused request is rare, and its caller wants the problem itself"
)]

use std::net::{IpAddr, SocketAddr};

use http::Uri;
use http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use http::uri::Authority;

use crate::{Problem, ProblemKind};

/// Which `Host` and `Origin` values are ours.
#[derive(Debug, Clone)]
pub struct Gate {
    address: SocketAddr,
    usual: String,
    /// The port of an authority that names none.
    default_port: u16,
    hosts: Vec<String>,
    origins: Vec<String>,
    /// What else can be done about a name that is none of ours.
    remedy: &'static str,
}

impl Gate {
    /// For an address that programs of this machine alone are to use.
    pub fn new(address: SocketAddr) -> Self {
        let usual = format!("127.0.0.1:{}", address.port());
        let default_port = 80;
        Self { address, usual, default_port, hosts: Vec::new(), origins: Vec::new(), remedy: "" }
    }

    /// The same behind TLS.
    #[must_use]
    pub fn with_tls(self) -> Self {
        Self { default_port: 443, ..self }
    }

    /// The same with what settings allow: `hosts` are further names, with or without a port, `origins` whole origins
    /// of web pages.
    #[must_use]
    pub fn with_settings(self, hosts: &[String], origins: &[String]) -> Self {
        let lower = |it: &[String]| it.iter().map(|it| it.to_ascii_lowercase()).collect();
        Self {
            hosts: lower(hosts),
            origins: lower(origins),
            remedy: ", or allow the name in the service's settings",
            ..self
        }
    }

    /// Refuses what did not come from a program that meant us.
    ///
    /// # Errors
    /// 421 for a `Host` that is not ours, 403 for what a web page sent, 400 for a `Host` that is missing and for
    /// headers that came twice.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let host = sole(headers, &HOST, "Host")?
            .ok_or_else(|| Problem::new(400, "the Host header is missing; send exactly one"))?;
        let named = std::str::from_utf8(host.as_bytes()).ok().filter(|it| self.is_ours(it));
        let target_is_ours = uri.authority().is_none_or(|it| self.is_ours(it.as_str()));
        if named.is_none() || !target_is_ours {
            let (port, remedy) = (self.address.port(), self.remedy);
            return Err(Problem::new(
                421,
                format!(
                    "nothing here answers for that host; use 127.0.0.1:{port} or localhost:{port}{remedy}"
                ),
            ));
        }
        self.check_page(headers)
    }

    /// The same for what came over a Unix socket, where a name means nothing: a page can still be behind a proxy that
    /// has the socket.
    ///
    /// # Errors
    /// 403 for what a web page sent, 400 for headers that came twice.
    pub fn check_page(&self, headers: &HeaderMap) -> Result<(), Problem> {
        if let Some(origin) = sole(headers, &ORIGIN, "Origin")? {
            let origin = String::from_utf8_lossy(origin.as_bytes()).to_ascii_lowercase();
            if !self.origins.contains(&origin) {
                return Err(Problem::new(
                    403,
                    "requests from web pages are refused: this Origin is not allowed",
                )
                .of(ProblemKind::WebPage));
            }
        } else if let Some(site) = headers.get("sec-fetch-site")
            && !matches!(site.as_bytes(), b"none" | b"same-origin")
        {
            return Err(Problem::new(
                403,
                "requests from web pages are refused: Sec-Fetch-Site must be none or same-origin",
            )
            .of(ProblemKind::WebPage));
        }
        Ok(())
    }

    fn is_ours(&self, authority: &str) -> bool {
        // What nearly all clients send.
        if authority == self.usual {
            return true;
        }
        let authority = authority.to_ascii_lowercase();
        // No user part, no path, nothing that only looks like an authority.
        let Ok(parsed) = authority.parse::<Authority>() else { return false };
        if authority.contains('@') {
            return false;
        }
        if self.hosts.iter().any(|it| *it == authority || *it == parsed.host()) {
            return true;
        }
        if parsed.port_u16().unwrap_or(self.default_port) != self.address.port() {
            return false;
        }
        let host = parsed.host();
        if matches!(host, "127.0.0.1" | "localhost" | "[::1]") {
            return true;
        }
        // A literal address cannot be rebound, so a program bound wider answers to any of its own.
        let literal: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
        literal.is_some_and(|it| it == self.address.ip() || self.address.ip().is_unspecified())
    }
}

/// The header's only value; two of them are an error.
fn sole<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    shown: &str,
) -> Result<Option<&'a HeaderValue>, Problem> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        let detail = format!("more than one {shown} header; send exactly one");
        return Err(Problem::new(400, detail));
    }
    Ok(first)
}
