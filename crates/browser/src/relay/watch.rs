//! Detects changes that no command makes: addresses, logins, who controls the page.

use std::time::Duration;

use serde_json::{Value, json};

use super::Relay;
use crate::event::discreet;
use crate::protocol::TabId;
use crate::{AuthState, Deadline, Event, Holder, Problem};

/// The pause between two checks.
const REST: Duration = Duration::from_millis(200);
/// A check that takes longer is given up.
const LOOK_TIME: Duration = Duration::from_secs(4);

impl Relay {
    /// Checks repeatedly, and reports what it detects. It never returns: spawn it, and abort it
    /// with the relay.
    pub async fn watch(&self) {
        loop {
            tokio::time::sleep(REST).await;
            self.note_holder();
            self.note_addresses(self.holder());
            let current = self.state.lock().current;
            if let Some(tab) = current {
                // A page that does not respond now may respond the next time.
                self.look(tab, Deadline::after(LOOK_TIME)).await.unwrap_or_default();
            }
        }
    }

    /// Checks whether someone has logged in or out.
    pub(super) async fn look(&self, tab: TabId, by: Deadline) -> Result<(), Problem> {
        let seen = self.engine.evidence(tab, by).await?;
        let now = self.now();
        let change = {
            let mut state = self.state.lock();
            if seen.secret_focused && state.lease.holder(now) == Holder::Human {
                state.lease.human_acted(now, true);
            }
            let change = state.auth.entry(tab).or_default().observe(&seen, now);
            if change.as_ref().is_some_and(|change| change.state == AuthState::Authenticated) {
                state.lease.logged_in();
            }
            change
        };
        if let Some(change) = change {
            self.publish(Event::AuthChanged(change));
            self.note_holder();
        }
        Ok(())
    }

    /// The known login state of a tab, and how it changed last.
    pub(super) fn auth(&self, tab: TabId) -> Value {
        let now = self.now();
        let state = self.state.lock();
        let Some(watch) = state.auth.get(&tab) else { return json!({ "state": "unknown" }) };
        let mut shown = json!({ "state": watch.state() });
        if let Some((change, at)) = watch.last() {
            shown["changedMsAgo"] = now.saturating_sub(at).into();
            shown["origin"] = change.origin.as_str().into();
            shown["signals"] = json!(change.signals);
        }
        shown
    }

    /// Reports if the control of the page has changed.
    pub(super) fn note_holder(&self) {
        let now = self.now();
        let changed = {
            let mut state = self.state.lock();
            let holder = state.lease.holder(now);
            let changed = (holder != state.holder).then_some(holder);
            state.holder = holder;
            changed
        };
        if let Some(holder) = changed {
            self.publish(Event::Control { holder });
        }
    }

    /// Reports tabs whose address has changed.
    pub(super) fn note_addresses(&self, by: Holder) {
        for info in self.engine.tabs() {
            let url = self.engine.mask(&discreet(&info.url));
            let is_new = {
                let mut state = self.state.lock();
                let before = state.urls.insert(info.tab, url.clone());
                before.map_or(url != "about:blank", |before| before != url)
            };
            if is_new {
                self.publish(Event::Navigated { tab: info.tab, url, by });
            }
        }
    }
}
