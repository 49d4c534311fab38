//! The head of a request to a proxy.

use url::Url;

/// The longest accepted head.
pub(super) const HEAD_BYTES_MAX: usize = 64 << 10;

/// Where a request goes, and the head that is sent there instead.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The host as in an address; an IPv6 literal has its brackets.
    pub(super) host: String,
    pub(super) port: u16,
    /// The head for the server; `None` for a tunnel.
    pub(super) forwarded: Option<Vec<u8>>,
}

impl Head {
    /// Parses a head including the empty line at its end; `None` if it is invalid.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix("\r\n\r\n")?;
        let mut lines = text.split("\r\n");
        let mut request = lines.next()?.split(' ');
        let (method, target, version) = (request.next()?, request.next()?, request.next()?);
        if request.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let url = Url::parse(&format!("https://{target}")).ok()?;
            let port = url.port_or_known_default()?;
            return Some(Self { host: url.host_str()?.to_owned(), port, forwarded: None });
        }
        let url = Url::parse(target).ok().filter(|it| it.scheme() == "http")?;
        let (host, port) = (url.host_str()?.to_owned(), url.port_or_known_default()?);
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let mut forwarded = format!("{method} {path} {version}\r\nHost: {authority}\r\n");
        for line in lines {
            let name = line.split(':').next()?.trim().to_ascii_lowercase();
            // One request per connection: the next one may be for another host.
            if !matches!(name.as_str(), "host" | "connection" | "keep-alive")
                && !name.starts_with("proxy-")
            {
                forwarded.push_str(line);
                forwarded.push_str("\r\n");
            }
        }
        forwarded.push_str("Connection: close\r\n\r\n");
        Some(Self { host, port, forwarded: Some(forwarded.into_bytes()) })
    }
}

#[cfg(test)]
mod tests {
    use super::Head;

    #[test]
    fn requests_become_those_of_the_server_alone() {
        let given = b"GET http://a.example:8080/x?y=1 HTTP/1.1\r\nHost: evil\r\nProxy-Connection: keep-alive\r\n\
            Accept: */*\r\nConnection: keep-alive\r\n\r\n";
        let head = Head::parse(given).expect("a request");
        assert_eq!((head.host.as_str(), head.port), ("a.example", 8080));
        let forwarded = String::from_utf8(head.forwarded.expect("a head")).expect("text");
        assert_eq!(
            forwarded,
            "GET /x?y=1 HTTP/1.1\r\nHost: a.example:8080\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        );
        let tunnel = Head::parse(b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n").expect("a tunnel");
        assert_eq!((tunnel.host.as_str(), tunnel.port, tunnel.forwarded), ("[::1]", 443, None));
        for bad in [
            "",
            "GET\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET ftp://a/ HTTP/1.1\r\n\r\n",
            "CONNECT :0 HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1 x\r\n\r\n",
        ] {
            assert_eq!(Head::parse(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
