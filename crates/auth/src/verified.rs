//! The result of a check.

use std::sync::Arc;

use waypost_time::Timestamp;

use crate::scope::{Scope, Scopes};
use crate::token::{Malformed, TokenId};

/// A known token that is neither expired nor revoked, and its permissions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// The id of the token.
    pub id: TokenId,
    /// Its permissions.
    pub scopes: Scopes,
    /// The only space that it may access; `None` for all.
    pub space: Option<Arc<str>>,
    /// When it expires.
    pub expires: Option<Timestamp>,
    /// The token that it is derived from.
    pub parent: Option<TokenId>,
}

impl Verified {
    /// Whether the token has that scope or the admin scope.
    pub fn allows(&self, scope: Scope) -> bool {
        self.scopes.allows(scope)
    }
}

/// Why a token is rejected. All but the last two mean the same to a caller: 401. An unknown id and
/// a wrong secret are not distinguished.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejected {
    /// It does not have the form of a token.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It was not created here, or its secret is wrong.
    #[error("unknown token")]
    Unknown,
    /// It has expired.
    #[error("the token has expired")]
    Expired {
        /// When that was.
        at: Timestamp,
    },
    /// It was revoked.
    #[error("the token was revoked")]
    Revoked {
        /// When that was.
        at: Timestamp,
    },
    /// The machine has lost [contact](crate::Contact) with those that it shares its tokens with, so
    /// it accepts only its own: 503. Tokens that it does not know are rejected alike, because
    /// another machine may have created them.
    #[error(
        "this machine has not followed the journal of its cluster for 5 minutes, and cannot know whether the token was revoked; use the machine's own admin token, or another machine. `ctl doctor` on this machine says why"
    )]
    OutOfContact,
    /// The token store cannot be read, so no token is accepted: 503, and the reason for the log (it
    /// names a file).
    #[error("failed to check the token")]
    Unavailable {
        /// The error of reading the store.
        reason: Arc<str>,
    },
}
