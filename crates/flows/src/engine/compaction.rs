//! Compacts the journal, without locking the engine.

use waypost_log::{Keep, Upstream};

use super::error::Error;
use super::files::Files;
use crate::machine::compaction::Needed;
use crate::record::Record;

/// A compaction of the journal: drops the records that the engine did not need when the compaction was
/// created. The engine may continue meanwhile.
#[derive(Debug)]
pub struct Compaction {
    files: Files,
    needed: Needed,
    kept: u64,
    last: u64,
}

impl Compaction {
    pub(super) fn new(files: Files, needed: Needed) -> Self {
        let last = files.log().last_sequence();
        Self { files, needed, kept: 0, last }
    }

    /// Rewrites the journal, and waits for the disk.
    ///
    /// # Errors
    /// [`Error::Log`]; the journal has the records that it had, or fewer.
    pub fn run(&mut self) -> Result<(), Error> {
        // The next start compares what is behind the base with the shared journal.
        let base = self.files.upstream().map_or(u64::MAX, Upstream::base);
        let (needed, last) = (&self.needed, self.last.min(base));
        let mut kept = 0;
        self.files.log().compact(&mut |entry| {
            let is_newer = entry.sequence > last;
            let keep = is_newer || Record::decode(entry).map_or(true, |it| needed.has(&it));
            kept += u64::from(keep);
            if keep { Keep::Yes } else { Keep::No }
        })?;
        self.kept = kept;
        Ok(())
    }

    pub(super) fn kept(&self) -> u64 {
        self.kept
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }
}
