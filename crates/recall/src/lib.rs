//! Recall: what an agent's session is told from memory without asking for it, and a log of that.
//!
//! - [`decide`] chooses, from the hits of a search, what a prompt gets; [`brief`] does the same for
//!   a session that starts. Both return the text and the reasons, and are pure functions.
//! - [`RecallLog`] records each of these decisions on disk, with ids and scores and without texts.
//!   What a session already has follows from it.
//! - [`Transcript`] reads prompts and answers from the files that Claude Code, Codex and Cursor
//!   write, and [`clean`] removes secrets and earlier injected text from them.
//!
//! It knows no store of memories: the caller searches, and passes [`Candidate`]s.
//!
//! ```
//! use waypost_recall::{Candidate, Entry, RecallLog, LogOptions, Moment, SessionKey, decide};
//! use waypost_time::Timestamp;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let dir = tempfile::tempdir()?;
//! # let now = Timestamp::from_secs(1_780_000_000);
//! let (log, _) = RecallLog::open(dir.path(), &LogOptions::default(), now)?;
//! let session = SessionKey::new("7f3a", None);
//!
//! let found = Candidate::new(12, "The service listens on port 4747.");
//! let found = [Candidate { score: Some(0.8), ..found }];
//! let told = decide(&found, 0.8, 0.5, &log.session(&session).unwrap_or_default(), &session);
//! assert!(told.text.contains("port 4747"));
//! log.append(Entry::new(session.clone(), "claude", Moment::Prompt).with_told(&told), now)?;
//!
//! // The session has it now.
//! let told = decide(&found, 0.8, 0.5, &log.session(&session).unwrap_or_default(), &session);
//! assert!(told.text.is_empty());
//! # Ok(())
//! # }
//! ```

mod block;
mod brief;
mod candidate;
mod clean;
mod codec;
mod decide;
mod doctor;
mod entry;
mod error;
mod fate;
pub mod limits;
mod log;
mod record;
mod session;
mod transcript;

pub use brief::{Material, Thread, brief};
pub use candidate::Candidate;
pub use clean::clean;
pub use decide::{Told, decide, query_of};
pub use doctor::{Checked, Repaired, check_versions, repair, verify};
pub use entry::{Entry, Moment, Part, Reason, Refusal, SessionKey, Silence, Used, Withheld};
pub use error::{Error, ErrorKind, Result};
pub use fate::{Fate, fate};
pub use log::{LogOptions, Opened, Query, RecallLog};
pub use record::check_record;
pub use session::Session;
pub use transcript::{Batch, Harness, Role, Transcript, Turn};
