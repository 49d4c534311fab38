//! Everything that speaks HTTP: the server, authentication, routes, and the wire format.
//!
//! Modules here see [`App`](crate::app::App). The parts in it (memory, events, flows, context,
//! mesh, model) know neither it nor HTTP.

pub(crate) mod answer;
pub(crate) mod backup;
pub(crate) mod body;
pub(crate) mod call;
pub(crate) mod dashboard;
pub(crate) mod failure;
pub(crate) mod gate;
pub(crate) mod gauges;
pub(crate) mod guard;
pub(crate) mod keys;
pub(crate) mod linger;
pub(crate) mod listen;
pub(crate) mod pool;
pub(crate) mod raw;
pub(crate) mod reply;
pub(crate) mod request;
pub(crate) mod request_id;
pub(crate) mod room;
pub(crate) mod route;
pub(crate) mod routes;
pub(crate) mod scoped;
pub(crate) mod server;
pub(crate) mod sessions;
pub(crate) mod stream;
pub(crate) mod tls;
pub(crate) mod waiting;
pub(crate) mod wire;
