//! The tools and resources of Waypost for the Model Context Protocol (MCP).
//!
//! [`Http`] answers messages over HTTP, [`stdio`] over standard input and output. Both serve the revision 2026-07-28,
//! which has no sessions, and `initialize` of earlier revisions. Each tool calls routes of the service through
//! [`Service`], so the service's checks, scopes and limits apply, and nothing is implemented twice.
//!
//! All text that the service stores is data: results put it between fences, escape control characters, and say so.

mod api;
mod arguments;
mod http;
mod invalid;
mod lines;
mod outcome;
mod presence;
mod resources;
mod server;
mod service;
mod stdio;
mod text;
mod tools;

pub use self::http::{Answered, Http};
pub use self::service::{Service, Unavailable};
pub use self::stdio::stdio;
