//! Export and import as NDJSON.

/// What an export wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Exported {
    /// Memories, those with history but deleted included.
    pub memories: u64,
    /// Links.
    pub links: u64,
}

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Imported {
    /// Memories that are new.
    pub memories: u64,
    /// Links that are new.
    pub links: u64,
    /// Memories and links that were there already.
    pub existing: u64,
    /// Lines that were not taken.
    pub problems: Vec<ImportProblem>,
}

/// A line of an import that was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportProblem {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub message: String,
}
