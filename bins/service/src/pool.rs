//! A bounded pool for calls that block: the store's, which wait for the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::failure::Failure;

/// Runs blocking calls on threads of their own: so many at once, so many waiting, no more.
#[derive(Debug)]
pub(crate) struct Pool {
    slots: Arc<Semaphore>,
    queued: AtomicUsize,
    queue_max: usize,
    time_max: Duration,
}

struct Queued<'a>(&'a AtomicUsize);

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Pool {
    pub(crate) fn new(slots: usize, queue_max: usize, time_max: Duration) -> Self {
        Self {
            slots: Arc::new(Semaphore::new(slots)),
            queued: AtomicUsize::new(0),
            queue_max,
            time_max,
        }
    }

    /// Calls that wait for a slot now.
    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// Runs `work` within the time limit of a request.
    ///
    /// Work that has begun is not broken off when the limit passes: only its answer is late.
    pub(crate) async fn run<T, F>(&self, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let run = async {
            let permit = self.slot().await?;
            let task = tokio::task::spawn_blocking(move || {
                let value = work();
                drop(permit);
                value
            });
            // The only other way to fail is a panic, which has been logged where it happened.
            task.await.map_err(|_| Failure::internal())
        };
        match tokio::time::timeout(self.time_max, run).await {
            Ok(done) => done,
            Err(_) => Err(Failure::busy("the store did not answer in time")),
        }
    }

    /// A slot for work that runs longer than a request may, or a 503 when too many wait.
    pub(crate) async fn slot(&self) -> Result<OwnedSemaphorePermit, Failure> {
        if let Ok(permit) = Arc::clone(&self.slots).try_acquire_owned() {
            return Ok(permit);
        }
        if self.queued.fetch_add(1, Ordering::Relaxed) >= self.queue_max {
            self.queued.fetch_sub(1, Ordering::Relaxed);
            return Err(Failure::busy("too many requests are waiting"));
        }
        let queued = Queued(&self.queued);
        let permit = Arc::clone(&self.slots).acquire_owned().await;
        drop(queued);
        permit.map_err(|_| Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the service is stopping"))
    }
}
