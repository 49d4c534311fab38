//! Finds one TCP socket in the kernel's tables in `/proc/net`.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::{Found, canonical};

/// The state of a listening socket.
const LISTENING: &str = "0A";

/// The socket with these local and remote addresses; a listening one without the latter.
pub(super) fn find(near: SocketAddr, far: Option<SocketAddr>) -> io::Result<Option<Found>> {
    let mut problem = None;
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        match fs::read_to_string(table) {
            Ok(text) => {
                if let Some(found) = text.lines().skip(1).find_map(|line| read(line, near, far)) {
                    return Ok(Some(found));
                }
            }
            // A machine without IPv6 has one table.
            Err(error) => problem = problem.or(Some(error)),
        }
    }
    match problem {
        Some(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(None),
    }
}

/// Parses a line, if it describes that socket.
fn read(line: &str, near: SocketAddr, far: Option<SocketAddr>) -> Option<Found> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let [here, there, state] = [fields.next()?, fields.next()?, fields.next()?];
    let here = address(here)?;
    let fits = if let Some(far) = far {
        here == near && address(there)? == far
    } else {
        let ip = here.ip();
        state == LISTENING && here.port() == near.port() && (ip == near.ip() || ip.is_unspecified())
    };
    if !fits {
        return None;
    }
    // Queues, timer, retransmissions; then the user, a timeout, and the inode.
    let mut fields = fields.skip(3);
    let uid = fields.next()?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some(Found { uid, inode })
}

/// `0100007F:1F90`: words in the machine's order, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut octets = [0_u8; 16];
    let words = ip.len() / 8;
    for (at, word) in octets.chunks_exact_mut(4).take(words).enumerate() {
        let word_text = ip.get(at * 8..at * 8 + 8)?;
        word.copy_from_slice(&u32::from_str_radix(word_text, 16).ok()?.to_ne_bytes());
    }
    let ip = match words {
        1 => IpAddr::V4(Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3])),
        4 => IpAddr::V6(Ipv6Addr::from(octets)),
        _ => return None,
    };
    Some(canonical(SocketAddr::new(ip, port)))
}
