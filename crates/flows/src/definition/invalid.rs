/// Why a flow file cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
#[non_exhaustive]
pub struct InvalidFile {
    /// From 1.
    pub line: usize,
    /// In characters, from 1: the start of the invalid value.
    pub column: usize,
    /// The path in the document (`flows[0].trigger`), what is invalid, and what would be valid.
    pub message: String,
}
