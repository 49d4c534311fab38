//! One-time codes.

use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use waypost_auth::{Scopes, TokenId};
use waypost_time::Timestamp;

/// How long a code can be exchanged.
const VALID: Duration = Duration::from_secs(60);
/// How long a code is remembered after that, to say why it is refused.
const REMEMBERED: Duration = Duration::from_secs(10 * 60);
/// Codes that are remembered; further ones replace the oldest.
const CODES_MAX: usize = 64;
/// Letters and digits of a code: slightly more than 256 bits.
const CODE_CHARS: usize = 43;

/// The codes that were created lately.
#[derive(Debug, Default)]
pub(crate) struct Codes(Mutex<Vec<Code>>);

#[derive(Debug)]
struct Code {
    digest: [u8; 32],
    expires: Timestamp,
    opened: Opened,
    /// The token that it was exchanged for.
    token: Option<TokenId>,
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

impl Codes {
    /// Creates a code; returns it and when it expires.
    pub(crate) fn create(
        &self,
        opened: Opened,
        now: Timestamp,
    ) -> waypost_auth::Result<(String, Timestamp)> {
        let text = waypost_auth::random_text(CODE_CHARS)?;
        let expires = now.saturating_add(VALID);
        let mut codes = self.0.lock();
        codes.retain(|it| now < it.expires.saturating_add(REMEMBERED));
        if codes.len() >= CODES_MAX {
            codes.remove(0);
        }
        codes.push(Code { digest: digest(&text), expires, opened, token: None });
        Ok((text, expires))
    }

    /// Exchanges a code for the token that `create` makes. Another exchange waits meanwhile.
    pub(crate) fn exchange<T, E: From<Refused>>(
        &self,
        text: &str,
        now: Timestamp,
        create: impl FnOnce(&Opened) -> Result<(TokenId, T), E>,
    ) -> Result<T, E> {
        let asked = digest(text);
        let mut codes = self.0.lock();
        // The time of the comparison says nothing: a digest reveals no part of its code.
        let found = codes.iter_mut().find(|it| it.digest == asked);
        let code = found.ok_or(Refused::Unknown)?;
        if let Some(token) = code.token {
            return Err(Refused::Used(token).into());
        }
        if now >= code.expires {
            return Err(Refused::Late.into());
        }
        let (id, token) = create(&code.opened)?;
        code.token = Some(id);
        Ok(token)
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
        codes.exchange(code, now, |_| Ok((id(), ())))
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
        codes.create(opened(), after(660)).expect("randomness");
        assert_eq!(exchange(&codes, &late, after(660)), Err(Refused::Unknown), "forgotten");
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
