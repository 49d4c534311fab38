//! The thread that writes queued commands to the store.

use std::sync::Arc;

use waypost_memory::Store;

use crate::wake::Wake;

/// What the thread needs.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) store: Arc<Store>,
    pub(crate) wake: Arc<Wake>,
}

impl Writer {
    /// Writes queued commands, until the service stops.
    pub(crate) fn run(&self) {
        self.wake.serve(&self.wake.writer, "writing", || self.store.write_queued());
    }
}
