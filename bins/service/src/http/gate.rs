//! What is checked before a token: where a request came in, `Host`, `Origin`, and public paths.

use axum::extract::Request;
use waypost_api::Gate;
use waypost_api::routes::{Access, ROUTES};

use crate::http::failure::Failure;

/// How a request came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Over the network, loopback's or another.
    Network,
    /// Over the socket: from this user, or root.
    Socket,
}

/// Refuses requests for other hosts and from other origins' pages.
pub(crate) fn check(gate: &Gate, peer: Peer, request: &Request) -> Result<(), Failure> {
    let checked = match peer {
        Peer::Socket => gate.check_page(request.headers()),
        Peer::Network => gate.check(request.uri(), request.headers()),
    };
    Ok(checked?)
}

/// Whether a path needs no token. Metrics tell how much is remembered, and of what: without a token only
/// at the socket, which nobody but this user reaches. On loopback, it may be any user of the machine, or
/// a proxy that brings everybody.
pub(crate) fn is_public(path: &str, peer: Peer) -> bool {
    ROUTES.iter().any(|route| match route.access {
        Access::Open => route.path == path,
        Access::SocketOrScope(_) => route.path == path && peer == Peer::Socket,
        Access::Scope(_) => false,
    })
}
