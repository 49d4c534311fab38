//! A bounded pool for blocking calls: those of the store, which wait for the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout_at};

use crate::http::failure::Failure;

/// Runs blocking calls on separate threads, with limits on running and on waiting calls.
#[derive(Debug)]
pub(crate) struct Pool {
    slots: Arc<Semaphore>,
    queued: AtomicUsize,
    queue_max: usize,
    time_max: Duration,
    /// Whether its calls change something.
    writes: bool,
}

/// The sender of a pending result.
#[derive(Debug)]
pub(crate) struct Promise<T> {
    sender: oneshot::Sender<T>,
    slot: OwnedSemaphorePermit,
}

impl<T> Promise<T> {
    pub(crate) fn keep(self, answer: T) {
        drop(self.slot);
        // The receiver may be gone.
        drop(self.sender.send(answer));
    }
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
            writes: false,
        }
    }

    /// The same for calls that change something: one that is late may still be carried out.
    pub(crate) fn for_writes(self) -> Self {
        Self { writes: true, ..self }
    }

    /// The number of calls that wait for a slot.
    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// Runs `work` within the time limit of a request.
    ///
    /// The time limit does not interrupt the work; only its response is late.
    pub(crate) async fn run<T, F>(&self, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let end = Instant::now() + self.time_max;
        let slot = self.slot_until(end).await?;
        timeout_at(end, on_thread(slot, work)).await.unwrap_or_else(|_| Err(self.too_late()))
    }

    /// Runs `work` within the time limit of a request if a slot is free.
    pub(crate) async fn run_if_free<T, F>(&self, work: F) -> Option<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let slot = Arc::clone(&self.slots).try_acquire_owned().ok()?;
        tokio::time::timeout(self.time_max, on_thread(slot, work)).await.ok()?.ok()
    }

    /// Runs a part of work that was begun, after the calls that wait for a slot: a response that is half
    /// sent has no other way than on.
    pub(crate) async fn go_on<T, F>(&self, work: F) -> Result<T, Failure>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let slot = Arc::clone(&self.slots).acquire_owned().await;
        on_thread(slot.map_err(|_| Failure::internal())?, work).await
    }

    /// Starts an asynchronous call and waits for its result within the time limit of a request. The
    /// call holds its slot until it ends, even if the client disconnects.
    pub(crate) async fn begin<T>(&self, begin: impl FnOnce(Promise<T>)) -> Result<T, Failure> {
        let end = Instant::now() + self.time_max;
        let slot = self.slot_until(end).await?;
        let (sender, answer) = oneshot::channel();
        begin(Promise { sender, slot });
        match timeout_at(end, answer).await {
            // The only other way to end is a panic, which has been logged where it happened.
            Ok(done) => done.map_err(|_| Failure::internal()),
            Err(_) => Err(self.too_late()),
        }
    }

    /// The work goes on.
    fn too_late(&self) -> Failure {
        let late = "the store did not respond in time";
        if !self.writes {
            return Failure::busy(late);
        }
        let detail = format!(
            "{late}. A change may still be carried out: repeat the request if it had an Idempotency-Key, with the same one; otherwise read what it would have changed"
        );
        Failure::new(StatusCode::SERVICE_UNAVAILABLE, detail)
            .with(RETRY_AFTER, HeaderValue::from_static("1"))
            .unsure()
    }

    /// A slot, or 503 at the time limit: then nothing has begun.
    async fn slot_until(&self, end: Instant) -> Result<OwnedSemaphorePermit, Failure> {
        let late = |_| Err(Failure::busy("too many requests are waiting"));
        timeout_at(end, self.slot()).await.unwrap_or_else(late)
    }

    /// A slot for work that runs longer than a request may, or 503 if too many requests wait.
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

async fn on_thread<T, F>(slot: OwnedSemaphorePermit, work: F) -> Result<T, Failure>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let task = tokio::task::spawn_blocking(move || {
        let value = work();
        drop(slot);
        value
    });
    // The only other way to fail is a panic, which has been logged where it happened.
    task.await.map_err(|_| Failure::internal())
}
