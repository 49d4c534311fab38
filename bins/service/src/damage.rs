//! Damage that reads find while the service runs.

use parking_lot::Mutex;
use waypost_log::Damage;

/// What to do about a damaged store.
pub(crate) const REPAIR: &str =
    "stop the service and run `ctl doctor`, which says what is damaged and how to repair it";

/// A damaged place in a file of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Damaged {
    /// The store's name.
    pub(crate) store: &'static str,
    /// The folder of the file, relative to the data folder.
    folder: &'static str,
    damage: Damage,
}

impl Damaged {
    pub(crate) fn of(
        store: &'static str,
        folder: &'static str,
        all: Vec<Damage>,
    ) -> impl Iterator<Item = Self> {
        all.into_iter().map(move |damage| Self { store, folder, damage })
    }

    /// The number of affected records; a header or an end marker counts as one.
    pub(crate) fn records(&self) -> u64 {
        self.damage.records().max(1)
    }
}

/// The damage that the service has already logged.
#[derive(Debug, Default)]
pub(crate) struct Reported(Mutex<Vec<Damaged>>);

impl Reported {
    /// Logs damage found since the last call.
    pub(crate) fn report(&self, found: Vec<Damaged>) {
        let mut reported = self.0.lock();
        for damaged in found.iter().filter(|found| !reported.contains(found)) {
            tracing::error!(
                store = damaged.store,
                damage = damaged.damage.describe(damaged.folder, "sequence"),
                "a store is damaged; stop the service and run `ctl doctor`"
            );
        }
        *reported = found;
    }
}
