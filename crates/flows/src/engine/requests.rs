//! What people request from the engine.

use waypost_time::Timestamp;

use super::Engine;
use super::error::Error;
use crate::{End, FlowName, Phase, RunId};

impl Engine {
    /// Ends a run, whatever it does or waits for. Returns whether there was anything to end.
    ///
    /// # Errors
    /// [`Error::UnknownRun`] and [`Error::NotLeading`].
    pub fn cancel(&mut self, run: &RunId, why: &str, now: Timestamp) -> Result<bool, Error> {
        self.run(run)?;
        self.order(now, |machine, now| machine.cancel(run, why, now))
    }

    /// Ends all waiting runs of a flow, whatever they wait for, and returns their number.
    ///
    /// # Errors
    /// [`Error::NotLeading`].
    pub fn purge(&mut self, flow: &FlowName, now: Timestamp) -> Result<usize, Error> {
        self.order(now, |machine, now| machine.purge(flow, now))
    }

    /// Pauses a flow until it is resumed; new runs are created and wait.
    ///
    /// # Errors
    /// [`Error::UnknownFlow`], [`Error::PendingApproval`] and [`Error::NotLeading`].
    pub fn pause(&mut self, flow: &FlowName, why: &str) -> Result<(), Error> {
        self.flow(flow)?;
        self.deciding().ok_or(Error::NotLeading)?.pause(flow, why);
        Ok(())
    }

    /// Resumes a paused flow.
    ///
    /// # Errors
    /// [`Error::UnknownFlow`], [`Error::PendingApproval`] and [`Error::NotLeading`].
    pub fn resume(&mut self, flow: &FlowName, now: Timestamp) -> Result<(), Error> {
        self.flow(flow)?;
        self.order(now, |machine, now| machine.resume(flow, now))
    }

    /// Resumes a failed or cancelled run at the action where it ended, with the definition with
    /// which it was created. Actions that succeeded are not repeated.
    ///
    /// # Errors
    /// [`Error::UnknownRun`], [`Error::NotFailed`], [`Error::NotLeading`], and [`Error::Log`] if its event cannot be
    /// read.
    pub fn retry(&mut self, run: &RunId, now: Timestamp) -> Result<(), Error> {
        self.check_decides()?;
        let known = self.run(run)?;
        let Phase::Ended { end: End::Failed | End::Dead | End::Cancelled, .. } = known.phase else {
            return Err(Error::NotFailed(run.clone()));
        };
        let event = self.event_of(run)?;
        self.order(now, |machine, now| machine.retry(run, &event, now))
    }

    /// Evaluates the events after `after` up to `until` again for a flow, with its definition in
    /// force: each matching event gets a run with the returned number. [`backfill`](Self::backfill)
    /// requests the events.
    ///
    /// # Errors
    /// [`Error::UnknownFlow`], [`Error::PendingApproval`] and [`Error::NotLeading`].
    pub fn replay(&mut self, flow: &FlowName, after: u64, until: u64) -> Result<u32, Error> {
        self.flow(flow)?;
        Ok(self.deciding().ok_or(Error::NotLeading)?.replay(flow, after, until))
    }
}
