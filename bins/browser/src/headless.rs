//! Runs without a terminal: news are lines on standard error.

use std::io::Write;

use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;

/// Prints the news until the program ends.
pub(crate) async fn show(mut news: Receiver<String>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            Some(line) = news.recv() => {
                // There may be no reader.
                writeln!(std::io::stderr(), "{line}").unwrap_or_default();
            }
            _ = stop.wait_for(|it| *it) => return,
        }
    }
}
