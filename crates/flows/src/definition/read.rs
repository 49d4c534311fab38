use serde::Deserialize;

use super::Flow;
use super::yaml::{self, invalid_at};

/// The largest flow file.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// The most flows in one file.
pub const FLOWS_MAX: usize = 1000;

/// Names that a flow cannot have: in the HTTP API they are parts of the paths of flows.
const RESERVED: [&str; 3] = ["files", "runs", "why"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    flows: Vec<Flow>,
}

/// The flows of a YAML file, in the order written.
///
/// # Errors
/// At the first error. Nothing of the file is used then.
pub fn parse(text: &str) -> Result<Vec<Flow>, InvalidFile> {
    parsed(text).map_err(InvalidFile::shortened)
}

fn parsed(text: &str) -> Result<Vec<Flow>, InvalidFile> {
    let at_start = |message| InvalidFile { line: 1, column: 1, message };
    if text.len() > FILE_BYTES_MAX {
        let message = format!("the file has {} bytes; the limit is {FILE_BYTES_MAX}", text.len());
        return Err(at_start(message));
    }
    let flows = yaml::read::<File>(text)?.flows;
    if flows.len() > FLOWS_MAX {
        return Err(at_start(format!(
            "the file has {} flows; the limit is {FLOWS_MAX}",
            flows.len()
        )));
    }
    for (number, flow) in flows.iter().enumerate() {
        let problem = if flow.actions.is_empty() {
            Some("the flow has no actions")
        } else if flow.concurrency.limit == 0 {
            Some("concurrency.limit must be at least 1")
        } else if flow.rate_limit.as_ref().is_some_and(|limit| limit.runs == 0) {
            Some("rate_limit.runs must be at least 1")
        } else if flows[..number].iter().any(|other| other.name == flow.name) {
            Some("another flow has this name")
        } else if RESERVED.contains(&flow.name.as_str()) {
            Some("the names files, runs and why are reserved; choose another one")
        } else {
            None
        };
        if let Some(problem) = problem {
            let path = format!("flows/{number}/name");
            return Err(invalid_at(text, &path, &format!("{}: {problem}", flow.name)));
        }
    }
    Ok(flows)
}

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
    fn shortened(mut self) -> Self {
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
