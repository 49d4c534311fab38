//! Project context on the wire.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;
use waypost_time::Timestamp;

use crate::Vocabulary;
use crate::limits::{
    Check, Faults, GLOB_CHARS_MAX, GLOBS_MAX, ITEMS_MAX, KIND_CHARS_MAX, QUERY_CHARS_MAX, TAGS_MAX,
    TOKENS_MAX,
};
use crate::parse::nearest;
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

/// Body of `POST /api/context`. All fields are optional.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextRequest {
    /// Words, names in code or paths that describe the task: up to 8192 characters. If absent or blank: what currently
    /// matters in the project.
    pub query: Option<String>,
    /// Maximum number of items: 1 to 200; default: 30.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub max_items: Option<u64>,
    /// The kind of task; default: `general`.
    pub task_type: Option<ContextTask>,
    /// Maximum total size of titles and contents in tokens, of four bytes each: 1 to 1000000. Default: no limit.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub max_tokens: Option<u64>,
    /// Only these sources; default: all but `memory`, which also needs the scope `memory:read`.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<ContextSource>,
    /// Only items of these types; default: all. With the source `memory`, these may include types of memories.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Only files whose path matches one of these globs; memories are not affected.
    #[serde(default, deserialize_with = "wire::list", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

impl Check for ContextRequest {
    fn check(&self, faults: &mut Faults) {
        faults.chars("query", self.query.as_deref().unwrap_or_default(), QUERY_CHARS_MAX);
        faults.range("maxItems", self.max_items, ITEMS_MAX);
        faults.range("maxTokens", self.max_tokens, TOKENS_MAX);
        let with_memories = self.sources.contains(&ContextSource::Memory);
        faults.count("types", self.types.len(), TAGS_MAX);
        for (idx, name) in self.types.iter().enumerate() {
            let field = format!("types/{idx}");
            if with_memories {
                faults.kind(&field, name);
            } else if !CONTEXT_TYPES.contains(&name.as_str()) {
                faults.add(&field, unknown_type(name));
            }
        }
        faults.count("paths", self.paths.len(), GLOBS_MAX);
        for (idx, glob) in self.paths.iter().enumerate() {
            let field = format!("paths/{idx}");
            faults.name(&field, glob, GLOB_CHARS_MAX);
            if climbs_out(glob) {
                let rule = "must be a glob relative to the project, such as `src/**/*.rs`, without `..` and without a leading `/`";
                faults.add(&field, rule);
            }
        }
    }
}

/// The kind of task. It changes the weights and excludes nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum ContextTask {
    Code,
    Spec,
    Content,
    Strategy,
    #[default]
    General,
}

impl Vocabulary for ContextTask {
    const ALL: &'static [Self] =
        &[Self::Code, Self::Spec, Self::Content, Self::Strategy, Self::General];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Code => ("code", "Writing code"),
            Self::Spec => ("spec", "Specifying and designing"),
            Self::Content => ("content", "Writing texts"),
            Self::Strategy => ("strategy", "Planning"),
            Self::General => ("general", "No particular kind of task"),
        }
    }
}

/// The source of an item.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum ContextSource {
    Journal,
    Knowledge,
    Code,
    Memory,
}

impl Vocabulary for ContextSource {
    const ALL: &'static [Self] = &[Self::Journal, Self::Knowledge, Self::Code, Self::Memory];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Journal => ("journal", "Notes on what happened"),
            Self::Knowledge => ("knowledge", "Documents, decisions and guides"),
            Self::Code => ("code", "Headers, documentation and signatures of code"),
            Self::Memory => ("memory", "The service's memories"),
        }
    }
}

/// Response of `POST /api/context`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextAnswer {
    /// The items, best first.
    pub items: Vec<ContextItem>,
    /// When the index was last up to date with the whole project; absent before the first time.
    pub indexed_at: Option<Timestamp>,
    /// Files waiting to be indexed; their contents are not found yet.
    pub pending: u64,
    /// Whether items, or parts of them, were left out because of `maxTokens`.
    pub truncated: bool,
    /// Files excluded from the index; `GET /api/context/status` shows why.
    pub skipped: u64,
    /// Duration of the request.
    pub duration_ms: u64,
}

/// A section of the project, or a memory.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextItem {
    /// The source.
    pub source: ContextSource,
    /// The type: one of the types of its source; for a memory, the memory's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// A document's title and headings (`Doc > Section`), `path::Scope.name`, or the title of a memory.
    pub title: String,
    /// The text: a section, an entry, documentation and signature, or a memory's content.
    pub content: String,
    /// The file, relative to the project, with `/`; for a memory its path, `/api/memory/{id}`.
    pub path: String,
    /// The first line, from 1; absent for a memory.
    pub line: Option<u64>,
    /// The last line; for a definition its end, not the end of its header.
    pub end_line: Option<u64>,
    /// The score, 0 to 1, relative to this response.
    pub score: f32,
    /// The date that its text states, or when it was last changed.
    pub updated_at: Option<Timestamp>,
    /// Size of title and content in tokens, of four bytes each.
    pub tokens: u64,
    /// Whether the content was truncated.
    #[serde(default, skip_serializing_if = "wire::is_false")]
    pub truncated: bool,
    /// The signals that contributed, strongest first.
    #[serde(default)]
    pub why: Vec<String>,
}

/// Response of `GET /api/context/status`.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextStatus {
    /// The state.
    pub status: ContextState,
    /// Why it is disabled, and how to enable it.
    pub why: Option<String>,
    /// Indexed files.
    pub files: u64,
    /// Number of possible items, by type.
    pub chunks: BTreeMap<String, u64>,
    /// Excluded files, by reason.
    pub skipped: BTreeMap<String, ContextSkipped>,
    /// Files waiting to be indexed.
    pub pending: u64,
    /// Whether a limit excluded files.
    pub truncated: bool,
    /// When the index was last up to date with the whole project.
    pub indexed_at: Option<Timestamp>,
    /// The last scan of the whole project.
    pub last_scan: Option<ContextScan>,
    /// How changes are detected.
    pub watch: ContextWatch,
    /// Number of redacted secrets, by kind.
    pub redactions: BTreeMap<String, u64>,
    /// Code files whose headers were found line by line, because parsing was too slow or there is no grammar.
    pub parsed_by_lines: u64,
    /// The commit whose history is used; absent without git.
    pub head: Option<String>,
    /// Commits of the git history in use.
    pub commits: u64,
    /// Sections with a vector.
    pub vectors: u64,
    /// Sections waiting for a vector.
    pub vectors_pending: u64,
    /// Why the index was rebuilt when the service started.
    pub rebuilt: Option<String>,
    /// Approximate size of the index in memory.
    pub memory_bytes: u64,
    /// Size of the index on disk.
    pub disk_bytes: u64,
}

/// The state of the context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
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

/// Files excluded for one reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextSkipped {
    /// Number of files.
    pub files: u64,
    /// Some of their paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<String>,
}

/// A scan of the whole project; the response of `POST /api/context/rescan`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextScan {
    /// When the scan ended.
    pub at: Timestamp,
    /// Files of the project that belong in the index.
    pub found: u64,
    /// New and changed files that were indexed.
    pub indexed: u64,
    /// Files that were removed from the index.
    pub removed: u64,
    /// Duration of the request.
    pub duration_ms: u64,
}

/// How changes of the project are detected.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextWatch {
    /// The mode.
    pub mode: ContextWatchMode,
    /// With `native`: number of watched folders.
    pub folders: Option<u64>,
    /// With `poll`: time between two scans.
    pub every_ms: Option<u64>,
    /// With `poll`: why notifications are not used.
    pub why: Option<String>,
}

/// How changes are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ContextWatchMode {
    /// By the system's notifications.
    Native,
    /// By looking now and then.
    Poll,
    /// Not at all, but by `POST /api/context/rescan`.
    Off,
}

fn unknown_type(name: &str) -> String {
    let shown: String = name.chars().take(KIND_CHARS_MAX).collect();
    match nearest(name, &CONTEXT_TYPES) {
        Some(near) => format!("unknown value `{shown}`; did you mean `{near}`?"),
        None => format!("`{shown}` is not one of {}", CONTEXT_TYPES.join(", ")),
    }
}

/// Whether a glob refers to anything outside the project, or tries to.
fn climbs_out(glob: &str) -> bool {
    let drive = matches!(glob.as_bytes(), [letter, b':', ..] if letter.is_ascii_alphabetic());
    let mut parts = glob.split(['/', '\\', '{', '}', ',']);
    drive || glob.starts_with(['/', '\\', '~']) || parts.any(|part| part == "..")
}
