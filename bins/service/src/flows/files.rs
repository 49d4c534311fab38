//! The folder of flow files: read when it changes.

use std::sync::{Arc, Weak};

use waypost_flows::Watch;
use waypost_project::Approvals;

use super::Flows;

/// Puts in force what there is, and begins to look for changes.
pub(crate) fn start(flows: &Arc<Flows>) -> std::io::Result<()> {
    // Before the files are read, so that no change falls between.
    let mut watch = Watch::new(&flows.folder);
    let mut approved = flows.approvals.as_ref().map(Approvals::stamp);
    load(flows);
    // It waits for two seconds at a time, which nobody is to wait for at the end.
    let shared = Arc::downgrade(flows);
    let files = std::thread::Builder::new().name("flow files".to_owned());
    files.spawn(move || {
        loop {
            let has_changed = watch.wait();
            let Some(flows) = Weak::upgrade(&shared).filter(|it| !it.wake.is_stopping()) else {
                return;
            };
            // `ctl allow` writes to the user's state folder, and programs are anywhere.
            let now_approved = flows.approvals.as_ref().map(Approvals::stamp);
            let is_other = now_approved != approved;
            approved = now_approved;
            if has_changed || is_other || flows.loader.lock().programs_changed() {
                load(&flows);
            }
        }
    })?;
    Ok(())
}

/// Reads the files, and puts in force what can be.
pub(super) fn load(flows: &Flows) {
    let mut loader = flows.loader.lock();
    let loaded = loader.load();
    for notice in loaded.notices {
        let value = |name: &str| notice.data.get(name).map(ToString::to_string);
        let (file, why) = (value("file"), value("why"));
        tracing::warn!(file, why, "a flow file is not in force");
        flows.announce(notice);
    }
    let Some(set) = loaded.flows else { return };
    for ring in set.rings() {
        let names: Vec<&str> = ring.iter().map(|it| it.as_str()).collect();
        tracing::warn!(flows = names.join(" → "), "flows that start each other");
    }
    tracing::info!(flows = set.len(), "flows are in force");
    flows.engine.lock().install(set);
    flows.wake.flowing();
}
