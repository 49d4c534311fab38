//! Priorities of threads that work in the background.

/// The nice value of the threads that embed in the background: about a tenth of a core beside one
/// busy thread. At 19 they would stand still as long as many clients write.
#[cfg(target_os = "linux")]
const BACKGROUND_NICE: i32 = 10;
/// The same for threads that index the project: about a quarter of a core. They hold locks for as long
/// as a file takes to be put in, and beside a compiler a first index must come to its end, too.
#[cfg(target_os = "linux")]
const INDEXING_NICE: i32 = 5;

/// Gives this thread a low priority, where the system has priorities of threads.
pub(crate) fn yield_to_all() {
    #[cfg(target_os = "linux")]
    be_nice(BACKGROUND_NICE);
}

/// Gives this thread, and those that it starts, the priority of indexing.
pub(crate) fn yield_to_requests() {
    #[cfg(target_os = "linux")]
    be_nice(INDEXING_NICE);
}

#[cfg(target_os = "linux")]
fn be_nice(value: i32) {
    if let Err(error) = rustix::process::setpriority_process(None, value) {
        tracing::debug!(%error, "failed to lower the priority of a background thread");
    }
}
