//! Records the positions of the stores outside their folders, so that the next start detects a
//! folder that was removed or replaced by an older copy.

use std::path::Path;

use anyhow::Context;
use parking_lot::Mutex;
use waypost_events::Bus;
use waypost_memory::{Reached, Store};
use waypost_recall::RecallLog;

use crate::error::chain;
use crate::file_identity::Placed;
use crate::flows::Flows;

// `ctl doctor` reads the same names.
const MEMORY: &str = "memory";
const MEMORY_ID: &str = "memory-id";
const EVENTS: &str = "events";
const FLOWS: &str = "flows";
const RECALL: &str = "recall";

/// The file in the data folder.
#[derive(Debug)]
pub(crate) struct Witness {
    dir: Placed,
    /// The file's content; empty while there is no valid file.
    written: Mutex<waypost_log::Witness>,
}

impl Witness {
    /// Reads the file. Unless a store is damaged, the store knows its position itself, so the file
    /// may be missing or damaged.
    pub(crate) fn read(dir: &Path) -> anyhow::Result<Self> {
        let written = waypost_log::Witness::read(dir).with_context(|| {
            format!("failed to read the positions of the stores of {}", dir.display())
        })?;
        if written.is_damaged() {
            let file = dir.join(waypost_log::Witness::FILE);
            tracing::warn!(
                file = %file.display(),
                "the recorded positions of the stores were damaged; rewriting them"
            );
        }
        let dir = Placed::of(dir.to_owned())
            .with_context(|| format!("failed to read the folder {}", dir.display()))?;
        Ok(Self { dir, written: Mutex::new(written) })
    }

    pub(crate) fn memory(&self) -> Reached {
        let written = self.written.lock();
        Reached { sequence: written.get(MEMORY), id: written.get(MEMORY_ID) }
    }

    pub(crate) fn events(&self) -> u64 {
        self.written.lock().get(EVENTS)
    }

    pub(crate) fn flows(&self) -> u64 {
        self.written.lock().get(FLOWS)
    }

    pub(crate) fn recall(&self) -> u64 {
        self.written.lock().get(RECALL)
    }

    /// The data folder.
    pub(crate) fn folder(&self) -> &Placed {
        &self.dir
    }

    /// Writes the positions of the stores if they have changed. A failed write is retried later:
    /// the stores have everything. Writes nothing into a folder that has taken the place of ours.
    pub(crate) fn write(&self, store: &Store, events: &Bus, flows: &Flows, recall: &RecallLog) {
        let mut written = self.written.lock();
        let mut witness = written.clone();
        match store.reached() {
            Ok(Reached { sequence, id }) => {
                witness.raise(MEMORY, sequence);
                witness.raise(MEMORY_ID, id);
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "failed to read the position of the store");
            }
        }
        witness.raise(EVENTS, events.reached());
        witness.raise(FLOWS, flows.reached());
        witness.raise(RECALL, recall.reached());
        if witness == *written || !self.dir.is_in_place() {
            return;
        }
        match witness.write(self.dir.path()) {
            Ok(()) => *written = witness,
            Err(error) => {
                tracing::warn!(
                    error = chain(&error),
                    "failed to record the positions of the stores"
                );
            }
        }
    }
}
