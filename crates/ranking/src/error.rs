use std::fmt;

/// This crate's errors.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Error {
    /// A vector and the index have different numbers of dimensions.
    WrongDimensions {
        /// The dimensions of the index.
        expected: usize,
        /// The dimensions of the vector.
        found: usize,
    },
    /// An index cannot have this many dimensions.
    DimensionsOutOfRange {
        /// The requested number.
        dimensions: usize,
        /// The largest supported number.
        dimensions_max: usize,
    },
    /// A vector has a component that is NaN or infinite.
    NotFinite {
        /// The first such component's position.
        position: usize,
    },
    /// A vector has no direction: its length is zero, or too small to divide by.
    NoDirection,
    /// The bytes are not a snapshot, or are one of another kind.
    NotASnapshot,
    /// A snapshot was written by a newer version of this crate.
    SnapshotTooNew {
        /// The snapshot's version.
        version: u16,
        /// The newest supported version.
        version_max: u16,
    },
    /// A snapshot is damaged.
    SnapshotDamaged {
        /// The check that failed.
        what: &'static str,
    },
}

/// What a caller can do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The vector cannot be used; its model is at fault.
    InvalidVector,
    /// The snapshot cannot be used: rebuild the index.
    UnusableSnapshot,
}

impl Error {
    /// What a caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::WrongDimensions { .. }
            | Self::DimensionsOutOfRange { .. }
            | Self::NotFinite { .. }
            | Self::NoDirection => ErrorKind::InvalidVector,
            Self::NotASnapshot | Self::SnapshotTooNew { .. } | Self::SnapshotDamaged { .. } => {
                ErrorKind::UnusableSnapshot
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongDimensions { expected, found } => {
                write!(f, "the vector has {found} dimensions; the index has {expected}")
            }
            Self::DimensionsOutOfRange { dimensions, dimensions_max } => {
                write!(f, "an index of {dimensions} dimensions; 1 to {dimensions_max} are possible")
            }
            Self::NotFinite { position } => {
                write!(f, "the vector's component {position} is not a finite number")
            }
            Self::NoDirection => write!(f, "the vector's length is zero"),
            Self::NotASnapshot => write!(f, "the bytes are not a snapshot of this kind"),
            Self::SnapshotTooNew { version, version_max } => {
                write!(
                    f,
                    "the snapshot has version {version}; this program reads up to {version_max}"
                )
            }
            Self::SnapshotDamaged { what } => write!(f, "the snapshot is damaged: {what}"),
        }
    }
}

impl std::error::Error for Error {}
