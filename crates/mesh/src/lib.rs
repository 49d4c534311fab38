//! Peers of one mesh: calls to named targets, broadcasts to whoever listens, and who is there.
//!
//! Peers of one user on one machine meet in a runtime folder that is theirs alone: each listens on
//! a Unix socket there and connects to all others, so there is no server, and whoever dies takes
//! only itself away. Nothing listens on the network.
//!
//! Machines meet by [`Pairing`]: certificates of an authority of one's own, TLS that both sides
//! prove themselves with, on an address that is named, and rules that deny everything but what was
//! allowed.
//!
//! What the other side sends is its word: show it with care, and decide by
//! [`Caller::origin`](Caller), which the transport proves, never by what a peer calls itself.
//!
//! ```
//! use std::time::Duration;
//! use serde_json::json;
//! use waypost_mesh::{Mesh, Pattern, Problem, Settings};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let parent = tempfile::tempdir()?;
//! # let folder = parent.path().join("mesh");
//! let relay = Mesh::open(&Settings::new(&folder, "browser"))?;
//! let _serving = relay.serve("browser.relay", |call| match call.command.as_str() {
//!     "read" => Ok(json!({ "url": "https://example.org/" })),
//!     other => Err(Problem::new(404, "not_found", format!("there is no command {other}"))),
//! })?;
//!
//! let agent = Mesh::open(&Settings::new(&folder, "agent"))?;
//! let heard = agent.listen(&Pattern::parse("human_*")?)?;
//! let page = agent.call("browser.relay", "read", &json!(null), Duration::from_secs(10))?;
//! assert_eq!(page["url"], "https://example.org/");
//!
//! relay.broadcast("browser.relay", &json!({ "type": "human_click", "element": {} }))?;
//! let event = heard.next(Duration::from_secs(10)).ok_or("it was heard")?;
//! assert_eq!(event.kind, "human_click");
//! # Ok(())
//! # }
//! ```

mod call;
mod caller;
mod clock;
mod config;
mod envelope;
mod error;
mod folder;
mod ledger;
pub mod limits;
mod link;
mod listener;
mod mesh;
mod name;
mod paired;
mod pairing;
mod peers;
mod pool;
mod routed;
mod router;
mod rules;
mod server;
mod session;

pub use caller::{Caller, Origin};
pub use error::{CallError, Error, Problem, Result};
pub use limits::DEADLINE_MAX;
pub use link::Far;
pub use listener::{Event, Listener};
pub use mesh::{Mesh, Serving, Settings};
pub use name::Pattern;
pub use paired::{Allow, Machine};
pub use pairing::{Pairing, Rights};
pub use peers::Peer;
pub use server::Call;
