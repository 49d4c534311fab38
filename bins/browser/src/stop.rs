//! When the program must end.

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Becomes true when the program must end. Must be called within a runtime, which handles signals
/// from then on: their default effect, ending the process at once, is disabled.
pub(crate) fn stop() -> std::io::Result<(watch::Sender<bool>, watch::Receiver<bool>)> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // The terminal is gone.
    let mut hangup = signal(SignalKind::hangup())?;
    let (stop, stopped) = watch::channel(false);
    let told = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
        told.send_replace(true);
    });
    Ok((stop, stopped))
}
