//! A browser for programs and a person together: programs get web pages as structured data, and the
//! person at the terminal takes precedence.
//!
//! A [`Relay`] lets programs and a person share one [`Engine`]. Programs call [`Relay::handle`]
//! with a [`Command`], and get an [`Outcome`] or a [`Problem`] with a status; [`wire`] does the same
//! in JSON. A person acts through the relay's `human_*` methods, which always take precedence.
//! [`Relay::events`] reports what happened, and never what was typed.
//!
//! ```no_run
//! use std::sync::Arc;
//! use waypost_browser::{
//!     Chromium, ChromiumSettings, Command, Outcome, Policy, Reading, Relay, RelaySettings, Request,
//!     find_chromium,
//! };
//!
//! # async fn run(path: &std::ffi::OsStr) -> Result<(), Box<dyn std::error::Error>> {
//! let program = find_chromium(path).ok_or("there is no Chromium")?;
//! let policy = Arc::new(Policy::new(Vec::new(), [4747]));
//! let settings = ChromiumSettings::new(program, "/tmp".into());
//! let engine = Arc::new(Chromium::start(settings, policy.clone()).await?);
//! let relay = Relay::new(engine, policy, &RelaySettings::default());
//!
//! relay.handle(Request::new(Command::Navigate("https://example.org".to_owned()))).await?;
//! let read = Request::new(Command::Read(Reading::default()));
//! if let Outcome::Read(page) = relay.handle(read).await? {
//!     println!("{}: {}", page.title, page.content.text);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! All page content is untrusted text. Terminal control characters are removed from it ([`clean`]),
//! and every dimension of it is limited, before it is passed on.

mod address;
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
mod proxy;
mod relay;
mod scrub;
mod secret;
mod selector;
mod summary;
pub mod wire;

pub use auth::{AuthChange, AuthState, AuthWatch, Signal};
pub use chromium::{Chromium, ChromiumSettings, find_chromium};
pub use clean::{clean, clean_line};
pub use command::{
    COMMAND_MS_DEFAULT, Command, JOURNEY_MS_DEFAULT, Outcome, READER_BYTES_MAX, Reader, Reading,
    Request, TEXT_BYTES_MAX, TabsAction, WAIT_MS_DEFAULT, WAIT_MS_MAX,
};
pub use deadline::Deadline;
pub use engine::{
    Action, Answer, Arrival, Capabilities, Condition, Dialog, DialogAnswer, Direction, Done,
    Download, Element, ElementState, Engine, Evidence, Hit, Navigation, ReadScope, Reference,
    TabId, TabInfo, Target,
};
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
pub use relay::{Relay, RelaySettings};
pub use selector::{SELECTOR_BYTES_MAX, STEPS_MAX, Selector};
pub use summary::{
    Content, Control, ControlState, Cut, ErrorKind, Extract, Field, Flag, Form, FrameInfo, Heading,
    Link, Listing, Login, Message, Mode, PageError, Part, Place, Removed, Summary, TOKENS_DEFAULT,
    TOKENS_MAX, TOKENS_MIN, Table, tokens_in,
};
