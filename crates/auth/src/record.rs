//! The token file: JSON with a version and a checksum over the tokens.

use std::collections::BTreeMap;
use std::path::Path;

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use waypost_time::{Timestamp, millis};

use crate::error::{Error, Result};
use crate::scope::{Scope, Scopes};
use crate::token::{Digest, TokenId};

/// Version 2 has `parent`, version 3 the scope `browser:use`, version 4 `shared` and `local`. A file
/// is written as the lowest version that can express it, for earlier releases.
const VERSION: u32 = 4;

/// What is stored about one token, in the file and in the shared journal.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Record {
    pub(crate) id: TokenId,
    pub(crate) digest: Digest,
    pub(crate) scopes: Scopes,
    #[serde(with = "millis")]
    pub(crate) created: Timestamp,
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) space: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub(crate) last_used: Option<Timestamp>,
    #[serde(default, with = "millis::optional", skip_serializing_if = "Option::is_none")]
    pub(crate) revoked: Option<Timestamp>,
    /// Created for the admin token file of the first start.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) first_admin: bool,
    /// A local token was rotated to it, while tokens were shared.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) local: bool,
    /// The token that it is derived from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
    tokens: Vec<Record>,
}

pub(crate) fn encode(table: &Table) -> Vec<u8> {
    let tokens: Vec<Record> = table.records.values().cloned().collect();
    let version = version_of(&tokens, table.shared);
    let file = Document { version, checksum: checksum(&tokens), shared: table.shared, tokens };
    let mut bytes = serde_json::to_vec_pretty(&file).expect("plain structs always serialise");
    bytes.push(b'\n');
    bytes
}

pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Table> {
    let corrupt = |reason: String| Error::Corrupt { path: path.to_owned(), reason };
    let any: AnyVersion =
        serde_json::from_slice(bytes).map_err(|error| corrupt(error.to_string()))?;
    if any.version > VERSION {
        return Err(Error::Newer { path: path.to_owned(), found: any.version, known: VERSION });
    }
    let file: Document =
        serde_json::from_slice(bytes).map_err(|error| corrupt(error.to_string()))?;
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
        let id = token.id;
        if records.insert(id, token).is_some() {
            return Err(corrupt(format!("duplicate token {id}")));
        }
    }
    Ok(Table { records, shared: file.shared })
}

/// The lowest version that can express the tokens.
fn version_of(tokens: &[Record], shared: bool) -> u32 {
    if shared || tokens.iter().any(|token| token.local) {
        VERSION
    } else if tokens.iter().any(|token| token.scopes.iter().any(|scope| scope == Scope::BrowserUse))
    {
        3
    } else if tokens.iter().any(|token| token.parent.is_some()) {
        2
    } else {
        1
    }
}

/// Computed over the tokens' serialized form, so that whitespace and line ends do not matter.
fn checksum(tokens: &[Record]) -> String {
    let bytes = serde_json::to_vec(tokens).expect("plain structs always serialise");
    HEXLOWER.encode(&Sha256::digest(&bytes))
}
