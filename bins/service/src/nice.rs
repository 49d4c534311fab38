//! Priorities of background threads.

/// The nice value of the embedding threads: about a tenth of a core next to one busy thread. At 19
/// they would starve while many clients write.
#[cfg(target_os = "linux")]
const BACKGROUND_NICE: i32 = 10;
/// The nice value of the indexing threads: about a quarter of a core. They hold locks while they
/// index a file, and a first index must also complete next to a compiler.
#[cfg(target_os = "linux")]
const INDEXING_NICE: i32 = 5;

/// Gives this thread a low priority, if the system has priorities of threads.
pub(crate) fn yield_to_all() {
    #[cfg(target_os = "linux")]
    set_nice(BACKGROUND_NICE);
}

/// Gives this thread, and threads that it starts, the priority of indexing.
pub(crate) fn yield_to_requests() {
    #[cfg(target_os = "linux")]
    set_nice(INDEXING_NICE);
}

#[cfg(target_os = "linux")]
fn set_nice(value: i32) {
    if let Err(error) = rustix::process::setpriority_process(None, value) {
        tracing::debug!(%error, "failed to lower the priority of a background thread");
    }
}
