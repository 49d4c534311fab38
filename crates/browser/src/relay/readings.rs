//! The pages as readers read them last, which a diff compares with.

use std::collections::VecDeque;

use crate::command::Reader;
use crate::engine::TabId;
use crate::summary::Known;

/// Readings that are kept; beyond this the oldest is forgotten.
const READINGS_MAX: usize = 64;

/// The last reading of each tab by each reader, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Readings(VecDeque<(TabId, Option<Reader>, Known)>);

impl Readings {
    /// What a reader knows of a tab.
    pub(super) fn last(&self, tab: TabId, reader: Option<&Reader>) -> Option<&Known> {
        let known = self.0.iter().find(|it| it.0 == tab && it.1.as_ref() == reader);
        known.map(|it| &it.2)
    }

    pub(super) fn note(&mut self, tab: TabId, reader: Option<Reader>, known: Known) {
        self.0.retain(|it| it.0 != tab || it.1 != reader);
        if self.0.len() >= READINGS_MAX {
            self.0.pop_front();
        }
        self.0.push_back((tab, reader, known));
    }

    /// Forgets a closed tab.
    pub(super) fn forget(&mut self, tab: TabId) {
        self.0.retain(|it| it.0 != tab);
    }
}
