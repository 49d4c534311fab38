//! Who controls the page. A person who acts takes control, whatever a program is doing.

use serde::Serialize;

/// Who may change the page now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Holder {
    /// Programs, one at a time.
    Agent,
    /// The person at the terminal.
    Human,
}

/// How long a person who types a password keeps the page after the last key.
const LOGIN_MS: u64 = 120_000;

/// How long after a person's last action the agents get the page back.
const QUIET_MS: u64 = 3_000;

/// Decides who controls the page. Times are milliseconds since any fixed moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lease {
    human_until: u64,
    is_paused: bool,
}

impl Lease {
    pub(crate) fn holder(&self, now: u64) -> Holder {
        if self.is_paused || now < self.human_until { Holder::Human } else { Holder::Agent }
    }

    /// The person acted; an action on a secret field is a login, which reserves the page for
    /// longer.
    pub(crate) fn human_acted(&mut self, now: u64, is_login: bool) {
        let time = if is_login { LOGIN_MS } else { QUIET_MS };
        // A click outside the field does not end the login.
        self.human_until = self.human_until.max(now + time);
    }

    /// The person keeps the page until it is handed back.
    pub(crate) fn pause(&mut self) {
        self.is_paused = true;
    }

    pub(crate) fn hand_back(&mut self) {
        self.is_paused = false;
        self.human_until = 0;
    }

    /// A login is complete: the agents continue, unless the person wants to keep the page.
    pub(crate) fn logged_in(&mut self) {
        self.human_until = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::{Holder, Lease};

    #[test]
    fn the_human_wins_and_gives_back() {
        let mut lease = Lease::default();
        assert_eq!(lease.holder(0), Holder::Agent);
        lease.human_acted(1_000, false);
        assert_eq!((lease.holder(3_999), lease.holder(4_000)), (Holder::Human, Holder::Agent));
        lease.human_acted(5_000, true);
        lease.human_acted(6_000, false);
        assert_eq!(lease.holder(100_000), Holder::Human);
        lease.logged_in();
        assert_eq!(lease.holder(100_000), Holder::Agent);
        lease.pause();
        lease.logged_in();
        assert_eq!(lease.holder(u64::MAX), Holder::Human);
        lease.hand_back();
        assert_eq!(lease.holder(100_000), Holder::Agent);
    }
}
