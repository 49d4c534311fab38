//! What the person should know and nobody asked for.

use tokio::sync::mpsc::{self, Receiver, Sender};

/// Lines that wait to be shown; more are left out.
const LINES_MAX: usize = 64;

/// Where lines go to. Whoever shows the page shows them as it can.
#[derive(Debug, Clone)]
pub(crate) struct News(Sender<String>);

impl News {
    /// Both ends.
    pub(crate) fn new() -> (Self, Receiver<String>) {
        let (lines, shown) = mpsc::channel(LINES_MAX);
        (Self(lines), shown)
    }

    /// Tells a line, and waits for nobody.
    pub(crate) fn tell(&self, line: impl Into<String>) {
        // With so many waiting, one more would not be read either.
        self.0.try_send(line.into()).unwrap_or_default();
    }
}
