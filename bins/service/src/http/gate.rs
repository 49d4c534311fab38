//! Checks before authentication: the transport, `Host`, `Origin`, and public paths.

use axum::extract::Request;
use waypost_api::Gate;
use waypost_api::routes::{Access, ROUTES};

use crate::http::dashboard;
use crate::http::failure::Failure;

/// The transport of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// Over the network, loopback included.
    Network,
    /// Over the socket, from this user or root.
    Socket,
}

/// Rejects requests for other hosts and from pages of other origins.
pub(crate) fn check(gate: &Gate, peer: Peer, request: &Request) -> Result<(), Failure> {
    let checked = match peer {
        Peer::Socket => gate.check_page(request.headers()),
        Peer::Network if request.uri().path() == dashboard::PAGE => {
            gate.check_visit(request.uri(), request.headers())
        }
        Peer::Network => gate.check(request.uri(), request.headers()),
    };
    Ok(checked?)
}

/// Paths that need no token. Metrics reveal how much is stored, so they need one except on the
/// socket, which only this user can reach. On loopback, the client can be any user of the machine,
/// or a proxy that forwards everybody's requests.
pub(crate) fn is_public(path: &str, peer: Peer) -> bool {
    dashboard::asset(path).is_some()
        || ROUTES.iter().any(|route| match route.access {
            Access::Open => route.path == path,
            Access::SocketOrScope(_) => route.path == path && peer == Peer::Socket,
            Access::Token | Access::Scope(_) => false,
        })
}
