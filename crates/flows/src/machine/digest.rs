//! The digest of the state that the records give.

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Machine;
use crate::record::StoredEvent;
use crate::{Phase, Run};

impl Machine {
    /// The same on all replicas that have the same records. What compaction drops, or only the machine
    /// that decides knows, is no part of it.
    pub(crate) fn digest(&self) -> [u8; 32] {
        let mut hasher = Sha256::new();
        add(
            &mut hasher,
            &(&self.identity, self.recorded_cursor, self.replays_lost, self.joins_lost),
        );
        for (name, it) in &self.flows {
            let known = (it.from, it.left, &it.paused, it.open, it.replays);
            // Compaction may drop the only record that mentions a flow.
            if known != (0, None, &None, None, 0) {
                add(&mut hasher, &(name, known));
            }
        }
        for it in &self.fillings {
            add(&mut hasher, &(&it.flow, it.replay, it.after, it.until));
        }
        for run in self.runs.values() {
            add_run(&mut hasher, run);
        }
        hasher.finalize().into()
    }
}

fn add_run(hasher: &mut Sha256, run: &Run) {
    let tries: Vec<_> =
        run.tries.iter().map(|it| (it.step, it.attempt, it.at, &it.report, &it.machine)).collect();
    let lineage = &run.lineage;
    let lineage = (lineage.root, &lineage.cause, lineage.depth, &lineage.flows);
    let kind = run.kind.as_str();
    add(hasher, &(&run.id, &run.definition, kind, run.created, &run.key, lineage, tries));
    let (since, leader) = match &run.phase {
        Phase::Ended { end, why, at } => {
            return add(hasher, &("ended", end, why, at, run.is_end_published));
        }
        Phase::Running { since, leader } => (Some(since), leader.as_ref()),
        // That a wait is over is in no record: all that wait are the same here.
        Phase::Quiet { .. } | Phase::Retrying { .. } | Phase::Queued => (None, None),
    };
    let event = run.event.as_deref().map(StoredEvent::from);
    add(hasher, &("open", event, &run.cancelling, &run.machine, since, leader));
    add(hasher, &(run.step, run.attempt, run.failures, run.interruptions));
}

/// Adds a value and a newline, which is in no value.
fn add(hasher: &mut Sha256, it: &impl Serialize) {
    hasher.update(serde_json::to_vec(it).expect("names, texts and numbers always become JSON"));
    hasher.update(b"\n");
}
