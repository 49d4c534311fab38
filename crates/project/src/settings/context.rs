//! Settings of project context.

use std::path::{Path, PathBuf};

use super::{Resolved, Sources};
use crate::cache::git_ignore_file;

/// Which parts of the project are indexed for context, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own, or a fact")]
pub struct ContextSettings {
    /// Whether anything is indexed.
    pub enabled: bool,
    /// Whether to index even if the project is the user's home or contains it.
    pub allow_home: bool,
    /// Whether the project is the user's home, contains it, or is the root of the file system.
    pub is_home: bool,
    /// Globs of files that are indexed even if they are ignored, hidden or vendored.
    pub include: Vec<String>,
    /// Patterns of excluded files, in the syntax of `.gitignore`.
    pub exclude: Vec<String>,
    /// The file with git's global ignore rules for this user, which may be missing.
    pub git_ignore_file: Option<PathBuf>,
    /// Globs of documents with a given type, each after the type.
    pub types: Vec<(String, String)>,
    /// Larger code files are left out.
    pub code_bytes_max: u64,
    /// Larger documents are truncated.
    pub document_bytes_max: u64,
    /// The maximum number of indexed files.
    pub files_max: usize,
    /// The maximum size of the indexed text.
    pub text_bytes_max: u64,
    /// The maximum number of pieces with a vector.
    pub vectors_max: usize,
    /// Whether git history is read.
    pub git: bool,
    /// How changes are detected.
    pub watch: WatchMode,
}

/// How file changes are detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchMode {
    /// By the system's notifications, where they work.
    Native,
    /// By polling.
    Poll,
    /// Not at all.
    Off,
}

impl Default for ContextSettings {
    /// The default values.
    fn default() -> Self {
        Self::new(&Resolved::defaults("context"))
    }
}

impl ContextSettings {
    pub(super) fn resolve(resolved: &Resolved, sources: &Sources<'_>) -> Self {
        let git_ignore_file = git_ignore_file(sources.environment);
        Self { is_home: is_home(sources), git_ignore_file, ..Self::new(resolved) }
    }

    fn new(resolved: &Resolved) -> Self {
        let number = |name: &str| resolved.number(&format!("context.{name}"));
        let size = |name: &str| number(name) as usize;
        let types = resolved.list("context.types");
        let parted = types.iter().filter_map(|it| it.split_once('='));
        Self {
            enabled: resolved.is_on("context.enabled"),
            allow_home: resolved.is_on("context.allow_home"),
            is_home: false,
            git_ignore_file: None,
            include: resolved.list("context.include"),
            exclude: resolved.list("context.exclude"),
            types: parted.map(|(name, glob)| (name.to_owned(), glob.to_owned())).collect(),
            code_bytes_max: number("code_bytes_max"),
            document_bytes_max: number("document_bytes_max"),
            files_max: size("files_max"),
            text_bytes_max: number("text_bytes_max"),
            vectors_max: size("vectors_max"),
            git: resolved.is_on("context.git"),
            watch: match resolved.text("context.watch").as_str() {
                "poll" => WatchMode::Poll,
                "off" => WatchMode::Off,
                _ => WatchMode::Native,
            },
        }
    }
}

/// Whether the project is the user's home, or contains it as `/` does.
fn is_home(sources: &Sources<'_>) -> bool {
    let root = sources.project.root();
    let home = (sources.environment)("HOME").filter(|it| !it.is_empty());
    // The project's path contains no links.
    let home = home.and_then(|it| Path::new(&it).canonicalize().ok());
    root.parent().is_none() || home.is_some_and(|it| it.starts_with(root))
}
