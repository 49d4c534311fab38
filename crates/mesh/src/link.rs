//! One way to other peers: the sockets of the runtime folder, or TLS to paired machines. Each is a
//! zenoh session of its own, so that what is proved about one side never mixes with the other.
//! zenoh is named here and in `session.rs`, `server.rs` and `error.rs` only.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use zenoh::Wait as _;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::Queryable;

use crate::envelope::Notice;
use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::limits::{EVENT_BYTES_MAX, GREETING_MAX};
use crate::listener::{Event, Queue};
use crate::name::{Keys, LOCAL};
use crate::paired::{self, Paired};
use crate::pairing::Pairing;
use crate::server::{Served, greet};
use crate::session::{Declarations, Open};
use crate::{Caller, Origin};

/// A way to other peers, which may have to be opened again.
pub(crate) struct Link {
    way: Way,
    /// None before the machine is paired.
    open: RwLock<Option<Arc<Open>>>,
    /// Far: what the list of machines looked like when the link was opened.
    stamp: Mutex<Option<Stamp>>,
    /// What does not work although the link is open.
    trouble: Mutex<Option<String>>,
    /// One at a time opens, and nothing is declared meanwhile.
    opening: Mutex<()>,
}

/// Where it leads.
pub(crate) enum Way {
    /// To the peers of this machine.
    Near(Folder),
    /// To paired machines.
    Far(Far),
}

/// How a peer meets paired machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Far {
    /// The pairing folder. A machine that is not paired has none, or an empty one.
    pub folder: PathBuf,
    /// Whether this peer listens on the machine's address. One peer of a machine can; others that
    /// are told to only connect, and [`Mesh::trouble`](crate::Mesh::trouble) says so.
    pub listens: bool,
}

/// What a peer declares on each link, also after opening it again.
pub(crate) struct Declared<'a> {
    pub(crate) keys: &'a Keys,
    pub(crate) peer: &'a str,
    pub(crate) name: &'a str,
    pub(crate) served: Vec<Arc<Served>>,
    pub(crate) listening: Vec<(u64, String, Arc<Queue>)>,
}

impl Link {
    pub(crate) fn open(way: Way, declared: &Declared<'_>) -> Result<Self> {
        let link = Self {
            way,
            open: RwLock::default(),
            stamp: Mutex::default(),
            trouble: Mutex::default(),
            opening: Mutex::default(),
        };
        link.reopen(declared)?;
        Ok(link)
    }

    /// The session of now, if there is one.
    pub(crate) fn session(&self) -> Option<Arc<Open>> {
        self.open.read().clone()
    }

    /// Whether it has to be opened again: others cannot find this peer any more, or what paired
    /// machines may do has changed.
    pub(crate) fn is_stale(&self) -> bool {
        let session = self.session();
        match &self.way {
            Way::Near(_) => {
                session.is_none_or(|it| it.seat.as_ref().is_some_and(|it| !it.is_there()))
            }
            Way::Far(far) => *self.stamp.lock() != Stamp::of(&far.folder),
        }
    }

    /// Opens it again and declares everything on it. Calls that are on their way over the old
    /// session still get their answers. If it cannot be opened, the old one stays near, and none
    /// stays far: what was revoked must not go on.
    pub(crate) fn reopen(&self, declared: &Declared<'_>) -> Result<()> {
        let _one = self.opening.lock();
        let opened = match &self.way {
            Way::Near(folder) => join(folder, declared).map(|it| (Some(it), None)),
            Way::Far(far) => {
                // The address is free for the new session only when the old one has gone.
                drop(self.open.write().take());
                // Before it is read: what changes from now on is noticed.
                *self.stamp.lock() = Stamp::of(&far.folder);
                far.open(declared)
            }
        };
        let (open, trouble) = opened.inspect_err(|error| {
            *self.trouble.lock() = Some(error.to_string());
        })?;
        *self.trouble.lock() = trouble;
        *self.open.write() = open.map(Arc::new);
        Ok(())
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }

    /// Declares a target here.
    pub(crate) fn serve(&self, keys: &Keys, peer: &str, served: &Arc<Served>) -> Result<()> {
        let _one = self.opening.lock();
        self.session().map_or(Ok(()), |it| it.serve(keys, peer, served))
    }

    pub(crate) fn unserve(&self, target: &str) {
        let _one = self.opening.lock();
        if let Some(open) = self.session() {
            drop(open.served.lock().remove(target));
        }
    }

    /// Subscribes here.
    pub(crate) fn listen(
        &self,
        keys: &Keys,
        number: u64,
        key: &str,
        queue: &Arc<Queue>,
    ) -> Result<()> {
        let _one = self.opening.lock();
        self.session().map_or(Ok(()), |it| it.listen(keys, number, key, queue))
    }

    pub(crate) fn unlisten(&self, number: u64) {
        let _one = self.opening.lock();
        if let Some(open) = self.session() {
            drop(open.listening.lock().remove(&number));
        }
    }
}

/// Joins the peers of a runtime folder.
fn join(folder: &Folder, declared: &Declared<'_>) -> Result<Open> {
    // The folder may have gone together with the socket.
    let folder = Folder::open(folder.path())?;
    let turn = folder.turn()?;
    let credentials = folder.credentials()?;
    let others = folder.sockets()?;
    let seat = folder.seat(declared.name)?;
    let open = Open::near(&credentials, seat, &others)?;
    if !others.is_empty() && !open.meets_somebody(GREETING_MAX) {
        // They may have ended meanwhile.
        let still = folder.sockets()?;
        let peers = others.iter().filter(|it| still.contains(it)).count();
        if peers > 0 {
            return Err(Error::Refused { path: folder.path().to_owned(), peers });
        }
    }
    // From here on the next one may join: this peer can be found.
    drop(turn);
    open.announce(declared)?;
    Ok(open)
}

impl Far {
    /// The session, if the machine is paired, and what does not work.
    fn open(&self, declared: &Declared<'_>) -> Result<(Option<Open>, Option<String>)> {
        let pairing = Pairing::open(&self.folder)?.filter(|it| !it.machines().is_empty());
        let Some(pairing) = pairing else { return Ok((None, None)) };
        let (open, trouble) = match Open::far(&pairing, declared.keys, self.listens) {
            Ok(open) => (open, None),
            // Another peer of this machine has the address.
            Err(error) if self.listens => {
                (Open::far(&pairing, declared.keys, false)?, Some(error.to_string()))
            }
            Err(error) => return Err(error),
        };
        open.announce(declared)?;
        Ok((Some(open), trouble))
    }
}

/// What the list of paired machines looked like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    fn of(folder: &Path) -> Option<Self> {
        let metadata = fs::metadata(folder.join(paired::FILE)).ok()?;
        Some(Self {
            inode: metadata.ino(),
            bytes: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

impl Open {
    /// Declares the peer itself and all that it serves and hears.
    fn announce(&self, declared: &Declared<'_>) -> Result<()> {
        let Declared { keys, peer, name, served, listening } = declared;
        self.declare_peer(&keys.live_peer(name, peer, &self.origin))?;
        for served in served {
            self.serve(keys, peer, served)?;
        }
        for (number, key, queue) in listening {
            self.listen(keys, *number, key, queue)?;
        }
        Ok(())
    }

    fn serve(&self, keys: &Keys, peer: &str, served: &Arc<Served>) -> Result<()> {
        let answering = Arc::clone(served);
        let (of, is_near) = (keys.clone(), self.is_near());
        let calls = self
            .session
            .declare_queryable(keys.calls(&served.target))
            // A complete one is asked alone: a call never reaches two.
            .complete(true)
            .callback(move |query| answering.take(&of, is_near, query))
            .wait()
            .map_err(Error::transport("serve a target"))?;
        let live = self
            .session
            .liveliness()
            .declare_token(keys.live_target(&served.target, peer, &self.origin))
            .wait()
            .map_err(Error::transport("serve a target"))?;
        let hello =
            self.paired.as_ref().map(|paired| self.greet(keys, served, paired)).transpose()?;
        let declared = Declarations { _calls: calls, _live: live, _hello: hello };
        self.served.lock().insert(served.target.clone(), declared);
        Ok(())
    }

    /// Tells paired machines what they may call.
    fn greet(&self, keys: &Keys, served: &Served, paired: &Arc<Paired>) -> Result<Queryable<()>> {
        let (of, paired) = (keys.clone(), Arc::clone(paired));
        self.session
            .declare_queryable(keys.hello(&served.target, "*"))
            .complete(true)
            .callback(move |query| greet(&of, &paired, &query))
            .wait()
            .map_err(Error::transport("serve a target"))
    }

    fn listen(&self, keys: &Keys, number: u64, key: &str, queue: &Arc<Queue>) -> Result<()> {
        let (keys, queue, is_near) = (keys.clone(), Arc::clone(queue), self.is_near());
        let subscriber = self
            .session
            .declare_subscriber(key.to_owned())
            .callback(move |sample| {
                let payload = sample.payload().to_bytes();
                if let Some(event) = hear(&keys, is_near, sample.key_expr().as_str(), &payload) {
                    queue.push(event);
                }
            })
            .wait()
            .map_err(Error::transport("listen"))?;
        self.listening.lock().insert(number, subscriber);
        Ok(())
    }

    /// Sends an event to whoever listens. A peer that does not take it in time does not get it.
    pub(crate) fn broadcast(&self, key: String, payload: Vec<u8>) -> Result<()> {
        self.session
            .put(key, payload)
            .congestion_control(CongestionControl::Drop)
            .priority(Priority::DataLow)
            .wait()
            .map_err(Error::transport("broadcast"))
    }
}

/// An event as it came, or nothing if it is not one: what else is sent on its key is not ours.
fn hear(keys: &Keys, is_near: bool, key: &str, payload: &[u8]) -> Option<Event> {
    if payload.len() > EVENT_BYTES_MAX + crate::limits::ENVELOPE_BYTES_MAX {
        return None;
    }
    let key = keys.read_event(key)?;
    if is_near != (key.origin == LOCAL) {
        return None;
    }
    let notice: Notice = serde_json::from_slice(payload).ok()?;
    let kind = notice.event.as_object()?.get("type")?.as_str()?;
    crate::name::check("a peer", &notice.from).ok()?;
    if notice.v != crate::envelope::SCHEMA || kind != key.kind || notice.id.len() != 32 {
        return None;
    }
    Some(Event {
        from: Caller { origin: Origin::of(key.origin), says: notice.from },
        source: key.source.to_owned(),
        kind: key.kind.to_owned(),
        id: notice.id,
        at_ms: notice.at,
        body: notice.event,
    })
}
