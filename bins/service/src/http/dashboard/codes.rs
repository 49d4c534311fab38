//! One-time codes, and the tokens that they were exchanged for.
//!
//! Both are in the memory of one start of the service. Whoever takes its port later can neither
//! prove that it knows them nor use them.

use std::time::Duration;

use hmac::{Hmac, KeyInit as _, Mac as _};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use waypost_auth::{Scopes, TokenId};
use waypost_time::Timestamp;

/// How long a code can be exchanged.
const VALID: Duration = Duration::from_secs(60);
/// How long a token for a code is valid.
pub(crate) const TOKEN_VALID: Duration = Duration::from_secs(12 * 60 * 60);
/// Codes that are remembered, with their tokens; further ones replace the oldest.
const CODES_MAX: usize = 256;
/// Letters and digits of the public part of a code, by which the page names it.
const ID_CHARS: usize = 10;
/// Letters and digits of its secret: slightly more than 256 bits.
const SECRET_CHARS: usize = 43;

/// The codes that were created lately.
#[derive(Debug, Default)]
pub(crate) struct Codes {
    known: Mutex<Vec<Code>>,
    /// Held during an exchange, which writes to the disk.
    exchanging: Mutex<()>,
}

#[derive(Debug)]
struct Code {
    id: String,
    key: Key,
    digest: [u8; 32],
    expires: Timestamp,
    opened: Opened,
    /// The token that it was exchanged for.
    token: Option<(TokenId, Key)>,
}

/// What a code is exchanged for.
#[derive(Debug, Clone)]
pub(crate) struct Opened {
    /// The scopes of the token.
    pub(crate) scopes: Scopes,
    /// The only space of the token.
    pub(crate) space: Option<String>,
    /// The token of the request that created the code.
    pub(crate) parent: TokenId,
}

/// Proves the knowledge of a code or a token without revealing it.
#[derive(Debug, Clone)]
pub(crate) struct Key(Hmac<Sha256>);

/// Why a code is not exchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    Unknown,
    Late,
    /// The token that created it was revoked or has expired.
    Ended,
    /// It was exchanged for this token.
    Used(TokenId),
}

impl Key {
    pub(crate) fn of(secret: &str) -> Self {
        let key = Hmac::new_from_slice(secret.as_bytes());
        Self(key.expect("a key of any length is one for HMAC"))
    }

    fn prove(&self, nonce: &str) -> [u8; 32] {
        self.0.clone().chain_update(nonce).finalize().into_bytes().into()
    }
}

impl Codes {
    /// Creates a code; returns it and when it expires.
    pub(crate) fn create(
        &self,
        opened: Opened,
        now: Timestamp,
    ) -> waypost_auth::Result<(String, Timestamp)> {
        let id = waypost_auth::random_text(ID_CHARS)?;
        let text = format!("{id}_{}", waypost_auth::random_text(SECRET_CHARS)?);
        let expires = now.saturating_add(VALID);
        let (key, digest) = (Key::of(&text), digest(&text));
        let mut codes = self.known.lock();
        // At least as long as its token is valid; an unused one, to say why it is refused.
        codes.retain(|code| now < code.expires.saturating_add(TOKEN_VALID));
        if codes.len() >= CODES_MAX {
            codes.remove(0);
        }
        codes.push(Code { id, key, digest, expires, opened, token: None });
        Ok((text, expires))
    }

    /// Exchanges a code for the token that `create` makes. Another exchange waits meanwhile.
    pub(crate) fn exchange<T, E: From<Refused>>(
        &self,
        text: &str,
        now: Timestamp,
        create: impl FnOnce(&Opened) -> Result<(TokenId, Key, T), E>,
    ) -> Result<T, E> {
        let asked = digest(text);
        let _one_at_a_time = self.exchanging.lock();
        let opened = self.exchangeable(asked, now)?;
        let (id, key, token) = create(&opened)?;
        let mut codes = self.known.lock();
        if let Some(code) = codes.iter_mut().find(|code| code.digest == asked) {
            code.token = Some((id, key));
        }
        Ok(token)
    }

    fn exchangeable(&self, asked: [u8; 32], now: Timestamp) -> Result<Opened, Refused> {
        let codes = self.known.lock();
        // The time of the comparison says nothing: a digest reveals no part of its code.
        let code = codes.iter().find(|code| code.digest == asked).ok_or(Refused::Unknown)?;
        match &code.token {
            Some((token, _)) => Err(Refused::Used(*token)),
            None if now >= code.expires => Err(Refused::Late),
            None => Ok(code.opened.clone()),
        }
    }

    /// The proof that this process created the code or the token with that id: the HMAC-SHA256 of
    /// the nonce, with the whole code or token as the key.
    pub(crate) fn prove(&self, id: &str, nonce: &str) -> Option<[u8; 32]> {
        let codes = self.known.lock();
        let key = codes.iter().find_map(|code| match &code.token {
            _ if code.id == id => Some(&code.key),
            Some((token, key)) if token.as_str() == id => Some(key),
            _ => None,
        });
        Some(key?.prove(nonce))
    }

    /// Whether this process exchanged a code for that token.
    pub(crate) fn has_issued(&self, id: TokenId) -> bool {
        let codes = self.known.lock();
        codes.iter().any(|code| code.token.as_ref().is_some_and(|(token, _)| *token == id))
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_secs(1_000_000);

    fn after(seconds: u64) -> Timestamp {
        START.saturating_add(Duration::from_secs(seconds))
    }

    fn opened() -> Opened {
        Opened { scopes: Scopes::all(), space: None, parent: id() }
    }

    fn id() -> TokenId {
        "aB3dE5fG7h".parse().expect("an id")
    }

    fn exchange(codes: &Codes, code: &str, now: Timestamp) -> Result<(), Refused> {
        codes.exchange(code, now, |_| Ok((id(), Key::of("wp_token"), ())))
    }

    #[test]
    fn a_code_is_exchanged_once_and_within_a_minute() {
        let codes = Codes::default();
        let (code, expires) = codes.create(opened(), START).expect("randomness");
        assert_eq!(expires, after(60));
        assert_eq!(exchange(&codes, "", START), Err(Refused::Unknown));
        assert_eq!(exchange(&codes, &code[1..], START), Err(Refused::Unknown));
        assert_eq!(exchange(&codes, &code, after(59)), Ok(()));
        let used = exchange(&codes, &code, after(59));
        assert!(matches!(used, Err(Refused::Used(_))), "{used:?}");
        // Used and late at once: that it was used matters more.
        assert!(matches!(exchange(&codes, &code, after(600)), Err(Refused::Used(_))));

        let (late, _) = codes.create(opened(), START).expect("randomness");
        assert_eq!(exchange(&codes, &late, after(60)), Err(Refused::Late));
        let half_a_day = 12 * 60 * 60;
        codes.create(opened(), after(59 + half_a_day)).expect("randomness");
        assert!(codes.has_issued(id()), "it is valid until then");
        codes.create(opened(), after(60 + half_a_day)).expect("randomness");
        assert_eq!(exchange(&codes, &late, after(60 + half_a_day)), Err(Refused::Unknown));
    }

    #[test]
    fn only_the_process_that_knows_a_code_or_its_token_proves_it() {
        let codes = Codes::default();
        let (code, _) = codes.create(opened(), START).expect("randomness");
        let of_code = code.split('_').next().expect("an id");
        assert_eq!(codes.prove(of_code, "nonce"), Some(Key::of(&code).prove("nonce")));
        assert_eq!((codes.prove(id().as_str(), "nonce"), codes.has_issued(id())), (None, false));
        exchange(&codes, &code, START).expect("it is valid");
        assert_eq!(codes.prove(id().as_str(), "n"), Some(Key::of("wp_token").prove("n")));
        assert!(codes.prove(of_code, "n").is_some() && codes.has_issued(id()));
        let after_a_restart = Codes::default();
        assert_eq!(after_a_restart.prove(id().as_str(), "nonce"), None);
    }

    #[test]
    fn a_failed_exchange_leaves_the_code_valid() {
        let codes = Codes::default();
        let (code, _) = codes.create(opened(), START).expect("randomness");
        let failed: Result<(), Refused> = codes.exchange(&code, START, |_| Err(Refused::Unknown));
        assert_eq!(failed, Err(Refused::Unknown));
        assert_eq!(exchange(&codes, &code, START), Ok(()));
    }

    #[test]
    fn the_number_of_codes_is_limited() {
        let codes = Codes::default();
        let made: Vec<String> =
            (0..=CODES_MAX).map(|_| codes.create(opened(), START).expect("randomness").0).collect();
        assert_eq!(exchange(&codes, &made[0], START), Err(Refused::Unknown));
        assert_eq!(exchange(&codes, &made[1], START), Ok(()));
        assert_eq!(exchange(&codes, &made[CODES_MAX], START), Ok(()));
    }
}
