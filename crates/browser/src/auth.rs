//! Detects logins without reading the credentials.
//!
//! The current evidence from a page ([`Evidence`]) is compared with the evidence from when it
//! showed a login form. The result is a judgement, not a proof: it is reported with the signals
//! behind it.

use serde::Serialize;

use crate::Evidence;

/// A change counts once it has been stable for this long.
const STABLE_MS: u64 = 500;

/// Whether someone is logged in, as far as a page shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthState {
    /// No page has been examined yet.
    #[default]
    Unknown,
    /// Nothing indicates a login.
    Anonymous,
    /// The page asks for a password or a code.
    LoginForm,
    /// A login was detected, or the page offers to log out.
    Authenticated,
}

/// A reason for a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Signal {
    /// A password field is no longer shown.
    PasswordFieldGone,
    /// A password field is shown.
    PasswordFieldShown,
    /// The cookies changed.
    CookiesChanged,
    /// There is one more cookie that scripts cannot read.
    SessionCookieGained,
    /// A logout control appeared.
    LogoutShown,
    /// The logout control disappeared.
    LogoutGone,
}

/// A change of the state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuthChange {
    /// The new state.
    pub state: AuthState,
    /// The origin of the site.
    pub origin: String,
    /// The reasons for the judgement.
    pub signals: Vec<Signal>,
}

/// Watches one tab. Times are milliseconds since any fixed moment.
#[derive(Debug, Clone, Default)]
pub struct AuthWatch {
    state: AuthState,
    /// The evidence with the login form, or before a login was detected.
    baseline: Option<Evidence>,
    /// The change that will apply if it stays stable, and since when it has been observed.
    pending: Option<(AuthChange, String, u64)>,
    last: Option<(AuthChange, u64)>,
}

impl AuthWatch {
    /// The state according to the last observation.
    #[must_use]
    pub fn state(&self) -> AuthState {
        self.state
    }

    /// The last change and its time.
    #[must_use]
    pub fn last(&self) -> Option<(&AuthChange, u64)> {
        self.last.as_ref().map(|last| (&last.0, last.1))
    }

    /// Records the current evidence. Returns the change once it has been stable for half a second.
    pub fn observe(&mut self, seen: &Evidence, now: u64) -> Option<AuthChange> {
        if !seen.ready {
            self.pending = None;
            return None;
        }
        let change = self.judge(seen)?;
        let stable_since = match &self.pending {
            Some((pending, cookies, since)) if *pending == change && *cookies == seen.cookies => {
                *since
            }
            _ => {
                self.pending = Some((change, seen.cookies.clone(), now));
                return None;
            }
        };
        if now.saturating_sub(stable_since) < STABLE_MS {
            return None;
        }
        self.pending = None;
        self.state = change.state;
        self.baseline = Some(seen.clone());
        self.last = Some((change.clone(), now));
        Some(change)
    }

    /// The change that would apply if the current evidence stayed as it is.
    fn judge(&mut self, seen: &Evidence) -> Option<AuthChange> {
        let asks = seen.password_fields > 0;
        match self.state {
            AuthState::Unknown => {
                self.state = match (asks, seen.logout) {
                    (true, _) => AuthState::LoginForm,
                    (false, true) => AuthState::Authenticated,
                    (false, false) => AuthState::Anonymous,
                };
                self.baseline = Some(seen.clone());
                None
            }
            AuthState::Anonymous | AuthState::LoginForm if asks => {
                self.pending = None;
                // What arrived with the page that a wrong password led to does not count; what
                // arrived while the page stayed does.
                let is_same = self
                    .baseline
                    .as_ref()
                    .is_some_and(|baseline| baseline.document == seen.document);
                if self.state == AuthState::Anonymous || !is_same {
                    self.baseline = Some(seen.clone());
                }
                self.state = AuthState::LoginForm;
                None
            }
            AuthState::Anonymous | AuthState::LoginForm => {
                let before = self.baseline.as_ref()?;
                let mut signals = Vec::new();
                let mut note = |holds: bool, signal| {
                    if holds {
                        signals.push(signal);
                    }
                    holds
                };
                let was_asked = note(before.password_fields > 0, Signal::PasswordFieldGone);
                note(before.cookies != seen.cookies, Signal::CookiesChanged);
                let has_session = note(
                    seen.guarded_cookies > before.guarded_cookies,
                    Signal::SessionCookieGained,
                );
                let may_leave = note(seen.logout && !before.logout, Signal::LogoutShown);
                let is_login = may_leave || (was_asked && has_session);
                let is_same_site = before.origin == seen.origin;
                if !is_login || (!is_same_site && !may_leave) {
                    self.pending = None;
                    return None;
                }
                Some(change(AuthState::Authenticated, seen, signals))
            }
            AuthState::Authenticated => {
                let had_logout = self.baseline.as_ref().is_some_and(|baseline| baseline.logout);
                let is_elsewhere =
                    self.baseline.as_ref().is_some_and(|baseline| baseline.origin != seen.origin);
                if asks && !seen.logout {
                    Some(change(AuthState::LoginForm, seen, vec![Signal::PasswordFieldShown]))
                } else if had_logout && !seen.logout && !is_elsewhere && self.has_fewer(seen) {
                    let signals = vec![Signal::LogoutGone, Signal::CookiesChanged];
                    Some(change(AuthState::Anonymous, seen, signals))
                } else {
                    self.pending = None;
                    None
                }
            }
        }
    }

    fn has_fewer(&self, seen: &Evidence) -> bool {
        self.baseline
            .as_ref()
            .is_some_and(|baseline| seen.guarded_cookies < baseline.guarded_cookies)
    }
}

fn change(state: AuthState, seen: &Evidence, signals: Vec<Signal>) -> AuthChange {
    AuthChange { state, origin: seen.origin.clone(), signals }
}

#[cfg(test)]
mod tests {
    use super::{AuthState, AuthWatch, Signal};
    use crate::Evidence;

    fn seen(
        document: u64,
        password_fields: u64,
        logout: bool,
        cookies: &str,
        guarded: u64,
    ) -> Evidence {
        Evidence {
            origin: "http://a.example".to_owned(),
            ready: true,
            document,
            password_fields,
            logout,
            cookies: cookies.to_owned(),
            guarded_cookies: guarded,
            ..Evidence::default()
        }
    }

    #[test]
    fn a_login_counts_once_it_is_stable() {
        let mut watch = AuthWatch::default();
        assert_eq!(watch.observe(&seen(1, 1, false, "", 0), 0), None);
        assert_eq!(watch.state(), AuthState::LoginForm);
        assert_eq!(watch.observe(&seen(2, 0, true, "sid", 1), 1_000), None);
        assert_eq!(watch.observe(&seen(2, 0, true, "sid", 1), 1_499), None);
        let change = watch.observe(&seen(2, 0, true, "sid", 1), 1_500).expect("a login");
        assert_eq!(change.state, AuthState::Authenticated);
        assert!(change.signals.contains(&Signal::LogoutShown), "{change:?}");
        assert_eq!(watch.observe(&seen(2, 0, true, "sid", 1), 9_000), None);
        // The logout.
        assert_eq!(watch.observe(&seen(3, 0, false, "", 0), 10_000), None);
        let change = watch.observe(&seen(3, 0, false, "", 0), 10_500).expect("a logout");
        assert_eq!(change.state, AuthState::Anonymous);
    }

    #[test]
    fn a_wrong_password_does_not_count() {
        let mut watch = AuthWatch::default();
        watch.observe(&seen(1, 1, false, "", 0), 0);
        // Between the pages there is briefly nothing, then the form again, with a cookie.
        assert_eq!(watch.observe(&seen(2, 0, false, "csrf", 1), 100), None);
        assert_eq!(watch.observe(&seen(2, 1, false, "csrf", 1), 300), None);
        assert_eq!(watch.observe(&seen(2, 1, false, "csrf", 1), 3_000), None);
        assert_eq!(watch.state(), AuthState::LoginForm);
        // Leaving the page is not a login.
        for now in [4_000, 5_000, 6_000] {
            assert_eq!(watch.observe(&seen(3, 0, false, "csrf", 1), now), None);
        }
    }

    #[test]
    fn a_login_without_another_page_counts() {
        let mut watch = AuthWatch::default();
        watch.observe(&seen(1, 1, false, "", 0), 0);
        assert_eq!(watch.observe(&seen(1, 1, false, "sid", 1), 100), None);
        assert_eq!(watch.observe(&seen(1, 0, false, "sid", 1), 200), None);
        let change = watch.observe(&seen(1, 0, false, "sid", 1), 700).expect("a login");
        assert!(change.signals.contains(&Signal::SessionCookieGained), "{change:?}");
    }
}
