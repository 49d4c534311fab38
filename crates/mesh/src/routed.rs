//! The link to paired machines through a router, which may be unreachable: connecting is then
//! retried at growing intervals.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::error::{Error, OPEN, Result};
use crate::limits::ROUTER_REST_MAX;
use crate::name::Keys;
use crate::pairing::Pairing;
use crate::session::Open;

const NOBODY: &str = "no server there has a certificate of this machine's authority for that host";

/// The routers of a pairing folder. One of them is used at a time, the first that responds.
#[derive(Debug)]
pub(crate) struct Routed {
    folder: PathBuf,
    tries: Mutex<Tries>,
}

/// When to try again, counted in checks.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tries {
    failed: u32,
    rest: u32,
    is_wanted: bool,
}

impl Routed {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), tries: Mutex::default() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether it is time to try again after a failure.
    pub(crate) fn is_due(&self) -> bool {
        self.tries.lock().is_due()
    }

    /// Connects to the first router that responds; to none if none is paired.
    pub(crate) fn reach(&self, keys: &Keys) -> Result<Option<Open>> {
        let reached = self.try_each(keys);
        let mut tries = self.tries.lock();
        match &reached {
            Ok(open) => *tries = Tries { is_wanted: open.is_some(), ..Tries::default() },
            Err(_) => tries.fail(),
        }
        reached
    }

    fn try_each(&self, keys: &Keys) -> Result<Option<Open>> {
        let Some(pairing) = Pairing::open(&self.folder)? else { return Ok(None) };
        let mut why = None;
        for (router, address) in pairing.paired().routers() {
            let reason = match Open::routed(&pairing, keys, &router.name, address) {
                Ok(open) if open.meets_router() => return Ok(Some(open)),
                Ok(_) => "the peer there is not a router".to_owned(),
                // The transport does not report the reason.
                Err(Error::Transport { action: OPEN, .. }) => NOBODY.to_owned(),
                Err(error) => error.to_string(),
            };
            why.get_or_insert_with(|| Error::Unreached {
                router: router.name.clone(),
                address: address.to_owned(),
                reason,
            });
        }
        why.map_or(Ok(None), Err)
    }
}

impl Tries {
    fn is_due(&mut self) -> bool {
        let is_due = self.is_wanted && self.rest == 0;
        self.rest = self.rest.saturating_sub(1);
        is_due
    }

    /// Skips 0 checks, then 1, 3 and so on.
    fn fail(&mut self) {
        self.is_wanted = true;
        self.rest = (1 << self.failed).min(ROUTER_REST_MAX) - 1;
        self.failed = (self.failed + 1).min(ROUTER_REST_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_router_that_is_away_is_tried_ever_more_seldom_and_never_given_up() {
        let mut tries = Tries::default();
        assert!(!tries.is_due(), "no router is paired");
        let mut asked = Vec::new();
        for _ in 0..20 {
            tries.fail();
            asked.push((1..100).find(|_| tries.is_due()).unwrap());
        }
        assert_eq!(asked[..5], [1, 2, 4, 8, 8]);
        assert_eq!(asked[19], ROUTER_REST_MAX);
    }
}
