//! A durable store of memories with hybrid search, typed links and history.
//!
//! A memory is a text with a title, a kind, tags and metadata. The store keeps every memory in an
//! append-only log, derives a state and an index from it, and finds memories by their words and,
//! with an embedding model, by their meaning. An operation that was answered is on disk.
//!
//! The store starts no threads, reads no clock and knows no model: time comes in as an argument,
//! the model as a closure ([`Embedder`]), and background work is offered as calls that do a
//! bounded piece ([`Store::embed_pending`], [`Store::maintain`]).

mod error;
pub mod limits;

mod embedder;
mod link;
mod memory;
mod options;
mod params;
mod query;
mod status;
mod time;
mod transfer;

mod check;
mod codec;
mod record;

mod keys;
mod lock;
mod state;
mod txn;

mod graph;
mod snapshot;
mod vectors;
mod view;

mod commit;
mod embed;
mod export;
mod import;
mod open;
mod search;
mod store;
mod upkeep;
mod wire;

mod doctor;

pub use doctor::{Checked, Repaired, check, repair};
pub use embedder::{EmbedFn, EmbedProgress, Embedder, ModelInfo};
pub use error::{Error, ErrorKind, Result};
pub use link::{Link, LinkKind, Linked};
pub use memory::{
    Added, DEFAULT_KIND, DEFAULT_SPACE, Draft, Memory, MemoryId, Metadata, MetadataValue, Patch,
    Version,
};
pub use options::{OpenPhase, OpenProgress, OpenProgressFn, OpenReport, StoreOptions};
pub use params::SearchParams;
pub use query::{Filter, Hit, HitExplanation, SearchMode, SearchOptions, SearchResult, Signal};
pub use status::{
    Compacted, IndexStatus, Maintained, Reindex, ReindexPhase, ReindexProgress, Reindexed, Status,
};
pub use store::Store;
pub use time::Timestamp;
pub use transfer::{Exported, ImportProblem, Imported};
