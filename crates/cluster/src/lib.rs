//! The stores of one machine as replicas of one journal in PostgreSQL.
//!
//! A store has several parts: memories, events, flows, and what the cluster itself agrees on. Each
//! part keeps its own log and state, and numbers its records from 1. The journal has the records of
//! all parts in one order. A [`Hub`] connects the two: [`Hub::part`] is the
//! [`SharedJournal`](waypost_log::SharedJournal) of one part.
//!
//! - A part appends behind its own last record. Records of other parts that came in between do not
//!   matter to it: the hub reads them and appends again.
//! - No part follows or appends before the records of all parts were compared with the journal: after
//!   a loss of the database, one part may not show that it has another history.
//! - The hub reads the journal once for all parts, and keeps for each part what that part has not
//!   applied yet.
//! - An append whose outcome is unknown is settled before the next append or read.
//! - [`Member`] is the file that makes a data folder that of one machine of one cluster. It names a
//!   position of the journal that all parts have on disk: reading continues there after a start.
//!
//! The crate starts no threads; the caller waits with [`Hub::wait`] and lets its stores follow.
//! `docs/cluster.md` has the guarantees.

mod error;
mod host;
pub mod notice;
mod part;

mod member;
mod queues;
mod turn;

mod hub;

mod append;
mod compare;
mod contact;
mod read;
mod shared;

/// The newest feature level of records that this release reads. Records of a level are written when
/// all machines of a cluster can read them ([`Journal::raise_feature`](waypost_journal::Journal::raise_feature)).
///
/// | level | records |
/// |---|---|
/// | 1 | everything of the first release with clusters |
/// | 2 | digests of the state |
pub const FEATURE: u32 = 2;

pub use contact::Contact;
pub use error::{Error, Result};
pub use host::host_name;
pub use hub::{Hub, HubOptions};
pub use member::{Base, Begun, Member};
pub use part::{PARTS, Part, Places};
