//! The folder of flow files: what is in it, what is in force, and why that may differ.

mod approval;
mod trust;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use self::approval::Approvals;
use self::trust::{Distrust, read_trusted};
pub use self::watch::Watch;
use crate::effect::{Notice, notice_data, notice_kind};
use crate::set::{FlowFile, FlowSet};
use crate::{ContentHash, FILE_BYTES_MAX, Flow, InvalidFile, Lineage};

/// The most flow files in a folder.
pub const FILES_MAX: usize = 256;

/// Reads the flow files of a project.
///
/// A flow file is code that a checkout can change. What is there when a project is loaded for the
/// first time is approved; what comes later is in force once [`allow`](Self::allow) approved it,
/// and until then what was approved last. What is approved is kept outside the project, in a folder
/// of the user's.
#[derive(Debug)]
pub struct Loader {
    folder: PathBuf,
    /// Nothing where everything is taken as approved.
    approvals: Option<Approvals>,
    /// What is in force, by the file's name.
    files: BTreeMap<String, FlowFile>,
    status: Vec<FileStatus>,
    /// Whether the folder was read once, also when it had no files.
    is_loaded: bool,
    /// What was said already: names and hashes.
    said: BTreeSet<(&'static str, String, String)>,
}

/// What has become of the folder.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The flows that are in force from now on; nothing if they are the same as before.
    pub flows: Option<FlowSet>,
    /// What to publish: `flow:invalid` and `flow:approval-needed`, each once for a content.
    pub notices: Vec<Notice>,
    /// Files that were approved because they were there at the beginning.
    pub approved: Vec<(String, ContentHash)>,
}

/// How a flow file is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStatus {
    /// Its name in the folder.
    pub name: String,
    /// Of the content that is in force, if any is.
    pub in_force: Option<ContentHash>,
    /// Of the content that is in the folder, if that can be read.
    pub found: Option<ContentHash>,
    /// Why the one is not the other.
    pub problem: Option<Problem>,
}

/// Why a file's content is not in force.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is no flow file.
    #[error("{0}")]
    Invalid(InvalidFile),
    /// Another file has a flow of this name.
    #[error("the flow {flow} is in {file}, too")]
    Twice {
        /// The flow's name.
        flow: String,
        /// The other file.
        file: String,
    },
    /// Somebody else could have written it, or it is somewhere else.
    #[error("{0}")]
    Untrusted(String),
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// Nobody has approved it yet.
    #[error("it has changed and waits for approval: ctl flows allow {0}")]
    Unapproved(String),
    /// There are too many files.
    #[error("there are more than {FILES_MAX} files")]
    TooMany,
}

/// Why something about approvals did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalError {
    /// There is no such file, or it cannot be in force.
    #[error("{name}: {problem}")]
    File {
        /// The file's name.
        name: String,
        /// Why not.
        problem: String,
    },
    /// The content is not the one that was looked at.
    #[error("{0} has changed since it was looked at; look again")]
    Changed(String),
    /// The folder of approvals cannot be read or written.
    #[error("cannot use {}", path.display())]
    Io {
        /// What.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
}

/// What is in the folder under a name.
enum Found {
    File(FlowFile),
    Problem(Problem, Option<ContentHash>),
}

impl Loader {
    /// For the flow files in `folder`. `approvals` is a folder of the user's, outside the project
    /// and for this project alone; without one every content is in force at once.
    ///
    /// # Errors
    /// If the approvals cannot be read.
    pub fn new(folder: &Path, approvals: Option<&Path>) -> Result<Self, ApprovalError> {
        Ok(Self {
            folder: folder.to_path_buf(),
            approvals: approvals.map(Approvals::open).transpose()?,
            files: BTreeMap::new(),
            status: Vec::new(),
            is_loaded: false,
            said: BTreeSet::new(),
        })
    }

    /// Reads the folder. All flows that can be in force are, together; a file that is broken, not
    /// trusted or not approved leaves what was in force of it. A file that is gone is in force no
    /// more. A folder that is not there has no flows.
    ///
    /// # Errors
    /// If the approvals cannot be written. What is in force stays.
    pub fn load(&mut self) -> Result<Loaded, ApprovalError> {
        let mut loaded = Loaded::default();
        let found = self.find();
        if let Some(approvals) = self.approvals.as_mut().filter(|it| it.is_new()) {
            let files = found.iter().filter_map(|(_, it)| match it {
                Found::File(file) => Some(file),
                Found::Problem(..) => None,
            });
            loaded.approved = approvals.begin(files)?;
        }
        let mut files: BTreeMap<String, FlowFile> = BTreeMap::new();
        let mut status = Vec::with_capacity(found.len());
        for (name, found) in found {
            let (wanted, found_hash, problem) = match found {
                Found::Problem(problem, hash) => (None, hash, Some(problem)),
                Found::File(file) => {
                    let hash = Some(file.hash.clone());
                    match self.approvals.as_ref().filter(|it| !it.has(&name, &file.hash)) {
                        Some(_) => (None, hash, Some(Problem::Unapproved(name.clone()))),
                        None => (Some(file), hash, None),
                    }
                }
            };
            let (wanted, problem) = match wanted.map(|it| unlike(&files, it)) {
                Some(Ok(file)) => (Some(file), problem),
                Some(Err(twice)) => (None, Some(twice)),
                None => (None, problem),
            };
            // The last one that was good, also from before a start.
            let file = wanted.or_else(|| {
                let approved = || self.approvals.as_ref().and_then(|it| it.last(&name));
                let last = self.files.get(&name).cloned().or_else(approved);
                last.and_then(|it| unlike(&files, it).ok())
            });
            let in_force = file.as_ref().map(|it| it.hash.clone());
            files.extend(file.map(|it| (name.clone(), it)));
            status.push(FileStatus { name, in_force, found: found_hash, problem });
        }
        let hashes = |files: &BTreeMap<String, FlowFile>| -> Vec<(String, ContentHash)> {
            files.iter().map(|(name, it)| (name.clone(), it.hash.clone())).collect()
        };
        if hashes(&files) != hashes(&self.files) || !self.is_loaded {
            loaded.flows = Some(FlowSet::new(files.values()));
        }
        self.files = files;
        self.status = status;
        self.is_loaded = true;
        loaded.notices = self.notices();
        Ok(loaded)
    }

    /// How each file is doing, by name. As of the last [`load`](Self::load).
    pub fn status(&self) -> &[FileStatus] {
        &self.status
    }

    /// The flows in force of a file.
    pub fn flows_of(&self, name: &str) -> impl Iterator<Item = &Flow> {
        self.files.get(name).into_iter().flat_map(FlowFile::flows)
    }

    /// The text that is in force of a file, and the one in the folder: what a person compares before
    /// [`allow`](Self::allow). Lines may hold control characters.
    ///
    /// # Errors
    /// If there is no such file that could be in force.
    pub fn compare(&self, name: &str) -> Result<(String, FlowFile), ApprovalError> {
        let before = self.files.get(name).map_or(String::new(), |it| it.text.as_ref().to_owned());
        match self.read(name) {
            Found::File(file) => Ok((before, file)),
            Found::Problem(problem, _) => {
                Err(ApprovalError::File { name: name.to_owned(), problem: problem.to_string() })
            }
        }
    }

    /// Approves a file's content, which must be the one with this hash: the one that was looked at.
    /// It is in force after the next [`load`](Self::load), here and after every start.
    ///
    /// # Errors
    /// If there is no such file, if it is another by now, or if that cannot be kept.
    pub fn allow(&mut self, name: &str, hash: &ContentHash) -> Result<(), ApprovalError> {
        let (_, file) = self.compare(name)?;
        if file.hash != *hash {
            return Err(ApprovalError::Changed(name.to_owned()));
        }
        match &mut self.approvals {
            Some(approvals) => approvals.allow(&file),
            None => Ok(()),
        }
    }

    /// Every flow file of the folder, by name.
    fn find(&self) -> Vec<(String, Found)> {
        let Ok(folder) = fs::read_dir(&self.folder) else { return Vec::new() };
        let names = folder.filter_map(|it| it.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.filter(|it| is_flow_file(it)).collect();
        names.sort_unstable();
        let files = names.into_iter().enumerate().map(|(idx, name)| {
            let found = if idx < FILES_MAX {
                self.read(&name)
            } else {
                Found::Problem(Problem::TooMany, None)
            };
            (name, found)
        });
        files.collect()
    }

    fn read(&self, name: &str) -> Found {
        if !is_flow_file(name) {
            let problem = format!("{name} is no flow file; one ends in .yaml");
            return Found::Problem(Problem::Unreadable(problem), None);
        }
        let text = match read_trusted(&self.folder, name, FILE_BYTES_MAX) {
            Ok(text) => text,
            Err(Distrust::Untrusted(why)) => return Found::Problem(Problem::Untrusted(why), None),
            Err(Distrust::Unreadable(why)) => {
                return Found::Problem(Problem::Unreadable(why), None);
            }
        };
        match FlowFile::new(name, &text) {
            Ok(file) => Found::File(file),
            Err(error) => Found::Problem(Problem::Invalid(error), Some(ContentHash::of(&text))),
        }
    }

    /// What is to be said of the files that was not said yet.
    fn notices(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        for status in &self.status {
            let Some(problem) = &status.problem else { continue };
            let kind = match problem {
                Problem::Unapproved(_) => "flow:approval-needed",
                _ => "flow:invalid",
            };
            let content = status.found.as_ref().map_or_else(
                || ContentHash::of(&problem.to_string()).as_str().to_owned(),
                |it| it.as_str().to_owned(),
            );
            if !self.said.insert((kind, status.name.clone(), content.clone())) {
                continue;
            }
            let name = ContentHash::of(&status.name);
            let values =
                [("file", status.name.as_str()), ("why", &problem.to_string()), ("hash", &content)];
            notices.push(Notice {
                kind: notice_kind(kind),
                data: notice_data(&values),
                lineage: Lineage::default(),
                // A name and a content, short enough for a key.
                idempotency_key: format!("{kind}.{:.16}.{content}", name.as_str()),
                end: None,
            });
        }
        notices
    }
}

fn is_flow_file(name: &str) -> bool {
    let is_yaml = Path::new(name).extension().is_some_and(|it| it == "yaml");
    is_yaml && !name.starts_with('.') && !name.contains('/')
}

/// The file, unless another one has a flow of the same name.
fn unlike(files: &BTreeMap<String, FlowFile>, file: FlowFile) -> Result<FlowFile, Problem> {
    for flow in file.flows() {
        let other = files.values().find(|it| it.flows().any(|it| it.name == flow.name));
        if let Some(other) = other {
            let (flow, file) = (flow.name.to_string(), other.name.clone());
            return Err(Problem::Twice { flow, file });
        }
    }
    Ok(file)
}
