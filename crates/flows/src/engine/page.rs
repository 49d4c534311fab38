//! Records of the shared journal on their way to the engine.

use waypost_log::Entry;

/// Some records that the shared journal has and a replica does not.
#[derive(Debug, Default)]
pub struct Page(Vec<Entry>);

impl Page {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        Self(entries)
    }

    /// Whether the shared journal had nothing more.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The records behind the sequence `after`, without gaps.
    pub(super) fn after(self, after: u64) -> Vec<Entry> {
        let new = self.0.into_iter().filter(|it| it.sequence > after);
        (after + 1..)
            .zip(new)
            .take_while(|(number, it)| *number == it.sequence)
            .map(|it| it.1)
            .collect()
    }
}
