//! A copy of the tokens that the machines share.
//!
//! The base is behind each change of tokens, whose notice is not read again then: with the copy, an
//! operator can put an older `tokens.json` back, or lose it, and no revoked token becomes valid.

use std::fs;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use waypost_auth::{Result, TokenChange, TokenStore};
use waypost_cluster::Member;
use waypost_time::Timestamp;

use crate::clock::now;
use crate::error::chain;

/// The file of the copy.
#[derive(Debug)]
pub(crate) struct KeptTokens {
    file: PathBuf,
    /// What this process has written.
    kept: Mutex<Vec<Vec<u8>>>,
}

impl KeptTokens {
    pub(crate) fn of(member: &Member, data: &Path) -> Self {
        Self { file: member.tokens_copy(data), kept: Mutex::default() }
    }

    /// Adds to `tokens.json` what only the copy has, and all of it if that file is missing.
    pub(crate) fn restore(&self, tokens: &TokenStore) -> Result<()> {
        let kept = TokenStore::open(&self.file).and_then(|it| Ok((it.is_shared()?, it)));
        let kept = match kept {
            Ok((true, kept)) => kept.shared_state(now())?,
            Ok((false, _)) => return Ok(()),
            Err(error) => {
                tracing::warn!(
                    error = chain(&error),
                    "ignored the copy of the cluster's tokens; it is written again with the next change of tokens"
                );
                return Ok(());
            }
        };
        if !tokens.path().exists() {
            tracing::warn!("restored the cluster's tokens from this machine's copy");
            return tokens.adopt(&kept, now());
        }
        if tokens.is_shared()? {
            for change in &kept {
                tokens.apply(change, now())?;
            }
        }
        Ok(())
    }

    /// Replaces the copy if tokens have changed.
    pub(crate) fn keep(&self, tokens: &TokenStore) -> Result<()> {
        let mut kept = self.kept.lock();
        let state = tokens.shared_state(Timestamp::from_millis(0))?;
        let bytes: Vec<_> = state.iter().map(TokenChange::encode).collect();
        if *kept != bytes {
            // It may be damaged.
            drop(fs::remove_file(&self.file));
            TokenStore::open(&self.file)?.adopt(&state, now())?;
            *kept = bytes;
        }
        Ok(())
    }
}
