//! One link to other peers: the sockets of the runtime folder, TLS to paired machines, or TLS to a
//! router. Each link is a separate zenoh session, so that what is proved about one side never mixes
//! with the other, and nothing that arrives over one link is forwarded over another. zenoh is used
//! only here and in `session.rs`, `server.rs` and `error.rs`.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use zenoh::Wait as _;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::Queryable;

use crate::caller::Side;
use crate::envelope::Notice;
use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::limits::{EVENT_BYTES_MAX, GREETING_MAX};
use crate::listener::{Event, Queue};
use crate::name::Keys;
use crate::paired::{self, Paired};
use crate::pairing::Pairing;
use crate::routed::Routed;
use crate::server::{Served, greet};
use crate::session::{Declarations, Open};

/// A link to other peers, which may have to be reopened.
pub(crate) struct Link {
    way: Way,
    /// `None` before the machine is paired.
    open: RwLock<Option<Arc<Open>>>,
    /// Far: the state of the list of machines when the link was opened.
    stamp: Mutex<Option<Stamp>>,
    /// What does not work although the link is open.
    trouble: Mutex<Option<String>>,
    /// Held while something is declared or an open session is installed; whether the link has
    /// ended.
    declaring: Mutex<bool>,
}

/// The kind of the link.
pub(crate) enum Way {
    /// To the peers of this machine.
    Near(Folder),
    /// To paired machines.
    Far(Far),
    /// To paired machines, through a router.
    Routed(Routed),
}

/// How a peer connects to paired machines.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Far {
    /// The pairing folder. On a machine that is not paired it is missing or empty.
    pub folder: PathBuf,
    /// Whether this peer listens on the machine's address. Only one peer of a machine can; others
    /// that are configured to listen only connect, and [`Mesh::trouble`](crate::Mesh::trouble)
    /// reports it.
    pub listens: bool,
}

impl Far {
    /// Connects by the pairing in this folder, and does not listen.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), listens: false }
    }

    /// The same, listening on the machine's address or not.
    #[must_use]
    pub fn with_listens(self, listens: bool) -> Self {
        Self { listens, ..self }
    }
}

/// What a peer declares on each link, also after reopening it.
pub(crate) struct Declared<'a> {
    pub(crate) keys: &'a Keys,
    pub(crate) peer: &'a str,
    pub(crate) name: &'a str,
    pub(crate) served: Vec<Arc<Served>>,
    pub(crate) listening: Vec<(u64, String, Arc<Queue>)>,
}

impl Link {
    /// A link that is not open yet.
    pub(crate) fn new(way: Way) -> Self {
        Self {
            way,
            open: RwLock::default(),
            stamp: Mutex::default(),
            trouble: Mutex::default(),
            declaring: Mutex::default(),
        }
    }

    /// The current session, if there is one.
    pub(crate) fn session(&self) -> Option<Arc<Open>> {
        self.open.read().clone()
    }

    /// Whether opening it may take seconds.
    pub(crate) fn is_routed(&self) -> bool {
        matches!(self.way, Way::Routed(_))
    }

    /// Whether it must be reopened: other peers can no longer find this one, the rights of paired
    /// machines have changed, or the router is gone.
    pub(crate) fn is_stale(&self) -> bool {
        let session = self.session();
        match &self.way {
            Way::Near(_) => {
                session.is_none_or(|it| it.seat.as_ref().is_some_and(|it| !it.is_there()))
            }
            Way::Far(far) => *self.stamp.lock() != Stamp::of(&far.folder),
            Way::Routed(routed) => {
                *self.stamp.lock() != Stamp::of(routed.folder())
                    || session.map_or_else(|| routed.is_due(), |it| !it.meets_router())
            }
        }
    }

    /// Reopens the link and declares everything on it. Calls in progress over the old session still
    /// get their responses. If it cannot be opened, the old session stays on the near link, and
    /// none stays on the far link: revoked rights must not remain usable.
    pub(crate) fn reopen<'a>(
        &self,
        keys: &Keys,
        declared: impl FnOnce() -> Declared<'a>,
    ) -> Result<()> {
        let opened = self.place(keys, declared);
        let trouble = opened.as_ref().map_or_else(|error| Some(error.to_string()), Clone::clone);
        *self.trouble.lock() = trouble;
        opened.map(drop)
    }

    /// Installs a new session, and returns what does not work although it is open.
    fn place<'a>(
        &self,
        keys: &Keys,
        declared: impl FnOnce() -> Declared<'a>,
    ) -> Result<Option<String>> {
        let reached = match &self.way {
            Way::Routed(routed) => {
                self.cut(routed.folder());
                // Serving and listening must not wait meanwhile for an unreachable router.
                routed.reach(keys)?
            }
            Way::Near(_) | Way::Far(_) => None,
        };
        let is_over = self.declaring.lock();
        if *is_over {
            return Ok(None);
        }
        // Declarations made from now on wait, and go to the new session.
        let declared = declared();
        let (open, trouble) = match &self.way {
            Way::Near(folder) => (Some(join(folder, &declared)?), None),
            Way::Far(far) => {
                // The address is free for the new session only once the old one is closed.
                self.cut(&far.folder);
                far.open(&declared)?
            }
            Way::Routed(_) => {
                reached.as_ref().map_or(Ok(()), |it| it.announce(&declared))?;
                (reached, None)
            }
        };
        *self.open.write() = open.map(Arc::new);
        Ok(trouble)
    }

    /// Ends the current session, and watches the list of machines for changes from here on.
    fn cut(&self, folder: &Path) {
        let before = self.open.write().take();
        drop(before);
        *self.stamp.lock() = Stamp::of(folder);
    }

    /// Ends it permanently.
    pub(crate) fn end(&self) {
        *self.declaring.lock() = true;
        let before = self.open.write().take();
        drop(before);
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.lock().clone()
    }

    /// Declares a target on this link.
    pub(crate) fn serve(&self, keys: &Keys, peer: &str, served: &Arc<Served>) -> Result<()> {
        let _one = self.declaring.lock();
        self.session().map_or(Ok(()), |it| it.serve(keys, peer, served))
    }

    pub(crate) fn unserve(&self, target: &str) {
        let _one = self.declaring.lock();
        if let Some(open) = self.session() {
            drop(open.served.lock().remove(target));
        }
    }

    /// Subscribes on this link.
    pub(crate) fn listen(
        &self,
        keys: &Keys,
        number: u64,
        key: &str,
        queue: &Arc<Queue>,
    ) -> Result<()> {
        let _one = self.declaring.lock();
        self.session().map_or(Ok(()), |it| it.listen(keys, number, key, queue))
    }

    pub(crate) fn unlisten(&self, number: u64) {
        let _one = self.declaring.lock();
        if let Some(open) = self.session() {
            drop(open.listening.lock().remove(&number));
        }
    }
}

/// Joins the peers of a runtime folder.
fn join(folder: &Folder, declared: &Declared<'_>) -> Result<Open> {
    // The folder may have been removed together with the socket.
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
    // From here on the next peer may join: this one can be found.
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
            // Another peer of this machine uses the address.
            Err(error) if self.listens => {
                (Open::far(&pairing, declared.keys, false)?, Some(error.to_string()))
            }
            Err(error) => return Err(error),
        };
        open.announce(declared)?;
        Ok((Some(open), trouble))
    }
}

/// The state of the list of paired machines.
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
    fn side(&self) -> Side {
        Side { is_near: self.is_near(), router: self.router.clone() }
    }

    /// Declares the peer itself and everything that it serves and listens to.
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
        let (of, side) = (keys.clone(), self.side());
        let calls = self
            .session
            .declare_queryable(keys.calls(&served.target))
            // A complete queryable is the only one queried: a call never reaches two.
            .complete(true)
            .callback(move |query| answering.take(&of, &side, query))
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
        let (of, paired, peer) = (keys.clone(), Arc::clone(paired), served.peer.clone());
        self.session
            .declare_queryable(keys.hello(&served.target, "*"))
            .complete(true)
            .callback(move |query| greet(&of, &paired, &peer, &query))
            .wait()
            .map_err(Error::transport("serve a target"))
    }

    fn listen(&self, keys: &Keys, number: u64, key: &str, queue: &Arc<Queue>) -> Result<()> {
        let (keys, queue, side) = (keys.clone(), Arc::clone(queue), self.side());
        let subscriber = self
            .session
            .declare_subscriber(key.to_owned())
            .callback(move |sample| {
                let payload = sample.payload().to_bytes();
                if let Some((id, event)) = hear(&keys, &side, sample.key_expr().as_str(), &payload)
                {
                    queue.push(id, event);
                }
            })
            .wait()
            .map_err(Error::transport("listen"))?;
        self.listening.lock().insert(number, subscriber);
        Ok(())
    }

    /// Sends an event to all listeners. A peer that does not accept it in time does not get it.
    pub(crate) fn broadcast(&self, key: String, payload: Vec<u8>) -> Result<()> {
        self.session
            .put(key, payload)
            .congestion_control(CongestionControl::Drop)
            .priority(Priority::DataLow)
            .wait()
            .map_err(Error::transport("broadcast"))
    }
}

/// A received event and its id; `None` if it is not a valid event of ours.
fn hear(keys: &Keys, side: &Side, key: &str, payload: &[u8]) -> Option<(u128, Event)> {
    if payload.len() > EVENT_BYTES_MAX + crate::limits::ENVELOPE_BYTES_MAX {
        return None;
    }
    let key = keys.read_event(key)?;
    if !side.may_be(key.origin) {
        return None;
    }
    let notice: Notice = serde_json::from_slice(payload).ok()?;
    let kind = notice.event.as_object()?.get("type")?.as_str()?;
    crate::name::check("a peer", &notice.from).ok()?;
    if notice.v != crate::envelope::SCHEMA || kind != key.kind || notice.id.len() != 32 {
        return None;
    }
    let event = Event {
        from: side.caller(key.origin, notice.from),
        source: key.source.to_owned(),
        kind: key.kind.to_owned(),
        at: notice.at,
        body: notice.event,
        id: notice.id,
    };
    Some((u128::from_str_radix(&event.id, 16).ok()?, event))
}
