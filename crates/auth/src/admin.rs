//! Token files: the first start's admin token, and any file that holds one token.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use waypost_time::Timestamp;

use crate::error::{Error, Result};
use crate::files;
use crate::scope::Scope;
use crate::sharing::Contact;
use crate::store::TokenStore;
use crate::token::{Malformed, Secret, Token, TokenId};

const NOTE: &str = "the first start's admin token";
/// The maximum size of a file with a token and whitespace around it.
const FILE_BYTES_MAX: usize = 256;

/// The result of [`ensure_admin_token_file`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdminToken {
    /// The file contains a valid admin token.
    Kept {
        /// The id of the token.
        id: TokenId,
        /// Other users could read the file until now, with this mode: tell the user, who may want
        /// to rotate the token.
        was_open: Option<u32>,
    },
    /// There was no file; a token was created. The tokens of earlier files are revoked.
    Created {
        /// The id of the token.
        id: TokenId,
    },
    /// The file contained no valid admin token; a new token replaced its content.
    Replaced {
        /// The id of the token.
        id: TokenId,
        /// Why the old one was not valid.
        reason: String,
    },
}

/// Ensures that the file at `path` contains a valid admin token: the access for the user who owns
/// the project. A new file gets mode 0600. The token is not returned, so that it does not get into
/// a log by accident.
///
/// # Errors
/// [`Error::NotAFile`] if something else is at `path` (a link, a folder), [`Error::Exposed`] if
/// other users can write it, and errors of the store.
pub fn ensure_admin_token_file(
    path: &Path,
    store: &TokenStore,
    now: Timestamp,
) -> Result<AdminToken> {
    if let Present::Good(kept) = look(path, store, now)? {
        return Ok(kept);
    }
    let lock = store.lock()?;
    // Another process may have been faster.
    let reason = match look(path, store, now)? {
        Present::Good(kept) => return Ok(kept),
        Present::Bad(reason) => Some(reason),
        Present::Nothing => None,
    };
    let (secret, made) = store.create_first_admin(&lock, NOTE, now)?;
    files::create_private_folder(files::folder_of(path))?;
    files::replace(path, format!("{}\n", secret.expose()).as_bytes())?;
    Ok(match reason {
        Some(reason) => AdminToken::Replaced { id: made.id, reason },
        None => AdminToken::Created { id: made.id },
    })
}

enum Present {
    Nothing,
    Good(AdminToken),
    Bad(String),
}

fn look(path: &Path, store: &TokenStore, now: Timestamp) -> Result<Present> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Present::Nothing),
        Err(error) => return Err(files::io_error("read", path, error)),
        Ok(metadata) if !metadata.is_file() => {
            return Err(Error::NotAFile { path: path.to_owned() });
        }
        Ok(_) => {}
    }
    let file = match read_token_file(path) {
        Ok(file) => file,
        Err(Error::Invalid { reason, .. }) => return Ok(Present::Bad(reason)),
        Err(error) => return Err(error),
    };
    files::keep_private(path)?;
    // An unreadable store is a separate error, not a reason to create another token.
    store.list()?;
    // Without contact, the token may be a shared one, which is not accepted until contact returns.
    Ok(match store.check(file.secret.expose(), Contact::Kept, now) {
        Ok(verified) if verified.allows(Scope::Admin) => {
            Present::Good(AdminToken::Kept { id: verified.id, was_open: file.open_mode })
        }
        Ok(_) => Present::Bad("its token does not have the scope admin".to_owned()),
        Err(rejected) => Present::Bad(rejected.to_string()),
    })
}

/// The token of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenFile {
    /// The token. Its form and checksum are valid; only the service knows whether it is accepted.
    pub secret: Secret,
    /// The file's mode if other users can read it: worth a warning.
    pub open_mode: Option<u32>,
}

/// Reads the token from a file; whitespace and line ends around it are ignored.
///
/// # Errors
/// [`Error::Invalid`] if the file contains something else, [`Error::Io`] if it cannot be read.
pub fn read_token_file(path: &Path) -> Result<TokenFile> {
    let Some(contents) = files::read(path)? else {
        return Err(files::io_error("read", path, io::ErrorKind::NotFound.into()));
    };
    let invalid = |reason: String| Error::Invalid { field: "token file", reason };
    if contents.bytes.len() > FILE_BYTES_MAX {
        return Err(invalid("it contains more than one token".to_owned()));
    }
    let text = std::str::from_utf8(&contents.bytes)
        .map_err(|_| invalid(Malformed::Character.to_string()))?
        .trim();
    Token::parse(text).map_err(|error| invalid(error.to_string()))?;
    Ok(TokenFile { secret: Secret::new(text.to_owned()), open_mode: open_mode(&contents.file) })
}

fn open_mode(file: &fs::File) -> Option<u32> {
    let mode = file.metadata().ok()?.mode() & 0o777;
    (mode & 0o077 != 0).then_some(mode)
}
