//! What of a project a task needs: one query over its journals, knowledge documents and code headers.
//!
//! Journals say what happened, knowledge documents what is decided and how things are done, code
//! headers (doc comments and signatures) what there is. All three are ranked in one list; a
//! [`TaskType`] shifts the weights, and shuts nothing out.

mod discover;
mod error;
mod extract;
#[cfg(feature = "git")]
mod history;
mod kind;
#[cfg(feature = "watch")]
mod watch;

pub use discover::{
    Class, Discovery, Found, Language, Limits, Prior, Root, Rules, SAMPLES_MAX, Skip, Stat, Walk,
    walk,
};
pub use error::{Error, Result};
pub use extract::{Chunk, Extract, Extractor, Parser, Standing, read};
#[cfg(feature = "git")]
pub use history::{Change, Commit, Head, History, Present, Redact, changed, head};
pub use kind::{Kind, Source, TaskType, Unknown};
#[cfg(feature = "watch")]
pub use watch::{Changes, How, Mode, Watch, Why};
