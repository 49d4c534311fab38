//! An open zenoh session.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use zenoh::Wait as _;
use zenoh::liveliness::LivelinessToken;
use zenoh::pubsub::Subscriber;
use zenoh::qos::{CongestionControl, Priority};
use zenoh::query::{ConsolidationMode, Querier, QueryTarget, Queryable};

use crate::clock::Until;
use crate::config;
use crate::envelope::{Outcome, Response};
use crate::error::{Error, OPEN, Result};
use crate::folder::{Credentials, Seat};
use crate::limits::{
    CALLED_KEYS_MAX, DEADLINE_MAX, ENVELOPE_BYTES_MAX, GREETING_MAX, PAYLOAD_BYTES_MAX,
    PRESENCE_MAX, REPEAT_AFTER,
};
use crate::name::{Keys, LOCAL};
use crate::paired::Paired;
use crate::pairing::Pairing;

/// A session and its declarations. Dropping it undeclares them, closes it and removes its seat.
pub(crate) struct Open {
    pub(crate) served: Mutex<HashMap<String, Declarations>>,
    pub(crate) listening: Mutex<HashMap<u64, Subscriber<()>>>,
    announced: Mutex<Option<LivelinessToken>>,
    /// Kept, so that the transport knows at once whether a peer serves a key.
    called: Mutex<HashMap<String, Arc<Querier<'static>>>>,
    pub(crate) session: zenoh::Session,
    /// The origin at the end of this peer's keys on this link.
    pub(crate) origin: String,
    /// Far: the router at the other end, if it is one.
    pub(crate) router: Option<String>,
    /// Near: the seat in the runtime folder.
    pub(crate) seat: Option<Seat>,
    /// Far: the rights with which the session was opened.
    pub(crate) paired: Option<Arc<Paired>>,
    /// Far: what targets permitted this machine to call.
    welcomes: Mutex<HashMap<String, Welcome>>,
}

/// The declarations of a target; undeclared when this is dropped.
pub(crate) struct Declarations {
    pub(crate) _calls: Queryable<()>,
    pub(crate) _live: LivelinessToken,
    pub(crate) _hello: Option<Queryable<()>>,
}

/// The permissions that a target reported.
struct Welcome {
    commands: Vec<String>,
    /// The peer that serves it, if it identified itself.
    by: Option<String>,
}

/// The result of a request on one link.
#[derive(Debug)]
pub(crate) enum Asked {
    Answered(Response),
    /// Nothing serves the target on this link.
    Absent,
    /// A peer served it when it was called, and did not respond in the available time.
    Silent,
    /// A peer served it when it was called, and the connection to it ended.
    Ended,
}

impl Open {
    /// Listens on the seat's socket and connects to the others.
    pub(crate) fn near(credentials: &Credentials, seat: Seat, others: &[PathBuf]) -> Result<Self> {
        let mut open = Self::start(&config::near(credentials, seat.socket(), others), LOCAL)?;
        open.seat = Some(seat);
        Ok(open)
    }

    /// Connects to paired machines, and listens on this machine's address if requested.
    pub(crate) fn far(pairing: &Pairing, keys: &Keys, listens: bool) -> Result<Self> {
        let mut open = Self::start(&config::far(pairing, keys, listens), pairing.name())?;
        open.paired = Some(Arc::new(pairing.paired().clone()));
        Ok(open)
    }

    /// Connects to a router, which takes some seconds if nothing is there.
    pub(crate) fn routed(pairing: &Pairing, keys: &Keys, name: &str, at: &str) -> Result<Self> {
        let mut open = Self::start(&config::routed(pairing, keys, name, at), pairing.name())?;
        open.paired = Some(Arc::new(pairing.paired().clone()));
        open.router = Some(name.to_owned());
        Ok(open)
    }

    fn start(config: &Value, origin: &str) -> Result<Self> {
        let config = zenoh::Config::from_json5(&config.to_string())
            .map_err(Error::transport("be configured"))?;
        let session = zenoh::open(config).wait().map_err(Error::transport(OPEN))?;
        Ok(Self {
            served: Mutex::default(),
            listening: Mutex::default(),
            announced: Mutex::default(),
            called: Mutex::default(),
            session,
            origin: origin.to_owned(),
            router: None,
            seat: None,
            paired: None,
            welcomes: Mutex::default(),
        })
    }

    /// Whether it connects only to the peers of this machine.
    pub(crate) fn is_near(&self) -> bool {
        self.origin == LOCAL
    }

    /// Whether at least one other peer accepted this one, which takes a moment.
    pub(crate) fn meets_somebody(&self, wait: Duration) -> bool {
        let until = Until::after(wait);
        loop {
            if self.session.info().peers_zid().wait().next().is_some() {
                return true;
            }
            if until.is_over() {
                return false;
            }
            thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// Whether it is connected to a router. A machine at its address does not count, whatever its
    /// certificate.
    pub(crate) fn meets_router(&self) -> bool {
        self.session.info().routers_zid().wait().next().is_some()
    }

    pub(crate) fn declare_peer(&self, key: &str) -> Result<()> {
        let token = self
            .session
            .liveliness()
            .declare_token(key.to_owned())
            .wait()
            .map_err(Error::transport("announce this peer"))?;
        *self.announced.lock() = Some(token);
        Ok(())
    }

    /// Whether a target has reported what this machine may call.
    pub(crate) fn is_welcome(&self, target: &str) -> bool {
        self.welcomes.lock().contains_key(target)
    }

    /// Whether this machine may call a command of a target on this link, as the target reports it:
    /// over TLS a request that is not allowed never gets a response. `None` if nothing serves the
    /// target.
    pub(crate) fn may_call(
        &self,
        keys: &Keys,
        target: &str,
        command: &str,
        until: Until,
    ) -> Result<Option<bool>> {
        let is_one = |it: &String| it == command || it == "*";
        // A command that was not allowed may be allowed by now.
        if self.welcomes.lock().get(target).is_some_and(|it| it.commands.iter().any(is_one)) {
            return Ok(Some(true));
        }
        let hello = keys.hello(target, &self.origin);
        let live_key = keys.live_target(target, "*", "*");
        let mut wait = REPEAT_AFTER;
        let asked = loop {
            match self.ask(&hello, &live_key, Vec::new(), until.within(wait))? {
                // The question may have been lost; it can be repeated, because it changes nothing.
                Asked::Silent if !until.is_over() && self.is_served(&hello)? => {
                    wait = (wait * 2).min(DEADLINE_MAX);
                }
                asked => break asked,
            }
        };
        match asked {
            Asked::Answered(Response { outcome: Outcome::Result(commands), by, .. }) => {
                let commands: Vec<String> = serde_json::from_value(commands).unwrap_or_default();
                let is_allowed = commands.iter().any(is_one);
                self.welcomes.lock().insert(target.to_owned(), Welcome { commands, by });
                Ok(Some(is_allowed))
            }
            Asked::Absent => Ok(None),
            // It exists, and does not even report permissions; or it left meanwhile.
            Asked::Answered(_) => Ok(Some(false)),
            // The connection dropped: that says nothing about permissions.
            Asked::Ended => Ok(None),
            Asked::Silent => Ok(self.is_served(&hello)?.then_some(false)),
        }
    }

    /// The peer that serves a target, as it reported itself.
    pub(crate) fn server_of(&self, target: &str) -> Option<String> {
        self.welcomes.lock().get(target).and_then(|it| it.by.clone())
    }

    /// Whether a target would report what this machine may call, which even a revoked machine may
    /// ask.
    pub(crate) fn is_greeting(&self, keys: &Keys, target: &str) -> Result<bool> {
        self.is_served(&keys.hello(target, &self.origin))
    }

    /// The other machines that serve a target, as far as they are visible to this one.
    pub(crate) fn machines_with(&self, keys: &Keys, target: &str) -> Result<BTreeSet<String>> {
        let there = self.live(&keys.live_target(target, "*", "*"))?;
        let machines = there.iter().filter_map(|key| keys.read_live(key)).map(|it| it.origin);
        Ok(machines.filter(|it| *it != self.origin).map(str::to_owned).collect())
    }

    /// Forgets what a target reported: its permissions may have changed.
    pub(crate) fn forget_welcome(&self, target: &str) {
        self.welcomes.lock().remove(target);
    }

    /// Sends one request, never twice, and waits for its response.
    pub(crate) fn ask(
        &self,
        key: &str,
        live_key: &str,
        payload: Vec<u8>,
        until: Until,
    ) -> Result<Asked> {
        if !self.is_served(key)? {
            // The presence of a new peer may be known before it is known what it serves.
            if !self.is_live(live_key) {
                return Ok(Asked::Absent);
            }
            let arriving = Until::after(GREETING_MAX);
            while !self.is_served(key)? {
                if until.is_over() || arriving.is_over() {
                    return Ok(Asked::Silent);
                }
                thread::park_timeout(Duration::from_millis(2));
            }
        }
        let (sender, receiver) = sync_channel(1);
        self.session
            .get(key)
            .payload(payload)
            .timeout(until.left())
            .target(QueryTarget::BestMatching)
            .consolidation(ConsolidationMode::None)
            .congestion_control(CongestionControl::Block)
            .priority(Priority::InteractiveHigh)
            .express(true)
            .callback(move |reply| {
                // Only the first response counts; a second one is not awaited.
                drop(sender.try_send(reply));
            })
            .wait()
            .map_err(Error::transport("call"))?;
        Ok(match receiver.recv_timeout(until.left()) {
            Ok(reply) => match reply.result() {
                Ok(sample) if sample.payload().len() <= PAYLOAD_BYTES_MAX + ENVELOPE_BYTES_MAX => {
                    match serde_json::from_slice(&sample.payload().to_bytes()) {
                        Ok(response) => Asked::Answered(response),
                        Err(_) => Asked::Ended,
                    }
                }
                Ok(_) => Asked::Ended,
                // Our errors arrive as responses; an error here is the transport's own: the time
                // has expired.
                Err(_) => Asked::Silent,
            },
            Err(RecvTimeoutError::Timeout) => Asked::Silent,
            Err(RecvTimeoutError::Disconnected) => Asked::Ended,
        })
    }

    /// Whether the transport knows a peer that serves the key.
    fn is_served(&self, key: &str) -> Result<bool> {
        let known = self.called.lock().get(key).map(Arc::clone);
        let querier = if let Some(querier) = known {
            querier
        } else {
            let querier = self.session.declare_querier(key.to_owned()).wait();
            let querier = Arc::new(querier.map_err(Error::transport("prepare a call"))?);
            let mut called = self.called.lock();
            if called.len() >= CALLED_KEYS_MAX {
                called.clear();
            }
            called.insert(key.to_owned(), Arc::clone(&querier));
            querier
        };
        let status = querier.matching_status().wait().map_err(Error::transport("call"))?;
        Ok(status.matching())
    }

    /// Whether a presence key exists.
    pub(crate) fn is_live(&self, live_key: &str) -> bool {
        let (sender, receiver) = sync_channel(1);
        let asked = self
            .session
            .liveliness()
            .get(live_key)
            .timeout(PRESENCE_MAX)
            .callback(move |reply| {
                if reply.result().is_ok() {
                    sender.try_send(()).unwrap_or_default();
                }
            })
            .wait();
        asked.is_ok() && receiver.recv_timeout(PRESENCE_MAX).is_ok()
    }

    /// The presence keys that match a pattern.
    pub(crate) fn live(&self, live_key: &str) -> Result<Vec<String>> {
        let found = Arc::new(Mutex::new(Vec::new()));
        let (done, receiver) = sync_channel::<()>(0);
        let into = Arc::clone(&found);
        self.session
            .liveliness()
            .get(live_key)
            .timeout(PRESENCE_MAX)
            .callback(move |reply| {
                // Nothing is ever sent: the end is signalled when the transport drops this.
                let _held = &done;
                if let Ok(sample) = reply.result() {
                    into.lock().push(sample.key_expr().as_str().to_owned());
                }
            })
            .wait()
            .map_err(Error::transport("list the peers"))?;
        receiver.recv_timeout(PRESENCE_MAX).unwrap_or_default();
        let found = std::mem::take(&mut *found.lock());
        Ok(found)
    }
}
