//! The token file: JSON with a version and a checksum over the tokens.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use waypost_time::Timestamp;

use crate::error::{Error, Result};
use crate::scope::{Scope, Scopes};
use crate::token::{Digest, TokenId};

/// Version 2 has `parent`, version 3 the scope `browser:use`, version 4 `shared` and `local`. A file
/// is written as the lowest version that can express it, for earlier releases.
const VERSION: u32 = 4;

/// What is stored about one token.
#[derive(Clone)]
pub(crate) struct Record {
    pub(crate) digest: Digest,
    pub(crate) scopes: Scopes,
    pub(crate) created: Timestamp,
    pub(crate) expires: Option<Timestamp>,
    pub(crate) space: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) last_used: Option<Timestamp>,
    pub(crate) revoked: Option<Timestamp>,
    /// Created for the admin token file of the first start.
    pub(crate) first_admin: bool,
    /// A local token was rotated to it, while tokens were shared.
    pub(crate) local: bool,
    /// The token that it is derived from.
    pub(crate) parent: Option<TokenId>,
}

pub(crate) type Records = BTreeMap<TokenId, Record>;

/// The content of the token file.
#[derive(Clone, Default)]
pub(crate) struct Table {
    pub(crate) records: Records,
    /// Other machines have the same tokens, apart from local ones.
    pub(crate) shared: bool,
}

#[derive(Deserialize)]
struct AnyVersion {
    version: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    version: u32,
    checksum: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    shared: bool,
    tokens: Vec<StoredToken>,
}

/// A token as the file and the shared journal have it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StoredToken {
    id: String,
    digest: String,
    scopes: Vec<String>,
    created: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    space: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_used: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revoked: Option<i64>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    first_admin: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    local: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
}

pub(crate) fn encode(table: &Table) -> Vec<u8> {
    let tokens: Vec<_> = table.records.iter().map(|(id, it)| StoredToken::of(*id, it)).collect();
    let version = version_of(&tokens, table.shared);
    let file = Document { version, checksum: checksum(&tokens), shared: table.shared, tokens };
    let mut bytes = serde_json::to_vec_pretty(&file).expect("plain structs always serialise");
    bytes.push(b'\n');
    bytes
}

pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Table> {
    let corrupt = |reason: String| Error::Corrupt { path: path.to_owned(), reason };
    let any: AnyVersion = serde_json::from_slice(bytes).map_err(|it| corrupt(it.to_string()))?;
    if any.version > VERSION {
        return Err(Error::Newer { path: path.to_owned(), found: any.version, known: VERSION });
    }
    let file: Document = serde_json::from_slice(bytes).map_err(|it| corrupt(it.to_string()))?;
    if file.version == 0 {
        return Err(corrupt("unknown format 0".to_owned()));
    }
    if file.version < version_of(&file.tokens, file.shared) {
        let reason = format!("format {} lacks what is in it", file.version);
        return Err(corrupt(reason));
    }
    if checksum(&file.tokens) != file.checksum {
        return Err(corrupt("its checksum is invalid".to_owned()));
    }
    let mut records = Records::new();
    for token in file.tokens {
        let name = token.id.clone();
        let (id, record) = token.record().map_err(&corrupt)?;
        if records.insert(id, record).is_some() {
            return Err(corrupt(format!("duplicate token {name}")));
        }
    }
    Ok(Table { records, shared: file.shared })
}

/// The lowest version that can express the tokens.
fn version_of(tokens: &[StoredToken], shared: bool) -> u32 {
    let is_new = |it: &String| it == Scope::BrowserUse.as_str();
    if shared || tokens.iter().any(|it| it.local) {
        VERSION
    } else if tokens.iter().any(|it| it.scopes.iter().any(is_new)) {
        3
    } else if tokens.iter().any(|it| it.parent.is_some()) {
        2
    } else {
        1
    }
}

/// Computed over the tokens' serialized form, so that whitespace and line ends do not matter.
fn checksum(tokens: &[StoredToken]) -> String {
    let bytes = serde_json::to_vec(tokens).expect("plain structs always serialise");
    hex(&Sha256::digest(&bytes))
}

impl StoredToken {
    pub(crate) fn of(id: TokenId, record: &Record) -> Self {
        Self {
            id: id.to_string(),
            digest: hex(&record.digest.0),
            scopes: record.scopes.iter().map(|scope| scope.as_str().to_owned()).collect(),
            created: record.created.as_millis(),
            expires: record.expires.map(Timestamp::as_millis),
            space: record.space.clone(),
            note: record.note.clone(),
            last_used: record.last_used.map(Timestamp::as_millis),
            revoked: record.revoked.map(Timestamp::as_millis),
            first_admin: record.first_admin,
            local: record.local,
            parent: record.parent.map(|it| it.to_string()),
        }
    }

    /// The token's id and record, or what is wrong with it.
    pub(crate) fn record(self) -> std::result::Result<(TokenId, Record), String> {
        let id: TokenId = self.id.parse().map_err(|_| "a token's id is malformed".to_owned())?;
        let digest =
            unhex(&self.digest).ok_or_else(|| format!("the digest of {id} is malformed"))?;
        let scopes = self
            .scopes
            .iter()
            .map(|name| name.parse::<Scope>())
            .collect::<std::result::Result<Scopes, _>>()
            .map_err(|error| error.to_string())?;
        let parent = self.parent.map(|it| it.parse()).transpose();
        let parent = parent.map_err(|_| format!("the parent of {id} is malformed"))?;
        let record = Record {
            digest: Digest(digest),
            scopes,
            created: Timestamp::from_millis(self.created),
            expires: self.expires.map(Timestamp::from_millis),
            space: self.space,
            note: self.note,
            last_used: self.last_used.map(Timestamp::from_millis),
            revoked: self.revoked.map(Timestamp::from_millis),
            first_admin: self.first_admin,
            local: self.local,
            parent,
        };
        Ok((id, record))
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]])
        .map(char::from)
        .collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    let mut bytes = [0; 32];
    if digits.len() != 2 * bytes.len() {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let high = char::from(pair[0]).to_digit(16)?;
        let low = char::from(pair[1]).to_digit(16)?;
        *byte = u8::try_from(high << 4 | low).ok()?;
    }
    Some(bytes)
}
