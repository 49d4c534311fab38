//! Another peer: how it is reached, and the requests to it.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use hyper::{Method, StatusCode};
use parking_lot::Mutex;
use tokio::net::UnixStream;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};
use tokio::time::{sleep, timeout};

use crate::caller::Origin;
use crate::clock::Until;
use crate::envelope::About;
use crate::folder::clear;
use crate::http::{Lane, handshake};
use crate::limits::{EVENTS_WAITING_MAX, LEASE, OFFERS_MAX, PING_EVERY, PRESENCE_MAX, REUSE_MAX};
use crate::links::{CALLS, Dialer};
use crate::paired::Paired;

/// Another peer, or what may be one.
#[derive(Debug)]
pub(crate) struct Remote {
    way: Way,
    /// On another machine: the rights of its machine.
    rules: Option<Arc<Paired>>,
    /// What its connection proved, once there was one.
    origin: Mutex<Option<Origin>>,
    /// Connections without a request, and how long each is used again.
    idle: Mutex<Vec<(Lane, Until)>>,
    returned: Notify,
    /// The events that wait to be sent.
    events: Mutex<Option<mpsc::Sender<Bytes>>>,
}

/// How a peer is reached.
#[derive(Debug)]
pub(crate) enum Way {
    /// By its socket in the runtime folder.
    Socket(PathBuf),
    /// By the address of its machine.
    Address(Arc<Dialer>, String),
    /// Over the connections that it offers.
    Offered,
}

/// Why a peer did not respond.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Nothing is there. Nothing was sent.
    Gone,
    /// Something is there, and it is not a peer of this release that accepts this one.
    Mute(String),
    /// It does not accept this machine.
    Denied,
    /// The request may have been sent, and the connection ended.
    Lost,
}

impl Remote {
    pub(crate) fn new(way: Way, rules: Option<Arc<Paired>>, origin: Option<Origin>) -> Arc<Self> {
        Arc::new(Self {
            way,
            rules,
            origin: Mutex::new(origin),
            idle: Mutex::default(),
            returned: Notify::new(),
            events: Mutex::default(),
        })
    }

    /// A peer of this machine.
    pub(crate) fn near(socket: PathBuf) -> Arc<Self> {
        Self::new(Way::Socket(socket), None, Some(Origin::Local))
    }

    pub(crate) fn is_near(&self) -> bool {
        self.rules.is_none()
    }

    /// What its connection proved, once there was one.
    pub(crate) fn origin(&self) -> Option<Origin> {
        self.origin.lock().clone()
    }

    /// Keeps a connection for further requests.
    pub(crate) fn keep(&self, lane: Lane) {
        let mut idle = self.idle.lock();
        if idle.len() < OFFERS_MAX {
            idle.push((lane, Until::after(REUSE_MAX)));
        }
        drop(idle);
        self.returned.notify_one();
    }

    fn unused(&self) -> Option<(Lane, Until)> {
        self.idle.lock().pop()
    }

    /// A connection, and whether it is a new one.
    async fn lane(&self) -> Result<(Lane, bool), Failure> {
        loop {
            while let Some((lane, until)) = self.unused() {
                if !lane.is_closed() && !until.is_over() {
                    return Ok((lane, false));
                }
            }
            let lane = match &self.way {
                Way::Socket(path) => {
                    let stream = UnixStream::connect(path).await.map_err(|error| {
                        match error.kind() {
                            io::ErrorKind::ConnectionRefused => clear(path),
                            io::ErrorKind::NotFound => {}
                            _ => return Failure::Mute(error.to_string()),
                        }
                        Failure::Gone
                    })?;
                    if !is_own(&stream) {
                        return Err(Failure::Mute("it belongs to another user".to_owned()));
                    }
                    handshake(stream).await.map(|(lane, run)| (lane, tokio::spawn(run)))
                }
                Way::Address(dialer, address) => {
                    let (machine, stream) = dialer.dial(address, CALLS).await?;
                    *self.origin.lock() = Some(Origin::Machine(machine));
                    handshake(stream).await.map(|(lane, run)| (lane, tokio::spawn(run)))
                }
                Way::Offered => {
                    self.returned.notified().await;
                    continue;
                }
            };
            return lane
                .map(|(lane, _)| (lane, true))
                .map_err(|error| Failure::Mute(error.to_string()));
        }
    }

    /// Sends a request, once, and returns the response.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes), Failure> {
        loop {
            let (mut lane, is_new) = self.lane().await?;
            match lane.exchange(method.clone(), path, body.clone()).await {
                Ok(response) => {
                    self.keep(lane);
                    return Ok(response);
                }
                Err(true) => return Err(Failure::Lost),
                Err(false) if is_new => return Err(Failure::Gone),
                // The peer ended this connection, which was unused. Nothing was sent.
                Err(false) => {}
            }
        }
    }

    /// Asks the peer who it is and what it serves.
    pub(crate) async fn meet(&self) -> Result<About, Failure> {
        let ask = || self.send(Method::GET, "/peer", Bytes::new());
        let asked = timeout(PRESENCE_MAX, async {
            match ask().await {
                // It may have ended an unused connection in this moment.
                Err(Failure::Lost) => ask().await,
                asked => asked,
            }
        });
        let mute = |why: &str| Failure::Mute(why.to_owned());
        match asked.await.map_err(|_| mute("it does not respond"))? {
            Ok((StatusCode::FORBIDDEN, _)) => Err(Failure::Denied),
            Ok((_, body)) => About::read(&body).ok_or_else(|| mute(OTHER_RELEASE)),
            Err(Failure::Lost) => Err(mute(OTHER_RELEASE)),
            Err(failure) => Err(failure),
        }
    }

    /// Waits until the peer does not respond any more: it hangs, or the network is gone.
    pub(crate) async fn silence(&self) {
        loop {
            sleep(PING_EVERY).await;
            if !matches!(self.meet().await, Ok(_) | Err(Failure::Denied)) {
                return;
            }
        }
    }

    /// Queues an event for the peer; drops it if too many are waiting.
    pub(crate) fn tell(self: &Arc<Self>, event: Bytes, runtime: &Handle) {
        let mut events = self.events.lock();
        let closed = match events.as_ref().map(|queue| queue.try_send(event.clone())) {
            Some(Ok(()) | Err(mpsc::error::TrySendError::Full(_))) => return,
            Some(Err(mpsc::error::TrySendError::Closed(event))) => event,
            None => event,
        };
        let (queue, waiting) = mpsc::channel(EVENTS_WAITING_MAX);
        drop(queue.try_send(closed));
        *events = Some(queue);
        drop(runtime.spawn(tell_all(Arc::downgrade(self), waiting)));
    }

    /// Whether events are sent to it. Its machine is known once there is a connection.
    async fn may_hear(&self) -> bool {
        let Some(rules) = &self.rules else { return true };
        if self.origin().is_none() && self.meet().await.is_err() {
            return false;
        }
        matches!(self.origin(), Some(Origin::Machine(name)) if rules.may_hear(&name))
    }
}

/// Sends events in order, until one is not accepted in time.
async fn tell_all(remote: Weak<Remote>, mut waiting: mpsc::Receiver<Bytes>) {
    while let Some(event) = waiting.recv().await {
        let Some(remote) = remote.upgrade() else { return };
        let sent = timeout(LEASE, async {
            remote.may_hear().await && remote.send(Method::POST, "/event", event).await.is_ok()
        });
        if !matches!(sent.await, Ok(true)) {
            return;
        }
    }
}

/// Whether the other end of a socket is a process of this user.
pub(crate) fn is_own(stream: &UnixStream) -> bool {
    let user = rustix::process::geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| peer.uid() == user)
}

/// Why something that accepts connections is not a peer.
pub(crate) const OTHER_RELEASE: &str =
    "it is not of this release of Waypost; restart it, or install the same release there";
