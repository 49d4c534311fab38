//! The folder of flow files: its contents, what is in force, and why these may differ.

mod programs;
mod stamps;
mod trust;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::programs::{Cache, Found as Named};
use self::stamps::Stamps;
use crate::effect::Notice;
use crate::set::{FlowFile, FlowSet};
use crate::{Action, ContentHash, FILE_BYTES_MAX, Flow, FlowName, InvalidFile, Lineage};

/// The most flow files in a folder.
pub const FILES_MAX: usize = 256;

/// The user's approvals of a project's files. File names are relative to the project.
pub trait Approvals: fmt::Debug + Send + Sync {
    /// Whether this content of a file is approved now.
    ///
    /// # Errors
    /// If that cannot be determined; then nothing is approved.
    fn has(&self, file: &str, hash: &ContentHash) -> io::Result<bool>;

    /// The last approved content of a file.
    ///
    /// # Errors
    /// If that cannot be determined.
    fn last(&self, file: &str) -> io::Result<Option<Vec<u8>>>;

    /// Approves contents of files, atomically.
    ///
    /// # Errors
    /// If that cannot be stored.
    fn allow(&self, contents: &[(&str, &[u8])]) -> io::Result<()>;
}

/// Reads the flow files of a project.
///
/// A flow file is code that a checkout can change, and so are the project's own files that a flow
/// names as its program or script. A file is in force if the user has approved its content and that
/// of every such program, as they now are in the folder: an earlier approved content never replaces
/// them.
#[derive(Debug)]
pub struct Loader {
    project: PathBuf,
    folder: PathBuf,
    /// Nothing if everything counts as approved.
    approvals: Option<Box<dyn Approvals>>,
    /// The files in force, by name.
    files: BTreeMap<String, FlowFile>,
    status: Vec<FileStatus>,
    /// Whether the folder was read once, even if it had no files.
    is_loaded: bool,
    programs: Cache,
    /// What the last [`load`](Self::load) depends on.
    stamps: Stamps,
    /// Notices already given: names and hashes.
    said: BTreeSet<(&'static str, String, String)>,
}

/// A file that must be approved for a flow to run.
#[derive(Debug, Clone)]
pub struct Approvable {
    /// Its path, relative to the project.
    pub file: String,
    /// As it was read.
    pub content: Arc<[u8]>,
    /// The hash of the content.
    pub hash: ContentHash,
    /// The flows that name it; empty for a flow file.
    pub named_by: BTreeSet<String>,
    /// For a flow file, the other files of the project that its commands name, which the approval
    /// does not cover.
    pub not_covered: BTreeSet<String>,
}

/// The result of loading the folder.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// The flows in force from now on; nothing if they are unchanged.
    pub flows: Option<FlowSet>,
    /// The flows of files that are pending approval, as they were and as they are now, without those
    /// in force: for [`Engine::withhold`](crate::Engine::withhold).
    pub unapproved: BTreeSet<FlowName>,
    /// The events to publish: `flow:invalid` and `flow:approval-needed`, each once for a content.
    pub notices: Vec<Notice>,
}

/// The status of a flow file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStatus {
    /// Its name in the folder; the folder's path in the project if the folder itself cannot be read.
    pub name: String,
    /// The hash of the content in force, if any.
    pub in_force: Option<ContentHash>,
    /// The hash of the content in the folder, if it can be read.
    pub found: Option<ContentHash>,
    /// Why they differ.
    pub problem: Option<Problem>,
}

/// Why a file's content is not in force.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// It is not a valid flow file.
    #[error("{0}")]
    Invalid(InvalidFile),
    /// Another file has a flow of this name.
    #[error("the flow {flow} is also in {file}")]
    Twice {
        /// The flow's name.
        flow: String,
        /// The other file.
        file: String,
    },
    /// Another user could have written it, or it is elsewhere.
    #[error("{0}")]
    Untrusted(String),
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(String),
    /// It, or programs that it names, are not approved with their current content.
    #[error("pending approval of {}", names(.0))]
    Unapproved(BTreeMap<String, ContentHash>),
    /// There are too many files.
    #[error("more than {FILES_MAX} files")]
    TooMany,
}

/// Why an operation on approvals failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApprovalError {
    /// The file does not exist, or cannot be in force.
    #[error("{name}: {problem}")]
    File {
        /// The file's name.
        name: String,
        /// The reason.
        problem: String,
    },
    /// The content has changed since it was shown.
    #[error("{0} changed after it was shown; review it again")]
    Changed(String),
    /// A program that the file names is not approved, and its hash was not given.
    #[error("{file} names {program}, which is not approved; pass the hash of its content, too")]
    Program {
        /// The flow file.
        file: String,
        /// The program.
        program: String,
    },
    /// Approvals cannot be read or written.
    #[error("failed to read the approvals")]
    Approvals(#[source] io::Error),
}

/// The entry in the folder under a name, or why it is none, with the hash of its content.
type Found = Result<FlowFile, (Problem, Option<ContentHash>)>;

impl Loader {
    /// A loader for the flow files in `folder`, which is in `project`. Without approvals every
    /// content is in force immediately.
    pub fn new(project: &Path, folder: &Path, approvals: Option<Box<dyn Approvals>>) -> Self {
        Self {
            project: project.to_path_buf(),
            folder: folder.to_path_buf(),
            approvals,
            files: BTreeMap::new(),
            status: Vec::new(),
            is_loaded: false,
            programs: Cache::default(),
            stamps: Stamps::default(),
            said: BTreeSet::new(),
        }
    }

    /// Reads the folder. All flows that can be in force are, atomically. A file that is invalid,
    /// not trusted, not approved or missing is not in force; except that, if everything counts as
    /// approved, an invalid file leaves its previous flows in force. A missing folder has no flows.
    pub fn load(&mut self) -> Loaded {
        let mut stamps = Stamps::default();
        let found = self.find(&mut stamps);
        let mut files: BTreeMap<String, FlowFile> = BTreeMap::new();
        let mut status = Vec::with_capacity(found.len());
        let mut unapproved = BTreeSet::new();
        for (name, found) in found {
            let (wanted, found_hash, problem) = match found {
                Err((problem, hash)) => (None, hash, Some(problem)),
                Ok(file) => {
                    let hash = Some(file.hash.clone());
                    let flows: Vec<FlowName> = file.flows().map(|flow| flow.name.clone()).collect();
                    match self.check(&file, &mut stamps).and_then(|()| unlike(&files, file)) {
                        Ok(file) => (Some(file), hash, None),
                        Err(problem) => {
                            if let Problem::Unapproved(_) = problem {
                                unapproved.extend(flows);
                                unapproved.extend(self.flows_of(&name).map(|of| of.name.clone()));
                            }
                            (None, hash, Some(problem))
                        }
                    }
                }
            };
            let is_kept = self.approvals.is_none()
                && matches!(
                    problem,
                    Some(Problem::Invalid(_) | Problem::Twice { .. } | Problem::Unreadable(_))
                );
            let file = wanted.or_else(|| {
                let last = self.files.get(&name).filter(|_| is_kept).cloned();
                last.and_then(|last| unlike(&files, last).ok())
            });
            let in_force = file.as_ref().map(|file| file.hash.clone());
            files.extend(file.map(|file| (name.clone(), file)));
            status.push(FileStatus { name, in_force, found: found_hash, problem });
        }
        let hashes = |files: &BTreeMap<String, FlowFile>| -> Vec<(String, ContentHash)> {
            files.iter().map(|(name, it)| (name.clone(), it.hash.clone())).collect()
        };
        for flow in files.values().flat_map(FlowFile::flows) {
            unapproved.remove(&flow.name);
        }
        let mut loaded = Loaded { unapproved, ..Loaded::default() };
        if hashes(&files) != hashes(&self.files) || !self.is_loaded {
            loaded.flows = Some(FlowSet::new(files.values()));
        }
        self.files = files;
        self.status = status;
        self.is_loaded = true;
        self.stamps = stamps;
        loaded.notices = self.notices();
        loaded
    }

    /// Whether anything that the last [`load`](Self::load) looked at has changed: the flow files, the
    /// programs that they name, the folders in which these are or could be, and the folders above.
    /// Costs one `stat` for each.
    pub fn has_changed(&self) -> bool {
        self.stamps.has_changed()
    }

    /// Checks that a flow file with this content is still approved: call it before an action runs,
    /// because a run keeps a text from its journal, which is in the project's folder. Approved
    /// contents stay approved until they are revoked, even if the file has changed.
    ///
    /// # Errors
    /// If it is not approved, or if that cannot be determined.
    pub fn check_definition(&self, name: &str, hash: &ContentHash) -> Result<(), Problem> {
        let Some(approvals) = &self.approvals else { return Ok(()) };
        approved(approvals.as_ref(), std::iter::once((&self.named(name), hash)))
    }

    /// Checks that the programs that an action of a flow names, and the files that the flow lists, are
    /// approved as they are now: call it directly before the action runs.
    ///
    /// # Errors
    /// Which of them are not approved, or cannot be trusted.
    pub fn check_programs(&mut self, flow: &Flow, action: &Action) -> Result<(), Problem> {
        let Some(approvals) = &self.approvals else { return Ok(()) };
        let actions = std::iter::once(action);
        let named = Named::of(&self.project, flow, actions, &mut Stamps::default())?;
        let found = named.hashes(&self.project, &mut self.programs)?;
        approved(approvals.as_ref(), found.iter())
    }

    /// Everything that must be approved for the flows of these files, or of all files, to run: as
    /// it is now, approved or not. What cannot be approved is returned with the reason.
    pub fn approvable(
        &self,
        name: Option<&str>,
    ) -> Vec<(String, Result<Vec<Approvable>, Problem>)> {
        let mut stamps = Stamps::default();
        let found = self.find(&mut stamps).into_iter();
        let found = found.filter(|(it, _)| name.is_none_or(|name| it == name));
        let files = found.map(|(name, found)| {
            let found = found.map_err(|(problem, _)| problem);
            (self.named(&name), found.and_then(|file| self.parts(&file, &mut stamps)))
        });
        files.collect()
    }

    /// A flow file and the programs that it names.
    fn parts(&self, file: &FlowFile, stamps: &mut Stamps) -> Result<Vec<Approvable>, Problem> {
        let mut parts = vec![Approvable {
            file: self.named(&file.name),
            content: file.text.as_bytes().into(),
            hash: file.hash.clone(),
            named_by: BTreeSet::new(),
            not_covered: BTreeSet::new(),
        }];
        for flow in file.flows() {
            let named = Named::of(&self.project, flow, flow.actions.iter(), stamps)?;
            for program in named.contents(&self.project)? {
                match parts.iter_mut().find(|part| part.file == program.file) {
                    Some(part) => drop(part.named_by.insert(flow.name.to_string())),
                    None => parts.push(Approvable {
                        file: program.file,
                        content: program.content,
                        hash: program.hash,
                        named_by: BTreeSet::from([flow.name.to_string()]),
                        not_covered: BTreeSet::new(),
                    }),
                }
            }
            parts[0].not_covered.extend(named.others);
        }
        let covered: Vec<String> = parts.iter().map(|part| part.file.clone()).collect();
        parts[0].not_covered.retain(|other| !covered.contains(other));
        Ok(parts)
    }

    /// A flow file's name relative to the project.
    fn named(&self, name: &str) -> String {
        let folder = self.shown();
        if name == folder { folder } else { format!("{folder}/{name}") }
    }

    /// Checks that a file and the programs that it names are approved as they are.
    fn check(&mut self, file: &FlowFile, stamps: &mut Stamps) -> Result<(), Problem> {
        let mut found = BTreeMap::new();
        for flow in file.flows() {
            let named = Named::of(&self.project, flow, flow.actions.iter(), stamps)?;
            found.extend(named.hashes(&self.project, &mut self.programs)?);
        }
        let Some(approvals) = &self.approvals else { return Ok(()) };
        let own = (self.named(&file.name), file.hash.clone());
        approved(approvals.as_ref(), std::iter::once((&own.0, &own.1)).chain(&found))
    }

    /// The status of each file, by name, as of the last [`load`](Self::load).
    pub fn status(&self) -> &[FileStatus] {
        &self.status
    }

    /// A file's flows in force.
    pub fn flows_of(&self, name: &str) -> impl Iterator<Item = &Flow> {
        self.files.get(name).into_iter().flat_map(FlowFile::flows)
    }

    /// The last approved contents of a file and of each program that it names, and the current
    /// ones: for a person to compare before [`allow`](Self::allow). The flow file comes first.
    ///
    /// # Errors
    /// If no such file exists that could be in force.
    pub fn compare(&self, name: &str) -> Result<Vec<(Vec<u8>, Approvable)>, ApprovalError> {
        let file = |problem: Problem| ApprovalError::File {
            name: name.to_owned(),
            problem: problem.to_string(),
        };
        let found = self.read(name).map_err(|(problem, _)| file(problem))?;
        let parts = self.parts(&found, &mut Stamps::default()).map_err(file)?;
        let parts = parts.into_iter().map(|part| {
            let last = self.approvals.as_ref().map_or(Ok(None), |all| all.last(&part.file));
            Ok((last.map_err(ApprovalError::Approvals)?.unwrap_or_default(), part))
        });
        parts.collect()
    }

    /// Approves a file's content, which must have this hash, and the contents of the programs that
    /// it names, with their hashes by name: those that the person was shown. A program whose
    /// content is already approved needs no hash. It is in force after the next
    /// [`load`](Self::load), here and after every start.
    ///
    /// # Errors
    /// If the file does not exist, if a content has changed, or if the approval cannot be stored.
    pub fn allow(
        &mut self,
        name: &str,
        hash: &str,
        programs: &BTreeMap<String, String>,
    ) -> Result<(), ApprovalError> {
        let parts = self.compare(name)?;
        let Some(approvals) = &self.approvals else { return Ok(()) };
        for (idx, (_, part)) in parts.iter().enumerate() {
            let looked_at =
                if idx == 0 { Some(hash) } else { programs.get(&part.file).map(String::as_str) };
            match looked_at {
                Some(hash) if hash == part.hash.as_str() => {}
                Some(_) => return Err(ApprovalError::Changed(part.file.clone())),
                None => {
                    let has = approvals.has(&part.file, &part.hash);
                    if !has.map_err(ApprovalError::Approvals)? {
                        let (file, program) = (name.to_owned(), part.file.clone());
                        return Err(ApprovalError::Program { file, program });
                    }
                }
            }
        }
        let contents: Vec<(&str, &[u8])> =
            parts.iter().map(|(_, it)| (it.file.as_str(), it.content.as_ref())).collect();
        approvals.allow(&contents).map_err(ApprovalError::Approvals)
    }

    /// Every flow file of the folder, by name.
    fn find(&self, stamps: &mut Stamps) -> Vec<(String, Found)> {
        stamps.at(&self.folder);
        stamps.at_all(&self.folder, &self.project);
        let folder = match fs::read_dir(&self.folder) {
            Ok(folder) => folder,
            Err(_)
                if fs::symlink_metadata(&self.folder)
                    .is_err_and(|error| error.kind() == io::ErrorKind::NotFound) =>
            {
                return Vec::new();
            }
            Err(error) => {
                return vec![(self.shown(), Err((self.unreadable(&error), None)))];
            }
        };
        if let Some(why) = self.leads_out() {
            return vec![(self.shown(), Err((Problem::Untrusted(why), None)))];
        }
        let names = folder.filter_map(|folder| Some(folder.ok()?.file_name()));
        let names = names
            .map(|name| name.into_string().map_err(|error| error.to_string_lossy().into_owned()));
        // A name that is not UTF-8 is shown with a sign in place of what is not.
        let shown = |text: &Result<String, String>| text.clone().unwrap_or_else(|error| error);
        let mut names: Vec<_> = names.filter(|name| is_flow_file(&shown(name))).collect();
        names.sort_unstable_by_key(shown);
        let files = names.into_iter().enumerate().map(|(idx, name)| {
            let found = match &name {
                _ if idx >= FILES_MAX => Err((Problem::TooMany, None)),
                Ok(name) => {
                    stamps.at(&self.folder.join(name));
                    self.read(name)
                }
                Err(_) => {
                    let problem = "its name is not UTF-8; rename it".to_owned();
                    Err((Problem::Unreadable(problem), None))
                }
            };
            (shown(&name), found)
        });
        files.collect()
    }

    /// The folder's path in the project.
    fn shown(&self) -> String {
        let folder = self.folder.strip_prefix(&self.project).unwrap_or(&self.folder);
        folder.to_string_lossy().into_owned()
    }

    /// Why no file of the folder is in force.
    fn unreadable(&self, error: &io::Error) -> Problem {
        let folder = self.shown();
        Problem::Unreadable(match error.kind() {
            io::ErrorKind::PermissionDenied => {
                format!("{folder} cannot be read; run `chmod u+rwx {folder}` in the project")
            }
            io::ErrorKind::NotADirectory => {
                format!("{folder} is not a folder; replace it with a folder")
            }
            _ => format!("{folder} cannot be read: {error}"),
        })
    }

    fn read(&self, name: &str) -> Found {
        let text = self.read_text(name).map_err(|problem| (problem, None))?;
        FlowFile::new(name, &text)
            .map_err(|error| (Problem::Invalid(error), Some(ContentHash::of(&text))))
    }

    fn read_text(&self, name: &str) -> Result<String, Problem> {
        if !is_flow_file(name) {
            let why = format!("{name} is not a flow file; its name must end in .yaml");
            return Err(Problem::Unreadable(why));
        }
        if let Some(why) = self.leads_out() {
            return Err(Problem::Untrusted(why));
        }
        let failed = |error: io::Error| trust::unreadable(name, &error);
        let folder = self.folder.canonicalize().map_err(failed)?;
        let path = folder.join(name).canonicalize().map_err(failed)?;
        if path.parent() != Some(&folder) {
            return Err(Problem::Untrusted(format!(
                "{name} is a link that leads out of the folder; replace it with the file"
            )));
        }
        let top = self.project.canonicalize().map_err(failed)?;
        let bytes = trust::read(&top, &path, name, FILE_BYTES_MAX)?;
        let invalid = |_| Problem::Unreadable(format!("{name} is not valid UTF-8"));
        String::from_utf8(bytes).map_err(invalid)
    }

    /// Why the folder is not the project's own: a link in its path leads out of the project.
    fn leads_out(&self) -> Option<String> {
        let folder = self.folder.strip_prefix(&self.project).ok()?;
        let project = self.project.canonicalize().ok()?;
        let is_within = self.folder.canonicalize().is_ok_and(|path| path.starts_with(&project));
        (!is_within).then(|| {
            let folder = folder.display();
            format!(
                "{folder} is a symbolic link that leads out of the project; replace it with a folder"
            )
        })
    }

    /// Notices about the files that were not given yet.
    fn notices(&mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        for status in &self.status {
            let Some(problem) = &status.problem else { continue };
            let kind = match problem {
                Problem::Unapproved(_) => "flow:approval-needed",
                _ => "flow:invalid",
            };
            let content = match problem {
                // For the file and every waiting program.
                Problem::Unapproved(waiting) => ContentHash::of(&format!("{waiting:?}")),
                problem => {
                    status.found.clone().unwrap_or_else(|| ContentHash::of(&problem.to_string()))
                }
            };
            let found = status.found.as_ref().map_or(content.as_str(), ContentHash::as_str);
            let seen = (kind, status.name.clone(), content.as_str().to_owned());
            if !self.said.insert(seen) {
                continue;
            }
            let name = ContentHash::of(&status.name);
            let values =
                [("file", status.name.as_str()), ("why", &problem.to_string()), ("hash", found)];
            // A name and a content, short enough for a key.
            let key = format!("{kind}.{:.16}.{content}", name.as_str());
            notices.push(Notice::new(kind, &values, Lineage::default(), key));
        }
        notices
    }
}

/// Nothing if all of these contents are approved, else those that are not.
fn approved<'a>(
    approvals: &dyn Approvals,
    contents: impl Iterator<Item = (&'a String, &'a ContentHash)>,
) -> Result<(), Problem> {
    let mut pending = BTreeMap::new();
    for (file, hash) in contents {
        let has = approvals.has(file, hash).map_err(|error| {
            let error: &dyn std::error::Error = &error;
            let causes = std::iter::successors(Some(error), |it| it.source());
            let causes: Vec<String> = causes.map(ToString::to_string).collect();
            Problem::Unreadable(format!("failed to check its approval: {}", causes.join(": ")))
        })?;
        pending.extend((!has).then(|| (file.clone(), hash.clone())));
    }
    if pending.is_empty() { Ok(()) } else { Err(Problem::Unapproved(pending)) }
}

fn names(contents: &BTreeMap<String, ContentHash>) -> String {
    contents.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn is_flow_file(name: &str) -> bool {
    let is_yaml = Path::new(name).extension().is_some_and(|extension| extension == "yaml");
    is_yaml && !name.starts_with('.') && !name.contains('/')
}

/// The file, unless another file has a flow of the same name.
fn unlike(files: &BTreeMap<String, FlowFile>, file: FlowFile) -> Result<FlowFile, Problem> {
    for flow in file.flows() {
        let other = files.values().find(|value| value.flows().any(|other| other.name == flow.name));
        if let Some(other) = other {
            let (flow, file) = (flow.name.to_string(), other.name.clone());
            return Err(Problem::Twice { flow, file });
        }
    }
    Ok(file)
}
