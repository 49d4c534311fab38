//! One ordered journal of records in PostgreSQL, shared by several machines.
//!
//! A store's journal is one sequence without gaps. Every record has a hash that covers the record
//! before it, so two machines with the same [`Position`] have the same records. An append names the
//! position that its writer has applied, and is written only if the journal still ends there.
//!
//! - [`Journal::append`] returns when the server has committed, on as many standbys as it waits for.
//!   If the answer is lost, it finds out what happened before it returns.
//! - [`Journal::lock`] is for writers that lose: nobody else appends while they decide again.
//! - [`Journal::fetch`] and [`Journal::wait`] follow the journal.
//! - [`Journal::confirm`] shows that a decision which writes nothing still holds.
//! - [`Journal::put_snapshot`] and [`Journal::get_snapshot`] keep the state of the store in the
//!   database, so that a machine can join and [`Journal::trim`] can delete old records.
//! - [`Journal::report`] and [`Journal::machines`] list the machines of the cluster.
//! - [`Journal::claim_vectors`] lets one machine compute the vector of a text for all.
//! - [`Journal::contend`] and [`Journal::renew`] give one process a lease, whose epoch fences the
//!   appends of earlier holders.
//!
//! The crate knows nothing of what records mean. It starts no threads; it reads the monotonic
//! clock, for deadlines and the lease. `docs/cluster.md` has the guarantees.

mod deadline;
mod limits;

mod position;
mod record;

mod id;

mod pending;

mod error;
mod password;
mod settings;
mod tls;

mod link;
mod sql;

mod batch;
mod cleartext;
mod connect;
mod tables;

mod schema;

mod journal;
mod transaction;

mod append;
mod confirm;
mod fetch;
mod follower;
mod incarnation;
mod lease;
mod lock;
mod status;

mod repeat;
mod snapshot;

mod download;
mod removal;
mod trim;
mod upload;

mod machine;
mod question;
mod vector;

pub use append::{Fence, Outcome};
pub use batch::random_id;
pub use deadline::{Stop, Until};
pub use error::{Error, ErrorKind, Result};
pub use fetch::{FetchOptions, Fetched};
pub use id::{BatchId, MachineId, SnapshotId, StoreId};
pub use journal::{Head, Journal};
pub use lease::{Contender, Lease};
pub use limits::{
    BATCH_BYTES_MAX, BATCH_RECORDS_MAX, LOCK_IDLE_MAX, LOCKED_BYTES_MAX, LOCKED_RECORDS_MAX,
    MACHINE_TEXT_BYTES_MAX, MODEL_BYTES_MAX, POSTGRES_MIN, QUESTION_BYTES_MAX,
    SNAPSHOT_CHUNK_BYTES, VECTOR_BYTES_MAX, VECTORS_MAX,
};
pub use lock::Guard;
pub use machine::{Machine, MachineReport, Reported};
pub use pending::Pending;
pub use position::{Hash, Position};
pub use question::{Answer, Answerer, Answering, EmbeddingModel};
pub use record::{Record, Row};
pub use settings::Settings;
pub use snapshot::{NewSnapshot, Snapshot};
pub use status::Status;
pub use trim::Trimmed;
pub use vector::{Claimed, TextHash};
