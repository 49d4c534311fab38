//! The service as a peer of the mesh: its membership, the calls that it makes, and the events that it receives.

pub(crate) mod calls;
pub(crate) mod events;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::{Semaphore, watch};
use waypost_api as api;
use waypost_mesh::Mesh;

/// How often membership is checked, and joining is retried.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// Whether the service is a peer of the mesh.
#[derive(Debug)]
pub(crate) struct Membership {
    is_wanted: bool,
    state: Mutex<State>,
    left: Condvar,
    /// The same for calls in progress.
    leaving: watch::Sender<bool>,
    /// Calls that may be made at once.
    calls: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct State {
    joined: Option<Arc<Mesh>>,
    failed: Option<&'static str>,
    /// Whether the service is stopping.
    is_over: bool,
}

impl Membership {
    pub(crate) fn new(is_wanted: bool) -> Self {
        Self {
            is_wanted,
            state: Mutex::default(),
            left: Condvar::new(),
            leaving: watch::Sender::new(false),
            calls: Arc::new(Semaphore::new(calls::CALLS_MAX)),
        }
    }

    /// Records that the mesh was joined, unless the service is stopping.
    fn joined(&self, mesh: Mesh) {
        let mut state = self.state.lock();
        if !state.is_over {
            state.joined = Some(Arc::new(mesh));
            tracing::info!("joined the mesh");
        }
    }

    /// The mesh could not be joined; `why` is for the status.
    fn failed(&self, why: &'static str) {
        self.state.lock().failed = Some(why);
    }

    /// The problem of the mesh, if it was joined.
    fn trouble(&self) -> Option<String> {
        self.state.lock().joined.as_ref().and_then(|joined| joined.trouble())
    }

    /// Leaves the mesh, or prevents joining it.
    pub(crate) fn leave(&self) {
        let mut state = self.state.lock();
        state.is_over = true;
        let joined = state.joined.take();
        drop(state);
        self.left.notify_all();
        self.leaving.send_replace(true);
        // This closes its listeners, even if a call still holds it.
        if let Some(mesh) = joined {
            mesh.leave();
        }
    }

    /// Waits; `false` once the mesh has to be left.
    fn rest(&self) -> bool {
        let mut state = self.state.lock();
        if !state.is_over {
            self.left.wait_for(&mut state, CHECK_EVERY);
        }
        !state.is_over
    }

    /// The membership for the status; `None` if the mesh is disabled.
    pub(crate) fn status(&self) -> Option<api::MeshStatus> {
        if !self.is_wanted {
            return None;
        }
        let state = self.state.lock();
        let problem = match &state.joined {
            Some(mesh) => mesh.trouble().map(|_| "it is only partly joined; see the service's log"),
            None => state.failed,
        };
        let joined = state.joined.is_some();
        Some(api::MeshStatus { joined, problem: problem.map(str::to_owned) })
    }
}
