//! Wakes the worker threads of the service, and tells them to stop.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// How long work that no request waits for is gathered: a sync for each piece would cost as much as the
/// requests that it comes from.
const GATHER: Duration = Duration::from_millis(5);
/// The same for a member of a cluster, whose appends wait for each other.
const GATHER_IN_CLUSTER: Duration = Duration::from_millis(25);

/// Wakes the workers, and tells them to stop.
#[derive(Debug, Default)]
pub(crate) struct Wake {
    state: Mutex<Signals>,
    to_embed: Condvar,
    stopping: Condvar,
    pub(crate) writer: Bell,
    pub(crate) publisher: Bell,
    flows: Bell,
}

/// Wakes one thread. The flag is separate from the thread's park token, which other code that parks on
/// that thread, such as waiting for a log, may consume.
#[derive(Debug)]
pub(crate) struct Bell {
    /// How long what was mentioned may wait.
    gather: Duration,
    thread: OnceLock<Thread>,
    rung: AtomicBool,
    /// Whether there is work that no request waits for.
    mentioned: AtomicBool,
}

impl Default for Bell {
    fn default() -> Self {
        Self {
            gather: GATHER,
            thread: OnceLock::new(),
            rung: AtomicBool::new(false),
            mentioned: AtomicBool::new(false),
        }
    }
}

impl Bell {
    /// Makes this wake the current thread.
    fn register(&self) {
        drop(self.thread.set(std::thread::current()));
    }

    fn ring(&self) {
        self.rung.store(true, Ordering::SeqCst);
        self.unpark();
    }

    /// Wakes the thread after the time to gather, unless the bell rings earlier.
    fn mention(&self) {
        if !self.mentioned.swap(true, Ordering::SeqCst) {
            self.unpark();
        }
    }

    fn unpark(&self) {
        // A thread that has not started yet checks for work when it starts.
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }

    /// Waits, on the thread that it wakes, until there is work or until `due`.
    fn wait(&self, due: Option<Instant>) {
        let mut until = due;
        let mut gathers = false;
        loop {
            let now = Instant::now();
            if self.answer() || until.is_some_and(|until| now >= until) {
                // Before the thread checks for work, so that later work is mentioned again.
                self.mentioned.store(false, Ordering::SeqCst);
                return;
            }
            if !gathers && self.mentioned.load(Ordering::SeqCst) {
                gathers = true;
                let end = now + self.gather;
                until = Some(until.map_or(end, |until| until.min(end)));
            }
            match until {
                Some(until) => std::thread::park_timeout(until.saturating_duration_since(now)),
                None => std::thread::park(),
            }
        }
    }

    /// Whether it rang since the last call.
    fn answer(&self) -> bool {
        self.rung.swap(false, Ordering::SeqCst)
    }
}

#[derive(Debug, Default)]
struct Signals {
    embedding: bool,
    stopping: bool,
}

impl Wake {
    /// That of a member of a cluster.
    pub(crate) fn in_cluster() -> Self {
        let publisher = Bell { gather: GATHER_IN_CLUSTER, ..Bell::default() };
        Self { publisher, ..Self::default() }
    }

    /// There may be something to embed.
    pub(crate) fn embedding(&self) {
        if !std::mem::replace(&mut self.state.lock().embedding, true) {
            self.to_embed.notify_all();
        }
    }

    /// Something was queued to be written.
    pub(crate) fn writing(&self) {
        self.writer.ring();
    }

    /// An event was queued for publishing.
    pub(crate) fn publishing(&self) {
        self.publisher.ring();
    }

    /// An event was queued for publishing, and no request waits for it.
    pub(crate) fn publishing_soon(&self) {
        self.publisher.mention();
    }

    /// Flows have work.
    pub(crate) fn flowing(&self) {
        self.flows.ring();
    }

    /// Waits, on the thread of flows, until there is work or until `due`.
    pub(crate) fn wait_flowing(&self, due: Option<Instant>) {
        self.flows.wait(due);
    }

    /// Makes the current thread the one that [`flowing`](Self::flowing) wakes.
    pub(crate) fn register_flows_thread(&self) {
        self.flows.register();
    }

    pub(crate) fn stop(&self) {
        self.state.lock().stopping = true;
        self.to_embed.notify_all();
        self.stopping.notify_all();
        self.writing();
        self.publishing();
        self.flowing();
    }

    /// Whether embedding the current backlog has to stop: new work arrived, or the service is
    /// stopping.
    pub(crate) fn breaks_embedding(&self) -> bool {
        let state = self.state.lock();
        state.embedding || state.stopping
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.state.lock().stopping
    }

    /// Waits for work to embed, or until that time; `false` to stop.
    pub(crate) fn wait_embedding(&self, time_max: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.embedding && !state.stopping {
            self.to_embed.wait_for(&mut state, time_max);
        }
        state.embedding = false;
        !state.stopping
    }

    /// Serves a queue on this thread whenever its bell rings, and once more at the stop.
    pub(crate) fn serve(&self, bell: &Bell, doing: &str, work: impl Fn()) {
        bell.register();
        loop {
            let is_last = self.is_stopping();
            // Requests of the batch that panicked get an error; the next ones are served.
            if catch_unwind(AssertUnwindSafe(&work)).is_err() {
                tracing::error!("{doing} panicked");
            }
            if is_last {
                return;
            }
            bell.wait(None);
        }
    }

    /// Waits for that time; `false` to stop.
    pub(crate) fn rest(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.state.lock();
        while !state.stopping {
            if self.stopping.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        !state.stopping
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn a_thread_that_waits_is_woken_by_a_ring_by_a_mention_and_when_it_is_due() {
        let bell = Arc::new(Bell::default());
        let (begins, has_begun) = std::sync::mpsc::channel();
        let rung = Arc::clone(&bell);
        let thread = std::thread::spawn(move || {
            rung.register();
            for due in [None, None, Some(Instant::now())] {
                begins.send(()).expect("the test is there");
                rung.wait(due);
            }
        });
        for wake in [Bell::ring, Bell::mention] {
            has_begun.recv().expect("the thread waits, or is about to");
            wake(&bell);
        }
        thread.join().expect("it was woken each time");
        assert!(!bell.answer(), "a ring is answered once");
    }

    #[test]
    fn what_is_mentioned_while_the_thread_is_busy_is_not_forgotten() {
        let bell = Bell::default();
        bell.register();
        bell.mention();
        bell.mention();
        // Simulates other code that parks on the thread and consumes the token.
        std::thread::park();
        bell.wait(None);
        assert!(!bell.mentioned.load(Ordering::SeqCst));
    }
}
