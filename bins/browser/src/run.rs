//! Connects the parts, and shuts them down in order.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::watch;
use waypost_api::{BROWSER_TARGET, Gate};
use waypost_browser::{Actor, Arrival, Deadline, Engine, Policy, Problem, Relay, clean_line};

use crate::cli::Options;
use crate::peer::Peer;
use crate::relay::Commands;
use crate::{engine, http, terminal};

/// How long the engine may take to write its profile and exit.
const END_TIME: Duration = Duration::from_secs(12);
/// Work that has not ended by then is abandoned.
const LAST_TIME: Duration = Duration::from_secs(1);

/// The maximum number of lines queued for the person; further ones are dropped.
const LINES_MAX: usize = 64;
/// What a running service has written about itself, in the data folder.
const SERVICE_FILE: &str = "service.json";
const SERVICE_FILE_BYTES_MAX: u64 = 64 << 10;

/// The address for starting without a page.
const BLANK_PAGE: &str = "about:blank";

/// What all running parts need.
struct Parts<'a> {
    runtime: &'a Runtime,
    options: &'a Options,
    policy: Arc<Policy>,
    engine: Arc<Engine>,
    news: News,
    stop: watch::Receiver<bool>,
    /// Stops everything.
    stopper: watch::Sender<bool>,
}

/// Runs the browser until a signal to stop, or until the person quits. Afterwards nothing of it is
/// left, no process and no file but a named profile.
pub(crate) fn run(options: &Options) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("browser")
        .build()
        .context("no threads for the browser")?;
    let stopping = runtime.block_on(async { stop() });
    let (stopper, stop) = stopping.context("signals cannot be waited for")?;
    let listener = runtime.block_on(TcpListener::bind(options.listen)).with_context(|| {
        let address = options.listen;
        format!("cannot listen on {address}; if another browser has that address, choose one with --listen 127.0.0.1:PORT")
    })?;
    let address = listener.local_addr().context("the listener has no address")?;
    let policy = Policy::new(options.allow.clone(), options.own_ports.iter().copied())
        .with_own_clients(http::is_own_client)
        .with_own_port(is_port_of_service(options.data_dir.clone()));
    policy.add_own_port(address.port());
    let policy = Arc::new(policy);
    policy.url(&options.url, None, Actor::Human).context("cannot begin there")?;
    let (engine, remark) = runtime.block_on(engine::start(&options.engine, policy.clone()))?;
    let (news, shown) = News::new();
    if let Some(remark) = remark {
        news.tell(remark);
    }
    let engine_of = Arc::clone(&engine);
    let parts =
        Parts { runtime: &runtime, options, policy, engine: engine_of, news, stop, stopper };
    let served = parts.serve(listener, address, shown);
    let ended = runtime.block_on(engine.end(Deadline::after(END_TIME)));
    runtime.shutdown_timeout(LAST_TIME);
    served?;
    ended.context("the engine did not end in order")
}

impl Parts<'_> {
    /// Serves programs and the person until it is time to stop.
    fn serve(
        self,
        listener: TcpListener,
        address: SocketAddr,
        shown: Receiver<String>,
    ) -> anyhow::Result<()> {
        let Self { runtime, options, policy, engine, news, stop, stopper } = self;
        let name = engine.name();
        let relay = Arc::new(Relay::new(engine, policy));
        relay.allow_screenshots(options.screenshots);
        // Before anyone can send commands: they wait for the first page.
        let first = (options.url != BLANK_PAGE).then(|| relay.begin(&options.url));
        let commands = Commands::new(Arc::clone(&relay), stop.clone());
        let join = |it| {
            let commands = commands.clone();
            Peer::join(it, runtime.handle(), commands, relay.events(), news.clone())
        };
        let peer = options.mesh.as_ref().map(join).transpose()?;
        let access = Arc::new(http::Access::new(Gate::new(address), commands));
        let entrance = http::Entrance::Port(listener);
        let serving = runtime.spawn(http::serve(entrance, Arc::clone(&access), stop.clone()));
        let listening = runtime.block_on(async { http::Place::listen(&options.sockets) });
        let mut addresses = format!("http://{address}");
        let socket = match listening {
            Ok((place, listener)) => {
                addresses = format!("{addresses} and {}", place.path().display());
                let entrance = http::Entrance::Socket(listener);
                Some((place, runtime.spawn(http::serve(entrance, access, stop.clone()))))
            }
            Err(why) => {
                news.tell(format!("no socket for commands: {why}"));
                None
            }
        };
        let watched = Arc::clone(&relay);
        let watching = runtime.spawn(async move { watched.watch().await });
        let way = if peer.is_some() {
            format!("{BROWSER_TARGET} on the mesh")
        } else {
            "no mesh".to_owned()
        };
        let greeting = format!("listening on {addresses} · {way} · {name}");
        let beginning = runtime.spawn(begin(first, news, greeting));
        let done = if options.headless {
            runtime.block_on(print(shown, stop));
            Ok(())
        } else {
            terminal::run(runtime, &relay, options.pictures, shown, stop)
        };
        stopper.send_replace(true);
        beginning.abort();
        watching.abort();
        // It does not panic; if it did, the program would serve no one any more.
        drop(runtime.block_on(serving));
        if let Some((place, serving)) = socket {
            drop(runtime.block_on(serving));
            drop(place);
        }
        if let Some(peer) = peer {
            peer.leave();
        }
        done
    }
}

/// Waits for the first page, if there is one, then reports that the browser is ready.
async fn begin(
    first: Option<impl Future<Output = Result<Arrival, Problem>>>,
    news: News,
    greeting: String,
) {
    if let Some(first) = first
        && let Err(problem) = first.await
    {
        news.tell(format!("the first page did not come: {}", clean_line(&problem.detail)));
    }
    news.tell(greeting);
}

/// The sender of lines. The part that shows the page displays them.
#[derive(Debug, Clone)]
pub(crate) struct News(Sender<String>);

impl News {
    /// Both ends of the channel.
    pub(crate) fn new() -> (Self, Receiver<String>) {
        let (lines, shown) = mpsc::channel(LINES_MAX);
        (Self(lines), shown)
    }

    /// Sends a line, without blocking.
    pub(crate) fn tell(&self, line: impl Into<String>) {
        // If that many are queued, one more would not be read either.
        self.0.try_send(line.into()).unwrap_or_default();
    }
}

/// Prints the news until the program ends.
async fn print(mut news: Receiver<String>, mut stop: watch::Receiver<bool>) {
    loop {
        tokio::select! {
            Some(line) = news.recv() => {
                // There may be no reader.
                writeln!(std::io::stderr(), "{line}").unwrap_or_default();
            }
            _ = stop.wait_for(|it| *it) => return,
        }
    }
}

/// Whether a port is that of the service which runs with this data folder. It is not always the port of the settings:
/// the service takes a free one if that is in use.
fn is_port_of_service(data_dir: PathBuf) -> impl Fn(u16) -> bool + Send + Sync {
    move |port| {
        let Ok(data_dir) = data_dir.canonicalize() else { return false };
        let read =
            waypost_project::read_of_project(&data_dir, SERVICE_FILE, SERVICE_FILE_BYTES_MAX);
        let described =
            read.ok().flatten().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
        let url = described.as_ref().and_then(|described| described["url"].as_str());
        let url = url.and_then(|other| url::Url::parse(other).ok());
        url.and_then(|url| url.port_or_known_default()) == Some(port)
    }
}

/// Becomes true when the program must end. Must be called within a runtime, which handles signals
/// from then on: their default effect, ending the process at once, is disabled.
fn stop() -> std::io::Result<(watch::Sender<bool>, watch::Receiver<bool>)> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // The terminal is gone.
    let mut hangup = signal(SignalKind::hangup())?;
    let (stop, stopped) = watch::channel(false);
    let told = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hangup.recv() => {}
        }
        told.send_replace(true);
    });
    Ok((stop, stopped))
}
