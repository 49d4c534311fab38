//! Unsolicited messages for the person.

use tokio::sync::mpsc::{self, Receiver, Sender};

/// The maximum number of queued lines; further ones are dropped.
const LINES_MAX: usize = 64;

/// The sender of lines. The part that shows the page displays them.
#[derive(Debug, Clone)]
pub(crate) struct News(Sender<String>);

impl News {
    /// Both ends of the channel.
    pub(crate) fn new() -> (Self, Receiver<String>) {
        let (lines, shown) = mpsc::channel(LINES_MAX);
        (Self(lines), shown)
    }

    /// Sends a line, without blocking.
    pub(crate) fn tell(&self, line: impl Into<String>) {
        // If that many are queued, one more would not be read either.
        self.0.try_send(line.into()).unwrap_or_default();
    }
}
