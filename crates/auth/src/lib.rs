//! Access tokens: created, checked, listed, rotated and revoked.
//!
//! A token has the form `wp_<id>_<secret><checksum>`. The checksum distinguishes a mistyped token
//! from a wrong one without a store ([`Token::parse`]); the secret is 256 random bits. A
//! [`TokenStore`] stores what is known about each token, but only the SHA-256 of the token itself,
//! in one small file that is replaced as a whole and synced before a change is acknowledged.
//! Several processes may use the same file: changes are made under a lock, and the others see them
//! at their next check.
//!
//! A token may be derived from another one ([`NewToken::parent`]): it ends with that one.
//!
//! Several machines may share their tokens: see [`TokenStore::with_shared`].
//!
//! Times are passed as arguments.
//!
//! ```
//! use waypost_auth::{NewToken, Rejected, Scope, Timestamp, TokenStore};
//!
//! # fn main() -> waypost_auth::Result<()> {
//! # let folder = tempfile::tempdir().expect("a temporary folder");
//! let now = Timestamp::from_millis(1_800_000_000_000);
//! let store = TokenStore::open(&folder.path().join("auth/tokens.json"))?;
//! let (secret, token) = store.create(NewToken::new([Scope::MemoryRead]), now)?;
//!
//! let verified = store.verify(secret.expose(), now).expect("the token was just made");
//! assert!(verified.allows(Scope::MemoryRead));
//! assert!(!verified.allows(Scope::MemoryWrite));
//!
//! store.revoke(token.id, now)?;
//! assert!(matches!(store.verify(secret.expose(), now), Err(Rejected::Revoked { .. })));
//! # Ok(())
//! # }
//! ```

mod admin;
mod change;
mod decide;
mod error;
mod files;
mod info;
mod record;
mod scope;
mod sharing;
mod store;
mod token;
mod verified;

pub use admin::{AdminToken, TokenFile, ensure_admin_token_file, read_token_file};
pub use change::TokenChange;
pub use error::{AppendError, Error, ErrorKind, InvalidChange, Result};
pub use info::{NewToken, Revocation, TokenInfo};
pub use scope::{Scope, Scopes, UnknownScope};
pub use sharing::{Append, Contact};
pub use store::TokenStore;
pub use token::{Malformed, Secret, Token, TokenId, random_text};
pub use verified::{Rejected, Verified};
pub use waypost_time::Timestamp;
