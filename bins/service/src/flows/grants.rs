//! Tokens of runs: they are in memory only, and work as long as the action they were made for.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use waypost_auth::{Scope, Scopes};
use waypost_events::Lineage;
use waypost_flows::Attempt;

/// What tells a run's token from others'.
const PREFIX: &str = "wpr_";
/// A little more than 256 random bits.
const SECRET_CHARS: usize = 43;
/// What the program of a run may do.
const SCOPES: [Scope; 5] = [
    Scope::EventsRead,
    Scope::EventsPublish,
    Scope::MemoryRead,
    Scope::MemoryWrite,
    Scope::ContextRead,
];

/// What a run's token stands for.
#[derive(Debug)]
pub(crate) struct Grant {
    /// Of what it publishes.
    pub(crate) lineage: Lineage,
    /// Who publishes it.
    pub(crate) source: String,
    ended: AtomicBool,
}

impl Grant {
    pub(crate) fn scopes() -> Scopes {
        SCOPES.into_iter().collect()
    }

    /// Whether the action that it was made for has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

/// The tokens that work now, by their SHA-256.
#[derive(Debug, Default)]
pub(crate) struct Grants(Mutex<HashMap<[u8; 32], Arc<Grant>>>);

impl Grants {
    /// Makes a token that works until it is dropped.
    pub(super) fn give(&self, attempt: &Attempt) -> waypost_auth::Result<Given<'_>> {
        let token = format!("{PREFIX}{}", waypost_auth::random_text(SECRET_CHARS)?);
        let hash = hash(&token);
        let source = format!("flow {}", attempt.id.run.flow);
        let ended = AtomicBool::new(false);
        let grant = Grant { lineage: attempt.lineage.clone(), source, ended };
        self.0.lock().insert(hash, Arc::new(grant));
        Ok(Given { grants: self, hash, token })
    }

    /// Whether a token is a run's, by its looks.
    pub(crate) fn is_run(token: &str) -> bool {
        token.starts_with(PREFIX)
    }

    /// What a token stands for, if it still works.
    pub(crate) fn find(&self, token: &str) -> Option<Arc<Grant>> {
        self.0.lock().get(&hash(token)).cloned()
    }
}

/// A token that works.
#[derive(Debug)]
pub(super) struct Given<'a> {
    grants: &'a Grants,
    hash: [u8; 32],
    pub(super) token: String,
}

impl Drop for Given<'_> {
    fn drop(&mut self) {
        if let Some(grant) = self.grants.0.lock().remove(&self.hash) {
            grant.ended.store(true, Ordering::Relaxed);
        }
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
