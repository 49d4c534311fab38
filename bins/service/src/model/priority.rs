//! Gives searches priority over background embedding.

use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::nice::yield_to_all;

/// Number of memories embedded between two checks for waiting searches, while there are searches.
const BATCH_BUSY: usize = 4;
/// After a search, batches stay small for this time.
const BUSY_TIME: Duration = Duration::from_secs(2);
/// The longest time that embedding waits for searches, so that it does not starve.
const YIELD_TIME_MAX: Duration = Duration::from_millis(250);

/// Gives searches priority over background embedding: both use the same model and cores.
#[derive(Debug)]
pub(crate) struct Priority {
    state: Mutex<Searches>,
    ended: Condvar,
    /// Threads of low priority. They run the model and hold no lock: a thread of low priority that
    /// holds one would block all others.
    background: ThreadPool,
}

#[derive(Debug, Default)]
struct Searches {
    running: usize,
    last: Option<Instant>,
}

thread_local! {
    static IN_BACKGROUND: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Marks the current thread as one that runs the model in the background.
pub(crate) fn enter_background() {
    IN_BACKGROUND.set(true);
}

impl Priority {
    pub(crate) fn new() -> Result<Self, ThreadPoolBuildError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let background = ThreadPoolBuilder::new()
            .num_threads(cores.saturating_sub(1).max(1))
            .thread_name(|_| "background".to_owned())
            .start_handler(|_| yield_to_all())
            .build()?;
        Ok(Self { state: Mutex::default(), ended: Condvar::new(), background })
    }

    /// Runs the model: for a search on this thread, counted while it runs; for the background on threads
    /// of low priority.
    pub(crate) fn run<T: Send>(&self, embed: impl FnOnce() -> T + Send) -> T {
        if IN_BACKGROUND.get() {
            return self.background.install(embed);
        }
        self.state.lock().running += 1;
        let value = embed();
        let mut state = self.state.lock();
        state.running -= 1;
        state.last = Some(Instant::now());
        self.ended.notify_all();
        value
    }

    /// Waits until no search runs the model, up to a limit, and returns how much to embed at once.
    pub(crate) fn yield_to_searches(&self, batch: usize) -> usize {
        let until = Instant::now() + YIELD_TIME_MAX;
        let mut state = self.state.lock();
        while state.running > 0 {
            if self.ended.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        match state.last {
            Some(last) if last.elapsed() < BUSY_TIME => batch.min(BATCH_BUSY),
            _ if state.running > 0 => batch.min(BATCH_BUSY),
            _ => batch,
        }
    }
}
