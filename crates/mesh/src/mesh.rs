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

use crate::clock::{Until, unix_ms};
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
pub struct Settings {
    /// The runtime folder: peers that share it meet. This user's alone, made if it is not there.
    pub folder: PathBuf,
    /// What this peer calls itself, such as `ctl`.
    pub name: String,
    /// The name of the mesh; peers of different names never hear each other.
    pub realm: String,
    /// How it meets paired machines; by default not at all.
    pub far: Option<Far>,
}

/// A peer. Dropping it leaves the mesh.
///
/// Every method waits: from a thread of an async runtime call it on one that may block.
pub struct Mesh {
    inner: Arc<Inner>,
    tending: Option<JoinHandle<()>>,
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
    /// Targets of other machines that have answered, and until when that counts as lately.
    pub(crate) answered: Mutex<HashMap<String, Until>>,
    is_closing: Mutex<bool>,
    closing: Condvar,
}

impl Settings {
    /// A peer of that name in that folder, in the mesh `waypost`.
    pub fn new(folder: &Path, name: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
            realm: REALM.to_owned(),
            far: None,
        }
    }

    /// The same, meeting paired machines too.
    #[must_use]
    pub fn with_far(mut self, far: Far) -> Self {
        self.far = Some(far);
        self
    }
}

impl Mesh {
    /// Joins: takes a place in the folder and connects to the peers that are there. Takes some
    /// milliseconds, half a second more if a peer there hangs, and up to 1.5 seconds more if a paired
    /// machine or a router does not answer.
    ///
    /// Starts a thread that looks now and then whether others can still find this peer, one more for
    /// routers if it meets paired machines, and the transport's own; threads that answer calls come
    /// when they are needed.
    ///
    /// # Errors
    /// [`Error::Exposed`] if others can look into the folder, [`Error::PathTooLong`],
    /// [`Error::Refused`] if the peers there have other credentials, [`Error::Invalid`] for a name,
    /// and what the system or the transport refuses.
    pub fn open(settings: &Settings) -> Result<Self> {
        name::check("the name of a peer", &settings.name).map_err(Error::Invalid)?;
        let keys = Keys::new(&settings.realm)?;
        let folder = Folder::open(&settings.folder)?;
        let mut links = vec![Link::new(Way::Near(folder.clone()))];
        if let Some(far) = &settings.far {
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
        let mut mesh = Self { inner: Arc::clone(&inner), tending: None };
        let start = |tend: Box<dyn FnOnce() + Send>| {
            let thread = thread::Builder::new().name("mesh".into()).spawn(tend);
            thread.map_err(|error| Error::io("start a thread for", &settings.folder, error))
        };
        let (near, far) = inner.links.split_at(1);
        near.iter().try_for_each(|it| inner.reopen(it))?;
        // A router is sought beside the rest: what is revoked must not wait until it answers, and
        // nor must who leaves.
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
        mesh.tending = Some(start(Box::new(move || inner.tend(false)))?);
        if settings.far.is_some() {
            // Nothing comes: it lets go when it has found one, or none.
            found.recv_timeout(FAR_GREETING_MAX).unwrap_or_default();
        }
        Ok(mesh)
    }

    /// Calls a command of a target and waits for its result, for `deadline` at most (which is cut
    /// to [`DEADLINE_MAX`](crate::DEADLINE_MAX)). A request to another machine whose way drops is sent
    /// again, with the same id, as soon as there is a way to the same peer; however often it comes
    /// there, it is done once.
    ///
    /// # Errors
    /// One [`CallError`] for each thing that can come of it.
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
    /// [`CALLS_RUNNING_MAX`](crate::limits::CALLS_RUNNING_MAX) threads at once. One that panics is
    /// answered for, and goes on.
    ///
    /// # Errors
    /// [`Error::Taken`] if the target is served already, with who serves it; [`Error::Invalid`] for
    /// its name; what the system or the transport refuses.
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

    /// Tells every listener of every peer, this one's too. Nobody is waited for: a peer that does
    /// not take it in time does not hear of it.
    ///
    /// `source` is the target that it is about; `event` is an object with `type`, as
    /// `{"type": "human_click", "element": {…}}`. Gives the id of the event.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a source, an event without a type, one above
    /// [`EVENT_BYTES_MAX`]; what the transport refuses.
    pub fn broadcast(&self, source: &str, event: &Value) -> Result<String> {
        let inner = &self.inner;
        name::check("the source of an event", source).map_err(Error::Invalid)?;
        let kind = event.get("type").and_then(Value::as_str).ok_or_else(|| {
            Error::Invalid("an event is an object with a string `type`".to_owned())
        })?;
        name::check_kind(kind).map_err(Error::Invalid)?;
        let bytes = event.to_string().len();
        if bytes > EVENT_BYTES_MAX {
            let reason = format!("an event has {bytes} bytes, {EVENT_BYTES_MAX} are allowed");
            return Err(Error::Invalid(reason));
        }
        let notice = Notice {
            v: SCHEMA,
            id: random_id(),
            from: inner.name.clone(),
            at: unix_ms(),
            event: event.clone(),
        };
        let payload = serde_json::to_vec(&notice).expect("a notice is JSON");
        for open in inner.sessions() {
            open.broadcast(inner.keys.event(source, kind, &open.origin), payload.clone())?;
        }
        Ok(notice.id)
    }

    /// Hears the events that match, from now on.
    ///
    /// # Errors
    /// What the transport refuses.
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

    /// Who is there, this peer included, by name and then by id.
    ///
    /// # Errors
    /// What the transport refuses.
    pub fn peers(&self) -> Result<Vec<Peer>> {
        let inner = &self.inner;
        let mut found = Vec::new();
        for open in inner.sessions() {
            found.extend(open.live(&inner.keys.live_all())?);
        }
        Ok(gather(&inner.keys, &inner.id, &found))
    }

    /// What does not work although the peer has joined: a socket that went and could not be made
    /// again, an address of this machine that another peer listens on, a router that does not
    /// answer, a pairing that is damaged.
    pub fn trouble(&self) -> Option<String> {
        self.inner.links.iter().find_map(Link::trouble)
    }
}

impl Inner {
    /// The sessions of now, the near one first.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = Arc<Open>> {
        self.links.iter().filter_map(Link::session)
    }

    /// Looks after the way through a router, or all others, until the mesh closes.
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
                // What went wrong is kept as trouble, and it is tried again.
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
        *self.inner.is_closing.lock() = true;
        self.inner.closing.notify_all();
        if let Some(tending) = self.tending.take() {
            // It does not panic; if it did, there is nothing left to tend.
            drop(tending.join());
        }
        for link in &self.inner.links {
            link.end();
        }
        for (_, queue) in self.inner.listening.lock().values() {
            queue.close();
        }
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
