//! The Waypost service: memory, context, events and flows over HTTP.
//!
//! [`run`] is the program: it starts, answers until a signal, and stops in order. [`start`] is the
//! same inside another program or a test.

mod answer;
mod app;
mod backup;
mod body;
mod clock;
mod context;
mod error;
mod failure;
mod feed;
mod flows;
mod guard;
mod loader;
mod mesh;
mod metrics;
mod model;
mod news;
mod pool;
mod predecessor;
mod presence;
mod process;
mod raw;
mod reply;
mod request;
mod request_id;
mod route;
mod routes;
mod scoped;
mod server;
mod sessions;
mod settings;
mod stream;
mod tls;
mod umask;
mod wake;
mod wire;
mod wiring;
mod workers;

pub use loader::ModelOptions;
pub use settings::{Approval, FlowOptions, Options, TlsFiles};
pub use umask::Umask;
pub use wiring::{Running, run, start};
