//! Calls of other peers, for requests.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use waypost_mesh::{CallError, Listener, Mesh, Pattern, Peer};

use super::Membership;

/// Calls at once; further ones are rejected.
pub(crate) const CALLS_MAX: usize = 16;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// The mesh is disabled.
    Disabled,
    /// The service has not joined the mesh.
    NotJoined,
    /// Too many calls are in progress.
    Busy,
    /// The service is leaving the mesh.
    Leaving,
    /// The call failed.
    Failed(CallError),
    /// The event is invalid.
    Invalid(waypost_mesh::Error),
    /// A fault, which has been logged where it happened.
    Fault,
}

impl Membership {
    /// Calls a command of a target. If the request that waits for it ends, the call goes on until its deadline.
    pub(crate) async fn call(
        &self,
        target: String,
        command: String,
        argument: Value,
        deadline: Duration,
    ) -> Result<Value, Unanswered> {
        let slot = Arc::clone(&self.calls).try_acquire_owned().map_err(|_| Unanswered::Busy)?;
        let called = self.ask(move |mesh| {
            let result = mesh.call(&target, &command, &argument, deadline);
            drop(slot);
            result
        });
        called.await?.map_err(Unanswered::Failed)
    }

    /// The present peers.
    pub(crate) async fn peers(&self) -> Result<Vec<Peer>, Unanswered> {
        self.ask(Mesh::peers).await
    }

    /// Broadcasts an event; returns its id.
    pub(crate) async fn broadcast(
        &self,
        source: String,
        event: Value,
    ) -> Result<String, Unanswered> {
        let sent = self.ask(move |mesh| mesh.broadcast(&source, &event)).await?;
        sent.map_err(Unanswered::Invalid)
    }

    /// Listens to the events of peers.
    pub(crate) fn listen(&self, pattern: &Pattern) -> Result<Listener, Unanswered> {
        Ok(self.mesh()?.listen(pattern))
    }

    /// The peers that serve a target, those of this machine first.
    pub(crate) async fn serving(&self, target: &str) -> Result<Vec<Peer>, Unanswered> {
        let mut peers = self.peers().await?;
        peers.retain(|peer| peer.targets.iter().any(|other| other == target));
        peers.sort_by(|a, b| a.origin.cmp(&b.origin));
        Ok(peers)
    }

    /// Does what blocks on another thread, unless the service leaves the mesh meanwhile.
    async fn ask<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Mesh) -> T + Send + 'static,
    ) -> Result<T, Unanswered> {
        let mesh = self.mesh()?;
        let mut leaving = self.leaving.subscribe();
        let working = tokio::task::spawn_blocking(move || work(&mesh));
        tokio::select! {
            done = working => done.map_err(|_| Unanswered::Fault),
            _ = leaving.wait_for(|it| *it) => Err(Unanswered::Leaving),
        }
    }

    fn mesh(&self) -> Result<Arc<Mesh>, Unanswered> {
        let state = self.state.lock();
        match &state.joined {
            Some(mesh) => Ok(Arc::clone(mesh)),
            None if state.is_over => Err(Unanswered::Leaving),
            None if self.is_wanted => Err(Unanswered::NotJoined),
            None => Err(Unanswered::Disabled),
        }
    }
}
