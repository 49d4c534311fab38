//! Starts the threads of the service, and stops them in order.
//!
//! tokio owns the threads of requests, and flows those of actions.

use std::fmt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::Context;

use crate::wake::Wake;

/// A thread to start.
pub(crate) struct Worker {
    name: &'static str,
    end: End,
    work: Box<dyn FnOnce() + Send>,
}

/// How a thread ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// It is joined when the service has left the mesh, which it publishes for until then.
    OfMesh,
    /// It is joined after that.
    Joined,
    /// It is not joined: it may be in a long operation that nothing depends on.
    Left,
}

/// The threads that are joined at the end.
#[derive(Debug)]
pub(crate) struct Threads {
    wake: Arc<Wake>,
    mesh: Vec<JoinHandle<()>>,
    joined: Vec<JoinHandle<()>>,
}

impl Worker {
    pub(crate) fn joined(name: &'static str, work: impl FnOnce() + Send + 'static) -> Self {
        Self { name, end: End::Joined, work: Box::new(work) }
    }

    pub(crate) fn of_mesh(name: &'static str, work: impl FnOnce() + Send + 'static) -> Self {
        Self { end: End::OfMesh, ..Self::joined(name, work) }
    }

    pub(crate) fn left(name: &'static str, work: impl FnOnce() + Send + 'static) -> Self {
        Self { end: End::Left, ..Self::joined(name, work) }
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Threads {
    /// Starts all threads.
    pub(crate) fn start(wake: Arc<Wake>, workers: Vec<Worker>) -> anyhow::Result<Self> {
        let (mut mesh, mut joined) = (Vec::new(), Vec::new());
        for Worker { name, end, work } in workers {
            let thread = thread::Builder::new().name(name.to_owned());
            let thread = thread.spawn(work).with_context(|| format!("no thread for {name}"))?;
            match end {
                End::OfMesh => mesh.push(thread),
                End::Joined => joined.push(thread),
                End::Left => {}
            }
        }
        Ok(Self { wake, mesh, joined })
    }

    /// Stops the threads and waits for their current work. The service has left the mesh before.
    pub(crate) fn stop(self) {
        join(self.mesh);
        self.wake.stop();
        join(self.joined);
    }
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        let name = thread.thread().name().unwrap_or_default().to_owned();
        if thread.join().is_err() {
            tracing::error!(name, "a thread panicked");
        }
    }
}
