//! Every thread of the service that is not a request's: writing, embedding, upkeep, indexing after
//! a start.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use crate::app::App;
use crate::clock::event_time;
use crate::context;
use crate::error::chain;
use crate::flows;
use crate::news;
use crate::wake::{Bell, Wake};

/// Memories embedded between two looks at whether a search waits, when there are searches.
const BATCH_BUSY: usize = 4;
/// Searches within this time make the embedding's pieces small.
const BUSY_TIME: Duration = Duration::from_secs(2);
/// How long embedding steps aside for searches before it goes on, so that it does not starve.
const ASIDE_TIME_MAX: Duration = Duration::from_millis(250);
/// How often is looked for memories without a vector when nobody said that there are any.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How long embedding rests when the model failed.
const FAILED_REST: Duration = Duration::from_secs(5);
/// The nice value of the threads that embed in the background: about a tenth of a core beside one
/// busy thread. At 19 they would stand still as long as many clients write.
#[cfg(target_os = "linux")]
const BACKGROUND_NICE: i32 = 10;
/// The same for threads that index the project: about a quarter of a core. They hold locks for as long
/// as a file takes to be put in, and beside a compiler a first index must come to its end, too.
#[cfg(target_os = "linux")]
const INDEXING_NICE: i32 = 5;
const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// How often the bytes on disk are counted for the metrics, which walks over folders.
const MEASURE_EVERY: Duration = Duration::from_secs(60);

/// Lets searches go before background embedding: both use the same model and the same cores.
#[derive(Debug)]
pub(crate) struct Priority {
    state: Mutex<Searches>,
    ended: Condvar,
    /// Threads that yield to all others. They run the model and hold no lock: a thread that yields
    /// and holds one would keep everybody waiting.
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

    /// Runs the model: for a search on this thread, and it is counted while it runs; for the
    /// background on threads that yield.
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

    /// Waits, not for ever, until no search runs the model; tells how much to embed at once.
    fn step_aside(&self, batch: usize) -> usize {
        let until = Instant::now() + ASIDE_TIME_MAX;
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

/// The threads, to be joined at the end.
#[derive(Debug)]
pub(crate) struct Workers {
    wake: Arc<Wake>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    pub(crate) fn start(
        app: &Arc<App>,
        priority: Arc<Priority>,
        batch: usize,
    ) -> std::io::Result<Self> {
        let mut threads = Vec::new();
        let shared = Arc::clone(app);
        let embedding = std::thread::Builder::new().name("embedding".to_owned());
        threads.push(embedding.spawn(move || {
            IN_BACKGROUND.set(true);
            while shared.wake.wait_embedding(LOOK_EVERY) {
                embed_all(&shared, &priority, batch);
                embed_context(&shared, &priority, batch);
            }
        })?);
        let shared = Arc::clone(app);
        let writer = std::thread::Builder::new().name("writer".to_owned());
        threads.push(writer.spawn(move || {
            let wake = &shared.wake;
            serve(wake, &wake.writer, "writing", || shared.store.write_queued());
        })?);
        let shared = Arc::clone(app);
        let publisher = std::thread::Builder::new().name("publisher".to_owned());
        threads.push(publisher.spawn(move || {
            let wake = &shared.wake;
            serve(wake, &wake.publisher, "publishing", || {
                // What cannot be published now is tried again by the upkeep.
                let is_done = news::publish_noted(&shared);
                shared.noted_waits.store(!is_done, Ordering::Relaxed);
                shared.events.write_queued();
            });
        })?);
        let shared = Arc::clone(app);
        let runner = std::thread::Builder::new().name("flows".to_owned());
        threads.push(runner.spawn(move || flows::run(&shared))?);
        let shared = Arc::clone(app);
        let keeper = std::thread::Builder::new().name("context".to_owned());
        threads.push(keeper.spawn(move || context::keep(&shared))?);
        let shared = Arc::clone(app);
        let upkeep = std::thread::Builder::new().name("upkeep".to_owned());
        threads.push(upkeep.spawn(move || {
            let mut measured = Instant::now();
            while shared.wake.rest(UPKEEP_EVERY) {
                keep_up(&shared);
                if measured.elapsed() >= MEASURE_EVERY {
                    shared.measure_storage();
                    measured = Instant::now();
                }
            }
        })?);
        if let Some(progress) = app.store.index_progress() {
            tracing::info!(memories = progress.total, "building the index beside the searches");
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                let shared = Arc::clone(app);
                let indexing = std::thread::Builder::new().name("indexing".to_owned());
                threads.push(indexing.spawn(move || build_index(&shared))?);
            }
        }
        Ok(Self { wake: Arc::clone(&app.wake), threads })
    }

    /// Stops the threads and waits for what they are in the middle of.
    pub(crate) fn stop(self) {
        self.wake.stop();
        for thread in self.threads {
            if thread.join().is_err() {
                tracing::error!("a worker panicked");
            }
        }
    }
}

/// Gives this thread a low priority, where the system has priorities of threads.
fn yield_to_all() {
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
        tracing::debug!(%error, "a thread of the background has the priority of all");
    }
}

/// Serves a queue that requests fill, on this thread: whenever its bell rings, and at the end what
/// is left.
fn serve(wake: &Wake, bell: &Bell, doing: &str, work: impl Fn()) {
    bell.is_here();
    loop {
        let is_last = wake.is_stopping();
        // Who was in it when it panicked is answered with an error; the next ones are served.
        if catch_unwind(AssertUnwindSafe(&work)).is_err() {
            tracing::error!("{doing} panicked");
        }
        if is_last {
            return;
        }
        bell.wait(None);
    }
}

/// Brings what the index lacks into it. Every core does a piece at a time.
fn build_index(app: &App) {
    while !app.wake.is_stopping() {
        let failed = match catch_unwind(AssertUnwindSafe(|| app.store.build_index())) {
            Ok(Ok(Some(_))) => false,
            Ok(Ok(None)) => return,
            Ok(Err(error)) => {
                tracing::warn!(error = chain(&error), "building the index failed");
                true
            }
            Err(_) => {
                tracing::error!("building the index panicked");
                true
            }
        };
        if failed && !app.wake.rest(FAILED_REST) {
            return;
        }
        if app.store.index_progress().is_none() {
            tracing::info!("the index is complete");
            app.wake.embedding();
        }
    }
}

fn embed_all(app: &App, priority: &Priority, batch: usize) {
    while !app.wake.is_stopping() {
        match app.store.embed_pending(priority.step_aside(batch)) {
            Ok(done) => {
                app.metrics.embeddings(done.embedded, done.failed);
                if let Some(error) = &done.last_error {
                    app.model.failed(error);
                    tracing::warn!(failed = done.failed, error, "texts could not be embedded");
                }
                if done.pending == 0 || done.embedded + done.failed + done.skipped == 0 {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "embedding in the background failed");
                if !app.wake.rest(FAILED_REST) {
                    return;
                }
            }
        }
    }
}

/// Embeds pieces of the project, until there may be memories to embed, which go first.
fn embed_context(app: &App, priority: &Priority, batch: usize) {
    let Some(context) = app.context.index() else { return };
    while app.model.is_ready() && !app.wake.breaks_embedding() {
        match context.embed_pending(priority.step_aside(batch)) {
            Ok(done) => {
                app.metrics.embeddings(done.embedded, done.failed);
                if let Some(error) = &done.last_error {
                    tracing::warn!(failed = done.failed, error, "texts could not be embedded");
                }
                if done.pending == 0 || done.embedded + done.failed == 0 {
                    return;
                }
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "embedding the project failed");
                app.wake.rest(FAILED_REST);
                return;
            }
        }
    }
}

fn keep_up(app: &Arc<App>) {
    if app.noted_waits.load(Ordering::Relaxed) {
        app.wake.publishing();
    }
    match app.store.maintain() {
        Ok(done) => {
            tracing::trace!(?done, "upkeep");
            // Only after the store has written down which of its notes were published: then the
            // bus forgets no key that a note would be recognised by.
            match app.events.retain(event_time()) {
                Ok(dropped) => tracing::trace!(dropped, "events that are too old or too many"),
                Err(error) => {
                    tracing::warn!(error = chain(&error), "old events could not be dropped");
                }
            }
        }
        Err(error) => tracing::warn!(error = chain(&error), "upkeep of the store failed"),
    }
    if let Err(error) = app.flows.maintain(app) {
        tracing::warn!(error = chain(&error), "upkeep of flows failed");
    }
    if let Err(error) = app.tokens.flush() {
        tracing::warn!(error = chain(&error), "the last use of tokens was not written");
    }
}
