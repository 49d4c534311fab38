//! Places for connections. When all are taken, the connection that has waited longest for a request
//! gives up its place, so that clients who send none keep no client out who does.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The places of one listener.
#[derive(Debug)]
pub(crate) struct Room {
    places: Arc<Semaphore>,
    waiting: Mutex<Waiting>,
}

/// The connections without an authenticated request, the one that has waited longest first.
#[derive(Debug, Default)]
struct Waiting {
    turns: u64,
    since: BTreeMap<u64, Arc<Notify>>,
}

/// A connection that has a place, or will have that of another one.
#[derive(Debug)]
pub(crate) struct Place {
    room: Arc<Room>,
    permit: Mutex<Option<OwnedSemaphorePermit>>,
    given_up: Arc<Notify>,
    /// While it waits.
    turn: Mutex<Option<u64>>,
}

/// What keeps the place of a connection, from its authenticated request to the end of its response.
#[derive(Debug)]
pub(crate) struct Held(Arc<Place>);

impl Room {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self { places: Arc::new(Semaphore::new(places)), waiting: Mutex::default() })
    }

    /// A place for a new connection. If all are taken, another connection gives up its place; `None` if
    /// all of them have an authenticated request.
    pub(crate) fn enter(self: &Arc<Self>) -> Option<Arc<Place>> {
        let permit = Arc::clone(&self.places).try_acquire_owned().ok();
        if permit.is_none() {
            let (_, longest) = self.waiting.lock().since.pop_first()?;
            longest.notify_one();
        }
        let place = Place {
            room: Arc::clone(self),
            permit: Mutex::new(permit),
            given_up: Arc::default(),
            turn: Mutex::default(),
        };
        place.wait();
        Some(Arc::new(place))
    }
}

impl Place {
    /// Runs a connection until it ends or has to give up its place.
    pub(crate) async fn run(self: Arc<Self>, connection: impl Future<Output = ()>) {
        let admitted = async {
            let permit = self.permit.lock().take();
            let _permit = match permit {
                Some(permit) => Ok(permit),
                // Another connection is giving up its place.
                None => Arc::clone(&self.room.places).acquire_owned().await,
            };
            connection.await;
        };
        tokio::select! {
            biased;
            () = self.given_up.notified() => {
                tracing::debug!("a connection that sent no request gave up its place");
            }
            () = admitted => {}
        }
    }

    /// Keeps the place for an authenticated request. Never returns if it was given up just now, so that
    /// the request has no effect.
    pub(crate) async fn hold(self: &Arc<Self>) -> Held {
        let turn = self.turn.lock().take();
        let was_given_up =
            turn.is_some_and(|turn| self.room.waiting.lock().since.remove(&turn).is_none());
        if was_given_up {
            std::future::pending::<()>().await;
        }
        Held(Arc::clone(self))
    }

    fn wait(&self) {
        let mut waiting = self.room.waiting.lock();
        waiting.turns += 1;
        let turn = waiting.turns;
        waiting.since.insert(turn, Arc::clone(&self.given_up));
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
        if let Some(turn) = self.turn.get_mut().take() {
            self.room.waiting.lock().since.remove(&turn);
        }
    }
}
