//! Every thread of the service that is not a request's: writing, embedding, upkeep, indexing after
//! a start.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::app::App;
use crate::clock::event_time;
use crate::context::keeper::Keeper;
use crate::error::chain;
use crate::flows;
use crate::model::embedding::Embedding;
use crate::news;
use crate::wake::{Bell, Wake};

/// How long building the index rests after it failed.
const FAILED_REST: Duration = Duration::from_secs(5);
const UPKEEP_EVERY: Duration = Duration::from_secs(5);
/// How often the bytes on disk are counted for the metrics, which walks over folders.
const MEASURE_EVERY: Duration = Duration::from_secs(60);

/// The threads, to be joined at the end.
#[derive(Debug)]
pub(crate) struct Workers {
    wake: Arc<Wake>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    pub(crate) fn start(
        app: &Arc<App>,
        embedding: Embedding,
        keeper: Keeper,
    ) -> std::io::Result<Self> {
        let mut threads = Vec::new();
        let thread = std::thread::Builder::new().name("embedding".to_owned());
        threads.push(thread.spawn(move || embedding.run())?);
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
        let thread = std::thread::Builder::new().name("context".to_owned());
        threads.push(thread.spawn(move || keeper.run())?);
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
