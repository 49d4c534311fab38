//! Which files of a project to read: a walk that leaves out ignored, vendored, secret and hidden
//! files, and classifies the others.
//!
//! [`walk`] lists a whole project, [`Rules::one`] decides about one path by the same rules. Both
//! use only names, ignore files and sizes: they open no indexed file.
//!
//! ```no_run
//! use waypost_context::{Discovery, Root, Rules, walk};
//!
//! let root = Root::open("/home/me/project")?;
//! let rules = Rules::new(&Discovery::default())?;
//! let walk = walk(&root, &rules, &|| false)?;
//! for found in &walk.found {
//!     println!("{} {}", found.class.kind, found.path);
//! }
//! # Ok::<(), waypost_context::Error>(())
//! ```

mod classify;
mod ignores;
mod language;
mod prior;
mod root;
mod rules;
mod walk;

pub(crate) use classify::is_work;
pub use language::Language;
pub(crate) use prior::unmarked;
pub use root::Root;
pub(crate) use root::{skip, state};
pub(crate) use rules::Places;
pub use rules::{Discovery, Limits, Rules};
pub use walk::{SAMPLES_MAX, Walk, walk};

use serde::{Deserialize, Serialize};
use strum::VariantArray;

use crate::Kind;

/// Whether a word is one of a list, which has a space between two of them.
fn is_one_of(word: &str, list: &str) -> bool {
    list.split(' ').any(|part| part == word)
}

/// A file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its path below the root: UTF-8, parts separated by `/`, no `.` or `..`.
    pub path: String,
    /// The state that the file system reports.
    pub stat: Stat,
    /// What its path implies.
    pub class: Class,
}

/// Distinguishes one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Stat {
    /// Its size.
    pub bytes: u64,
    /// When it was last written, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// Its inode number.
    pub inode: u64,
}

/// What a path implies about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Class {
    /// The kind of the file as a whole: [`Kind::Module`] for code. A document's frontmatter can
    /// override it, see [`Extract::kind`](crate::Extract::kind).
    pub kind: Kind,
    /// The language of code; `None` for documents.
    pub language: Option<Language>,
    /// What lowers its rank.
    pub prior: Prior,
}

/// What makes a file less likely to be relevant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a mark of its own")]
pub struct Prior {
    /// A test, fixture, example or benchmark.
    pub test: bool,
    /// Below `archive/`, `deprecated/`, `old/` or the like.
    pub archived: bool,
    /// Its name marks it as generated, such as `api.pb.go`. For marks in the content see
    /// [`Extract::generated`](crate::Extract::generated).
    pub generated: bool,
    /// Settings of tools rather than code: builds, checks, packages.
    pub settings: bool,
}

/// Why a file was left out.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    strum::Display,
    strum::IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "camelCase")]
pub enum Skip {
    /// It does not belong to the project: ignored, vendored, hidden, or neither a document nor
    /// code. Never counted.
    Ignored,
    /// It was removed after it was listed. Never counted.
    Gone,
    /// Its name indicates secrets.
    Secret,
    /// It is binary.
    Binary,
    /// It is larger than [`Limits`] allow.
    TooLarge,
    /// It is minified, a lock file or data, by its lines or its name.
    Generated,
    /// It is not UTF-8, nor UTF-16 with a byte order mark.
    Encoding,
    /// It is a symbolic link, or its path contains one. A file inside the project that a link
    /// points to is found by its own name.
    Link,
    /// It is a FIFO, a socket or a device.
    Special,
    /// Permission was denied, or reading failed.
    Unreadable,
    /// Its name is not UTF-8.
    Name,
    /// Its content could not be parsed.
    Parser,
    /// The project has more files, text or depth than [`Limits`] allow.
    Limit,
}

impl Skip {
    /// All reasons, in order.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Whether the status reports it.
    pub fn is_counted(self) -> bool {
        !matches!(self, Self::Ignored | Self::Gone)
    }
}
