//! Pairs machines: a private certificate authority, a certificate for each machine, and the list of
//! rights.
//!
//! Only its owner can access a pairing folder, which contains
//!
//! | file | content | on |
//! |---|---|---|
//! | `authority.pem` | the authority's certificate; one signed by it may connect | every machine |
//! | `authority.key` | its private key | the machine that pairs |
//! | `machine.pem`, `machine.key` | this machine's certificate and private key | every machine |
//! | `paired.json` | which machines, and the rights of each here | every machine |

mod certify;

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::folder::{refuse_exposed, refuse_special};
use crate::paired::{Allow, Machine, Paired};

const AUTHORITY: &str = "authority.pem";
const AUTHORITY_KEY: &str = "authority.key";
const MACHINE: &str = "machine.pem";
const MACHINE_KEY: &str = "machine.key";

/// The pairing of one machine.
#[derive(Debug)]
pub struct Pairing {
    folder: PathBuf,
    paired: Paired,
}

/// The rights that a newly paired machine gets on this one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Rights {
    /// The commands that it may call.
    pub calls: Vec<Allow>,
    /// Whether events are sent to it and accepted from it.
    pub events: bool,
}

impl Rights {
    /// The same with these commands.
    #[must_use]
    pub fn with_calls(self, calls: impl Into<Vec<Allow>>) -> Self {
        Self { calls: calls.into(), ..self }
    }

    /// The same, with or without events.
    #[must_use]
    pub fn with_events(self, events: bool) -> Self {
        Self { events, ..self }
    }
}

impl Pairing {
    /// Reads the pairing of a folder; `None` if the machine is not paired.
    ///
    /// # Errors
    /// [`Error::Exposed`] if other users could read it, [`Error::Damaged`], errors of the system.
    pub fn open(folder: &Path) -> Result<Option<Self>> {
        if !folder.exists() {
            return Ok(None);
        }
        let metadata = fs::metadata(folder).map_err(|error| Error::io("access", folder, error))?;
        refuse_exposed(folder, &metadata, 0o700)?;
        let Some(paired) = Paired::read(folder)? else { return Ok(None) };
        for (file, wanted) in [(MACHINE_KEY, 0o600), (AUTHORITY_KEY, 0o600)] {
            let path = folder.join(file);
            match fs::symlink_metadata(&path) {
                Ok(metadata) => refuse_exposed(&path, &metadata, wanted)?,
                // Only the machine that pairs has the authority's key.
                Err(_) if file == AUTHORITY_KEY => {}
                Err(error) => return Err(Error::io("read", &path, error)),
            }
        }
        for file in [MACHINE, AUTHORITY] {
            let path = folder.join(file);
            fs::symlink_metadata(&path)
                .map_or(Ok(()), |metadata| refuse_special(&path, &metadata))?;
        }
        Ok(Some(Self { folder: folder.to_owned(), paired }))
    }

    /// Revokes a machine: running peers detect it within a second, and from then on it has no
    /// rights. Returns whether it was paired until now.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn revoke(&mut self, name: &str) -> Result<bool> {
        let machine = self
            .paired
            .machines
            .iter_mut()
            .find(|machine| machine.name == name && !machine.revoked);
        let Some(machine) = machine else { return Ok(false) };
        machine.revoked = true;
        self.paired.write(&self.folder)?;
        Ok(true)
    }

    /// This machine's name.
    pub fn name(&self) -> &str {
        &self.paired.name
    }

    /// Its address, if it listens.
    pub fn address(&self) -> Option<&str> {
        self.paired.listen.as_deref()
    }

    /// The other machines, including revoked ones.
    pub fn machines(&self) -> &[Machine] {
        &self.paired.machines
    }

    pub(crate) fn paired(&self) -> &Paired {
        &self.paired
    }

    /// The files for TLS: the authority's certificate, this machine's certificate,
    /// its key.
    pub(crate) fn files(&self) -> [PathBuf; 3] {
        [AUTHORITY, MACHINE, MACHINE_KEY].map(|file| self.folder.join(file))
    }
}
