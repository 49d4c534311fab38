//! Peers of one mesh: calls to named targets, broadcasts to listeners, and presence.
//!
//! Peers of one user on one machine meet in a runtime folder that only this user can access: each
//! answers HTTP on a Unix socket there, so there is no server, and a peer that dies affects no
//! other. Nothing listens on the network.
//!
//! Machines meet by [`Pairing`]: certificates of a private authority, mutually authenticated TLS on
//! an explicit address, and rules that deny everything that was not allowed.
//!
//! What the other side sends about itself is only its claim: display it with care, and base
//! decisions on [`Caller::origin`](Caller), which the connection proves, never on the name that a
//! peer gives itself.
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
//! let heard = agent.listen(&Pattern::parse("human_*")?);
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
mod envelope;
mod error;
mod folder;
mod http;
mod ledger;
pub mod limits;
mod links;
mod listener;
mod mesh;
mod name;
mod paired;
mod pairing;
mod peers;
mod remote;
mod server;

pub use caller::{Caller, Origin};
pub use error::{CallError, Error, Problem, Result};
pub use limits::DEADLINE_MAX;
pub use links::Far;
pub use listener::{Event, Listener};
pub use mesh::{Mesh, Serving, Settings};
pub use name::Pattern;
pub use paired::{Allow, Machine};
pub use pairing::{Pairing, Rights};
pub use peers::Peer;
pub use server::Call;
pub use waypost_time::Timestamp;
