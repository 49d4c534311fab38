//! Without a terminal: news are lines on standard error.

use std::io::Write;

use tokio::sync::mpsc::Receiver;
use tokio::sync::watch;

/// Shows the news until the program is to end.
pub(crate) async fn show(mut news: Receiver<String>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            Some(line) = news.recv() => {
                // Nobody may be there to read it.
                writeln!(std::io::stderr(), "{line}").unwrap_or_default();
            }
            _ = stop.wait_for(|it| *it) => return,
        }
    }
}
