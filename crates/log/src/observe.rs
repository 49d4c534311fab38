//! Telling the program how long syncs take; the log itself has no clock.

use std::sync::OnceLock;

/// A moment of a sync, told on the thread that syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncStep {
    /// It begins.
    Begins,
    /// It has ended, well or not.
    Ended,
}

static OBSERVER: OnceLock<fn(SyncStep)> = OnceLock::new();

/// Has `observer` called before and after each sync of a file of any log of this process. The first
/// call counts; the observer must be quick.
pub fn observe_syncs(observer: fn(SyncStep)) {
    OBSERVER.get_or_init(|| observer);
}

pub(crate) fn observed<T>(sync: impl FnOnce() -> T) -> T {
    let Some(observer) = OBSERVER.get() else { return sync() };
    observer(SyncStep::Begins);
    let done = sync();
    observer(SyncStep::Ended);
    done
}
