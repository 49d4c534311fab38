//! The first page, with which the program was started.

use std::sync::Arc;

use super::{JOURNEY_TIME, Relay};
use crate::engine::{Arrival, Navigation};
use crate::{Actor, Deadline, Problem, ProblemKind};

/// Admits commands when it is dropped, however the navigation ended.
struct Beginning(Arc<Relay>);

impl Drop for Beginning {
    fn drop(&mut self) {
        self.0.has_begun.send_replace(true);
    }
}

impl Relay {
    /// Navigates to the page that the program was started with, even where agents may not go. It
    /// does not count as a person's input: a command that arrives meanwhile waits for the page, as
    /// long as it has time, and is then executed.
    ///
    /// Commands wait from this call on; the navigation starts when the future is polled.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub fn begin(
        self: &Arc<Self>,
        url: &str,
    ) -> impl Future<Output = Result<Arrival, Problem>> + Send + 'static {
        self.has_begun.send_replace(false);
        let (beginning, url) = (Beginning(Arc::clone(self)), url.to_owned());
        async move {
            let relay = &beginning.0;
            let url = relay.policy.url(&url, None, Actor::Human)?;
            let by = Deadline::after(JOURNEY_TIME);
            let tab = relay.tab(None, by).await?;
            let late = |_| Problem::new(ProblemKind::Timeout, "a person controls the page");
            let turn = by.of(relay.writer.lock()).await.map_err(late)?;
            let arrival = relay.engine.go(tab, Navigation::To(url), by).await;
            drop(turn);
            relay.note_addresses(relay.holder());
            arrival
        }
    }

    /// Waits until the first page has arrived.
    pub(super) async fn begun(&self, by: Deadline) -> Result<(), Problem> {
        let mut has_begun = self.has_begun.subscribe();
        let waited = by.of(has_begun.wait_for(|it| *it)).await;
        waited.map(drop).map_err(|_| {
            Problem::new(ProblemKind::Timeout, "the first page has not loaded yet; try again")
        })
    }
}
