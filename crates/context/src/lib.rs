//! What of a project a task needs: one query over its journals, knowledge documents and code headers.
//!
//! Journals say what happened, knowledge documents what is decided and how things are done, code
//! headers (doc comments and signatures) what there is. All three are ranked in one list; a
//! [`TaskType`] shifts the weights, and shuts nothing out.

mod error;
mod kind;

pub use error::{Error, Result};
pub use kind::{Kind, Source, TaskType, Unknown};
