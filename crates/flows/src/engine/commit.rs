//! Writes the engine's decisions to disk, without locking the engine.

use std::ops::Range;

use waypost_log::{AppendMax, Upstream};

use super::error::Error;
use super::files::Files;
use crate::machine::Decided;
use crate::record::Record;

/// Decisions of an engine, to be written to disk. Return it to the engine, written or not.
#[derive(Debug)]
#[must_use = "the engine no longer has these decisions"]
pub struct Commit {
    files: Files,
    decided: Decided,
    /// The last record that they are based on; `None` on a replica that may not decide.
    after: Option<u64>,
    /// Where the journal has the first record.
    first: Option<u64>,
}

impl Commit {
    pub(super) fn new(files: Files, decided: Decided) -> Self {
        let after = files.log().last_sequence();
        let is_empty = decided.records.is_empty();
        // An effect without a record must not be that of a machine that was replaced.
        let is_done = is_empty && (files.upstream().is_none() || decided.effects.is_empty());
        Self { files, decided, after: Some(after), first: is_done.then_some(0) }
    }

    /// What a replica that may not decide commits.
    pub(super) fn refused(files: Files) -> Self {
        Self { files, decided: Decided::default(), after: None, first: None }
    }

    /// Writes it, and waits for the disk; on a replica, waits for the shared journal instead.
    ///
    /// # Errors
    /// [`Error::Log`]. If the disk is full, nothing is lost: free some space and commit again.
    /// After any other error, open the engine again.
    ///
    /// On a replica also [`Error::NotLeading`] and [`Error::SharedJournal`]. After any error there,
    /// the engine does not [lead](crate::Engine::lead) any more once it has the commit back.
    pub fn write(&mut self) -> Result<(), Error> {
        if self.first.is_some() {
            return Ok(());
        }
        let after = self.after.ok_or(Error::NotLeading)?;
        let records = &self.decided.records;
        let payloads: Vec<Vec<u8>> = records.iter().map(Record::encode).collect();
        let entries = records.iter().zip(&payloads);
        let batch: Vec<_> = entries.map(|(record, payload)| record.entry(payload)).collect();
        let log = self.files.log();
        self.first = Some(match self.files.upstream() {
            Some(upstream) => {
                self.write_shared(upstream, after, &batch)?;
                after + 1
            }
            None if records.iter().all(Record::can_wait) => {
                log.append_batch_unsynced(&batch)?.start
            }
            None => log.append_batch(&batch)?.start,
        });
        Ok(())
    }

    /// Appends everything to the shared journal and to the log, without a sync: what a power cut
    /// takes from the log is in the shared journal. Records that could wait for a sync are appended
    /// like all others, because the other machines take over from them.
    ///
    /// It is one append, unless that would exceed the limits of the shared journal. Then it is
    /// several, each of which could have been a commit: a machine that takes over after one of them
    /// continues as after a crash between two commits.
    fn write_shared(
        &self,
        upstream: &Upstream,
        after: u64,
        batch: &[waypost_log::Record<'_>],
    ) -> Result<(), Error> {
        let sizes: Vec<usize> = batch.iter().map(|batch| batch.payload.len()).collect();
        let mut done = 0;
        loop {
            let part = next_part(&self.decided.cuts, &sizes, done, upstream.append_max());
            let written =
                upstream.append(self.files.log(), after + done as u64, &batch[part.clone()]);
            if let Err(refused) = written {
                // What refuses an append may keep others from appending until this.
                drop(upstream.hold());
                return Err(self.files.refused(refused));
            }
            done = part.end;
            if done == batch.len() {
                return Ok(());
            }
        }
    }

    pub(super) fn is_refused(&self) -> bool {
        self.after.is_none()
    }

    pub(super) fn into_parts(self) -> (Decided, Option<u64>) {
        (self.decided, self.first)
    }
}

/// The records from `from` on that one append takes: complete decisions, as many as the limits
/// permit, and at least one.
fn next_part(cuts: &[usize], sizes: &[usize], from: usize, max: AppendMax) -> Range<usize> {
    let ends = cuts.iter().copied().filter(|cut| *cut < sizes.len()).chain([sizes.len()]);
    let mut to = from;
    for end in ends.filter(|end| *end > from) {
        let bytes: usize = sizes[from..end].iter().sum();
        if to > from && (end - from > max.records || bytes > max.bytes) {
            break;
        }
        to = end;
    }
    from..to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_append_has_complete_decisions_and_at_least_one() {
        let part = |cuts: &[usize], sizes: &[usize], from, records, bytes| {
            let Range { start, end } = next_part(cuts, sizes, from, AppendMax { records, bytes });
            assert_eq!(start, from);
            end
        };
        assert_eq!(part(&[], &[], 0, 4, 100), 0);
        assert_eq!(part(&[0, 2, 4, 6], &[1; 7], 0, 9, 100), 7);
        assert_eq!(part(&[0, 2, 4, 6], &[1; 7], 0, 5, 100), 4);
        assert_eq!(part(&[0, 2, 4, 6], &[1; 7], 4, 2, 100), 6);
        assert_eq!(part(&[0, 2, 4, 6], &[1; 7], 6, 2, 100), 7);
        assert_eq!(part(&[0, 3], &[10; 5], 0, 9, 30), 3);
        assert_eq!(part(&[0, 3], &[10; 5], 0, 9, 29), 3, "a decision is never split");
        assert_eq!(part(&[0, 3], &[10; 5], 3, 1, 5), 5);
    }
}
