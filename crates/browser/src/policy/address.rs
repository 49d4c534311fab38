//! Which addresses are public.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public internet: not this machine, a private or shared network,
/// link-local (where clouds keep their metadata), multicast, documentation, or reserved. An address
/// of version 6 that carries one of version 4 is what it carries.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            carried(address).map_or_else(|| is_global_unicast(address), is_public_v4)
        }
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19));
    !is_special
}

/// The address of version 4 in a mapped, translated, or 6to4 one.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            from(high, low)
        }
        [0x2002, high, low, ..] => from(high, low),
        _ => None,
    }
}

fn is_global_unicast(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // 2000::/3 without what is set aside in it: Teredo, ORCHID, benchmarks (2001::/23), documentation.
    let is_set_aside = (first == 0x2001 && (second < 0x200 || second == 0xdb8)) || first == 0x3fff;
    first & 0xe000 == 0x2000 && !is_set_aside
}

#[cfg(test)]
mod tests {
    use super::is_public;

    #[test]
    fn only_the_internet_is_public() {
        let cases = [
            ("8.8.8.8", true),
            ("2606:4700::1111", true),
            ("::ffff:8.8.8.8", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.31.255.255", false),
            ("172.32.0.1", true),
            ("192.168.0.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("0.0.0.0", false),
            ("224.0.0.1", false),
            ("255.255.255.255", false),
            ("198.18.0.1", false),
            ("::1", false),
            ("::", false),
            ("fe80::1", false),
            ("fd00::1", false),
            ("ff02::1", false),
            ("::ffff:10.0.0.1", false),
            ("64:ff9b::a00:1", false),
            ("2002:7f00:1::", false),
            ("2001:db8::1", false),
            ("::7f00:1", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_public(text.parse().expect("an address")), expected, "{text}");
        }
    }
}
