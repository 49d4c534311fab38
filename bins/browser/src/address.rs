//! Interprets the address that a person types.

/// Completes an address without a scheme: with `https://`, or with `http://` for names and
/// addresses of this machine and private networks, where servers rarely have a certificate.
pub(crate) fn meant(typed: &str) -> String {
    let typed = typed.trim();
    if typed.is_empty() || typed.contains("://") || typed.starts_with("about:") {
        return typed.to_owned();
    }
    let authority = typed.split(['/', '?', '#']).next().unwrap_or_default();
    if !authority.starts_with('[')
        && authority.split_once(':').is_some_and(|parts| !is_port(parts.1))
    {
        // Another scheme, which the policy will reject with an error that names it.
        return typed.to_owned();
    }
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if is_port(port) => host,
        _ => authority,
    };
    let is_local = host == "localhost"
        || host.ends_with(".localhost")
        || host.starts_with('[')
        || host.parse::<std::net::Ipv4Addr>().is_ok();
    format!("{}://{typed}", if is_local { "http" } else { "https" })
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::meant;

    #[test]
    fn a_scheme_may_be_left_out() {
        for (typed, address) in [
            ("https://a.example/x", "https://a.example/x"),
            (" a.example/x?y=1:2 ", "https://a.example/x?y=1:2"),
            ("a.example:8443", "https://a.example:8443"),
            ("localhost:3000/app", "http://localhost:3000/app"),
            ("127.0.0.1:9", "http://127.0.0.1:9"),
            ("[::1]:80/", "http://[::1]:80/"),
            ("about:blank", "about:blank"),
            ("file:///etc/passwd", "file:///etc/passwd"),
            ("javascript:alert(1)", "javascript:alert(1)"),
            ("data:text/html,x", "data:text/html,x"),
            ("", ""),
        ] {
            assert_eq!(meant(typed), address, "{typed}");
        }
    }
}
