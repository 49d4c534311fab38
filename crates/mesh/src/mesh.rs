//! A peer of the mesh.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::{UnixListener, UnixStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::call::Route;
use crate::caller::{Caller, Origin};
use crate::clock::{Until, now};
use crate::envelope::{Notice, SCHEMA, random_id};
use crate::error::{CallError, Error, Problem, Result};
use crate::folder::{Folder, Seat, clear};
use crate::http::{self, Answers, Side};
use crate::limits::{CALLS_RUNNING_MAX, CALLS_WAITING_MAX, EVENT_BYTES_MAX, LEAVE_MAX, TEND_EVERY};
use crate::links::{Bound, Far, Links, Stamp};
use crate::listener::{Event, Listener, Listening, Queue};
use crate::name::{self, Pattern};
use crate::paired::Paired;
use crate::peers::Peer;
use crate::remote::{Remote, is_own};
use crate::server::{Call, Served};

/// The threads that carry requests; handlers have their own.
const WORKERS: usize = 2;
/// The threads that look up the names of hosts, beside those of handlers.
const LOOKUPS_MAX: usize = 8;

/// How a peer joins.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The runtime folder: peers that share it meet. Only this user can access it; created if it
    /// does not exist.
    pub folder: PathBuf,
    /// The name that this peer gives itself, such as `ctl`.
    pub name: String,
    /// How it connects to paired machines; by default it does not.
    pub far: Option<Far>,
}

/// A peer. Dropping it leaves the mesh.
///
/// Every method blocks: in an async runtime, call it on a thread that may block.
pub struct Mesh {
    inner: Arc<Inner>,
    /// Checks periodically that the peer can still be found.
    tending: Mutex<JoinSet<()>>,
    runtime: Option<Runtime>,
}

/// A target that is served until this is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends serving"]
pub struct Serving {
    mesh: Weak<Inner>,
    target: String,
}

pub(crate) struct Inner {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) runtime: Handle,
    pub(crate) folder: Folder,
    far: Option<Far>,
    seat: Mutex<Place>,
    near: Mutex<HashMap<PathBuf, Arc<Remote>>>,
    linked: Mutex<Linked>,
    pub(crate) served: Mutex<BTreeMap<String, Arc<Served>>>,
    listening: Arc<Listening>,
    numbers: AtomicU64,
    /// Calls that are executed, and those that are executed or wait.
    pub(crate) running: Semaphore,
    pub(crate) admitted: Arc<Semaphore>,
    /// Whether the peer leaves.
    leaving: watch::Sender<bool>,
    pub(crate) routes: Mutex<HashMap<String, Route>>,
    /// Targets of other machines that have responded, and until when that counts as recent.
    pub(crate) answered: Mutex<HashMap<String, Until>>,
}

/// Where other peers find this one.
#[derive(Default)]
struct Place {
    /// The socket, and the task that accepts its connections.
    taken: Option<(Seat, JoinSet<()>)>,
    trouble: Option<String>,
    /// Whether the peer has left.
    is_over: bool,
}

/// The links to paired machines.
#[derive(Default)]
struct Linked {
    links: Option<Arc<Links>>,
    /// The state of the list when they were opened.
    stamp: Option<Stamp>,
    bound: Option<Bound>,
    trouble: Option<String>,
}

impl Settings {
    /// A peer with this name in this folder.
    pub fn new(folder: &Path, name: &str) -> Self {
        Self { folder: folder.to_owned(), name: name.to_owned(), far: None }
    }

    /// The same, also connected to paired machines.
    #[must_use]
    pub fn with_far(self, far: Far) -> Self {
        Self { far: Some(far), ..self }
    }
}

impl Mesh {
    /// Joins: creates a socket in the folder, which takes some milliseconds.
    ///
    /// Starts two threads that carry requests; threads that serve calls are started when needed.
    ///
    /// # Errors
    /// [`Error::Exposed`] if other users can access the folder, [`Error::PathTooLong`],
    /// [`Error::Invalid`] for an invalid name, and errors of the system.
    pub fn open(settings: &Settings) -> Result<Self> {
        name::check("the name of a peer", &settings.name).map_err(Error::Invalid)?;
        let folder = Folder::open(&settings.folder)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .max_blocking_threads(CALLS_RUNNING_MAX + LOOKUPS_MAX)
            .thread_name("mesh")
            .enable_all()
            .build()
            .map_err(|error| Error::io("start a thread for", &settings.folder, error))?;
        let inner = Arc::new(Inner {
            id: random_id(),
            name: settings.name.clone(),
            runtime: runtime.handle().clone(),
            folder,
            far: settings.far.clone(),
            seat: Mutex::default(),
            near: Mutex::default(),
            linked: Mutex::default(),
            served: Mutex::default(),
            listening: Arc::default(),
            numbers: AtomicU64::new(0),
            running: Semaphore::new(CALLS_RUNNING_MAX),
            admitted: Arc::new(Semaphore::new(CALLS_RUNNING_MAX + CALLS_WAITING_MAX)),
            leaving: watch::Sender::new(false),
            routes: Mutex::default(),
            answered: Mutex::default(),
        });
        let mesh =
            Self { inner: Arc::clone(&inner), tending: Mutex::default(), runtime: Some(runtime) };
        inner.sit()?;
        inner.link()?;
        inner.runtime.block_on(inner.clear());
        let tend = async move {
            loop {
                sleep(TEND_EVERY).await;
                inner.tend();
            }
        };
        mesh.tending.lock().spawn_on(tend, &mesh.inner.runtime);
        Ok(mesh)
    }

    /// Calls a command of a target and waits for its result, for at most `deadline` (which is
    /// capped at [`DEADLINE_MAX`](crate::DEADLINE_MAX)). If the connection to another machine
    /// drops, the request is sent again, with the same id, as soon as there is a connection to the
    /// same peer; however often it arrives there, it is executed once.
    ///
    /// # Errors
    /// One [`CallError`] for each way a call can fail.
    pub fn call(
        &self,
        target: &str,
        command: &str,
        argument: &Value,
        deadline: Duration,
    ) -> Result<Value, CallError> {
        self.inner.runtime.block_on(self.inner.call(target, command, argument, deadline))
    }

    /// Serves a target: `handler` is called for each call, on up to
    /// [`CALLS_RUNNING_MAX`] threads at once. If it panics, the
    /// caller gets a problem, and the target stays available.
    ///
    /// # Errors
    /// [`Error::Taken`] if the target is already served, with who serves it; [`Error::Invalid`] for
    /// an invalid name; errors of the system.
    pub fn serve(
        &self,
        target: &str,
        handler: impl Fn(Call) -> Result<Value, Problem> + Send + Sync + 'static,
    ) -> Result<Serving> {
        let inner = &self.inner;
        name::check("a target", target).map_err(Error::Invalid)?;
        let claim = inner
            .folder
            .claim(target, &inner.name)?
            .map_err(|by| Error::Taken { target: target.to_owned(), by })?;
        let served = Served::new(target, claim, Box::new(handler));
        inner.served.lock().insert(target.to_owned(), Arc::new(served));
        Ok(Serving { mesh: Arc::downgrade(inner), target: target.to_owned() })
    }

    /// Sends an event to every listener of every peer, including this one. It does not wait for
    /// receivers: a peer that does not accept the event in time does not get it.
    ///
    /// `source` is the target that the event is about; `event` is an object with `type`, as in
    /// `{"type": "human_click", "element": {…}}`. Returns the id of the event.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid source, an event without a type, or one above
    /// [`EVENT_BYTES_MAX`].
    pub fn broadcast(&self, source: &str, event: &Value) -> Result<String> {
        let inner = &self.inner;
        name::check("the source of an event", source).map_err(Error::Invalid)?;
        let kind = event.get("type").and_then(Value::as_str).ok_or_else(|| {
            Error::Invalid("an event must be an object with a string `type`".to_owned())
        })?;
        name::check_kind(kind).map_err(Error::Invalid)?;
        let bytes = event.to_string().len();
        if bytes > EVENT_BYTES_MAX {
            let reason = format!("the event has {bytes} bytes; the limit is {EVENT_BYTES_MAX}");
            return Err(Error::Invalid(reason));
        }
        let notice = Notice {
            v: SCHEMA,
            id: random_id(),
            from: inner.name.clone(),
            at: now(),
            source: source.to_owned(),
            event: event.clone(),
        };
        let payload: Bytes = serde_json::to_vec(&notice).expect("a notice is JSON").into();
        for remote in inner.near().into_iter().chain(inner.far()) {
            if !inner.is_self(&remote) {
                remote.tell(payload.clone(), &inner.runtime);
            }
        }
        let (id, at) = (notice.id.clone(), notice.at);
        let from = Caller { origin: Origin::Local, says: notice.from };
        let (source, kind, body) = (notice.source, kind.to_owned(), notice.event);
        inner.hear(Event { from, source, kind, id: notice.id, at, body }, bytes);
        Ok(id)
    }

    /// Listens to the matching events, from now on.
    pub fn listen(&self, pattern: &Pattern) -> Listener {
        let inner = &self.inner;
        let queue = Arc::new(Queue::default());
        let number = inner.numbers.fetch_add(1, Ordering::Relaxed);
        inner.listening.lock().insert(number, (pattern.clone(), Arc::clone(&queue)));
        Listener { queue, number, listening: Arc::downgrade(&inner.listening) }
    }

    /// The present peers, including this one, sorted by name and then by id. Those that do not
    /// respond within 1.5 seconds are left out.
    pub fn peers(&self) -> Vec<Peer> {
        self.inner.runtime.block_on(self.inner.peers())
    }

    /// Leaves the mesh and closes the listeners, as dropping it does: for a peer that several
    /// threads share. Calls that it is answering have half a second to end; one that waits for its
    /// own result keeps its connection until it ends.
    pub fn leave(&self) {
        let inner = &self.inner;
        self.tending.lock().abort_all();
        let mut place = inner.seat.lock();
        place.is_over = true;
        if let Some((seat, _)) = &place.taken {
            clear(seat.path());
        }
        drop(place);
        // Targets that end may be answering their last calls in this moment.
        inner.leaving.send_replace(true);
        let until = Until::after(LEAVE_MAX);
        while inner.leaving.receiver_count() > 0 && !until.is_over() {
            std::thread::park_timeout(Duration::from_millis(2));
        }
        let taken = inner.seat.lock().taken.take();
        drop(taken);
        let links = inner.linked.lock().links.take();
        if let Some(links) = links {
            links.end();
        }
        for (_, queue) in inner.listening.lock().values() {
            queue.close();
        }
    }

    /// What does not work although the peer has joined: a socket that disappeared and could not be
    /// created again, an address of this machine that another peer listens on, a machine of another
    /// release, a damaged pairing.
    pub fn trouble(&self) -> Option<String> {
        self.inner.trouble()
    }
}

impl Inner {
    /// Listens on a socket in the folder.
    fn sit(self: &Arc<Self>) -> Result<()> {
        let mut place = self.seat.lock();
        if place.is_over || place.taken.as_ref().is_some_and(|(seat, _)| seat.is_there()) {
            return Ok(());
        }
        // The folder may have been removed together with the socket.
        Folder::open(self.folder.path())?;
        let (listener, seat) = self.folder.seat()?;
        let _runtime = self.runtime.enter();
        let failed = |error| Error::io("listen on", seat.path(), error);
        let listener = Arc::new(UnixListener::from_std(listener).map_err(failed)?);
        let answers = self.answers();
        let mut accepting = JoinSet::new();
        accepting.spawn(async move {
            let serve = |(stream, _): (UnixStream, _)| {
                let answers = answers.clone();
                async move {
                    if is_own(&stream) {
                        let side = Side { origin: Origin::Local, used: None };
                        http::serve(answers, stream, side).await;
                    }
                }
            };
            http::accept(|| listener.accept(), serve).await;
        });
        place.taken = Some((seat, accepting));
        drop(place);
        for served in self.served.lock().values() {
            // A peer that serves it meanwhile keeps it.
            if let Ok(claim) = self.folder.claim(&served.target, &self.name)? {
                *served.claim.lock() = claim;
            }
        }
        Ok(())
    }

    fn answers(self: &Arc<Self>) -> Answers {
        let mesh = Arc::clone(self);
        let to = move |side: Side, request| {
            let mesh = Arc::clone(&mesh);
            Box::pin(async move { mesh.respond(&side, request).await }) as _
        };
        Answers { to: Arc::new(to), leaving: self.leaving.clone() }
    }

    /// Opens the links to paired machines, if the list has changed or they failed before. Revoked rights must not remain
    /// usable: without a valid list there are none.
    fn link(self: &Arc<Self>) -> Result<()> {
        let Some(far) = &self.far else { return Ok(()) };
        let mut linked = self.linked.lock();
        let stamp = Stamp::of(&far.folder);
        if stamp == linked.stamp {
            return Ok(());
        }
        if let Some(links) = linked.links.take() {
            links.end();
        }
        let _runtime = self.runtime.enter();
        let opened = Links::open(&self.answers(), &self.runtime, far, &mut linked.bound);
        // The cause of an error may be outside the list: the next check tries again.
        linked.stamp = stamp.filter(|_| opened.is_ok());
        linked.links = opened.as_ref().ok().cloned().flatten();
        if linked.links.is_none() {
            linked.bound = None;
        }
        opened.map(drop)
    }

    fn tend(self: &Arc<Self>) {
        let trouble = self.sit().err().map(|error| error.to_string());
        self.seat.lock().trouble = trouble;
        let trouble = self.link().err().map(|error| error.to_string());
        self.linked.lock().trouble = trouble;
    }

    fn trouble(&self) -> Option<String> {
        let trouble = self.seat.lock().trouble.clone();
        trouble.or_else(|| {
            let linked = self.linked.lock();
            let of_links = linked.links.as_ref().and_then(|links| links.trouble());
            linked.trouble.clone().or(of_links)
        })
    }

    /// Removes the sockets of dead peers.
    async fn clear(&self) {
        for socket in self.folder.sockets().unwrap_or_default() {
            let error = UnixStream::connect(&socket).await.err().map(|error| error.kind());
            if error == Some(std::io::ErrorKind::ConnectionRefused) {
                clear(&socket);
            }
        }
    }

    /// The peers of this machine, including this one.
    pub(crate) fn near(&self) -> Vec<Arc<Remote>> {
        // Without the folder there are none.
        let sockets = self.folder.sockets().unwrap_or_default();
        let mut near = self.near.lock();
        near.retain(|socket, _| sockets.contains(socket));
        let remote = |socket: PathBuf| {
            Arc::clone(near.entry(socket.clone()).or_insert_with(|| Remote::near(socket)))
        };
        sockets.into_iter().map(remote).collect()
    }

    /// The peers of other machines.
    pub(crate) fn far(&self) -> Vec<Arc<Remote>> {
        self.linked.lock().links.as_ref().map(|links| links.remotes()).unwrap_or_default()
    }

    fn is_self(&self, remote: &Arc<Remote>) -> bool {
        let place = self.seat.lock();
        let own = place.taken.as_ref().map(|(seat, _)| seat.path());
        own.is_some_and(|own| {
            self.near.lock().get(own).is_some_and(|near| Arc::ptr_eq(near, remote))
        })
    }

    /// The rights of paired machines.
    pub(crate) fn rules(&self) -> Option<Arc<Paired>> {
        self.linked.lock().links.as_ref().map(|links| Arc::clone(&links.rules))
    }

    /// Queues an event for the listeners that want it.
    pub(crate) fn hear(&self, event: Event, bytes: usize) {
        let event = Arc::new(event);
        for (pattern, queue) in self.listening.lock().values() {
            if pattern.matches(&event.source, &event.kind) {
                queue.push(Arc::clone(&event), bytes);
            }
        }
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        self.leave();
        if let Some(runtime) = self.runtime.take() {
            // Handlers that run are completed.
            runtime.shutdown_background();
        }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let Some(mesh) = self.mesh.upgrade() else { return };
        mesh.served.lock().remove(&self.target);
    }
}

impl fmt::Debug for Mesh {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mesh")
            .field("id", &self.inner.id)
            .field("name", &self.inner.name)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner").field("id", &self.id).finish_non_exhaustive()
    }
}
