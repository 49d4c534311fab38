//! Tokens of runs: only in memory, and valid until their action ends.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use waypost_auth::{Scope, Scopes};
use waypost_events::Lineage;
use waypost_flows::Attempt;

/// The prefix of runs' tokens.
const PREFIX: &str = "wpr_";
/// A little more than 256 random bits.
const SECRET_CHARS: usize = 43;
/// The scopes of a run's program.
const SCOPES: [Scope; 5] = [
    Scope::EventsRead,
    Scope::EventsPublish,
    Scope::MemoryRead,
    Scope::MemoryWrite,
    Scope::ContextRead,
];

/// The permissions of a run's token.
#[derive(Debug)]
pub(crate) struct Grant {
    /// The lineage of events that it publishes.
    pub(crate) lineage: Lineage,
    /// The source of events that it publishes.
    pub(crate) source: String,
    ended: AtomicBool,
}

impl Grant {
    pub(crate) fn scopes() -> Scopes {
        SCOPES.into_iter().collect()
    }

    /// Whether its action has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// The valid tokens, by their SHA-256.
#[derive(Debug, Default)]
pub(crate) struct Grants(Mutex<HashMap<[u8; 32], Arc<Grant>>>);

impl Grants {
    /// Creates a token that is valid until it is dropped.
    pub(super) fn give(&self, attempt: &Attempt) -> waypost_auth::Result<IssuedToken<'_>> {
        let token = format!("{PREFIX}{}", waypost_auth::random_text(SECRET_CHARS)?);
        let hash = hash(&token);
        let source = format!("flow {}", attempt.id.run.flow);
        let ended = AtomicBool::new(false);
        let grant = Grant { lineage: attempt.lineage.clone(), source, ended };
        self.0.lock().insert(hash, Arc::new(grant));
        Ok(IssuedToken { grants: self, hash, token })
    }

    /// Whether a token has the form of a run's token.
    pub(crate) fn is_run(token: &str) -> bool {
        token.starts_with(PREFIX)
    }

    /// The grant of a token, if the token is still valid.
    pub(crate) fn find(&self, token: &str) -> Option<Arc<Grant>> {
        self.0.lock().get(&hash(token)).cloned()
    }
}

/// A valid token.
#[derive(Debug)]
pub(super) struct IssuedToken<'a> {
    grants: &'a Grants,
    hash: [u8; 32],
    pub(super) token: String,
}

impl Drop for IssuedToken<'_> {
    fn drop(&mut self) {
        if let Some(grant) = self.grants.0.lock().remove(&self.hash) {
            grant.ended.store(true, Ordering::Relaxed);
        }
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
