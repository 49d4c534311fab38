//! Opens every part and puts them together; takes them apart in order.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use waypost_api::{Gate, ModelState};
use waypost_auth::{AdminToken, TokenStore};
use waypost_project::LimitSettings;

use crate::app::App;
use crate::clock::now_ms;
use crate::context::ProjectContext;
use crate::context::keeper::Keeper;
use crate::disk::DiskUsage;
use crate::events::{self, broadcast::Broadcast};
use crate::flows::{Flows, Targets, files};
use crate::http::body::Bodies;
use crate::http::pool::Pool;
use crate::http::rejections::Rejections;
use crate::http::routes::{self, stream};
use crate::http::server::{self, Doors};
use crate::http::sessions::Sessions;
use crate::http::tls;
use crate::memory::{self, publisher::Publisher};
use crate::mesh::Membership;
use crate::mesh::events::MeshEvents;
use crate::metrics;
use crate::model::EmbeddingModel;
use crate::model::embedding::Embedding;
use crate::model::loader::Loader;
use crate::model::priority::Priority;
use crate::presence::Presence;
use crate::settings::{Approval, Options};
use crate::stopping::Stopping;
use crate::umask::Umask;
use crate::wake::Wake;
use crate::workers::Workers;

/// How long store calls that outlived their requests may take at the end.
const LAST_CALLS_TIME: Duration = Duration::from_secs(5);

/// A service that answers. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    parts: Option<Parts>,
}

#[derive(Debug)]
struct Parts {
    app: Arc<App>,
    runtime: Runtime,
    serving: JoinHandle<()>,
    workers: Workers,
    mesh: Option<thread::JoinHandle<()>>,
    presence: Presence,
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Finishes what was accepted, writes what makes the next start fast, and ends.
    pub fn shutdown(mut self) -> anyhow::Result<()> {
        self.end()
    }

    fn end(&mut self) -> anyhow::Result<()> {
        let Some(Parts { app, runtime, serving, workers, mesh, presence }) = self.parts.take()
        else {
            return Ok(());
        };
        app.stopping.begin();
        app.broadcast.stop();
        app.context.wake();
        app.mesh.leave();
        self.stop.send_replace(true);
        if runtime.block_on(serving).is_err() {
            tracing::error!("the accept loop panicked");
        }
        // While the store is still ours: the next service makes files of the same names.
        drop(presence);
        if mesh.is_some_and(|it| it.join().is_err()) {
            tracing::error!("the thread of the mesh panicked");
        }
        workers.stop();
        runtime.shutdown_timeout(LAST_CALLS_TIME);
        app.tokens.flush().context("the last use of tokens could not be written")?;
        let parts = Arc::try_unwrap(app).map(App::into_stores);
        if let Ok((context, store)) = parts
            && let (Ok(context), Ok(store)) = (Arc::try_unwrap(context), Arc::try_unwrap(store))
        {
            context.close();
            store.close().context("the store could not be closed in order")?;
        } else {
            // The loader or a call that takes long still has it; what was answered is on disk.
            tracing::warn!("the store was left open by work that did not end in time");
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!("stopping: {error:#}");
        }
    }
}

/// Starts the service and returns as soon as it answers. It runs on threads of its own.
pub fn start(options: &Options) -> anyhow::Result<Running> {
    let started = Instant::now();
    for warning in &options.warnings {
        tracing::warn!("{warning}");
    }
    let tls = options.tls.as_ref().map(tls::acceptor).transpose()?;
    check_address(options)?;
    prepare(options)?;
    metrics::measure_syncs();
    let store = Arc::new(memory::open(&options.data_dir)?);
    let events = Arc::new(events::open(options)?);
    let tokens = TokenStore::open(&options.data_dir.join("tokens.json"))
        .context("the tokens could not be read")?;
    let made = waypost_auth::ensure_admin_token_file(&options.token_file, &tokens, now_ms())
        .context("the admin token could not be made")?;
    tell_token(&made, &options.token_file);
    let limits = options.limits.clone();
    let runtime = runtime(&limits).context("no threads for the service")?;
    let network = runtime.block_on(bind(options))?;
    let address = network.local_addr().context("the listener has no address")?;
    let (mut presence, socket) = Presence::listen(&options.socket(), &runtime)?;
    let url = url(address, tls.is_some());
    let doors = Doors { network, tls, socket };
    let state = if options.model.is_off() { ModelState::Off } else { ModelState::Loading };
    let wake = Arc::new(Wake::default());
    let model = Arc::new(EmbeddingModel::new(&options.model.name(), state, Arc::clone(&wake)));
    let publisher = Arc::new(Publisher::new(&store, &events, &wake, options.events.memory));
    let targets = Targets {
        store: Arc::clone(&store),
        events: Arc::clone(&events),
        publisher: Arc::clone(&publisher),
        model: Arc::clone(&model),
    };
    let flows = Arc::new(Flows::open(options, url.clone(), targets, &wake)?);
    let context_dir = options.data_dir.join("context");
    let context = ProjectContext::open(options.project.root(), &context_dir, &options.context)?;
    let disk = Arc::new(DiskUsage::new(&options.data_dir, &store));
    let pool = |slots| Pool::new(slots, limits.queue_max, limits.store_time);
    let app = Arc::new(App {
        data_dir: options.data_dir.clone(),
        store,
        tokens: Arc::new(tokens),
        sessions: Sessions::default(),
        rejections: Rejections::default(),
        broadcast: Broadcast::new(&events, stream::frame),
        listeners: Arc::new(Semaphore::new(limits.listeners_max)),
        flows,
        context: Arc::new(context),
        publisher,
        events,
        mesh: Arc::new(Membership::new(options.mesh.is_some())),
        gate: gate(address, options),
        url: url.clone(),
        metrics: Arc::default(),
        bodies: Bodies::new(&limits),
        reads: pool(limits.reads_max),
        writes: pool(limits.writes_max),
        streams: pool(limits.streams_max),
        model,
        wake,
        disk,
        started,
        stopping: Stopping::default(),
        limits,
    });
    app.disk.measure();
    files::start(&app.flows).context("no threads for the service")?;
    let priority = Arc::new(Priority::new().context("no threads for the model")?);
    let embedding = Embedding {
        store: Arc::clone(&app.store),
        context: Arc::clone(&app.context),
        model: Arc::clone(&app.model),
        priority: Arc::clone(&priority),
        metrics: Arc::clone(&app.metrics),
        wake: Arc::clone(&app.wake),
        batch: options.model.batch,
    };
    let keeper = Keeper {
        context: Arc::clone(&app.context),
        model: Arc::clone(&app.model),
        wake: Arc::clone(&app.wake),
        stopping: app.stopping.clone(),
        give_memory_back: options.give_memory_back,
    };
    let workers = Workers::start(&app, embedding, keeper).context("no threads for the service")?;
    if !options.model.is_off() {
        let loader = Loader {
            options: options.model.clone(),
            model: Arc::clone(&app.model),
            priority,
            store: Arc::clone(&app.store),
            context: Arc::clone(&app.context),
            wake: Arc::clone(&app.wake),
        };
        let thread = thread::Builder::new().name("model".to_owned());
        thread.spawn(move || loader.run()).context("no threads for the service")?;
    }
    let mesh = match &options.mesh {
        Some(settings) => {
            let mesh_events = MeshEvents {
                membership: Arc::clone(&app.mesh),
                events: Arc::clone(&app.events),
                wake: Arc::clone(&app.wake),
                settings: settings.clone(),
            };
            let thread = thread::Builder::new().name("mesh events".to_owned());
            let thread = thread.spawn(move || mesh_events.run());
            Some(thread.context("no threads for the mesh")?)
        }
        None => None,
    };
    let noting = Arc::clone(&app.wake);
    app.store.when_noted(Box::new(move || noting.publishing_soon()));
    let fed = Arc::clone(&app);
    runtime.spawn(async move {
        // Sessions are looked after as long as events are handed out.
        tokio::select! {
            () = fed.broadcast.run() => {}
            () = fed.sessions.keep(&fed.tokens) => {}
        }
    });
    let (stop, stopped) = watch::channel(false);
    let router = routes::router(Arc::clone(&app));
    let serving = runtime.spawn(server::serve(doors, Arc::clone(&app), router, stopped));
    let described = presence.describe(&options.data_dir, &url);
    tracing::info!("{}", greeting(&url, options));
    let parts = Parts { app, runtime, serving, workers, mesh, presence };
    // From here on, dropping it stops everything in order.
    let running = Running { address, stop, parts: Some(parts) };
    described.context("service.json could not be written")?;
    Ok(running)
}

fn runtime(limits: &LimitSettings) -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("http")
        .max_blocking_threads(limits.reads_max + limits.writes_max + limits.streams_max + 8)
        .build()
}

/// Refuses a store and tokens that a repository has: `git pull` overwrites files that are ignored.
fn refuse_tracked(options: &Options) -> anyhow::Result<()> {
    let project = &options.project;
    if matches!(options.approval, Approval::Off) {
        return Ok(());
    }
    let paths = project.private_paths(&options.data_dir, &options.token_file);
    let tracked = waypost_context::tracked_below(project.root(), &paths)
        .context("whether git tracks files of the store is not known")?;
    match tracked {
        Some(files) if files.is_empty() => Ok(()),
        Some(files) => Err(waypost_project::Error::Tracked { files }.into()),
        None => {
            tracing::warn!(
                "whether git tracks files of the store is not known: its index is of a form that is not read here"
            );
            Ok(())
        }
    }
}

/// Makes the store's folder, or makes sure that nobody else brought it.
fn claim_data(options: &Options) -> anyhow::Result<()> {
    let dir = &options.data_dir;
    let claimed = match &options.approval {
        Approval::Off => {
            tracing::info!("the project is trusted: none of its files waits for approval");
            waypost_project::create_data_dir(dir)
        }
        Approval::In(state) => {
            waypost_project::claim_data(&options.project, dir, state).map(|_| ())
        }
        Approval::Nowhere => Err(waypost_project::Error::NoState),
    };
    claimed.map_err(|error| match error {
        waypost_project::Error::Io { .. } => anyhow::Error::new(error).context(format!(
            "cannot make the folder {}; make its parent writable or choose another data_dir",
            dir.display()
        )),
        error => error.into(),
    })
}

/// Runs the service until a signal to stop.
pub fn run(options: &Options) -> anyhow::Result<()> {
    allow_open_files(options.limits.connections_max);
    let mut options = options.clone();
    options.flows.umask = Some(Umask::close());
    let running = start(&options)?;
    let signals = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime for signals")?;
    let name = signals.block_on(signal()).context("signals cannot be waited for")?;
    tracing::info!(signal = name, "stopping");
    running.shutdown()
}

/// Each connection is an open file, and the usual limit of 1,024 is below what the settings allow.
fn allow_open_files(connections: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// Files of the stores, models and programs of flows.
    const OTHERS: u64 = 512;
    let limit = getrlimit(Resource::Nofile);
    let wanted = connections as u64 + OTHERS;
    let possible = limit.maximum.map_or(wanted, |it| wanted.min(it));
    if limit.current.is_some_and(|it| it < possible)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(possible), ..limit })
    {
        tracing::warn!(%error, "the limit of open files stays below limits.connections_max");
    }
}

async fn signal() -> std::io::Result<&'static str> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(tokio::select! {
        _ = terminate.recv() => "SIGTERM",
        _ = interrupt.recv() => "SIGINT",
    })
}

/// Refuses an address that other machines reach, unless what goes over it is encrypted or somebody said
/// that it need not be.
fn check_address(options: &Options) -> anyhow::Result<()> {
    let address = options.listen;
    if address.ip().is_loopback() || options.tls.is_some() {
        return Ok(());
    }
    if !options.allow_remote {
        bail!(
            "{address} can be reached by other machines, and the service speaks no TLS there: set tls.cert and tls.key, listen on 127.0.0.1 behind a TLS proxy, or give --allow-remote to send tokens and memories in the clear"
        );
    }
    tracing::warn!(%address, "other machines reach this address, and nothing is encrypted on the way");
    Ok(())
}

/// Makes the folders that are missing, and closes the store's to others, before anything in it is
/// opened.
fn prepare(options: &Options) -> anyhow::Result<()> {
    let project = &options.project;
    refuse_tracked(options)?;
    project.prepare().context("the project cannot be prepared")?;
    let owners = project.owners();
    // It may have been made just now, by whoever was faster.
    owners.check_folder(&project.dir())?;
    claim_data(options)?;
    let dir = &options.data_dir;
    let done = waypost_project::tighten(dir, owners).context("the store's folder is not used")?;
    if let Some((first, mode)) = done.first {
        let (changed, mode) = (done.changed, format!("{mode:o}"));
        tracing::warn!(changed, first = %first.display(), mode, "others could reach files of the store until now");
    }
    Ok(())
}

/// Listens over the network. A default port that is in use gives way to a free one.
async fn bind(options: &Options) -> anyhow::Result<TcpListener> {
    let asked = options.listen;
    match TcpListener::bind(asked).await {
        Err(error) if options.any_port && error.kind() == std::io::ErrorKind::AddrInUse => {
            let free = SocketAddr::new(asked.ip(), 0);
            let listener = TcpListener::bind(free).await.with_context(|| cannot_listen(free))?;
            tracing::info!("port {} is in use, so a free one is taken", asked.port());
            Ok(listener)
        }
        bound => bound.with_context(|| cannot_listen(asked)),
    }
}

fn gate(address: SocketAddr, options: &Options) -> Gate {
    let gate = Gate::new(address).with_settings(&options.hosts, &options.origins);
    if options.tls.is_some() { gate.with_tls() } else { gate }
}

/// Where the service is reached over the network; one that listens everywhere is so on loopback.
fn url(address: SocketAddr, tls: bool) -> String {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let scheme = if tls { "https" } else { "http" };
    format!("{scheme}://{}", SocketAddr::new(ip, address.port()))
}

fn greeting(url: &str, options: &Options) -> String {
    let mode = if options.model.is_off() {
        "lexical: the model is off"
    } else {
        "lexical until the model is here"
    };
    format!("listening on {url} · project {} · {mode}", options.project.root().display())
}

/// What to try where the address cannot be had.
fn cannot_listen(address: SocketAddr) -> String {
    format!(
        "cannot listen on {address}; if another service has that address, choose one with `--listen 127.0.0.1:PORT`"
    )
}

fn tell_token(made: &AdminToken, path: &Path) {
    let file = path.display();
    match made {
        AdminToken::Created { .. } => tracing::info!(%file, "an admin token was made"),
        AdminToken::Replaced { reason, .. } => {
            tracing::warn!(%file, reason, "the admin token did not work and was made anew");
        }
        AdminToken::Kept { was_open: Some(mode), .. } => {
            let mode = format!("{mode:o}");
            tracing::warn!(%file, mode, "others could read the admin token until now; think of rotating it");
        }
        _ => {}
    }
}
