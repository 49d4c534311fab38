//! Writes the index to disk: later than the log, in bulk, and without blocking publishers.

use std::sync::atomic::Ordering;

use crate::Result;
use crate::bus::Bus;
use crate::index::{Look, Wanted};

impl Bus {
    /// Stores finished blocks and the keys up to now in the block store. A block that cannot be
    /// written stays in memory until the next block is finished or events are dropped.
    pub(crate) fn settle(&self) {
        let Some(_one_at_a_time) = self.settling.try_lock() else { return };
        self.to_settle.store(false, Ordering::Release);
        if !self.block_store.recover() {
            return;
        }
        loop {
            let unstored = self.index.read().first_unstored();
            let Some((number, block, summary)) = unstored else { return };
            let settled =
                self.save_keys().is_ok() && self.block_store.put(number, &block, &summary).is_ok();
            if !settled {
                return;
            }
            self.index.write().mark_stored(number);
        }
    }

    /// Stores the keys up to now in the block store. The caller holds `settling`.
    pub(crate) fn save_keys(&self) -> Result<()> {
        let (unsaved, last) = {
            let mut writer = self.writer.lock();
            (std::mem::take(&mut writer.unsaved), self.log.last_sequence())
        };
        // The log of a replica is not synced for each event, and nothing derived may be ahead of it.
        let synced = if self.upstream.is_some() { self.sync().map(drop) } else { Ok(()) };
        let saved = synced.and_then(|()| self.block_store.put_keys(&unsaved, last));
        let mut writer = self.writer.lock();
        if saved.is_ok() {
            writer.saved_to = last;
        } else {
            let newer = std::mem::replace(&mut writer.unsaved, unsaved);
            writer.unsaved.extend(newer);
        }
        saved
    }

    /// Looks up the block `number`. If its index cannot be read, its events are read.
    pub(crate) fn look(&self, number: u64, wanted: &Wanted<'_>) -> Look {
        let look = self.index.read().look(number, wanted);
        let Look::Stored(unchecked) = look else { return look };
        if let Some(summary) = unchecked {
            match self.block_store.is_whole(number, &summary) {
                Ok(true) => self.index.read().checked(number),
                Ok(false) => {
                    self.block_store.distrust();
                    return Look::All;
                }
                Err(_) => return Look::All,
            }
        }
        self.block_store.look(number, wanted).unwrap_or(Look::All)
    }

    /// Writes what makes the next opening fast, and closes the bus. Dropping the bus does the same
    /// but ignores errors. No published event depends on it.
    pub fn close(self) -> Result<()> {
        self.shut()
    }

    fn shut(&self) -> Result<()> {
        if self.is_closed.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        self.settle();
        let _one_at_a_time = self.settling.lock();
        self.save_keys()?;
        self.block_store.close()
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        // Whatever cannot be written now is rebuilt from the log at the next opening.
        drop(self.shut());
    }
}
