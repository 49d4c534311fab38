//! What a terminal shows of a relay: the page, its tabs, and the running commands.

use super::{COMMAND_TIME, Relay};
use crate::command::Command;
use crate::engine::{TabId, TabInfo};
use crate::{Deadline, Frame, Problem, Seen, View, clean_line};

/// The maximum number of letters that describe a running command.
const DOING_MAX: usize = 60;

/// A running command, until it is dropped.
pub(super) struct Doing<'a> {
    relay: &'a Relay,
    number: u64,
}

impl Drop for Doing<'_> {
    fn drop(&mut self) {
        self.relay.state.lock().doing.remove(&self.number);
    }
}

impl Relay {
    /// The current tab as a person sees it; `None` if it is still the frame that was seen. Waits
    /// for a change for at most half a second.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn frame(&self, view: View, seen: Option<Seen>) -> Result<Option<Frame>, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.engine.frame(tab, view, seen, by).await
    }

    /// All tabs, oldest first, and the current one. They contain nothing that was typed into a
    /// secret field, and no terminal control characters.
    #[must_use]
    pub fn shown_tabs(&self) -> (Vec<TabInfo>, Option<TabId>) {
        let mut tabs = self.engine.tabs();
        for tab in &mut tabs {
            tab.url = self.engine.mask(&clean_line(&tab.url));
            tab.title = self.engine.mask(&clean_line(&tab.title));
        }
        let current = self.state.lock().current;
        let current = current.filter(|it| tabs.iter().any(|tab| tab.tab == *it));
        let current = current.or_else(|| tabs.last().map(|it| it.tab));
        (tabs, current)
    }

    /// What programs are doing: the name and the object of the newest command that is still
    /// running.
    #[must_use]
    pub fn doing(&self) -> Option<String> {
        self.state.lock().doing.last_key_value().map(|it| it.1.clone())
    }

    pub(super) fn note_doing(&self, command: &Command) -> Doing<'_> {
        let whole = self.engine.mask(&clean_line(&command.to_string()));
        let text = whole.chars().take(DOING_MAX).collect();
        let mut state = self.state.lock();
        state.last_doing += 1;
        let number = state.last_doing;
        state.doing.insert(number, text);
        Doing { relay: self, number }
    }
}
