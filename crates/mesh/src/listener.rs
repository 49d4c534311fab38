//! Events for one reader. A slow reader loses old events; it delays no other.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use serde_json::Value;
use waypost_time::Timestamp;

use crate::caller::Caller;
use crate::clock::Until;
use crate::limits::{EVENTS_WAITING_BYTES_MAX, EVENTS_WAITING_MAX};
use crate::name::Pattern;

/// An event of a peer. All of it is that peer's claim.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// The sender: the proved origin, and the name that the peer gives itself.
    pub from: Caller,
    /// The target that it is about, such as `browser.relay`.
    pub source: String,
    /// Its type, such as `human_click`.
    pub kind: String,
    /// The id, the same for every listener.
    pub id: String,
    /// When it happened by the sender's clock.
    pub at: Timestamp,
    /// The event itself: an object with `type`.
    pub body: Value,
}

/// Receives events until it is dropped.
pub struct Listener {
    pub(crate) queue: Arc<Queue>,
    pub(crate) number: u64,
    pub(crate) listening: Weak<Listening>,
}

/// The listeners of a peer, by number.
pub(crate) type Listening = Mutex<BTreeMap<u64, (Pattern, Arc<Queue>)>>;

/// The events that wait for the reader.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// With the bytes of each, as it was sent. Listeners share them.
    events: VecDeque<(usize, Arc<Event>)>,
    bytes: usize,
    dropped: u64,
    is_closed: bool,
}

impl Listener {
    /// Waits for the next event. Returns `None` at the end of the time or when the mesh is closed.
    pub fn next(&self, wait: Duration) -> Option<Event> {
        let until = Until::after(wait);
        let mut state = self.queue.state.lock();
        loop {
            if let Some(event) = state.pop() {
                return Some(Arc::unwrap_or_clone(event));
            }
            if state.is_closed || until.is_over() {
                return None;
            }
            self.queue.more.wait_for(&mut state, until.left());
        }
    }

    /// How many events this listener has dropped because they were not read in time.
    pub fn dropped(&self) -> u64 {
        self.queue.state.lock().dropped
    }

    /// Whether the mesh was closed: no more events will arrive.
    pub fn is_closed(&self) -> bool {
        self.queue.state.lock().is_closed
    }
}

impl State {
    fn pop(&mut self) -> Option<Arc<Event>> {
        let (bytes, event) = self.events.pop_front()?;
        self.bytes -= bytes;
        Some(event)
    }
}

impl Queue {
    /// Queues an event; never waits for the reader.
    pub(crate) fn push(&self, event: Arc<Event>, bytes: usize) {
        let mut state = self.state.lock();
        state.bytes += bytes;
        state.events.push_back((bytes, event));
        while state.events.len() > EVENTS_WAITING_MAX || state.bytes > EVENTS_WAITING_BYTES_MAX {
            state.pop();
            state.dropped += 1;
        }
        drop(state);
        self.more.notify_one();
    }

    pub(crate) fn close(&self) {
        self.state.lock().is_closed = true;
        self.more.notify_all();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(listening) = self.listening.upgrade() {
            listening.lock().remove(&self.number);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listener").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}
