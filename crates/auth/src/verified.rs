//! The outcome of a check.

use std::sync::Arc;

use crate::scope::{Scope, Scopes};
use crate::token::{Malformed, TokenId};

/// A token that is known, not expired and not revoked, and what it permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// Which token.
    pub id: TokenId,
    /// What it permits.
    pub scopes: Scopes,
    /// The only space that it may touch; `None` for all.
    pub space: Option<Arc<str>>,
    /// When it stops working, in milliseconds since the epoch.
    pub expires: Option<i64>,
}

impl Verified {
    /// True if the token has that scope or is an admin's.
    pub fn allows(&self, scope: Scope) -> bool {
        self.scopes.allows(scope)
    }

    /// True if the token may touch that space.
    pub fn allows_space(&self, space: &str) -> bool {
        self.space.as_deref().is_none_or(|only| only == space)
    }
}

/// Why a token is refused. All but the last mean the same to a caller: 401. An unknown id and a
/// wrong secret are not told apart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// It is no token at all.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Nobody made it here.
    #[error("the token is not known here")]
    Unknown,
    /// Its time is over.
    #[error("the token has expired")]
    Expired {
        /// When that was, in milliseconds since the epoch.
        at: i64,
    },
    /// Somebody revoked it.
    #[error("the token was revoked")]
    Revoked {
        /// When that was, in milliseconds since the epoch.
        at: i64,
    },
    /// The store of tokens cannot be read, so nobody can be let in: 503, and the reason for the
    /// log (it names a file).
    #[error("tokens cannot be checked now")]
    Unavailable {
        /// The error of reading the store.
        reason: Arc<str>,
    },
}
