//! Reports syncs to the program, which can measure them; the log has no clock.

use std::sync::OnceLock;

/// A step of a sync, reported on the thread that syncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncStep {
    /// It starts.
    Begins,
    /// It has ended, successfully or not.
    Ended,
}

static OBSERVER: OnceLock<fn(SyncStep)> = OnceLock::new();

/// Sets the `observer` that is called before and after each sync of a file of any log of this
/// process. Only the first call has an effect; the observer must be fast.
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
