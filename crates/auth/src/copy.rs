//! A copy of the tokens that machines share, in a second file.

use std::fs;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use waypost_time::Timestamp;

use crate::change::TokenChange;
use crate::error::Result;
use crate::files;
use crate::store::TokenStore;

/// A file with a copy of the tokens that machines share, so that their token file can be lost or
/// replaced by an older one: what was revoked before the copy was made stays revoked. It has no
/// local tokens.
#[derive(Debug)]
pub struct TokenCopy {
    file: PathBuf,
    /// What this process has written.
    written: Mutex<Vec<Vec<u8>>>,
}

impl TokenCopy {
    /// The copy in this file, which need not exist.
    pub fn new(file: &Path) -> Self {
        Self { file: file.to_owned(), written: Mutex::default() }
    }

    /// Adds to `tokens` what only the copy has, and all of it if they are not those of the other
    /// machines. Returns false if there is no copy.
    ///
    /// # Errors
    /// Those of reading the copy, such as [`Error::Corrupt`](crate::Error::Corrupt), and of changing
    /// `tokens`.
    pub fn restore(&self, tokens: &TokenStore, now: Timestamp) -> Result<bool> {
        let copy = TokenStore::open(&self.file)?;
        if !copy.is_shared()? {
            return Ok(false);
        }
        let state = copy.shared_state(now)?;
        if tokens.is_shared()? {
            state.iter().try_for_each(|it| tokens.apply(it, now))?;
        } else {
            tokens.adopt(&state, now)?;
        }
        Ok(true)
    }

    /// Makes the copy that of `tokens`, to which it adds what only the copy had. If the copy is
    /// damaged, it is replaced.
    ///
    /// # Errors
    /// Those of reading and writing the files.
    pub fn keep(&self, tokens: &TokenStore, now: Timestamp) -> Result<()> {
        let mut written = self.written.lock();
        // The time of the call would make a difference.
        let state = || tokens.shared_state(Timestamp::from_millis(0));
        let bytes = |it: &[TokenChange]| it.iter().map(TokenChange::encode).collect::<Vec<_>>();
        if *written == bytes(&state()?) {
            return Ok(());
        }
        if self.restore(tokens, now).is_err() {
            drop(fs::remove_file(&self.file));
        }
        let state = state()?;
        TokenStore::open(&self.file)?.adopt(&state, now)?;
        *written = bytes(&state);
        Ok(())
    }

    /// Removes the copy, for a machine that leaves the others.
    pub fn remove(&self) {
        drop(fs::remove_file(files::sibling(&self.file, ".lock")));
        drop(fs::remove_file(&self.file));
    }
}
