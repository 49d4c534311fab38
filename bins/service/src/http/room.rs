//! Places for connections. When all are taken, the connection that has waited longest for a request
//! gives up its place, so that clients who send none keep no client out who does.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The places of one listener.
#[derive(Debug)]
pub(crate) struct Room {
    places: usize,
    taken: Mutex<Taken>,
}

/// The connections that have a place.
#[derive(Debug, Default)]
struct Taken {
    count: usize,
    turns: u64,
    /// Those without an authenticated request, the one that has waited longest first.
    waiting: BTreeMap<u64, Arc<Notify>>,
}

/// The place of a connection.
#[derive(Debug)]
pub(crate) struct Place {
    room: Arc<Room>,
    given_up: Arc<Notify>,
    /// While it waits, and once it was given up.
    turn: Mutex<Option<u64>>,
}

/// What keeps the place of a connection, from its authenticated request to the end of its response.
#[derive(Debug)]
pub(crate) struct Held(Arc<Place>);

impl Room {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { places, taken: Mutex::default() })
    }

    /// A place for a new connection. If all are taken, another connection gives up its place; `None` if
    /// all of them have an authenticated request.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Arc<Place>> {
        {
            let mut taken = self.taken.lock();
            if taken.count < self.places {
                taken.count += 1;
            } else {
                let (_, longest) = taken.waiting.pop_first()?;
                longest.notify_one();
            }
        }
        let (room, given_up) = (Arc::clone(self), Arc::default());
        let place = Place { room, given_up, turn: Mutex::default() };
        place.wait();
        Some(Arc::new(place))
    }
}

impl Place {
    /// Runs a connection until it ends or has to give up its place.
    pub(crate) async fn run(self: Arc<Self>, connection: impl Future<Output = ()>) {
        tokio::select! {
            biased;
            () = self.given_up.notified() => {
                tracing::debug!("a connection that sent no request gave up its place");
            }
            () = connection => {}
        }
    }

    /// Keeps the place for an authenticated request. Never returns if it was given up just now, so that
    /// the request has no effect.
    pub(crate) async fn hold(self: &Arc<Self>) -> Held {
        let turn = *self.turn.lock();
        let was_given_up =
            turn.is_some_and(|turn| self.room.taken.lock().waiting.remove(&turn).is_none());
        if was_given_up {
            std::future::pending::<()>().await;
        }
        *self.turn.lock() = None;
        Held(Arc::clone(self))
    }

    fn wait(&self) {
        let mut taken = self.room.taken.lock();
        taken.turns += 1;
        let turn = taken.turns;
        taken.waiting.insert(turn, Arc::clone(&self.given_up));
        *self.turn.lock() = Some(turn);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.wait();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.room.taken.lock();
        let turn = *self.turn.get_mut();
        // The place that was given up is another connection's.
        if turn.is_none_or(|turn| taken.waiting.remove(&turn).is_some()) {
            taken.count -= 1;
        }
    }
}
