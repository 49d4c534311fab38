//! The network address that the service listens on, and its names.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use anyhow::{Context, bail};
use tokio::net::{TcpListener, TcpSocket};
use waypost_api::Gate;

use crate::settings::Options;

/// Rejects an address that other machines can reach, unless TLS is configured or the user allows
/// unencrypted connections.
pub(crate) fn check_address(options: &Options) -> anyhow::Result<()> {
    let address = options.listen;
    if address.ip().is_loopback() || options.tls.is_some() {
        return Ok(());
    }
    if !options.allow_remote {
        bail!(
            "{address} is reachable from other machines, and TLS is not configured: set tls.cert and tls.key, listen on 127.0.0.1 behind a TLS proxy, or pass --allow-remote to send tokens and memories in the clear"
        );
    }
    tracing::warn!(%address, "listening without TLS on an address that is reachable from other machines");
    Ok(())
}

/// Connections that wait to be accepted: the most that Linux permits by default. Beyond it, a client whose
/// handshake is dropped waits for seconds before it tries again.
const BACKLOG: u32 = 4096;

/// Listens on the network address. If a default port is in use, takes a free one. Must be called on the
/// runtime.
pub(crate) fn bind(options: &Options) -> anyhow::Result<TcpListener> {
    let asked = options.listen;
    match listen(asked) {
        Err(error) if options.any_port && error.kind() == std::io::ErrorKind::AddrInUse => {
            let free = SocketAddr::new(asked.ip(), 0);
            let listener = listen(free).with_context(|| cannot_listen(free))?;
            tracing::info!("port {} is in use; using a free port", asked.port());
            Ok(listener)
        }
        bound => bound.with_context(|| cannot_listen(asked)),
    }
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // So that a restart need not wait for connections of before.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

pub(crate) fn gate(address: SocketAddr, options: &Options) -> Gate {
    let gate = Gate::new(address).with_pages().with_settings(&options.hosts, &options.origins);
    if options.tls.is_some() { gate.with_tls() } else { gate }
}

/// The URL of the service; for a listener on all addresses, the one on loopback.
pub(crate) fn url(address: SocketAddr, tls: bool) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let scheme = if tls { "https" } else { "http" };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}

/// The error, with its remedy, if the address is not available.
fn cannot_listen(address: SocketAddr) -> String {
    format!(
        "failed to listen on {address}; if the address is in use, choose another one with `--listen 127.0.0.1:PORT`"
    )
}
