//! Every thread of the service that is not a request's: writing, embedding, upkeep, indexing after
//! a start.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::app::App;
use crate::clock::event_time;
use crate::context::keeper::Keeper;
use crate::error::chain;
use crate::flows::runner;
use crate::memory::indexing;
use crate::model::embedding::Embedding;
use crate::wake::Wake;

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
            wake.serve(&wake.writer, "writing", || shared.store.write_queued());
        })?);
        let publisher = Arc::clone(&app.publisher);
        let thread = std::thread::Builder::new().name("publisher".to_owned());
        threads.push(thread.spawn(move || publisher.run())?);
        let shared = Arc::clone(app);
        let runner = std::thread::Builder::new().name("flows".to_owned());
        threads.push(runner.spawn(move || runner::run(&shared.flows))?);
        let thread = std::thread::Builder::new().name("context".to_owned());
        threads.push(thread.spawn(move || keeper.run())?);
        let shared = Arc::clone(app);
        let upkeep = std::thread::Builder::new().name("upkeep".to_owned());
        threads.push(upkeep.spawn(move || {
            let mut measured = Instant::now();
            while shared.wake.rest(UPKEEP_EVERY) {
                keep_up(&shared);
                if measured.elapsed() >= MEASURE_EVERY {
                    shared.disk.measure();
                    measured = Instant::now();
                }
            }
        })?);
        if let Some(progress) = app.store.index_progress() {
            tracing::info!(memories = progress.total, "building the index beside the searches");
            for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
                let shared = Arc::clone(app);
                let indexing = std::thread::Builder::new().name("indexing".to_owned());
                threads.push(indexing.spawn(move || indexing::build(&shared.store, &shared.wake))?);
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

fn keep_up(app: &Arc<App>) {
    app.publisher.try_again();
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
    if let Err(error) = app.flows.maintain() {
        tracing::warn!(error = chain(&error), "upkeep of flows failed");
    }
    if let Err(error) = app.tokens.flush() {
        tracing::warn!(error = chain(&error), "the last use of tokens was not written");
    }
}
