//! Posts for web hooks, according to Standard Webhooks. The caller sends them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use waypost_time::Timestamp;

/// A post. Follow no redirect, and post only to addresses that it [may reach](may_reach), checked
/// after the name was resolved; the status of the response decides: 2xx is success.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// The URL. Values of the event in it are escaped.
    pub url: String,
    /// The same for every attempt.
    pub id: String,
    /// The body, as JSON.
    pub body: String,
    /// The signing secret; see [`headers`](Self::headers).
    pub secret: Option<String>,
    /// The time limit.
    pub timeout: Duration,
}

impl Post {
    /// The headers to send: `content-type`, `webhook-id`, `webhook-timestamp` (the time of this
    /// attempt, in seconds since 1970: receivers reject one that is more than a few minutes old)
    /// and, with a secret, `webhook-signature`.
    ///
    /// The signature is `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body` (Standard
    /// Webhooks, 2023, "Signature scheme"). The key is the part after `whsec_`, decoded from
    /// base64, or the secret itself.
    pub fn headers(&self, now: Timestamp) -> Vec<(&'static str, String)> {
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("webhook-id", self.id.clone()),
            ("webhook-timestamp", now.as_secs().to_string()),
        ];
        if let Some(secret) = &self.secret {
            let encoded = secret.strip_prefix("whsec_").unwrap_or(secret);
            let decoded = STANDARD.decode(encoded).ok().filter(|_| encoded != secret);
            let key = decoded.unwrap_or_else(|| secret.clone().into_bytes());
            let text = format!("{}.{}.{}", self.id, now.as_secs(), self.body);
            let mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key may have any length");
            let signature = STANDARD.encode(mac.chain_update(text).finalize().into_bytes());
            headers.push(("webhook-signature", format!("v1,{signature}")));
        }
        headers
    }
}

/// Whether a post to a host may reach an address: any address for a host that is an address itself
/// or a name of this machine or of a private network, only a public one for another name. A flow
/// file names its hosts literally, so the user approved a private host with the file, but not that a
/// public name leads to one.
pub fn may_reach(host: &str, address: IpAddr) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare.parse::<IpAddr>().is_ok() || is_private_name(bare) || is_public(address)
}

/// A name without a dot, or below a domain that is reserved for private use (RFC 6761, RFC 6762,
/// RFC 8375, and `internal`).
fn is_private_name(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let private = [".localhost", ".local", ".home.arpa", ".internal"];
    !host.contains('.') || private.iter().any(|domain| host.ends_with(domain))
}

/// Whether an address is in the public network: not on this machine, a private network, the link, a
/// group or a range reserved for other purposes (the registries of RFC 6890), in whatever form it
/// is written.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(it) => is_public_v4(it),
        IpAddr::V6(it) => is_public_v6(it),
    }
}

fn is_public_v4(it: Ipv4Addr) -> bool {
    let [a, b, c, _] = it.octets();
    let shared = a == 100 && (64..128).contains(&b);
    let benchmarking = a == 198 && (b == 18 || b == 19);
    let protocols = (a, b, c) == (192, 0, 0);
    !(a == 0
        || a >= 224
        || shared
        || benchmarking
        || protocols
        || it.is_private()
        || it.is_loopback()
        || it.is_link_local()
        || it.is_documentation())
}

fn is_public_v6(it: Ipv6Addr) -> bool {
    let parts = it.segments();
    let v4 = |high: u16, low: u16| {
        let [[a, b], [c, d]] = [high.to_be_bytes(), low.to_be_bytes()];
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match parts {
        // Mapped, translated (RFC 6052) and 6to4 (RFC 3056): they contain the address.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        [0x2001, 0xdb8 | 0..0x200, ..] => false,
        // Global unicast is 2000::/3, and nothing else.
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_is_signed_as_the_standard_s_own_example() {
        let post = Post {
            url: String::new(),
            id: "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned(),
            body: r#"{"test": 2432232314}"#.to_owned(),
            secret: Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
            timeout: Duration::from_secs(1),
        };
        let headers = post.headers(Timestamp::from_secs(1_614_265_330));
        let wanted = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(headers[3], ("webhook-signature", wanted.to_owned()));
        let unsigned = Post { secret: None, ..post };
        assert_eq!(unsigned.headers(Timestamp::EPOCH).len(), 3);
    }

    #[test]
    fn a_private_host_is_named_literally() {
        for (host, address, wanted) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("[::1]", "::1", true),
            ("10.0.0.7", "10.0.0.7", true),
            ("localhost", "127.0.0.1", true),
            ("nas", "192.168.0.2", true),
            ("printer.local", "192.168.0.3", true),
            ("api.internal.", "10.0.0.1", true),
            ("hooks.example.com", "1.1.1.1", true),
            ("hooks.example.com", "127.0.0.1", false),
            ("hooks.example.com", "169.254.169.254", false),
            ("local.example", "10.0.0.1", false),
        ] {
            assert_eq!(may_reach(host, address.parse().unwrap()), wanted, "{host} {address}");
        }
    }

    #[test]
    fn only_public_addresses_are_public() {
        for text in ["1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "127.0.0.1",
            "0.0.0.0",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.0.1",
            "169.254.169.254",
            "100.64.0.1",
            "192.0.2.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "fd00:ec2::254",
            "ff02::1",
            "2001:db8::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::127.0.0.1",
            "2001::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }
}
