//! The text of a token.

use std::fmt;
use std::str::FromStr;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

const PREFIX: &str = "wp_";
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_CHARS: usize = 10;
/// 62^43 is a little more than 2^256.
const SECRET_CHARS: usize = 43;
const CHECKSUM_CHARS: usize = 6;
const TOKEN_CHARS: usize = PREFIX.len() + ID_CHARS + 1 + SECRET_CHARS + CHECKSUM_CHARS;

/// The public part of a token: it identifies the token and permits nothing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenId([u8; ID_CHARS]);

impl TokenId {
    /// The id as text: ten letters and digits.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("ids are made of ASCII letters and digits only")
    }
}

impl FromStr for TokenId {
    type Err = Malformed;

    fn from_str(text: &str) -> std::result::Result<Self, Malformed> {
        let bytes: [u8; ID_CHARS] = text.as_bytes().try_into().map_err(|_| Malformed::Length)?;
        if bytes.iter().all(u8::is_ascii_alphanumeric) {
            Ok(Self(bytes))
        } else {
            Err(Malformed::Character)
        }
    }
}

impl fmt::Display for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for TokenId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenId({self})")
    }
}

impl Serialize for TokenId {
    fn serialize<S: Serializer>(&self, output: S) -> std::result::Result<S::Ok, S::Error> {
        output.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for TokenId {
    fn deserialize<D: Deserializer<'de>>(input: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        text.parse().map_err(|_| D::Error::custom("a token's id is malformed"))
    }
}

/// Why a text cannot be a token, whatever the store contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Malformed {
    /// It does not start with `wp_`.
    #[error("a token must start with wp_")]
    Prefix,
    /// It is too short or too long.
    #[error("the token has the wrong length; check that it was copied completely")]
    Length,
    /// It has a character that is not valid in a token.
    #[error("the token contains an invalid character")]
    Character,
    /// Its checksum does not match: a character is wrong.
    #[error("the token's checksum is invalid; check that it was copied correctly")]
    Checksum,
}

/// A text with the form of a token and a matching checksum. Whether it permits anything is decided
/// only by [`crate::TokenStore::verify`]. Its `Debug` form does not show the secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    id: TokenId,
    text: &'a str,
}

impl<'a> Token<'a> {
    /// Parses a token, without a store and without a network; surrounding whitespace is not
    /// accepted.
    ///
    /// ```
    /// use waypost_auth::{Malformed, Token};
    /// assert_eq!(Token::parse("wp_short"), Err(Malformed::Length));
    /// ```
    pub fn parse(text: &'a str) -> std::result::Result<Self, Malformed> {
        let bytes = text.as_bytes();
        if !bytes.starts_with(PREFIX.as_bytes()) {
            return Err(Malformed::Prefix);
        }
        if bytes.len() != TOKEN_CHARS {
            return Err(Malformed::Length);
        }
        let (id, rest) = bytes[PREFIX.len()..].split_at(ID_CHARS);
        if rest[0] != b'_' || !id.iter().chain(&rest[1..]).all(u8::is_ascii_alphanumeric) {
            return Err(Malformed::Character);
        }
        let (body, sum) = bytes.split_at(TOKEN_CHARS - CHECKSUM_CHARS);
        if checksum(body) != sum {
            return Err(Malformed::Checksum);
        }
        Ok(Self { id: TokenId(id.try_into().expect("split off at its length")), text })
    }

    /// The public part.
    pub fn id(&self) -> TokenId {
        self.id
    }

    pub(crate) fn digest(&self) -> Digest {
        Digest(Sha256::digest(self.text.as_bytes()).into())
    }
}

impl fmt::Debug for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}, …)", self.id)
    }
}

/// The SHA-256 of a whole token. A fast hash is safe here: 256 random bits cannot be guessed.
#[derive(Clone, Copy)]
pub(crate) struct Digest(pub(crate) [u8; 32]);

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, output: S) -> std::result::Result<S::Ok, S::Error> {
        output.collect_str(&HEXLOWER.encode_display(&self.0))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(input: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(input)?;
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| D::Error::custom("a token's digest is malformed"))
    }
}

/// A whole token, to be shown once. It has no `Display`, and its `Debug` form does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub(crate) fn new(text: String) -> Self {
        Self(text)
    }

    /// A new token from the system's randomness.
    pub(crate) fn generate() -> Result<Self> {
        let mut text = String::with_capacity(TOKEN_CHARS);
        text.push_str(PREFIX);
        push_random(&mut text, ID_CHARS)?;
        text.push('_');
        push_random(&mut text, SECRET_CHARS)?;
        let sum = checksum(text.as_bytes());
        text.extend(sum.iter().map(|digit| char::from(*digit)));
        Ok(Self(text))
    }

    /// The token as text.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// This many letters and digits from the system's randomness, all with the same probability: 43 of
/// them have slightly more than 256 bits.
///
/// # Errors
/// [`Error::Randomness`] if the system has none.
pub fn random_text(chars: usize) -> Result<String> {
    let mut text = String::with_capacity(chars);
    push_random(&mut text, chars)?;
    Ok(text)
}

/// Appends letters and digits, each with the same probability.
fn push_random(text: &mut String, chars: usize) -> Result<()> {
    let mut left = chars;
    while left > 0 {
        let mut bytes = [0_u8; 64];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::Randomness { reason: error.to_string() })?;
        // 248 is the largest multiple of 62 in a byte; larger values would favour some digits.
        for byte in bytes.into_iter().filter(|byte| *byte < 248).take(left) {
            text.push(char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
            left -= 1;
        }
    }
    Ok(())
}

/// The last characters of a token: a CRC-32 in base 62, most significant digit first; 62^6 is more
/// than 2^32.
fn checksum(bytes: &[u8]) -> [u8; CHECKSUM_CHARS] {
    let mut rest = crc32fast::hash(bytes) as usize;
    let mut digits = [ALPHABET[0]; CHECKSUM_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET[rest % ALPHABET.len()];
        rest /= ALPHABET.len();
    }
    digits
}
