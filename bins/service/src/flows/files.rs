//! Loads the folder of flow files when it changes.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use waypost_flows::ContentHash;
use waypost_project::{Approvals, ApprovalsStamp};

use super::Flows;

/// How often files are checked.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// The thread that watches flow files, the files that they name, and approvals.
#[derive(Debug)]
pub(crate) struct FlowFiles {
    /// It waits between two checks, and the stop must not wait for it.
    flows: Weak<Flows>,
    approved: Option<ApprovalsStamp>,
}

impl FlowFiles {
    /// Loads the current files.
    pub(crate) fn load(flows: &Arc<Flows>) -> Self {
        // Before the approvals are read, so that no change is missed.
        let approved = flows.approvals.as_ref().map(Approvals::stamp);
        load(flows);
        Self { flows: Arc::downgrade(flows), approved }
    }

    /// Loads changes until the service stops.
    pub(crate) fn run(mut self) {
        loop {
            std::thread::sleep(CHECK_EVERY);
            let Some(flows) =
                Weak::upgrade(&self.flows).filter(|shared| !shared.wake.is_stopping())
            else {
                return;
            };
            // `ctl allow` writes to the user's state folder.
            let now_approved = flows.approvals.as_ref().map(Approvals::stamp);
            let is_other = now_approved != self.approved;
            self.approved = now_approved;
            if is_other || flows.loader.lock().has_changed() {
                load(&flows);
            }
        }
    }
}

/// Reads the files and puts valid flows in force.
pub(crate) fn load(flows: &Flows) {
    let mut loader = flows.loader.lock();
    log_approvals(flows);
    let loaded = loader.load();
    let has_changed = loaded.flows.is_some() || !loaded.unapproved.is_empty();
    if let Some(set) = &loaded.flows {
        tracing::info!(flows = set.len(), "loaded flows");
    }
    let mut engine = flows.engine.lock();
    if let Some(set) = loaded.flows {
        engine.install(set);
    }
    engine.withhold(loaded.unapproved);
    drop(engine);
    if has_changed {
        flows.wake.flowing();
    }
    // After the flows are in force, and before an event announces it.
    *flows.file_status.lock() = loader.status().into();
    for notice in loaded.notices {
        let value = |name: &str| notice.data.get(name).map(ToString::to_string);
        let (file, why) = (value("file"), value("why"));
        let hint = (notice.kind.name() == "approval-needed")
            .then_some("review and approve it with `ctl allow`");
        tracing::warn!(file, why, hint, "a flow file is not active");
        flows.announce(notice);
    }
}

/// Logs what was approved or revoked since the last call, by whichever program.
fn log_approvals(flows: &Flows) {
    let Some(approvals) = &flows.approvals else { return };
    let list = match approvals.list() {
        Ok(list) => list,
        Err(error) => {
            tracing::warn!(%error, "no approvals can be read, so no flow runs");
            return;
        }
    };
    let now: BTreeSet<(String, String)> =
        list.into_iter().map(|item| (item.file, item.sha256)).collect();
    let mut before = flows.approved.lock();
    for (file, sha256) in now.difference(&before) {
        tracing::info!(file, sha256, "a file was approved");
    }
    for (file, sha256) in before.difference(&now) {
        tracing::info!(file, sha256, "an approval was revoked");
    }
    *before = now;
}

/// The user's approvals, as the interface that flows require.
#[derive(Debug)]
struct OfProject(Approvals);

pub(super) fn boxed(approvals: Approvals) -> Box<dyn waypost_flows::Approvals> {
    Box::new(OfProject(approvals))
}

impl waypost_flows::Approvals for OfProject {
    fn has(&self, file: &str, hash: &ContentHash) -> io::Result<bool> {
        self.0.has(file, hash.as_str()).map_err(io::Error::other)
    }

    fn last(&self, file: &str) -> io::Result<Option<Vec<u8>>> {
        self.0.last(file).map_err(io::Error::other)
    }

    fn allow(&self, contents: &[(&str, &[u8])]) -> io::Result<()> {
        self.0.allow(contents).map_err(io::Error::other)
    }
}
