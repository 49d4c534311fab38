use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

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
    #[error("the log is damaged: {}", list(.0))]
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

    /// Describes the damage, with `folder` before the file's name.
    pub fn describe(&self, folder: &str) -> String {
        Self { segment: format!("{folder}/{}", self.segment), ..self.clone() }.to_string()
    }

    /// The report of a repair; `what` describes what is damaged.
    pub fn mended(&self, what: String) -> RepairedDamage {
        let is_kept = match self.what {
            DamageKind::Missing => false,
            DamageKind::NotAFile => true,
            _ => self.len_bytes > 0,
        };
        RepairedDamage { what, is_loss: self.to >= self.from, is_kept }
    }

    pub(crate) fn covers(&self, offset: u64) -> bool {
        offset >= self.offset && offset - self.offset < self.len_bytes
    }
}

/// What a repair did about one damaged place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairedDamage {
    /// A description of the damage.
    pub what: String,
    /// Whether records may be lost.
    pub is_loss: bool,
    /// Whether the damaged bytes, or what was in the place of a file, are in `*.damaged` next to the
    /// log.
    pub is_kept: bool,
}

impl RepairedDamage {
    /// Encodes this as a line of the [`Marker`](crate::Marker) of a repair in progress.
    pub fn line(&self) -> String {
        let Self { what, is_loss, is_kept } = self;
        let what = what.replace(char::is_control, " ");
        format!("mended {} {} {what}\n", u8::from(*is_loss), u8::from(*is_kept))
    }

    /// Decodes a line that [`Self::line`] wrote, without its line break.
    pub fn of_line(line: &str) -> Option<Self> {
        let flag = |it: &str| ["0", "1"].iter().position(|flag| *flag == it).map(|it| it == 1);
        let (is_loss, rest) = line.strip_prefix("mended ")?.split_once(' ')?;
        let (is_kept, what) = rest.split_once(' ')?;
        Some(Self { what: what.to_owned(), is_loss: flag(is_loss)?, is_kept: flag(is_kept)? })
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
        let what = match self.what {
            DamageKind::Header => "bad segment header",
            DamageKind::Record => "bad record",
            DamageKind::End => "no end marker",
            DamageKind::Missing => "missing segment",
            DamageKind::Short => "the log ends too early",
            DamageKind::NotAFile => return write!(f, "{} is not a regular file", self.segment),
        };
        write!(f, "{what} in {} at offset {}", self.segment, self.offset)?;
        if self.to < self.from {
            write!(f, ", no record lost")
        } else if self.to == u64::MAX {
            write!(f, ", sequences from {}", self.from)
        } else if self.from == self.to {
            write!(f, ", sequence {}", self.from)
        } else {
            write!(f, ", sequences {} to {}", self.from, self.to)
        }
    }
}

fn list(damage: &[Damage]) -> String {
    let shown: Vec<String> = damage.iter().take(4).map(Damage::to_string).collect();
    let more = damage.len().saturating_sub(shown.len());
    let tail = if more > 0 { format!("; and {more} more") } else { String::new() };
    shown.join("; ") + &tail
}
