//! Builds the parts of the service, each from what it needs.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Instant;

use anyhow::{Context, bail};
use tokio::sync::Semaphore;
use waypost_api::ModelState;
use waypost_auth::{AdminToken, TokenStore};
use waypost_cluster::{Begun, Member, Part};
use waypost_events::Bus;
use waypost_memory::Store;

use crate::app::App;
use crate::clock::now;
use crate::cluster::follower::Follower;
use crate::cluster::lease::Leasing;
use crate::cluster::snapshots::Snapshots;
use crate::cluster::{Cluster, Link};
use crate::context::ProjectContext;
use crate::context::keeper::Keeper;
use crate::damage::Reported;
use crate::events::broadcast::Broadcast;
use crate::flows::files::FlowFiles;
use crate::flows::guard::Guard;
use crate::flows::{Flows, Targets, runner};
use crate::http::body::Bodies;
use crate::http::dashboard::Codes;
use crate::http::listen;
use crate::http::pool::Pool;
use crate::http::routes::stream;
use crate::http::sessions::Sessions;
use crate::http::waiting::Waiting;
use crate::leadership::Leadership;
use crate::memory::indexing::Indexing;
use crate::memory::publisher::Publisher;
use crate::memory::writer::Writer;
use crate::mesh::Membership;
use crate::mesh::events::MeshEvents;
use crate::model::EmbeddingModel;
use crate::model::embedding::Embedding;
use crate::model::loader::Loader;
use crate::model::peer::PeerModel;
use crate::model::priority::Priority;
use crate::model::reranker::{RerankerLoader, RerankerModel};
use crate::recall::Recall;
use crate::settings::Options;
use crate::stopping::Stopping;
use crate::threads::Worker;
use crate::wake::Wake;
use crate::witness::Witness;
use crate::{events, memory, upkeep};

/// The stores, which are opened before the service listens: a store that another process has open
/// prevents the start.
#[derive(Debug)]
pub(crate) struct Stores {
    store: Arc<Store>,
    events: Arc<Bus>,
    tokens: Arc<TokenStore>,
    witness: Witness,
    cluster: Option<Arc<Cluster>>,
}

impl Stores {
    /// Opens the stores, and creates the admin token if it is missing.
    pub(crate) fn open(options: &Options) -> anyhow::Result<Self> {
        let has_run = options.data_dir.join(waypost_log::Witness::FILE).exists();
        let witness = Witness::read(&options.data_dir)?;
        let link = Link::open(&options.data_dir, &options.cluster)?;
        let part = |part| link.as_ref().map(|link| link.part(part));
        let (reached, shared) = (witness.memory(), part(Part::Memory));
        let store = memory::open(&options.data_dir, reached, options.min_score, shared)?;
        let store = Arc::new(store);
        let events = events::open(options, witness.events(), part(Part::Events))?;
        let events = Arc::new(events);
        let tokens_file = options.data_dir.join("tokens.json");
        let tokens = TokenStore::open(&tokens_file).context("failed to read the tokens")?;
        if let Some(link) = &link {
            link.restore_tokens(&tokens)?;
        } else if has_run && !tokens_file.exists() {
            tracing::warn!(
                file = %tokens_file.display(),
                "the tokens are missing: no token that was created is valid any more; create them again with `ctl token create`, or stop the service and put the file back from a backup"
            );
        }
        let is_shared = tokens.is_shared().context("failed to read the tokens")?;
        // The token file may have been lost since.
        let has_others = match Begun::read(&options.data_dir) {
            Ok(begun) => begun.is_some_and(|begun| begun.is_joinable),
            Err(error) => {
                return Err(anyhow::Error::new(error).context(
                    "a command of `ctl cluster` was interrupted: run it again, which says how to continue; or, to continue without a cluster, run `ctl cluster leave`",
                ));
            }
        };
        let (tokens, cluster) = match link {
            Some(_) if !is_shared => bail!(
                "this project is a member of a cluster, and {} does not have the cluster's tokens: put it back from a backup, or move the data folder away and run `ctl cluster join`; or, to continue without the cluster, run `ctl cluster leave`",
                tokens_file.display()
            ),
            Some(_) if has_others => bail!(
                "a `ctl cluster accept-loss` was interrupted in this project, and other machines may have joined the store that it began: run it again; or, to continue without the cluster, run `ctl cluster leave`"
            ),
            None if is_shared || has_others => bail!(
                "this project belongs to a cluster, and {} is missing: if a `ctl cluster init` was interrupted, run it again; otherwise move the data folder away and run `ctl cluster join`; or, to continue without the cluster, run `ctl cluster leave`",
                Member::file(&options.data_dir).display()
            ),
            None if options.cluster.url.is_some() => bail!(
                "cluster.url is set, but this project is no member of a cluster; run `ctl cluster init` on the first machine or `ctl cluster join` on another one, or remove the setting"
            ),
            None => (Arc::new(tokens), None),
            Some(link) => {
                let (store, events) = (Arc::clone(&store), Arc::clone(&events));
                let cluster = Cluster::new(link, store, events, tokens);
                (Arc::clone(&cluster.tokens), Some(cluster))
            }
        };
        let made = waypost_auth::ensure_admin_token_file(&options.token_file, &tokens, now())
            .context("failed to create the admin token")?;
        log_token(&made, &options.token_file);
        if cluster.is_none()
            && let Err(error) = end_dashboards(&tokens)
        {
            tracing::warn!(%error, "failed to revoke the tokens of earlier dashboards, which are rejected");
        }
        Ok(Self { store, events, tokens, witness, cluster })
    }
}

/// Builds the parts. They are idle until their threads run.
pub(crate) fn app(
    options: &Options,
    stores: Stores,
    address: SocketAddr,
    started: Instant,
) -> anyhow::Result<App> {
    let Stores { store, events, tokens, witness, cluster } = stores;
    let limits = options.limits.clone();
    let url = listen::url(address, options.tls.is_some());
    let state = if options.model.is_off() { ModelState::Off } else { ModelState::Loading };
    let wake = cluster.as_ref().map_or_else(Wake::default, |_| Wake::in_cluster());
    let wake = Arc::new(wake);
    let model = Arc::new(EmbeddingModel::new(&options.model.name(), state, Arc::clone(&wake)));
    let leadership = Leadership::new(cluster.is_none());
    let on = options.events.memory;
    let publisher = Arc::new(Publisher::new(&store, &events, (&wake, &leadership), on));
    let targets = Targets {
        store: Arc::clone(&store),
        events: Arc::clone(&events),
        publisher: Arc::clone(&publisher),
        model: Arc::clone(&model),
    };
    let shared = (cluster.as_deref(), &leadership, &wake);
    let flows = Arc::new(Flows::open(options, witness.flows(), url.clone(), targets, shared)?);
    if let Some(cluster) = &cluster {
        cluster.set_flows(flows.files().clone());
    }
    let recall = Arc::new(Recall::open(&options.data_dir, options.recall, witness.recall())?);
    let context_dir = options.data_dir.join("context");
    let context = ProjectContext::open(options.project.root(), &context_dir, &options.context)?;
    let pool = |slots| Pool::new(slots, limits.queue_max, limits.store_time);
    Ok(App {
        data_dir: options.data_dir.clone(),
        cluster,
        leadership,
        tokens,
        sessions: Sessions::default(),
        codes: Codes::default(),
        broadcast: Broadcast::new(&events, stream::frame),
        listeners: Arc::new(Semaphore::new(limits.listeners_max)),
        flows,
        context: Arc::new(context),
        publisher,
        recall,
        witness: Arc::new(witness),
        events,
        mesh: Arc::new(Membership::new(options.mesh.is_some())),
        gate: listen::gate(address, options),
        url,
        metrics: Arc::default(),
        activity: Arc::default(),
        bodies: Bodies::new(&limits),
        waiting: Waiting::new(&limits),
        reads: pool(limits.reads_max),
        past: pool(1),
        writes: pool(limits.writes_max).for_writes(),
        streams: pool(limits.streams_max),
        model,
        reranker: Arc::new(RerankerModel::new(options.rerank.as_ref())),
        wake,
        storage_bytes: AtomicU64::new(0),
        reported_damage: Reported::default(),
        store,
        started,
        stopping: Stopping::default(),
        limits,
    })
}

/// Builds the threads. Reads the flow files here, so that flows are in force before the service
/// responds.
pub(crate) fn workers(app: &Arc<App>, options: &Options) -> anyhow::Result<Vec<Worker>> {
    let (store, wake) = (|| Arc::clone(&app.store), || Arc::clone(&app.wake));
    let (context, model) = (|| Arc::clone(&app.context), || Arc::clone(&app.model));
    let (publisher, flows) = (Arc::clone(&app.publisher), Arc::clone(&app.flows));
    let priority = Arc::new(Priority::new().context("failed to start threads for the model")?);
    let flow_files = FlowFiles::load(&app.flows);
    let embedding = Embedding {
        store: store(),
        context: context(),
        model: model(),
        priority: Arc::clone(&priority),
        metrics: Arc::clone(&app.metrics),
        wake: wake(),
        batch: options.model.batch,
    };
    let writer = Writer { store: store(), wake: wake() };
    let keeper = Keeper {
        context: context(),
        model: model(),
        wake: wake(),
        stopping: app.stopping.clone(),
        release_memory: options.release_memory,
    };
    let maintained = Arc::clone(app);
    let mut workers = vec![
        Worker::left("flow files", move || flow_files.run()),
        Worker::joined("embedding", move || embedding.run()),
        Worker::joined("writer", move || writer.run()),
        Worker::joined("publisher", move || publisher.run()),
        Worker::joined("flows", move || runner::run(&flows)),
        Worker::joined("context", move || keeper.run()),
        Worker::joined("upkeep", move || upkeep::run(&maintained)),
    ];
    let indexing = Arc::new(Indexing { store: store(), wake: wake() });
    for _ in 0..indexing.threads() {
        let indexing = Arc::clone(&indexing);
        workers.push(Worker::joined("indexing", move || indexing.run()));
    }
    if let Some(cluster) = &app.cluster {
        workers.extend(cluster_workers(app, cluster, options)?);
    }
    if let Some(options) = options.rerank.clone() {
        let model = Arc::clone(&app.reranker);
        let priority = Arc::clone(&priority);
        let reranker = RerankerLoader { options, model, priority, store: store() };
        workers.push(Worker::left("reranker", move || reranker.run()));
    }
    if !options.model.is_off() {
        let loader = Loader {
            options: options.model.clone(),
            model: model(),
            priority,
            store: store(),
            context: context(),
            shared: app.cluster.as_ref().map(|cluster| cluster.vectors()),
            wake: wake(),
        };
        workers.push(Worker::left("model", move || loader.run()));
    } else if let Some(cluster) = app.cluster.as_ref().filter(|_| options.cluster.peer_embedding) {
        let shared = cluster.vectors();
        let peer = PeerModel { shared, model: model(), store: store(), wake: wake() };
        workers.push(Worker::joined("peer model", move || peer.run()));
    }
    if let Some(settings) = &options.mesh {
        let mesh = MeshEvents {
            membership: Arc::clone(&app.mesh),
            events: Arc::clone(&app.events),
            wake: wake(),
            settings: settings.clone(),
        };
        workers.push(Worker::of_mesh("mesh events", move || mesh.run()));
    }
    Ok(workers)
}

/// Builds the threads of a member of a cluster.
fn cluster_workers(
    app: &App,
    cluster: &Arc<Cluster>,
    options: &Options,
) -> anyhow::Result<[Worker; 3]> {
    let (cluster, flows) = (|| Arc::clone(cluster), || Arc::clone(&app.flows));
    let wake = || Arc::clone(&app.wake);
    let guard = options.flows.guard.as_deref().map(Guard::start).transpose()?.map(Arc::new);
    if let Some(guard) = &guard {
        app.flows.watch_with(Arc::clone(guard));
    }
    let follower = Follower { cluster: cluster(), flows: flows(), wake: wake() };
    let leasing = Leasing {
        cluster: cluster(),
        flows: flows(),
        leadership: app.leadership.clone(),
        guard,
        wake: wake(),
    };
    let snapshots = Snapshots {
        cluster: cluster(),
        flows: flows(),
        data_dir: app.data_dir.clone(),
        leadership: app.leadership.clone(),
        wake: wake(),
        records_max: options.snapshot_records,
    };
    Ok([
        Worker::joined("follower", move || follower.run()),
        Worker::joined("lease", move || leasing.run()),
        Worker::joined("snapshots", move || snapshots.run()),
    ])
}

/// Revokes the tokens of dashboards, which an earlier start issued: the list shows what is valid.
fn end_dashboards(tokens: &TokenStore) -> waypost_auth::Result<()> {
    let now = now();
    for token in tokens.list()? {
        if token.parent.is_some() && token.is_active(now) {
            tokens.revoke(token.id, now)?;
        }
    }
    Ok(())
}

fn log_token(made: &AdminToken, path: &std::path::Path) {
    let file = path.display();
    match made {
        AdminToken::Created { .. } => tracing::info!(%file, "created an admin token"),
        AdminToken::Replaced { reason, .. } => {
            tracing::warn!(%file, reason, "replaced an invalid admin token");
        }
        AdminToken::Kept { was_open: Some(mode), .. } => {
            let mode = format!("{mode:o}");
            tracing::warn!(%file, mode, "the admin token was readable by other users; fixed its mode, consider revoking it");
        }
        _ => {}
    }
}
