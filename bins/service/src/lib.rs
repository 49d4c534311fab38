//! The Waypost service: memory, context, events and flows over HTTP.
//!
//! [`run`] is the program: it starts, responds until a signal, and stops in order. [`start`] does
//! the same inside another program or a test.

mod activity;
mod app;
mod clock;
mod cluster;
mod context;
mod damage;
mod error;
mod events;
mod file_identity;
mod flows;
mod http;
mod leadership;
mod lifecycle;
mod memory;
mod mesh;
mod metrics;
mod model;
mod nice;
mod pace;
mod predecessor;
mod prepare;
mod presence;
mod recall;
mod settings;
mod stopping;
mod threads;
mod umask;
mod upkeep;
mod wake;
mod wiring;
mod witness;

pub use flows::guard::{GUARD_ARGUMENT, run_guard};
pub use lifecycle::{Running, run, start};
pub use settings::{Approval, FlowOptions, ModelOptions, Options, RerankOptions, TlsFiles};
pub use umask::Umask;
