//! A browser for programs and a person together: programs get web pages as structured data, and the
//! person at the terminal takes precedence.
//!
//! A [`Relay`] lets programs and a person share one [`Engine`]. Programs call [`Relay::handle`]
//! with the name of a command and its arguments, whatever the transport, and get data or a
//! [`Problem`] with a status. A person acts through the relay's `human_*` methods, which always
//! take precedence. [`Relay::events`] reports what happened, and never what was typed.
//!
//! ```no_run
//! use std::sync::Arc;
//! use serde_json::json;
//! use waypost_browser::{Chromium, ChromiumSettings, Policy, Relay, RelaySettings, find_chromium};
//!
//! # async fn run(path: &std::ffi::OsStr) -> Result<(), Box<dyn std::error::Error>> {
//! let program = find_chromium(path).ok_or("there is no Chromium")?;
//! let policy = Arc::new(Policy::new(Vec::new(), [4747]));
//! let settings = ChromiumSettings::new(program, "/tmp".into());
//! let engine = Arc::new(Chromium::start(settings, policy.clone()).await?);
//! let relay = Relay::new(engine, policy, &RelaySettings::default());
//!
//! relay.handle("navigate", json!({ "url": "https://example.org" })).await?;
//! let page = relay.handle("read", json!({})).await?;
//! println!("{}", page["dom_summary"]["headings"][0]);
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
mod engine;
mod event;
mod frame;
mod key;
mod lease;
mod plain;
mod policy;
mod problem;
mod proxy;
mod relay;
mod secret;
mod selector;
mod summary;

pub use auth::{AuthChange, AuthState, AuthWatch, Signal};
pub use chromium::{Chromium, ChromiumSettings, find_chromium};
pub use clean::{clean, clean_line};
pub use command::{
    COMMAND_MS_DEFAULT, COMMANDS, JOURNEY_MS_DEFAULT, TEXT_BYTES_MAX, WAIT_MS_DEFAULT, WAIT_MS_MAX,
};
pub use deadline::Deadline;
pub use engine::{
    Action, Answer, Arrival, Capabilities, Condition, DialogAnswer, Direction, Done, Element,
    ElementState, Engine, Evidence, Hit, Journey, Reach, Reference, TabId, TabInfo, Target,
};
pub use event::Event;
pub use frame::{
    Area, COLUMNS_MAX, Cell, Color, DOTS_MAX, Focus, Frame, FrameTarget, Picture, PictureKey,
    Pixels, ROWS_MAX, Scrolled, Seen, TargetKind, View, ZOOM_MAX, ZOOM_MIN,
};
pub use key::Key;
pub use lease::Holder;
pub use plain::Plain;
pub use policy::{Allow, InvalidAllow, Policy, URL_BYTES_MAX, Who, is_public};
pub use problem::{Problem, ProblemKind};
pub use relay::{Relay, RelaySettings};
pub use selector::{SELECTOR_BYTES_MAX, STEPS_MAX, Selector};
pub use summary::{
    Control, ErrorKind, Extract, Field, Form, FrameInfo, Heading, Link, Listing, Message, Mode,
    PageError, Place, TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN, Table, tokens_in,
};
