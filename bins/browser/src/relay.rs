//! The one way in for programs, whatever carries their commands.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use waypost_browser::{Problem, ProblemKind, Relay};

/// The relay until the program ends.
#[derive(Debug, Clone)]
pub(crate) struct Commands {
    relay: Arc<Relay>,
    stop: watch::Receiver<bool>,
}

impl Commands {
    pub(crate) fn new(relay: Arc<Relay>, stop: watch::Receiver<bool>) -> Self {
        Self { relay, stop }
    }

    /// Does what a program asks. When the program is to end, nothing is finished any more.
    pub(crate) async fn give(&self, command: &str, arguments: Value) -> Result<Value, Problem> {
        let mut stop = self.stop.clone();
        tokio::select! {
            biased;
            _ = stop.wait_for(|it| *it) => {
                Err(Problem::new(ProblemKind::Unavailable, "the browser is ending"))
            }
            done = self.relay.handle(command, arguments) => done,
        }
    }
}
