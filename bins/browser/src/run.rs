//! Connects the parts, and shuts them down in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::watch;
use waypost_api::{BROWSER_TARGET, Gate};
use waypost_browser::{Actor, Arrival, Deadline, Engine, Policy, Problem, Relay, clean_line};

use crate::cli::Options;
use crate::news::News;
use crate::peer::Peer;
use crate::relay::Commands;
use crate::{engine, headless, http, running, stop, terminal};

/// How long the engine may take to write its profile and exit.
const END_TIME: Duration = Duration::from_secs(12);
/// Work that has not ended by then is abandoned.
const LAST_TIME: Duration = Duration::from_secs(1);

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
    let stopping = runtime.block_on(async { stop::stop() });
    let (stopper, stop) = stopping.context("signals cannot be waited for")?;
    let listener = runtime.block_on(TcpListener::bind(options.listen)).with_context(|| {
        let address = options.listen;
        format!("cannot listen on {address}; if another browser has that address, choose one with --listen 127.0.0.1:PORT")
    })?;
    let address = listener.local_addr().context("the listener has no address")?;
    let policy = Policy::new(options.allow.clone(), options.own_ports.iter().copied())
        .with_own_clients(http::is_own_client)
        .with_own_port(running::is_port_of(options.data_dir.clone()));
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
        shown: tokio::sync::mpsc::Receiver<String>,
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
            runtime.block_on(headless::show(shown, stop));
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
