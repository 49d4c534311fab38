//! The thread that follows the journal.

use std::sync::Arc;
use std::time::Duration;

use super::Cluster;
use crate::error::chain;
use crate::flows::Flows;
use crate::wake::Wake;

/// How long one wait for records of others takes at most: a stop waits for it.
const WAIT: Duration = Duration::from_millis(250);
/// The pause after a failure.
const FAILURE_PAUSE: Duration = Duration::from_millis(500);

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct Follower {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) wake: Arc<Wake>,
}

impl Follower {
    /// Applies what other machines have appended, until the service stops.
    pub(crate) fn run(&self) {
        // Until it has, the parts may differ from the journal.
        let mut has_followed = false;
        while !self.wake.is_stopping() {
            match self.cluster.hub.wait(WAIT) {
                Ok(has_more) => {
                    if has_more || !has_followed || !self.is_current() {
                        has_followed = self.cluster.follow(|| self.flows.follow());
                    } else {
                        self.cluster.note(Ok(()));
                    }
                    self.cluster.judge_contact(has_followed && self.is_current());
                    if self.cluster.has_token_change() {
                        self.cluster.save_base();
                    }
                }
                Err(error) => {
                    self.cluster.note(Err(chain(&error)));
                    self.cluster.judge_contact(false);
                    self.wake.rest(FAILURE_PAUSE);
                }
            }
        }
    }

    /// Whether this machine has applied what the journal had at the last look.
    fn is_current(&self) -> bool {
        self.cluster.applied() >= self.cluster.hub.end()
    }
}
