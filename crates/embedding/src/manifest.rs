//! The record in a cached model's folder of each file's state when it was verified.
//!
//! With it a later start compares lengths and times instead of digesting 90 MB again, and loading a
//! model detects a file that was swapped in the cache.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::files::{self, MANIFEST};
use crate::{Error, Result};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) version: u32,
    pub(crate) name: String,
    /// The name of the files' source.
    pub(crate) source: String,
    pub(crate) fingerprint: String,
    pub(crate) files: BTreeMap<String, Recorded>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Recorded {
    pub(crate) bytes: u64,
    /// Nanoseconds since 1970; a string, because JSON numbers are not precise enough.
    pub(crate) modified: String,
    pub(crate) sha256: String,
}

pub(crate) const VERSION: u32 = 1;

impl Manifest {
    /// The folder's manifest. An unreadable one counts as missing: it only saves work.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let bytes = files::read_optional(folder, MANIFEST)?;
        Ok(bytes
            .and_then(|bytes| serde_json::from_slice::<Self>(&bytes).ok())
            .filter(|manifest| manifest.version == VERSION))
    }

    /// Compares a file's digest with the recorded one, if there is one.
    pub(crate) fn check(&self, folder: &Path, file: &str, actual: &str) -> Result<()> {
        match self.files.get(file) {
            Some(recorded) if recorded.sha256 != actual => Err(Error::Checksum {
                path: folder.join(file),
                expected: recorded.sha256.clone(),
                actual: actual.to_owned(),
            }),
            _ => Ok(()),
        }
    }
}
