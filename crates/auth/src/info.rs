//! What a caller says about a token to be created, and learns about those that exist.

use waypost_time::Timestamp;

use crate::error::{Error, Result};
use crate::scope::{Scope, Scopes};
use crate::token::TokenId;

const NOTE_CHARS_MAX: usize = 256;
const SPACE_CHARS_MAX: usize = 128;

/// The properties of a token to be created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NewToken {
    /// Its permissions; at least one.
    pub scopes: Scopes,
    /// When it expires; `None` for never.
    pub expires: Option<Timestamp>,
    /// The only space that it may access; `None` for all. Not for admin tokens, which could lift
    /// the restriction.
    pub space: Option<String>,
    /// Its purpose, up to 256 characters.
    pub note: Option<String>,
    /// The token that it is derived from. Revoking that one revokes this one, too, and this one
    /// expires with that one at the latest.
    pub parent: Option<TokenId>,
}

impl NewToken {
    /// A token with these scopes, for all spaces, that never expires.
    pub fn new(scopes: impl IntoIterator<Item = Scope>) -> Self {
        Self { scopes: scopes.into_iter().collect(), ..Self::default() }
    }

    /// Stops working at a time.
    #[must_use]
    pub fn with_expires(mut self, expires: Timestamp) -> Self {
        self.expires = Some(expires);
        self
    }

    /// May touch only this space.
    #[must_use]
    pub fn with_space(mut self, space: impl Into<String>) -> Self {
        self.space = Some(space.into());
        self
    }

    /// Says what it is for.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Is derived from that token.
    #[must_use]
    pub fn with_parent(mut self, parent: TokenId) -> Self {
        self.parent = Some(parent);
        self
    }

    pub(crate) fn check(&self, now: Timestamp) -> Result<()> {
        let invalid =
            |field, reason: &str| Err(Error::Invalid { field, reason: reason.to_owned() });
        if self.scopes.is_empty() {
            return invalid("scopes", "a token needs at least one scope");
        }
        if self.expires.is_some_and(|expires| expires <= now) {
            return invalid("expires", "the time is in the past; pass a future time");
        }
        if let Some(space) = &self.space {
            if self.scopes.iter().any(|scope| scope == Scope::Admin) {
                return invalid("space", "an admin token applies to all spaces; omit the space");
            }
            if self.scopes.iter().any(|scope| scope == Scope::BrowserUse) {
                let why = "`browser:use` applies to no space; omit the scope or the space";
                return invalid("space", why);
            }
            if !is_plain(space, SPACE_CHARS_MAX) || space.is_empty() {
                return invalid(
                    "space",
                    "a space has 1 to 128 characters without control characters",
                );
            }
        }
        if self.note.as_ref().is_some_and(|note| !is_plain(note, NOTE_CHARS_MAX)) {
            return invalid("note", "a note has up to 256 characters without control characters");
        }
        Ok(())
    }
}

fn is_plain(text: &str, chars_max: usize) -> bool {
    text.chars().count() <= chars_max && !text.chars().any(char::is_control)
}

/// What is known about a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenInfo {
    /// The public part of the token.
    pub id: TokenId,
    /// Its permissions.
    pub scopes: Scopes,
    /// When it was created.
    pub created: Timestamp,
    /// When it expires.
    pub expires: Option<Timestamp>,
    /// The only space that it may access.
    pub space: Option<String>,
    /// Its purpose.
    pub note: Option<String>,
    /// When it was last used, in whole minutes.
    pub last_used: Option<Timestamp>,
    /// When it was revoked.
    pub revoked: Option<Timestamp>,
    /// The token that it is derived from.
    pub parent: Option<TokenId>,
    /// Whether it stays on this machine when several machines
    /// [share](crate::TokenStore::with_shared) their tokens: the admin token of the first start,
    /// tokens that are derived from it, and what it was rotated to while tokens were shared.
    pub local: bool,
}

/// The result of [`crate::TokenStore::revoke`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// The token.
    pub token: TokenInfo,
    /// The valid tokens that were derived from it, directly or not, and are revoked with it.
    pub derived: Vec<TokenId>,
}

impl TokenInfo {
    /// Whether the token is valid at that time.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.revoked.is_none() && self.expires.is_none_or(|expires| now < expires)
    }
}
