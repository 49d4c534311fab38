//! The running actions, so that they can be stopped.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use waypost_flows::{AttemptId, Leader, Orphan, Stop, end_orphans};

use super::guard::Guard;

/// How long programs may take to end when the service stops, before they are killed.
const STOP_TIME: Duration = Duration::from_secs(3);
/// How long to wait for the threads of killed programs, and of web hooks.
const KILLED_TIME: Duration = Duration::from_secs(3);

#[derive(Debug, Default)]
pub(super) struct Running {
    actions: Mutex<HashMap<AttemptId, Action>>,
    fewer: Condvar,
    /// Only in a cluster.
    guard: OnceLock<Arc<Guard>>,
}

#[derive(Debug)]
struct Action {
    stop: Arc<Stop>,
    key: String,
    leader: Option<Leader>,
}

impl Running {
    pub(super) fn watch_with(&self, guard: Arc<Guard>) {
        drop(self.guard.set(guard));
    }

    pub(super) fn begin(&self, id: &AttemptId, key: &str, stop: &Arc<Stop>) {
        if let Some(guard) = self.guard.get() {
            guard.began(&id.run, key);
        }
        let action = Action { stop: Arc::clone(stop), key: key.to_owned(), leader: None };
        self.actions.lock().insert(id.clone(), action);
    }

    pub(super) fn spawned(&self, id: &AttemptId, leader: Leader) {
        if let Some(action) = self.actions.lock().get_mut(id) {
            action.leader = Some(leader);
        }
    }

    pub(super) fn ended(&self, id: &AttemptId) {
        let ended = self.actions.lock().remove(id);
        if let (Some(guard), Some(action)) = (self.guard.get(), ended) {
            guard.ended(&action.key);
        }
        self.fewer.notify_all();
    }

    pub(super) fn stop(&self, id: &AttemptId) {
        if let Some(action) = self.actions.lock().get(id) {
            action.stop.stop();
        }
    }

    /// Stops all actions, and waits for their threads.
    pub(super) fn end_all(&self) {
        for action in self.actions.lock().values() {
            action.stop.stop();
        }
        if self.wait(STOP_TIME) {
            return;
        }
        let actions = self.actions.lock();
        let left = actions.iter().filter(|(_, it)| it.leader.is_some());
        let left: Vec<Orphan> = left
            .map(|(id, it)| Orphan {
                run: id.run.clone(),
                leader: it.leader.clone(),
                idempotency_key: it.key.clone(),
            })
            .collect();
        drop(actions);
        for orphan in &left {
            tracing::warn!(run = %orphan.run, "killed a leftover program of a flow");
            end_orphans(orphan, Duration::ZERO);
        }
        if !self.wait(KILLED_TIME) {
            let count = self.actions.lock().len();
            tracing::warn!(count, "abandoned flow actions that did not end in time");
        }
    }

    /// Whether all actions ended within that time.
    fn wait(&self, time_max: Duration) -> bool {
        let mut actions = self.actions.lock();
        let are_left = |map: &mut HashMap<AttemptId, Action>| !map.is_empty();
        !self.fewer.wait_while_for(&mut actions, are_left, time_max).timed_out()
    }
}
