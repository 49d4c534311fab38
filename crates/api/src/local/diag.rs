//! Asking the kernel about one TCP socket, by `sock_diag(7)`.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::net::netlink::SOCK_DIAG;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::Found;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLMSG_ERROR: u16 = 2;
const NLM_F_REQUEST: u16 = 1;
const TCP: u8 = 6;
/// Of `nlmsghdr`.
const HEAD_BYTES: usize = 16;
/// Of `nlmsghdr` and `inet_diag_req_v2`.
const QUESTION_BYTES: u32 = 72;
/// Where `inet_diag_msg` has its user and its inode: after four bytes, the addresses, and three numbers.
const UID_AT: usize = HEAD_BYTES + 4 + 48 + 12;

/// The socket with that address here and that one at its other end; a listening one without the latter.
pub(super) fn find(near: SocketAddr, far: Option<SocketAddr>) -> io::Result<Option<Found>> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(SOCK_DIAG),
    )?;
    rustix::net::send(&socket, &question(near, far), SendFlags::empty())?;
    let mut answer = [0_u8; 4096];
    let (_, bytes) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    let answer = &answer[..bytes.min(answer.len())];
    let cut = || io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer is cut");
    let kind = answer.get(4..6).and_then(|it| it.try_into().ok()).map(u16::from_ne_bytes);
    match kind.ok_or_else(cut)? {
        NLMSG_ERROR => {
            let code = number(answer, HEAD_BYTES).ok_or_else(cut)?.cast_signed();
            let error = io::Error::from_raw_os_error(-code);
            if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(error) }
        }
        SOCK_DIAG_BY_FAMILY => {
            let uid = number(answer, UID_AT).ok_or_else(cut)?;
            let inode = number(answer, UID_AT + 4).ok_or_else(cut)?;
            Ok(Some(Found { uid, inode: u64::from(inode) }))
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "the kernel answers something else")),
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn question(near: SocketAddr, far: Option<SocketAddr>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(QUESTION_BYTES as usize);
    bytes.extend(QUESTION_BYTES.to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(NLM_F_REQUEST.to_ne_bytes());
    // Number and sender.
    bytes.extend([0; 8]);
    let family = if near.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    bytes.extend([family.as_raw() as u8, TCP, 0, 0]);
    // Whatever its state.
    bytes.extend(u32::MAX.to_ne_bytes());
    bytes.extend(near.port().to_be_bytes());
    bytes.extend(far.map_or(0, |it| it.port()).to_be_bytes());
    bytes.extend(address(Some(near)));
    bytes.extend(address(far));
    // Any interface, and no cookie of an earlier answer.
    bytes.extend(0_u32.to_ne_bytes());
    bytes.extend([u8::MAX; 8]);
    bytes
}

fn address(of: Option<SocketAddr>) -> [u8; 16] {
    let mut bytes = [0; 16];
    match of.map(|it| it.ip()) {
        None => {}
        Some(IpAddr::V4(ip)) => bytes[..4].copy_from_slice(&ip.octets()),
        Some(IpAddr::V6(ip)) => bytes = ip.octets(),
    }
    bytes
}
