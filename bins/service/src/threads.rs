//! Starts the threads of the service, and stops them in order.
//!
//! tokio owns the threads of requests, and flows those of actions.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::Context;

use crate::cluster::follower::Follower;
use crate::cluster::lease::Leasing;
use crate::cluster::snapshots::Snapshots;
use crate::context::keeper::Keeper;
use crate::flows::files::FlowFiles;
use crate::flows::{Flows, runner};
use crate::memory::indexing::Indexing;
use crate::memory::publisher::Publisher;
use crate::memory::writer::Writer;
use crate::mesh::events::MeshEvents;
use crate::model::embedding::Embedding;
use crate::model::loader::Loader;
use crate::model::peer::PeerModel;
use crate::model::reranker::RerankerLoader;
use crate::upkeep::Upkeep;
use crate::wake::Wake;

/// What each thread needs.
#[derive(Debug)]
pub(crate) struct Workers {
    pub(crate) flow_files: FlowFiles,
    pub(crate) embedding: Embedding,
    pub(crate) writer: Writer,
    pub(crate) publisher: Arc<Publisher>,
    pub(crate) flows: Arc<Flows>,
    pub(crate) keeper: Keeper,
    pub(crate) upkeep: Upkeep,
    pub(crate) indexing: Arc<Indexing>,
    /// `None` if no model is configured.
    pub(crate) loader: Option<Loader>,
    /// `None` unless another machine embeds queries for this one.
    pub(crate) peer: Option<PeerModel>,
    pub(crate) reranker: Option<RerankerLoader>,
    /// `None` if the mesh is disabled.
    pub(crate) mesh: Option<MeshEvents>,
    /// `None` for a machine alone.
    pub(crate) cluster: Option<ClusterWorkers>,
    pub(crate) wake: Arc<Wake>,
}

/// What each thread of a member of a cluster needs.
#[derive(Debug)]
pub(crate) struct ClusterWorkers {
    pub(crate) follower: Follower,
    pub(crate) leasing: Leasing,
    pub(crate) snapshots: Snapshots,
}

/// The threads that are joined at the end.
#[derive(Debug)]
pub(crate) struct Threads {
    wake: Arc<Wake>,
    /// It publishes until it ends, which it does when the service leaves the mesh.
    mesh: Option<JoinHandle<()>>,
    joined: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts all threads. The threads of flow files and of the model are not joined: they may be
    /// in a long operation that nothing depends on.
    pub(crate) fn start(workers: Workers) -> anyhow::Result<Self> {
        let Workers { embedding, writer, publisher, flows, keeper, upkeep, .. } = workers;
        spawn("flow files", move || workers.flow_files.run())?;
        let mut joined = vec![
            spawn("embedding", move || embedding.run())?,
            spawn("writer", move || writer.run())?,
            spawn("publisher", move || publisher.run())?,
            spawn("flows", move || runner::run(&flows))?,
            spawn("context", move || keeper.run())?,
            spawn("upkeep", move || upkeep.run())?,
        ];
        for _ in 0..workers.indexing.threads() {
            let indexing = Arc::clone(&workers.indexing);
            joined.push(spawn("indexing", move || indexing.run())?);
        }
        if let Some(ClusterWorkers { follower, leasing, snapshots }) = workers.cluster {
            joined.push(spawn("follower", move || follower.run())?);
            joined.push(spawn("lease", move || leasing.run())?);
            joined.push(spawn("snapshots", move || snapshots.run())?);
        }
        if let Some(reranker) = workers.reranker {
            spawn("reranker", move || reranker.run())?;
        }
        if let Some(peer) = workers.peer {
            joined.push(spawn("peer model", move || peer.run())?);
        }
        if let Some(loader) = workers.loader {
            spawn("model", move || loader.run())?;
        }
        let mesh = workers.mesh.map(|it| spawn("mesh events", move || it.run())).transpose()?;
        Ok(Self { wake: workers.wake, mesh, joined })
    }

    /// Stops the threads and waits for their current work. The service has left the mesh before.
    pub(crate) fn stop(self) {
        join(self.mesh);
        self.wake.stop();
        join(self.joined);
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> anyhow::Result<JoinHandle<()>> {
    let thread = thread::Builder::new().name(name.to_owned());
    thread.spawn(work).with_context(|| format!("no thread for {name}"))
}

fn join(threads: impl IntoIterator<Item = JoinHandle<()>>) {
    for thread in threads {
        let name = thread.thread().name().unwrap_or_default().to_owned();
        if thread.join().is_err() {
            tracing::error!(name, "a thread panicked");
        }
    }
}
