//! Classifies addresses as public or one of the other kinds.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address belongs to the public internet: not this machine, a private or shared
/// network, link-local (where clouds have their metadata services), multicast, documentation, or
/// reserved. An IPv6 address that embeds an IPv4 address is classified by the latter.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => {
            carried(address).map_or_else(|| is_global_unicast(address), is_public_v4)
        }
    }
}

/// The class of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// The public internet.
    Public,
    /// This machine.
    Loopback,
    /// A private network, or one that a provider shares among customers.
    Private,
    /// The neighbours on a link.
    Link,
    /// A service with the credentials of a cloud machine.
    Metadata,
    /// Multicast, documentation, reserved.
    Special,
}

impl fmt::Display for Class {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::Private => "private",
            Self::Link => "link-local",
            Self::Metadata => "metadata",
            Self::Special => "special",
        })
    }
}

/// The metadata services of the large clouds: AWS (and most others), AWS containers, Oracle,
/// Alibaba.
const METADATA_V4: &[Ipv4Addr] = &[
    Ipv4Addr::new(169, 254, 169, 254),
    Ipv4Addr::new(169, 254, 170, 2),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(100, 100, 100, 200),
];
/// The AWS one for IPv6.
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The class of an address.
pub(super) fn class(address: IpAddr) -> Class {
    match address {
        _ if is_public(address) => Class::Public,
        IpAddr::V4(address) => class_v4(address),
        IpAddr::V6(address) => carried(address).map_or_else(|| class_v6(address), class_v4),
    }
}

fn class_v4(address: Ipv4Addr) -> Class {
    let [a, b, ..] = address.octets();
    if METADATA_V4.contains(&address) {
        Class::Metadata
    // Linux routes all of 0.0.0.0/8 to this machine.
    } else if address.is_loopback() || a == 0 {
        Class::Loopback
    } else if address.is_private() || (a == 100 && (64..128).contains(&b)) {
        Class::Private
    } else if address.is_link_local() {
        Class::Link
    } else {
        Class::Special
    }
}

fn class_v6(address: Ipv6Addr) -> Class {
    let [first, ..] = address.segments();
    if address == METADATA_V6 {
        Class::Metadata
    } else if address.is_loopback() || address.is_unspecified() {
        Class::Loopback
    } else if first & 0xfe00 == 0xfc00 {
        Class::Private
    } else if first & 0xffc0 == 0xfe80 {
        Class::Link
    } else {
        Class::Special
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

/// The IPv4 address in a mapped, translated or 6to4 one.
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
    // 2000::/3 without its reserved parts: Teredo, ORCHID, benchmarks (2001::/23), documentation.
    let is_set_aside = (first == 0x2001 && (second < 0x200 || second == 0xdb8)) || first == 0x3fff;
    first & 0xe000 == 0x2000 && !is_set_aside
}

#[cfg(test)]
mod tests {
    use super::{Class, class, is_public};

    #[test]
    fn what_is_not_public_has_a_class() {
        for (text, expected) in [
            ("8.8.8.8", Class::Public),
            ("127.1.2.3", Class::Loopback),
            ("0.0.0.0", Class::Loopback),
            ("::1", Class::Loopback),
            ("::", Class::Loopback),
            ("::ffff:127.0.0.1", Class::Loopback),
            ("10.0.0.1", Class::Private),
            ("100.64.0.1", Class::Private),
            ("fd00::1", Class::Private),
            ("64:ff9b::a00:1", Class::Private),
            ("169.254.1.1", Class::Link),
            ("fe80::1", Class::Link),
            ("169.254.169.254", Class::Metadata),
            ("100.100.100.200", Class::Metadata),
            ("fd00:ec2::254", Class::Metadata),
            ("::ffff:169.254.169.254", Class::Metadata),
            ("224.0.0.1", Class::Special),
            ("ff02::1", Class::Special),
        ] {
            assert_eq!(class(text.parse().expect("an address")), expected, "{text}");
        }
    }

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
