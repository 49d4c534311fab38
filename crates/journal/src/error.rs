use crate::id::{MachineId, SnapshotId, StoreId};
use crate::limits::POSTGRES_MIN;
use crate::pending::Pending;
use crate::position::{Hash, Position};

/// The result of every operation on the journal.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation on the journal failed. No message contains a password.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL, a variable or a file of the connection's settings is wrong.
    #[error("{0}")]
    Setting(String),
    /// No server of the URL can be used now.
    #[error("no server of the database can be used: {0}")]
    Unreachable(String),
    /// The server copies another one and takes no writes.
    #[error(
        "{0} is a standby, which takes no writes; name the primary in the URL, or all servers, \
         separated by commas"
    )]
    Standby(String),
    /// The server is too old.
    #[error("{host} runs PostgreSQL {found}; version {POSTGRES_MIN} or newer is needed")]
    TooOld {
        /// The server.
        host: String,
        /// Its major version.
        found: u32,
    },
    /// A setting of the server gives up durability.
    #[error("{host} runs with {setting} = {value}, which loses acknowledged writes; set it to on")]
    Unsafe {
        /// The server.
        host: String,
        /// The setting.
        setting: &'static str,
        /// Its value.
        value: String,
    },
    /// The database has no journal.
    #[error("the database has no journal in the schema {0}; create one first")]
    Missing(String),
    /// A newer release created the tables.
    #[error(
        "the journal's tables have version {found}, and this release supports versions up to \
         {supported}; install a newer release"
    )]
    Newer {
        /// The version found.
        found: i32,
        /// The newest version that this release supports.
        supported: i32,
    },
    /// The store has records that only newer releases can read.
    #[error(
        "the store has feature level {found}, and this release supports levels up to {supported}; \
         install a newer release"
    )]
    Feature {
        /// The level of the store.
        found: u32,
        /// The newest level that this release supports.
        supported: u32,
    },
    /// The user may not do what the journal needs.
    #[error("the database user lacks a privilege: {0}")]
    Privilege(String),
    /// The database has journals, but not that of this store.
    #[error(
        "the database has no journal of the store {expected}; it has {found}. Is it the database of \
         another cluster?"
    )]
    OtherStore {
        /// The store that the caller has.
        expected: StoreId,
        /// The stores of the database, or «none».
        found: String,
    },
    /// The store has a journal already.
    #[error("the database already has a journal of the store {0}")]
    Exists(StoreId),
    /// A loss was accepted, and the journal continues as another one.
    #[error(
        "the journal is in incarnation {found}, and this machine has a copy of incarnation {expected}"
    )]
    Incarnation {
        /// That of the caller.
        expected: u64,
        /// That of the database.
        found: u64,
    },
    /// The database ends before what the caller has: it lost records that existed.
    #[error(
        "the journal in the database ends at {theirs}, before {ours}, which this process has \
         applied: a standby without all records was promoted, or an older backup was restored"
    )]
    Shorter {
        /// The caller's position.
        ours: Position,
        /// The end of the journal in the database.
        theirs: Position,
    },
    /// The database has another history than the caller.
    #[error(
        "the journal in the database has another record {seq} than this process has applied (hash \
         {theirs} instead of {ours}): a standby without all records was promoted, or an older backup \
         was restored, and records were written since"
    )]
    Diverged {
        /// Where the caller's history ends.
        seq: u64,
        /// The caller's hash of that record.
        ours: Hash,
        /// The hash in the database.
        theirs: Hash,
    },
    /// A record is missing.
    #[error("the journal is damaged: record {expected} is missing, and record {found} follows")]
    Gap {
        /// The sequence number of the missing record.
        expected: u64,
        /// That of the next one; that of the head row if there is none.
        found: u64,
    },
    /// A record is not what was appended.
    #[error("the journal is damaged: record {seq} should have the hash {expected}, not {found}")]
    Mismatch {
        /// The record.
        seq: u64,
        /// The hash of its content after the record before it.
        expected: Hash,
        /// The hash stored with it.
        found: Hash,
    },
    /// A record of a part does not follow the one before it, or a value is outside its range.
    #[error("the journal is damaged: record {seq}: {what}")]
    Malformed {
        /// The record.
        seq: u64,
        /// What is wrong.
        what: String,
    },
    /// The journal begins after the caller's position: the records up to there were trimmed. Join
    /// again from a snapshot.
    #[error(
        "the journal begins with record {first}, and the records before it were trimmed; this \
         machine is too far behind and must join again from a snapshot"
    )]
    Trimmed {
        /// The first record that the journal has, or will have.
        first: u64,
    },
    /// This machine was forgotten, because it was silent for too long, or never joined.
    #[error("the cluster does not have the machine {0} any more; it must join again")]
    Forgotten(MachineId),
    /// The database has no complete snapshot with this id, or its upload was removed.
    #[error("the database has no snapshot {0} of this store that is complete")]
    NoSnapshot(SnapshotId),
    /// A snapshot in the database is not what was put there. The journal is not affected.
    #[error("the snapshot {snapshot} is damaged{}: {what}", of_chunk(*chunk))]
    DamagedSnapshot {
        /// The snapshot.
        snapshot: SnapshotId,
        /// The chunk, from 0; `None` if the snapshot as a whole differs.
        chunk: Option<u32>,
        /// What is wrong.
        what: String,
    },
    /// The reader or the writer that the caller passed for the content of a snapshot failed.
    #[error("failed to copy the snapshot on this machine")]
    Copy(#[source] std::io::Error),
    /// An argument is outside a limit, or contradicts the journal.
    #[error("{0}")]
    Invalid(String),
    /// The lock ended before the commit: this process was silent for too long. Nothing was written.
    #[error("the lock of the journal ended before the commit; nothing was written")]
    LockLost,
    /// Whether an append was written is not known yet. Call [`Journal::resolve`](crate::Journal::resolve).
    #[error("whether the records after {} were appended is not known: {reason}", pending.after())]
    Unresolved {
        /// What to resolve.
        pending: Pending,
        /// Why it is not known.
        reason: String,
    },
    /// The deadline passed or the caller stopped the operation. Nothing was written.
    #[error("the operation was not sent to the database in time")]
    Stopped,
    /// The connection ended. Of an append, nothing was written.
    #[error("the connection to the database ended: {0}")]
    Connection(String),
    /// The server refused a statement. Nothing was written.
    #[error("the database refused a statement: {message} (SQLSTATE {code})")]
    Database {
        /// The code.
        code: String,
        /// The server's message.
        message: String,
    },
    /// The server answered something else than the statement returns.
    #[error("unexpected answer of the database: {0}")]
    Answer(String),
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// Try again later: nothing was written.
    Retry,
    /// Find out with [`Journal::resolve`](crate::Journal::resolve).
    Unresolved,
    /// A person has to change a setting, a privilege or a server.
    Setup,
    /// The database lost records or has another history. Stop writing, and keep the local files.
    Lost,
    /// This machine is too far behind, or was forgotten. Join again from a snapshot.
    Behind,
    /// Stored records, or a snapshot, are damaged. Stop; a snapshot can be replaced by another one.
    Damaged,
    /// The caller passed something that cannot be stored.
    Invalid,
}

impl Error {
    /// Returns what a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Unreachable(_)
            | Self::LockLost
            | Self::Stopped
            | Self::Connection(_)
            | Self::Database { .. }
            | Self::Answer(_) => ErrorKind::Retry,
            Self::Unresolved { .. } => ErrorKind::Unresolved,
            Self::Setting(_)
            | Self::Standby(_)
            | Self::TooOld { .. }
            | Self::Unsafe { .. }
            | Self::Missing(_)
            | Self::Newer { .. }
            | Self::Feature { .. }
            | Self::Privilege(_)
            | Self::OtherStore { .. }
            | Self::Exists(_) => ErrorKind::Setup,
            Self::Incarnation { .. } | Self::Shorter { .. } | Self::Diverged { .. } => {
                ErrorKind::Lost
            }
            Self::Trimmed { .. } | Self::Forgotten(_) => ErrorKind::Behind,
            Self::Gap { .. }
            | Self::Mismatch { .. }
            | Self::Malformed { .. }
            | Self::DamagedSnapshot { .. } => ErrorKind::Damaged,
            Self::NoSnapshot(_) | Self::Copy(_) | Self::Invalid(_) => ErrorKind::Invalid,
        }
    }
}

fn of_chunk(chunk: Option<u32>) -> String {
    chunk.map_or_else(String::new, |chunk| format!(" in chunk {chunk}"))
}
