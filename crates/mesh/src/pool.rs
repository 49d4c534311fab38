//! A bounded number of threads that serve calls. They start when there is work and end when there
//! is none.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread;

use parking_lot::{Condvar, Mutex};

use crate::limits::{CALLS_RUNNING_MAX, CALLS_WAITING_MAX, WORKER_IDLE};

type Job = Box<dyn FnOnce() + Send>;

/// The threads of one peer. When it is dropped, running jobs are completed and waiting ones are
/// dropped.
pub(crate) struct Pool(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    is_closed: bool,
}

impl Pool {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// Submits a job; returns it if too many are waiting, or if no thread can be started.
    pub(crate) fn submit(&self, job: Job) -> Result<(), Job> {
        let mut state = self.0.state.lock();
        if state.is_closed || state.jobs.len() >= CALLS_WAITING_MAX {
            return Err(job);
        }
        state.jobs.push_back(job);
        if state.jobs.len() > state.idle && state.threads < CALLS_RUNNING_MAX {
            let shared = Arc::clone(&self.0);
            let started = thread::Builder::new()
                .name("mesh call".into())
                .spawn(move || shared.work_until_idle());
            if started.is_ok() {
                state.threads += 1;
            } else if state.threads == 0 {
                return state.jobs.pop_back().map_or(Ok(()), Err);
            }
        }
        drop(state);
        self.0.work.notify_one();
        Ok(())
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.is_closed = true;
        let rest = std::mem::take(&mut state.jobs);
        drop(state);
        self.0.work.notify_all();
        drop(rest);
    }
}

impl Shared {
    fn work_until_idle(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.state.lock();
                continue;
            }
            if state.is_closed {
                break;
            }
            state.idle += 1;
            let waited = self.work.wait_for(&mut state, WORKER_IDLE);
            state.idle -= 1;
            if waited.timed_out() && state.jobs.is_empty() {
                break;
            }
        }
        state.threads -= 1;
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("threads", &self.0.state.lock().threads).finish()
    }
}
