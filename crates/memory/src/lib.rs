//! A durable store of memories with hybrid search, typed links and history.
//!
//! A memory is a text with a title, a kind, tags and metadata. The store writes every change to an
//! append-only log and projects a state and an index from it. Search is lexical and, with an
//! embedding model, semantic. Every acknowledged write is on disk.
//!
//! The store reads no clock and knows no model: time is an argument, and the model is a closure
//! ([`Embedder`]). It starts two threads, which end before [`Store::open`] returns. Background work
//! is offered as bounded calls ([`Store::embed_pending`], [`Store::maintain`],
//! [`Store::build_index`]).
//!
//! ```
//! use waypost_memory::{Draft, LinkKind, SearchOptions, Store, StoreOptions, Timestamp};
//!
//! let dir = tempfile::tempdir()?;
//! let (store, _report) = Store::open(dir.path(), StoreOptions::default())?;
//! let now: Timestamp = "2026-11-21T12:00:00Z".parse()?;
//!
//! let old = store.add(Draft::new("The service listens on port 4000"), now)?.into_memory();
//! let new = store.add(Draft::new("Use port 4747 for the service"), now)?.into_memory();
//! store.link(new.id, old.id, LinkKind::Updates, now)?;
//!
//! let found = store.search("which port", &SearchOptions::default())?;
//! assert_eq!(found.hits[0].memory.id, new.id);
//! assert_eq!(found.hits[1].memory.superseded_by, Some(new.id));
//! store.close()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is on disk
//!
//! | in the data folder | what | if it is damaged or missing |
//! |---|---|---|
//! | `format`, `lock` | the layout's version; the pid of who has it open | |
//! | `memory/log/` | every change, the truth | opening refuses; [`repair`] keeps what is left |
//! | `memory/state/` | the applied state | set aside as `state.aside`, rebuilt from the log |
//! | `memory/index/` | a snapshot of the text index | rebuilt from the state |
//! | `memory/vectors/` | vectors by model and text | given up; a backfill makes them again |
//!
//! # Replicas
//!
//! Several stores can be replicas of one store: a [`SharedJournal`](waypost_log::SharedJournal), which the caller implements,
//! decides the order of their records, and [`Store::follow`] applies what others have written.
//!
//! # Known limits
//!
//! Only one process can have a store open. All text indexes, links and vectors are in memory;
//! contents are not. An export blocks writes until it is done, and so does [`Store::compact`].

mod error;
pub mod limits;

mod embedder;
mod key;
mod link;
mod memory;
mod options;
mod params;
mod query;
mod reranker;
mod status;
mod suggestion;
mod transfer;

mod body;
mod check;
mod codec;
mod facet;
mod journal;
mod layout;
mod log_error;
mod record;
mod wire;

mod records;
mod state;

mod index;
mod writer;

mod search;
mod suggest;

mod store;

mod doctor;
mod repairing;
mod verify;

pub use doctor::{Checked, Repaired, check, check_log, check_versions, repair, repair_watched};
pub use embedder::{EmbedFn, EmbedProgress, Embedder, ModelInfo};
pub use error::{Error, ErrorKind, Result};
pub use key::RequestKey;
pub use link::Linked;
pub use memory::{Added, Addition, DEFAULT_KIND, DEFAULT_SPACE, Outline, Version};
pub use options::{OpenPhase, OpenProgress, OpenProgressFn, OpenReport, Reached, StoreOptions};
pub use params::SearchParams;
pub use query::{Hit, HitExplanation, Rerank, SearchOptions, SearchResult, Signal};
pub use record::{has_time, is_same_record};
pub use reranker::{Reranker, ScoreFn};
pub use status::{
    Compaction, Counts, IndexProgress, IndexStatus, Maintained, Reindex, ReindexPhase,
    ReindexProgress, Reindexed, Status,
};
pub use store::Store;
pub use store::add::PreparedAdds;
pub use store::request::{Begun, Request};
pub use suggestion::SuggestionOptions;
pub use transfer::{Exported, ImportOptions};
pub use verify::verify_export;
pub use waypost_api::{
    AddRequest as Draft, CompactResult, Filter, ImportIds, ImportResult, Lifespan, LineProblem,
    Link, LinkKind, MappedId, Memory, MemoryId, Metadata, MetadataRange, MetadataTest,
    PatchRequest as Patch, Scalar, SearchMode, Suggestion, SuggestionKind, Suggestions, Vocabulary,
};
pub use waypost_log::Digest;
pub use waypost_time::Timestamp;
pub use writer::outbox::{Notice, Summary};
