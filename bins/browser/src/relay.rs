//! The only way in for programs, whatever the transport of their commands.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;
use waypost_browser::{Problem, ProblemKind, Relay};

/// Access to the relay until the program ends.
#[derive(Debug, Clone)]
pub(crate) struct Commands {
    relay: Arc<Relay>,
    stop: watch::Receiver<bool>,
}

impl Commands {
    pub(crate) fn new(relay: Arc<Relay>, stop: watch::Receiver<bool>) -> Self {
        Self { relay, stop }
    }

    /// Executes a program's command. Once the program is to end, commands are no longer completed.
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
