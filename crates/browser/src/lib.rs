//! A browser for programs and a person together: programs get web pages as structured data, and the
//! person at the terminal takes precedence.
//!
//! A [`Relay`] lets programs and a person share one [`Engine`]. Programs call [`Relay::handle`]
//! with a command and its arguments, and get an answer in JSON or a [`Problem`] with a status. A
//! person acts through [`Relay::human`], and always takes precedence. [`Relay::events`] reports what
//! happened, and never what was typed.
//!
//! ```no_run
//! use std::sync::Arc;
//! use waypost_browser::{Chromium, ChromiumSettings, Policy, Relay, find_chromium};
//! use serde_json::json;
//!
//! # async fn run(path: &std::ffi::OsStr) -> Result<(), Box<dyn std::error::Error>> {
//! let program = find_chromium(path).ok_or("there is no Chromium")?;
//! let policy = Arc::new(Policy::new(Vec::new(), [4747]));
//! let settings = ChromiumSettings::new(program, "/tmp".into());
//! let engine = Chromium::start(settings, policy.clone()).await?;
//! let relay = Relay::new(Arc::new(engine.into()), policy);
//!
//! relay.handle("navigate", json!({ "url": "https://example.org" })).await?;
//! let page = relay.handle("read", json!({})).await?;
//! println!("{}: {}", page["title"], page["dom_summary"]["text_content"]);
//! # Ok(())
//! # }
//! ```
//!
//! All page content is untrusted text. Terminal control characters are removed from it ([`clean`]),
//! and every dimension of it is limited, before it is passed on.

mod auth;
mod chromium;
mod clean;
mod command;
mod deadline;
#[cfg(test)]
#[path = "../../../tests/doubling.rs"]
mod doubling;
mod engine;
mod event;
mod frame;
mod key;
mod lease;
mod plain;
mod policy;
mod problem;
mod protocol;
mod proxy;
mod relay;
mod scrub;
mod secret;
mod selector;
mod summary;

pub use auth::{AuthChange, AuthState, AuthWatch, Signal};
pub use chromium::{Chromium, ChromiumSettings, find_chromium};
pub use clean::{clean, clean_line};
pub use command::{
    COMMAND_MS_DEFAULT, COMMANDS, JOURNEY_MS_DEFAULT, READER_BYTES_MAX, TEXT_BYTES_MAX,
    WAIT_MS_DEFAULT, WAIT_MS_MAX,
};
pub use deadline::Deadline;
pub use engine::Engine;
pub use event::Event;
pub use frame::{
    Area, COLUMNS_MAX, Cell, Color, DOTS_MAX, Focus, Frame, FrameTarget, Picture, PictureKey,
    Pixels, ROWS_MAX, Scrolled, Seen, TargetKind, View, ZOOM_MAX, ZOOM_MIN,
};
pub use key::Key;
pub use lease::Holder;
pub use plain::Plain;
pub use policy::{Actor, Allow, InvalidAllow, Policy, URL_BYTES_MAX, is_public};
pub use problem::{Problem, ProblemKind};
pub use protocol::{
    Arrival, Dialog, Direction, Done, Download, Element, Evidence, Navigation, Reference, TabId,
    TabInfo,
};
pub use relay::{Act, Relay};
pub use selector::{SELECTOR_BYTES_MAX, STEPS_MAX, Selector};
pub use summary::{TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN, tokens_in};
