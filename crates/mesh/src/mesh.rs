//! A peer of the mesh.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde_json::Value;

use crate::clock::{Until, now};
use crate::envelope::{Notice, SCHEMA, random_id};
use crate::error::{CallError, Error, Problem, Result};
use crate::folder::{Claim, Folder};
use crate::limits::{EVENT_BYTES_MAX, FAR_GREETING_MAX, TEND_EVERY};
use crate::link::{Declared, Far, Link, Way};
use crate::listener::{Listener, Queue};
use crate::name::{self, Keys, Pattern, REALM};
use crate::peers::{Peer, gather};
use crate::pool::Pool;
use crate::routed::Routed;
use crate::server::{Call, Served};
use crate::session::Open;

/// How a peer joins.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The runtime folder: peers that share it meet. Only this user can access it; created if it
    /// does not exist.
    pub folder: PathBuf,
    /// The name that this peer gives itself, such as `ctl`.
    pub name: String,
    /// The name of the mesh; peers of different meshes never communicate.
    pub realm: String,
    /// How it connects to paired machines, with the feature `remote`; by default it does not.
    pub far: Option<Far>,
}

/// A peer. Dropping it leaves the mesh.
///
/// Every method blocks: in an async runtime, call it on a thread that may block.
pub struct Mesh {
    inner: Arc<Inner>,
    tending: Mutex<Option<JoinHandle<()>>>,
}

/// A target that is served until this is dropped.
#[derive(Debug)]
#[must_use = "dropping it ends serving"]
pub struct Serving {
    mesh: Weak<Inner>,
    target: String,
    _claim: Claim,
}

pub(crate) struct Inner {
    id: String,
    pub(crate) name: String,
    pub(crate) keys: Keys,
    links: Vec<Link>,
    folder: Folder,
    served: Mutex<BTreeMap<String, Arc<Served>>>,
    listening: Mutex<BTreeMap<u64, (String, Arc<Queue>)>>,
    numbers: AtomicU64,
    pool: Arc<Pool>,
    /// Targets of other machines that have responded, and until when that counts as recent.
    pub(crate) answered: Mutex<HashMap<String, Until>>,
    is_closing: Mutex<bool>,
    closing: Condvar,
}

impl Settings {
    /// A peer with this name in this folder, in the mesh `waypost`.
    pub fn new(folder: &Path, name: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
            realm: REALM.to_owned(),
            far: None,
        }
    }

    /// The same in the mesh with another name.
    #[must_use]
    pub fn with_realm(self, realm: impl Into<String>) -> Self {
        Self { realm: realm.into(), ..self }
    }

    /// The same, also connected to paired machines.
    #[must_use]
    pub fn with_far(self, far: Far) -> Self {
        Self { far: Some(far), ..self }
    }
}

impl Mesh {
    /// Joins: creates a seat in the folder and connects to the existing peers. This takes some
    /// milliseconds, half a second more if a peer hangs, and up to 1.5 seconds more if a paired
    /// machine or a router does not respond.
    ///
    /// Starts a thread that checks periodically whether other peers can still find this one,
    /// another one for routers if it connects to paired machines, and the transport's own; threads
    /// that serve calls are started when needed.
    ///
    /// # Errors
    /// [`Error::Exposed`] if other users can access the folder, [`Error::PathTooLong`],
    /// [`Error::Refused`] if the existing peers have other credentials, [`Error::Invalid`] for an
    /// invalid name, and errors of the system or the transport.
    pub fn open(settings: &Settings) -> Result<Self> {
        name::check("the name of a peer", &settings.name).map_err(Error::Invalid)?;
        let keys = Keys::new(&settings.realm)?;
        let folder = Folder::open(&settings.folder)?;
        let mut links = vec![Link::new(Way::Near(folder.clone()))];
        if let Some(far) = &settings.far {
            if !cfg!(feature = "remote") {
                let reason = "paired machines need the feature `remote` of waypost-mesh";
                return Err(Error::Invalid(reason.to_owned()));
            }
            links.push(Link::new(Way::Far(far.clone())));
            links.push(Link::new(Way::Routed(Routed::new(&far.folder))));
        }
        let inner = Arc::new(Inner {
            id: random_id(),
            name: settings.name.clone(),
            keys,
            links,
            folder,
            served: Mutex::default(),
            listening: Mutex::default(),
            numbers: AtomicU64::new(0),
            pool: Arc::new(Pool::new()),
            answered: Mutex::default(),
            is_closing: Mutex::default(),
            closing: Condvar::new(),
        });
        let mesh = Self { inner: Arc::clone(&inner), tending: Mutex::default() };
        let start = |tend: Box<dyn FnOnce() + Send>| {
            let thread = thread::Builder::new().name("mesh".into()).spawn(tend);
            thread.map_err(|error| Error::io("start a thread for", &settings.folder, error))
        };
        let (near, far) = inner.links.split_at(1);
        near.iter().try_for_each(|it| inner.reopen(it))?;
        // The search for a router runs separately: neither a revocation nor leaving the mesh may
        // wait for its response.
        let (sought, found) = sync_channel::<()>(0);
        let seeking = Arc::clone(&inner);
        let seek = move || {
            seeking.tend_links(true);
            drop(sought);
            seeking.tend(true);
        };
        if !far.is_empty() {
            drop(start(Box::new(seek))?);
        }
        far.iter().filter(|it| !it.is_routed()).try_for_each(|it| inner.reopen(it))?;
        *mesh.tending.lock() = Some(start(Box::new(move || inner.tend(false)))?);
        if settings.far.is_some() {
            // Nothing is ever sent: the sender is dropped when it has found a router, or none.
            found.recv_timeout(FAR_GREETING_MAX).unwrap_or_default();
        }
        Ok(mesh)
    }

    /// Calls a command of a target and waits for its result, for at most `deadline` (which is
    /// capped at [`DEADLINE_MAX`](crate::DEADLINE_MAX)). If the connection to another machine
    /// drops, the request is sent again, with the same id, as soon as there is a connection to the
    /// same peer, and without a response also at growing intervals; however often it arrives there,
    /// it is executed once.
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
        self.inner.call(target, command, argument, deadline)
    }

    /// Serves a target: `handler` is called for each call, on up to
    /// [`CALLS_RUNNING_MAX`](crate::limits::CALLS_RUNNING_MAX) threads at once. If it panics, the
    /// caller gets a problem, and the target stays available.
    ///
    /// # Errors
    /// [`Error::Taken`] if the target is already served, with who serves it; [`Error::Invalid`] for
    /// an invalid name; errors of the system or the transport.
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
        let pool = Arc::clone(&inner.pool);
        let served = Served::new(target, &inner.id, Box::new(handler), pool);
        let served = Arc::new(served);
        inner.served.lock().insert(target.to_owned(), Arc::clone(&served));
        let serving =
            Serving { mesh: Arc::downgrade(inner), target: target.to_owned(), _claim: claim };
        for link in &inner.links {
            link.serve(&inner.keys, &inner.id, &served)?;
        }
        Ok(serving)
    }

    /// Sends an event to every listener of every peer, including this one. It does not wait for
    /// receivers: a peer that does not accept the event in time does not get it.
    ///
    /// `source` is the target that the event is about; `event` is an object with `type`, as in
    /// `{"type": "human_click", "element": {…}}`. Returns the id of the event.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid source, an event without a type, or one above
    /// [`EVENT_BYTES_MAX`]; errors of the transport.
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
            event: event.clone(),
        };
        let payload = serde_json::to_vec(&notice).expect("a notice is JSON");
        for open in inner.sessions() {
            open.broadcast(inner.keys.event(source, kind, &open.origin), payload.clone())?;
        }
        Ok(notice.id)
    }

    /// Listens to the matching events, from now on.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn listen(&self, pattern: &Pattern) -> Result<Listener> {
        let inner = &self.inner;
        let key = pattern.key(&inner.keys);
        let queue = Arc::new(Queue::default());
        let number = inner.numbers.fetch_add(1, Ordering::Relaxed);
        inner.listening.lock().insert(number, (key.clone(), Arc::clone(&queue)));
        let listener = Listener { queue: Arc::clone(&queue), number, mesh: Arc::downgrade(inner) };
        for link in &inner.links {
            link.listen(&inner.keys, number, &key, &queue)?;
        }
        Ok(listener)
    }

    /// The present peers, including this one, sorted by name and then by id.
    ///
    /// # Errors
    /// Errors of the transport.
    pub fn peers(&self) -> Result<Vec<Peer>> {
        let inner = &self.inner;
        let mut found = Vec::new();
        for open in inner.sessions() {
            found.extend(open.live(&inner.keys.live_all())?);
        }
        Ok(gather(&inner.keys, &inner.id, &found))
    }

    /// Leaves the mesh and closes the listeners, as dropping it does: for a peer that several
    /// threads share. A call that waits for its result keeps its connection until it ends.
    pub fn leave(&self) {
        *self.inner.is_closing.lock() = true;
        self.inner.closing.notify_all();
        if let Some(tending) = self.tending.lock().take() {
            // It does not panic; if it did, there is nothing left to maintain.
            drop(tending.join());
        }
        for link in &self.inner.links {
            link.end();
        }
        for (_, queue) in self.inner.listening.lock().values() {
            queue.close();
        }
    }

    /// What does not work although the peer has joined: a socket that disappeared and could not be
    /// created again, an address of this machine that another peer listens on, a router that does
    /// not respond, a damaged pairing.
    pub fn trouble(&self) -> Option<String> {
        self.inner.links.iter().find_map(Link::trouble)
    }
}

impl Inner {
    /// The current sessions, the near one first.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = Arc<Open>> {
        self.links.iter().filter_map(Link::session)
    }

    /// Maintains the link through a router, or all other links, until the mesh closes.
    fn tend(&self, is_routed: bool) {
        let mut is_closing = self.is_closing.lock();
        while !*is_closing {
            self.closing.wait_for(&mut is_closing, TEND_EVERY);
            if *is_closing {
                return;
            }
            parking_lot::MutexGuard::unlocked(&mut is_closing, || self.tend_links(is_routed));
        }
    }

    fn tend_links(&self, is_routed: bool) {
        for link in self.links.iter().filter(|it| it.is_routed() == is_routed) {
            if link.is_stale() {
                // The error is kept as trouble, and reopening is tried again.
                drop(self.reopen(link));
            }
        }
    }

    fn reopen(&self, link: &Link) -> Result<()> {
        link.reopen(&self.keys, || self.declared())
    }

    fn declared(&self) -> Declared<'_> {
        let listening = self.listening.lock();
        Declared {
            keys: &self.keys,
            peer: &self.id,
            name: &self.name,
            served: self.served.lock().values().map(Arc::clone).collect(),
            listening: listening
                .iter()
                .map(|(number, (key, queue))| (*number, key.clone(), Arc::clone(queue)))
                .collect(),
        }
    }

    pub(crate) fn unlisten(&self, number: u64) {
        self.listening.lock().remove(&number);
        for link in &self.links {
            link.unlisten(number);
        }
    }
}

impl Drop for Mesh {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let Some(mesh) = self.mesh.upgrade() else { return };
        mesh.served.lock().remove(&self.target);
        for link in &mesh.links {
            link.unserve(&self.target);
        }
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
