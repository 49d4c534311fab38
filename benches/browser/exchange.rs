//! What scripts in pages and the measurement tell each other, over the server of the pages.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How long the other side may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Texts by the path that they were sent to, each until it is heard.
#[derive(Default)]
pub(crate) struct Exchange {
    said: Mutex<HashMap<String, String>>,
    news: Condvar,
}

impl Exchange {
    pub(crate) fn say(&self, what: String, text: String) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).insert(what, text);
        self.news.notify_all();
    }

    pub(crate) fn hear(&self, what: &str) -> Option<String> {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.news.wait_timeout_while(said, PATIENCE, |news| !news.contains_key(what));
        waited.unwrap_or_else(PoisonError::into_inner).0.remove(what)
    }
}
