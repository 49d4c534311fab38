use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::RepairedDamage;

/// The result of every operation on the log.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation on the log failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The disk is full. Nothing of the batch was stored; appends work again when there is space.
    #[error("no space on the disk for the log; nothing of the batch was written")]
    Full,
    /// A sync or a write failed earlier. What is on disk is unknown until the log is reopened.
    #[error("an earlier write or sync failed; the log is read-only until it is reopened")]
    Poisoned,
    /// The log does not end where the caller expected. Nothing was written.
    #[error("expected the log to end at record {expected}, but it ends at record {last}")]
    Moved {
        /// The last sequence that the caller knows.
        expected: u64,
        /// The last sequence of the log.
        last: u64,
    },
    /// This file of the log was removed or replaced while the log was open. What was written to it
    /// since is lost.
    #[error("{} was removed or replaced while it was in use", .0.display())]
    Gone(PathBuf),
    /// Stored bytes are not what was written.
    #[error("the log is damaged: {}", first_few(.0, Damage::to_string))]
    Damaged(Vec<Damage>),
    /// A newer release wrote this segment.
    #[error(
        "{segment} was written by a newer release: it has format version {version}, and this \
         release reads versions up to {supported}"
    )]
    Newer {
        /// File name of the segment.
        segment: String,
        /// The version found.
        version: u32,
        /// The newest version this release understands.
        supported: u32,
    },
    /// A newer release wrote this record.
    #[error(
        "record {sequence} was written by a newer release: this one does not support kind {kind} in \
         version {version}"
    )]
    NewerRecord {
        /// The record's sequence.
        sequence: u64,
        /// Its kind.
        kind: u8,
        /// The version of its payload.
        version: u8,
    },
    /// A payload or a batch is over the limit.
    #[error("{len_bytes} bytes in one append; the limit is {limit_bytes}")]
    TooLarge {
        /// The size of the append.
        len_bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// This process already has the folder open.
    #[error("{} is already open in this process", .0.display())]
    InUse(PathBuf),
    /// Another process has locked the folder.
    #[error("{} is in use by process {pid}", path.display())]
    Locked {
        /// The folder.
        path: PathBuf,
        /// The other process, or `unknown`.
        pid: String,
    },
    /// The folder or a file in it may not be read or written.
    #[error("failed to {operation} {}", path.display())]
    ReadOnly {
        /// What was to be done with it: `read`, `write`.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// Another file system operation failed.
    #[error("failed to {operation} {}", path.display())]
    Io {
        /// The operation, as a verb.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Change the request: it is invalid.
    Invalid,
    /// Free space and try again.
    Full,
    /// Read the records appended since, decide again, and append the result.
    Moved,
    /// Reopen the log; unacknowledged records may or may not be in it.
    Poisoned,
    /// Repair: open with [`OnDamage::Salvage`](crate::OnDamage::Salvage), or restore a copy.
    Damaged,
    /// Use the newer release.
    Newer,
    /// Stop the other user of the folder.
    InUse,
    /// Change the permissions, or mount the file system for writing.
    ReadOnly,
    /// See the cause.
    Io,
}

impl Error {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Full => ErrorKind::Full,
            Self::Moved { .. } => ErrorKind::Moved,
            Self::Poisoned | Self::Gone(_) => ErrorKind::Poisoned,
            Self::Damaged(_) => ErrorKind::Damaged,
            Self::Newer { .. } | Self::NewerRecord { .. } => ErrorKind::Newer,
            Self::TooLarge { .. } => ErrorKind::Invalid,
            Self::InUse(_) | Self::Locked { .. } => ErrorKind::InUse,
            Self::ReadOnly { .. } => ErrorKind::ReadOnly,
            Self::Io { .. } => ErrorKind::Io,
        }
    }

    /// The error for a failed file operation.
    pub(crate) fn io(operation: &'static str, path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::ReadOnly { operation, path, source: Arc::new(source) }
            }
            _ => Self::Io { operation, path, source: Arc::new(source) },
        }
    }
}

/// A place where stored bytes differ from what was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// File name of the segment.
    pub segment: String,
    /// Offset of the first bad byte range in it.
    pub offset: u64,
    /// Number of unusable bytes.
    pub len_bytes: u64,
    /// First sequence that may be lost.
    pub from: u64,
    /// Last sequence that may be lost; below `from` if no record is.
    pub to: u64,
    /// What is wrong.
    pub what: DamageKind,
}

impl Damage {
    /// Number of sequences that may be lost; 0 if no record is, or if the number is unknown.
    pub fn records(&self) -> u64 {
        if self.to == u64::MAX { 0 } else { (self.to + 1).saturating_sub(self.from) }
    }

    /// Describes the damage of the log in `folder`, which calls its records `record`, such as `event`.
    pub fn describe(&self, folder: &str, record: &str) -> String {
        self.text(&format!("{folder}/{}", self.segment), record)
    }

    /// The first few of them, in one line.
    pub fn describe_all(damage: &[Self], folder: &str, record: &str) -> String {
        first_few(damage, |it| it.describe(folder, record))
    }

    fn text(&self, file: &str, record: &str) -> String {
        let Self { offset, from, to, .. } = self;
        let what = match self.what {
            DamageKind::Header => "bad segment header",
            DamageKind::Record => "bad record",
            DamageKind::End => "no end marker",
            DamageKind::Missing => "missing segment",
            DamageKind::Short => "the log ends too early",
            DamageKind::NotAFile => return format!("{file} is not a regular file"),
        };
        let lost = match to {
            to if to < from => "no record lost".to_owned(),
            &u64::MAX => format!("{record}s from {from}"),
            to if to == from => format!("{record} {from}"),
            to => format!("{record}s {from} to {to}"),
        };
        format!("{what} in {file} at offset {offset}, {lost}")
    }

    /// The report of a repair of the log in `folder`, with the damage as [described](Self::describe).
    pub fn repaired(&self, folder: &str, record: &str) -> RepairedDamage {
        let is_kept = match self.what {
            DamageKind::Missing => false,
            DamageKind::NotAFile => true,
            _ => self.len_bytes > 0,
        };
        let what = self.describe(folder, record);
        RepairedDamage { what, is_loss: self.to >= self.from, is_kept }
    }

    pub(crate) fn covers(&self, offset: u64) -> bool {
        offset >= self.offset && offset - self.offset < self.len_bytes
    }
}

/// The kind of a [`Damage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum DamageKind {
    /// The checksum of the segment's header is wrong.
    Header,
    /// The bytes at the place of a record are not a record, or not the expected one.
    Record,
    /// A sealed segment lacks its end marker.
    End,
    /// A segment is missing.
    Missing,
    /// The log ends before `from` but had reached `to`.
    Short,
    /// A folder, a pipe or a device is in the place of a file. What is lost with the file is reported
    /// as [`Missing`](Self::Missing) or [`Short`](Self::Short).
    NotAFile,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&self.segment, "sequence"))
    }
}

fn first_few(damage: &[Damage], text: impl Fn(&Damage) -> String) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = damage.iter().take(SHOWN).map(text).collect();
    let more = damage.len().saturating_sub(SHOWN);
    let tail = if more > 0 { format!("; and {more} more") } else { String::new() };
    shown.join("; ") + &tail
}
