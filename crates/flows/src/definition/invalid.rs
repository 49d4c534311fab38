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

impl InvalidFile {
    /// Leaves out the middle of a long message: it repeats what the file says.
    pub(super) fn shortened(mut self) -> Self {
        const START: usize = 1000;
        const END: usize = 500;

        let count = self.message.chars().count();
        if count > START + END {
            let start = self.message.chars().take(START);
            let end = self.message.chars().skip(count - END);
            self.message = start.chain(['…']).chain(end).collect();
        }
        self
    }
}
