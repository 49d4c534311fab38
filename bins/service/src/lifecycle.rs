//! Starts the service, runs it until a signal, and stops it in order.

mod idle;

use std::mem::ManuallyDrop;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use waypost_project::LimitSettings;

use crate::app::App;
use crate::error::chain;
use crate::http::server::{self, Listeners, SOCKET_CONNECTIONS_MAX};
use crate::http::{listen, routes, tls};
use crate::metrics;
use crate::prepare::prepare;
use crate::presence::Presence;
use crate::settings::Options;
use crate::threads::Threads;
use crate::umask::Umask;
use crate::wiring::{self, Stores};

/// How long to wait at the end for store calls that outlived their requests.
const LAST_CALLS_TIME: Duration = Duration::from_secs(5);
/// How often to look whether the store's folder is still at its path.
const CHECK_FOLDER_EVERY: Duration = Duration::from_secs(1);

/// A running service. Dropping it stops it.
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
    threads: Threads,
    presence: Presence,
}

impl Running {
    /// Its URL.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Drains open requests, saves what makes the next start fast, and ends.
    pub fn shutdown(mut self) -> anyhow::Result<()> {
        self.end()
    }

    /// Waits until the service has been idle for that long; forever without a time.
    async fn idle(&self, time: Option<Duration>) {
        match (&self.parts, time) {
            (Some(parts), Some(time)) => idle::wait(&parts.app, time).await,
            _ => std::future::pending().await,
        }
    }

    /// Waits until the store's folder is no longer at its path.
    async fn displaced(&self) {
        while let Some(Parts { app, .. }) = &self.parts {
            if !app.witness.folder().is_in_place() {
                return;
            }
            tokio::time::sleep(CHECK_FOLDER_EVERY).await;
        }
    }

    fn end(&mut self) -> anyhow::Result<()> {
        let Some(Parts { app, runtime, serving, threads, presence }) = self.parts.take() else {
            return Ok(());
        };
        app.stopping.begin();
        if let Some(cluster) = &app.cluster {
            cluster.end_in_time(Arc::clone(&app.wake));
        }
        app.broadcast.stop();
        app.context.wake();
        app.mesh.leave();
        self.stop.send_replace(true);
        if runtime.block_on(serving).is_err() {
            tracing::error!("the accept loop panicked");
        }
        // While this process holds the store's lock: the next service creates files with the same
        // names.
        drop(presence);
        threads.stop();
        runtime.shutdown_timeout(LAST_CALLS_TIME);
        let folder = app.witness.folder().clone();
        if !folder.is_in_place() {
            // Closing the stores writes and removes files by path: now they are somebody else's.
            let _left_open = ManuallyDrop::new(app);
            bail!(
                "the store's folder {} was moved, removed or replaced while the service ran; every acknowledged write is in the folder that was moved. Stop the service before you move a project",
                folder.path().display()
            );
        }
        app.write_witness();
        app.tokens.flush().context("failed to save when tokens were last used")?;
        let parts = Arc::try_unwrap(app).map(App::into_stores);
        if let Ok((context, store)) = parts
            && let (Ok(context), Ok(store)) = (Arc::try_unwrap(context), Arc::try_unwrap(store))
        {
            context.close();
            store.close().context("failed to close the store")?;
        } else {
            // The loader or a slow call still holds the store; every acknowledged write is on disk.
            tracing::warn!("left the store open, because work did not end in time");
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

/// Starts the service and returns as soon as it responds. It runs on its own threads.
pub fn start(options: &Options) -> anyhow::Result<Running> {
    serve(options, open(options)?)
}

/// What has to be done before the service listens. Takes long if a state has to be rebuilt.
struct Opened {
    started: Instant,
    tls: Option<TlsAcceptor>,
    stores: Stores,
}

fn open(options: &Options) -> anyhow::Result<Opened> {
    let started = Instant::now();
    for warning in &options.warnings {
        tracing::warn!("{warning}");
    }
    let tls = options.tls.as_ref().map(tls::acceptor).transpose()?;
    listen::check_address(options)?;
    prepare(options)?;
    metrics::measure_syncs();
    let stores = Stores::open(options)?;
    // With the lock of the data folder, which a restore holds until its end.
    match waypost_project::remove_unfinished_restores(&options.data_dir) {
        Ok(0) => {}
        Ok(folders) => tracing::info!(folders, "removed what an interrupted restore had left"),
        Err(error) => {
            let error = chain(&error);
            tracing::warn!(error, "failed to remove what an interrupted restore had left");
        }
    }
    Ok(Opened { started, tls, stores })
}

fn serve(options: &Options, opened: Opened) -> anyhow::Result<Running> {
    let Opened { started, tls, stores } = opened;
    let runtime = runtime(&options.limits).context("failed to start threads")?;
    let network = {
        let _inside = runtime.enter();
        listen::bind(options)?
    };
    let address = network.local_addr().context("failed to get the listener's address")?;
    let app = Arc::new(wiring::app(options, stores, address, started)?);
    // After the parts, so that its files are removed while the parts still hold the store's lock.
    let (mut presence, socket) = Presence::listen(&options.socket(), &runtime)?;
    let listeners = Listeners { network, tls, socket };
    app.measure_storage();
    app.write_witness();
    let threads = Threads::start(Arc::clone(&app.wake), wiring::workers(&app, options)?)?;
    let noting = Arc::clone(&app.wake);
    app.store.when_noted(Box::new(move || noting.publishing_soon()));
    let shared = Arc::clone(&app);
    runtime.spawn(async move {
        // Sessions are checked as long as events are broadcast.
        tokio::select! {
            () = shared.broadcast.run() => {}
            () = shared.sessions.keep(&shared.tokens) => {}
        }
    });
    let (stop, stopped) = watch::channel(false);
    let router = routes::router(Arc::clone(&app));
    let serving = runtime.spawn(server::serve(listeners, Arc::clone(&app), router, stopped));
    let described = presence.describe(&options.data_dir, &app.url);
    tracing::info!("{}", greeting(&app.url, options));
    let parts = Parts { app, runtime, serving, threads, presence };
    // From here on, dropping it stops everything in order.
    let running = Running { address, stop, parts: Some(parts) };
    described.context("failed to write service.json")?;
    Ok(running)
}

fn runtime(limits: &LimitSettings) -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("http")
        .max_blocking_threads(limits.reads_max + limits.writes_max + limits.streams_max + 8)
        .build()
}

/// Runs the service until a signal to stop, or until it has been idle for as long as the options say.
pub fn run(options: &Options) -> anyhow::Result<()> {
    let mut options = options.clone();
    options.limits.connections_max = allow_open_files(options.limits.connections_max);
    options.flows.umask = Some(Umask::close());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to create a runtime for signals")?;
    let opened = open(&options)?;
    // Before the service listens, so that who sees it ready can stop it in order.
    let mut signals = {
        let _inside = runtime.enter();
        Signals::new().context("failed to wait for signals")?
    };
    let running = serve(&options, opened)?;
    runtime.block_on(async {
        tokio::select! {
            name = signals.next() => tracing::info!(signal = name, "stopping"),
            () = running.idle(options.exit_idle) => tracing::info!("stopping: idle"),
            () = running.displaced() => tracing::error!("stopping: the store's folder is no longer at its path"),
        }
    });
    running.shutdown()
}

/// Each connection is an open file, and the usual limit of 1,024 is below the limits in the settings.
/// Returns how many connections over the network there can be: without a file, the service could
/// accept none on the socket either.
fn allow_open_files(connections: usize) -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    /// For files of the stores, models and programs of flows, and for the socket.
    const OTHERS: u64 = 512 + SOCKET_CONNECTIONS_MAX as u64;
    let limit = getrlimit(Resource::Nofile);
    let wanted = connections as u64 + OTHERS;
    let possible = limit.maximum.map_or(wanted, |maximum| wanted.min(maximum));
    if limit.current.is_some_and(|current| current < possible)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(possible), ..limit })
    {
        tracing::warn!(%error, "failed to raise the limit on open files");
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(wanted);
    let allowed = files.saturating_sub(OTHERS).max(files / 4);
    let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
    if allowed < connections {
        tracing::warn!(allowed, "the limit on open files is below limits.connections_max");
    }
    connections.min(allowed)
}

/// The signals that stop the service.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}

fn greeting(url: &str, options: &Options) -> String {
    let mode = if options.model.is_off() {
        "lexical search: the model is disabled"
    } else {
        "lexical search until the model has loaded"
    };
    format!("listening on {url} · project {} · {mode}", options.project.root().display())
}
