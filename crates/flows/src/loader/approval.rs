//! What the user has approved: contents by the file's name, in a folder outside the project.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::ApprovalError;
use crate::ContentHash;
use crate::set::FlowFile;

/// The list of what is approved.
const LIST: &str = "approved.json";
const VERSION: u32 = 1;

/// Approved contents. The list names one for each file; the contents are files beside it, so that
/// the last approved one can be in force after a start.
#[derive(Debug)]
pub(super) struct Approvals {
    folder: PathBuf,
    list: List,
    is_new: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    version: u32,
    /// Hashes by the file's name.
    files: BTreeMap<String, ContentHash>,
}

impl Approvals {
    pub(super) fn open(folder: &Path) -> Result<Self, ApprovalError> {
        let path = folder.join(LIST);
        let failed = |source| ApprovalError::Io { path: path.clone(), source };
        let list = match fs::read(&path) {
            Ok(bytes) => {
                Some(serde_json::from_slice::<List>(&bytes).map_err(|it| failed(it.into()))?)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if list.as_ref().is_some_and(|it| it.version != VERSION) {
            return Err(failed(io::Error::other("a newer release wrote it")));
        }
        let is_new = list.is_none();
        let list = list.unwrap_or(List { version: VERSION, files: BTreeMap::new() });
        Ok(Self { folder: folder.to_path_buf(), list, is_new })
    }

    /// Whether nothing was ever approved, or found to be there, for the project.
    pub(super) fn is_new(&self) -> bool {
        self.is_new
    }

    /// Takes what is there at the beginning as approved.
    pub(super) fn begin<'a>(
        &mut self,
        files: impl Iterator<Item = &'a FlowFile>,
    ) -> Result<Vec<(String, ContentHash)>, ApprovalError> {
        let mut approved = Vec::new();
        for file in files {
            self.keep(file)?;
            approved.push((file.name.clone(), file.hash.clone()));
        }
        self.write_list()?;
        self.is_new = false;
        Ok(approved)
    }

    pub(super) fn allow(&mut self, file: &FlowFile) -> Result<(), ApprovalError> {
        self.keep(file)?;
        self.is_new = false;
        self.write_list()
    }

    pub(super) fn has(&self, name: &str, hash: &ContentHash) -> bool {
        self.list.files.get(name) == Some(hash)
    }

    /// The content that was approved last for a file, if it is still what was approved.
    pub(super) fn last(&self, name: &str) -> Option<FlowFile> {
        let hash = self.list.files.get(name)?;
        let text = fs::read_to_string(self.content(hash)).ok()?;
        FlowFile::new(name, &text).ok().filter(|it| it.hash == *hash)
    }

    fn keep(&mut self, file: &FlowFile) -> Result<(), ApprovalError> {
        self.write(&self.content(&file.hash), file.text.as_bytes())?;
        self.list.files.insert(file.name.clone(), file.hash.clone());
        Ok(())
    }

    fn content(&self, hash: &ContentHash) -> PathBuf {
        self.folder.join(format!("{hash}.yaml"))
    }

    fn write_list(&self) -> Result<(), ApprovalError> {
        let bytes = serde_json::to_vec_pretty(&self.list).expect("names and hashes become JSON");
        self.write(&self.folder.join(LIST), &bytes)
    }

    /// Writes a file so that it is there whole or not at all, also after a power cut.
    fn write(&self, path: &Path, bytes: &[u8]) -> Result<(), ApprovalError> {
        let write = || {
            fs::create_dir_all(&self.folder)?;
            let unfinished = path.with_extension("new");
            let mut file = File::create(&unfinished)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&unfinished, path)?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(|source| ApprovalError::Io { path: path.to_path_buf(), source })
    }
}
