//! The user's approvals of a project's files.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cache::hex;
use crate::error::{Error, Result};
use crate::identity::{claim_data, project_id};
use crate::project::Project;
use crate::state;

/// Contents up to this size are stored, so that a later version can be compared with them.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// The user's approvals of a project's files: each consists of a file name in the project and the
/// SHA-256 of its content. They are stored in the user's state folder under the project's id and
/// path. The next query sees what another process approves.
#[derive(Debug, Clone)]
pub struct Approvals {
    project: Project,
    state: PathBuf,
}

/// An approved content of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The project's folder.
    pub project: PathBuf,
    /// The file, relative to it.
    pub file: String,
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
    /// In the order in which they were approved.
    approved: Vec<Approval>,
}

impl state::Document for List {
    type Contents = Vec<Approval>;

    fn new(version: u32, checksum: Option<String>, approved: Vec<Approval>) -> Self {
        Self { version, checksum, approved }
    }

    fn into_parts(self) -> (Option<String>, Vec<Approval>) {
        (self.checksum, self.approved)
    }
}

/// Identifies a state of the approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApprovalsStamp(Option<(u64, Option<SystemTime>)>);

impl Approvals {
    /// The approvals of a project, in this state folder. See [`state_dir`](crate::state_dir).
    pub fn new(project: &Project, state: &Path) -> Self {
        Self { project: project.clone(), state: state.to_owned() }
    }

    /// All approved contents of the project, in the order in which they were approved.
    ///
    /// # Errors
    /// If the state folder cannot be trusted or read, [`Error::DamagedApprovals`].
    pub fn list(&self) -> Result<Vec<Approval>> {
        let Some(id) = project_id(&self.project, &self.state)? else { return Ok(Vec::new()) };
        let root = self.project.root();
        let mut approved = self.read(&id)?;
        approved.retain(|approved| approved.project == root);
        Ok(approved)
    }

    /// All approved contents: none if the approvals are damaged.
    fn valid(&self) -> Result<Vec<Approval>> {
        match self.list() {
            Err(Error::DamagedApprovals { .. }) => Ok(Vec::new()),
            list => list,
        }
    }

    /// Whether this content of a file is approved. Damaged approvals approve nothing.
    ///
    /// # Errors
    /// As [`list`](Self::list), but never [`Error::DamagedApprovals`].
    pub fn has(&self, file: &str, sha256: &str) -> Result<bool> {
        Ok(self.valid()?.iter().any(|valid| valid.file == file && valid.sha256 == sha256))
    }

    /// The last approved content of a file, if it was stored and is still approved.
    ///
    /// # Errors
    /// As [`has`](Self::has).
    pub fn last(&self, file: &str) -> Result<Option<Vec<u8>>> {
        let list = self.valid()?;
        let Some(last) = list.iter().rev().find(|item| item.file == file) else { return Ok(None) };
        let found = state::read(&self.contents().join(&last.sha256))?;
        Ok(found.filter(|found| sha256(found) == last.sha256))
    }

    /// Approves contents of files, atomically. A project without an id gets one. Damaged approvals
    /// are moved to `ID.json.damaged`.
    ///
    /// # Errors
    /// As [`has`](Self::has), and [`Error::Unregistered`](crate::Error::Unregistered) if the
    /// project's data folder came from elsewhere.
    pub fn allow(&self, contents: &[(&str, &[u8])]) -> Result<()> {
        self.project.prepare()?;
        let own_data = self.project.dir().join("data");
        let id = claim_data(&self.project, &own_data, &self.state)?;
        let lock = state::lock(&self.state)?;
        state::prepare(&self.folder())?;
        state::prepare(&self.contents())?;
        state::prepare(&self.plain())?;
        let mut approved = match self.read(&id) {
            Err(Error::DamagedApprovals { path, .. }) => {
                state::set_aside(&path)?;
                Vec::new()
            }
            approved => approved?,
        };
        for (file, content) in contents {
            let approval = Approval {
                project: self.project.root().to_owned(),
                file: (*file).to_owned(),
                sha256: sha256(content),
            };
            state::write(&self.plain().join(&approval.sha256), b"")?;
            if content.len() <= KEPT_BYTES_MAX {
                state::write(&self.contents().join(&approval.sha256), content)?;
            }
            // A content that is approved again becomes the last one.
            approved.retain(|approved| *approved != approval);
            approved.push(approval);
        }
        state::write_document::<List>(&self.path(&id), approved)?;
        drop(lock);
        Ok(())
    }

    /// Whether a content was approved by a release in which a value in a command must be plain.
    /// Earlier ones allowed any text there.
    pub fn knows_plain(&self, sha256: &str) -> bool {
        self.plain().join(sha256).is_file()
    }

    /// Revokes all approvals of a file; returns whether there were any.
    ///
    /// # Errors
    /// As [`list`](Self::list).
    pub fn revoke(&self, file: &str) -> Result<bool> {
        let Some(id) = project_id(&self.project, &self.state)? else { return Ok(false) };
        let lock = state::lock(&self.state)?;
        let mut approved = self.read(&id)?;
        let before = approved.len();
        let root = self.project.root();
        approved.retain(|approved| approved.project != root || approved.file != file);
        let is_less = approved.len() < before;
        if is_less {
            state::write_document::<List>(&self.path(&id), approved)?;
        }
        drop(lock);
        Ok(is_less)
    }

    /// Changes whenever something is approved or revoked.
    pub fn stamp(&self) -> ApprovalsStamp {
        let id = project_id(&self.project, &self.state).ok().flatten();
        let metadata = id.and_then(|id| fs::metadata(self.path(&id)).ok());
        ApprovalsStamp(metadata.map(|metadata| {
            use std::os::unix::fs::MetadataExt as _;
            (metadata.ino(), metadata.modified().ok())
        }))
    }

    fn read(&self, id: &str) -> Result<Vec<Approval>> {
        let damaged = |path, reason| Error::DamagedApprovals { path, reason };
        Ok(state::read_document::<List>(&self.path(id), damaged)?.unwrap_or_default())
    }

    fn folder(&self) -> PathBuf {
        self.state.join("approvals")
    }

    fn contents(&self) -> PathBuf {
        self.folder().join("contents")
    }

    /// Has an empty file for each content that was approved by a release with plain values.
    fn plain(&self) -> PathBuf {
        self.folder().join("plain")
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder().join(format!("{id}.json"))
    }
}

/// The SHA-256 in hexadecimal, as in an approval.
pub fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}
