//! Project context on the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::time::Time;
use crate::wire;

/// The types of items by their source: `journal`, then `knowledge`, then `code`.
pub const CONTEXT_TYPES: [&str; 17] = [
    "daily",
    "worklog",
    "changelog",
    "commit",
    "instructions",
    "decision",
    "spec",
    "strategy",
    "content",
    "readme",
    "guide",
    "note",
    "module",
    "type",
    "function",
    "value",
    "macro",
];

/// Body of `POST /api/context`. All of it may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextRequest {
    /// What the task is about, in words, names of code or paths: up to 8192 characters. Absent or blank: what matters
    /// in the project just now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// How many items at most: 1 to 200, by default 30.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_items: Option<u64>,
    /// What the items are wanted for; by default `general`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<ContextTask>,
    /// How many tokens titles and contents take together at most, a token being four bytes: 1 to 1000000. By default
    /// there is no limit.
    #[serde(
        default,
        deserialize_with = "wire::optional_whole",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_tokens: Option<u64>,
    /// Only these sources; by default all but `memory`, which needs the scope `memory:read`, too.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ContextSource>,
    /// Only items of these types; by default all. With the source `memory`, types of memories may be among them.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Only files whose path in the project fits one of these globs; memories have none and pass.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// What items are wanted for. It shifts the weights and shuts nothing out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ContextTask {
    /// Writing code.
    Code,
    /// Specifying, designing, deciding.
    Spec,
    /// Writing texts.
    Content,
    /// Planning.
    Strategy,
    /// Nothing in particular.
    #[default]
    General,
}

/// Where an item comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ContextSource {
    /// Journals: what happened.
    Journal,
    /// Documents: what is decided, and how things are done.
    Knowledge,
    /// Code headers: documentation and signatures.
    Code,
    /// The memories of the service.
    Memory,
}

impl ContextSource {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Journal => "journal",
            Self::Knowledge => "knowledge",
            Self::Code => "code",
            Self::Memory => "memory",
        }
    }
}

/// Answer of `POST /api/context`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextAnswer {
    /// The items, best first.
    pub items: Vec<ContextItem>,
    /// When the index last agreed with the whole project; absent until it does for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_at: Option<Time>,
    /// Files that are known to wait for indexing: what is in them is not found yet.
    pub pending: u64,
    /// Whether items, or parts of them, were left out because they did not fit `maxTokens`.
    pub truncated: bool,
    /// Files that the index leaves out; `GET /api/context/status` says why.
    pub skipped: u64,
    /// How long it took.
    pub duration_ms: u64,
}

/// A piece of the project, or a memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextItem {
    /// Where it comes from.
    pub source: ContextSource,
    /// What it is: one of the types of its source; of a memory, the memory's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// A document's title and headings (`Doc > Section`), `path::Scope.name`, or the title of a memory.
    pub title: String,
    /// The text: a section, an entry, documentation and signature, or a memory's content.
    pub content: String,
    /// The file, relative to the project, with `/`; of a memory its address, `/api/memory/{id}`.
    pub path: String,
    /// The first line, from 1; absent of a memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The last line; of a definition its end, not its header's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u64>,
    /// How well it fits, 0 to 1, within this answer.
    pub score: f32,
    /// What its text says of its date, or when it was last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Time>,
    /// What title and content take, a token being four bytes.
    pub tokens: u64,
    /// Whether the content was cut to fit.
    #[serde(default, skip_serializing_if = "is_false")]
    pub truncated: bool,
    /// What spoke for it, the strongest first.
    #[serde(default)]
    pub why: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(it: &bool) -> bool {
    !it
}

/// Answer of `GET /api/context/status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextStatus {
    /// How it is.
    pub status: ContextState,
    /// Why it is off, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Files that are indexed.
    pub files: u64,
    /// Pieces of them that can be items, by type.
    pub chunks: BTreeMap<String, u64>,
    /// Files that are left out, by reason.
    pub skipped: BTreeMap<String, ContextSkipped>,
    /// Files that are known to wait for indexing.
    pub pending: u64,
    /// Whether a limit kept files out.
    pub truncated: bool,
    /// When the index last agreed with the whole project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexed_at: Option<Time>,
    /// The last time that all of the project was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_scan: Option<ContextScan>,
    /// How changes are noticed.
    pub watch: ContextWatch,
    /// What was replaced because it looked like a secret, by kind.
    pub redactions: BTreeMap<String, u64>,
    /// Code files whose headers were found line by line, because parsing took too long or there is no grammar.
    pub parsed_by_lines: u64,
    /// The commit whose history is in use; absent without git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Commits of the history that are in use.
    pub commits: u64,
    /// Pieces that have a vector.
    pub vectors: u64,
    /// Pieces that wait for one.
    pub vectors_pending: u64,
    /// Why the index was built anew when the service started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<String>,
    /// The index's size in memory, about.
    pub memory_bytes: u64,
    /// Its size on disk.
    pub disk_bytes: u64,
}

/// How the context is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ContextState {
    /// All of the project is indexed.
    Ready,
    /// Files wait for indexing; queries find what is there so far.
    Indexing,
    /// There is none.
    Off,
}

impl ContextState {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Indexing => "indexing",
            Self::Off => "off",
        }
    }
}

/// Files that are left out for one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextSkipped {
    /// How many.
    pub files: u64,
    /// The paths of some of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<String>,
}

/// A look at all of the project; the answer of `POST /api/context/rescan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextScan {
    /// When it was done.
    pub at: Time,
    /// Files that the project has and that are wanted.
    pub found: u64,
    /// New and changed ones, which were read and indexed.
    pub indexed: u64,
    /// Files that were removed from the index.
    pub removed: u64,
    /// How long it took.
    pub duration_ms: u64,
}

/// How changes of the project are noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ContextWatch {
    /// By what means.
    pub mode: ContextWatchMode,
    /// With `native`: folders that are watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folders: Option<u64>,
    /// With `poll`: time between two looks at the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<u64>,
    /// With `poll`: why not by notifications.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// By what means changes are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "lowercase")]
pub enum ContextWatchMode {
    /// By the system's notifications.
    Native,
    /// By looking now and then.
    Poll,
    /// Not at all, but by `POST /api/context/rescan`.
    Off,
}
