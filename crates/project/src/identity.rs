//! Which project a data folder belongs to, so that one that came from elsewhere is not used.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::project::{Project, create_data_dir, io_error};
use crate::{private, state, trusted};

/// The file in a data folder that identifies its project.
const FILE: &str = "project-id";
const ID_BYTES: usize = 16;
/// The lock of the data folder. `ctl restore` takes it before the folder has any other file.
const LOCK: &str = "lock";
const REGISTRY: &str = "projects.json";

/// The folders of this user's projects by id.
type Projects = BTreeMap<String, PathBuf>;

/// The projects of this user.
#[derive(Debug)]
struct Registry {
    projects: Projects,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checksum: Option<String>,
    projects: Projects,
}

impl state::Document for Document {
    type Contents = Projects;

    fn new(version: u32, checksum: Option<String>, projects: Projects) -> Self {
        Self { version, checksum, projects }
    }

    fn into_parts(self) -> (Option<String>, Projects) {
        (self.checksum, self.projects)
    }
}

/// The result of [`adopt_data`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adopted {
    /// The data folder was already registered for this project.
    Known,
    /// It keeps its id: it is new on this machine, or the project was moved.
    Registered,
    /// It gets a new id, because another project has its id.
    Copied,
}

impl Registry {
    fn read(state: &Path) -> Result<Self> {
        let damaged = |path, reason| Error::DamagedRegistry { path, reason };
        let found = state::read_document::<Document>(&state.join(REGISTRY), damaged)?;
        Ok(Self { projects: found.unwrap_or_default() })
    }

    fn has(&self, id: &str, project: &Project) -> bool {
        self.projects.get(id).is_some_and(|other| other == project.root())
    }

    /// The id that is registered for the project's folder.
    fn id_of(&self, project: &Project) -> Option<&String> {
        self.projects.iter().find(|(_, root)| *root == project.root()).map(|(id, _)| id)
    }

    /// The other folder that is registered for the id and has data with it. A link to the project is
    /// no other folder: the project was moved.
    fn elsewhere(&self, id: &str, project: &Project) -> Option<&PathBuf> {
        let other = self.projects.get(id).filter(|other| *other != project.root())?;
        let is_link = other.canonicalize().is_ok_and(|path| path == project.root());
        let has_id = || read_id(&data_of(other)).ok().flatten().as_deref() == Some(id);
        (!is_link && has_id()).then_some(other)
    }

    fn unregistered(&self, path: &Path, project: &Project) -> Error {
        let id = read_id(path).ok().flatten();
        let elsewhere = id.and_then(|id| self.elsewhere(&id, project));
        if let Some(other) = elsewhere
            && is_same_folder(path, &data_of(other)).unwrap_or(false)
        {
            return Error::SameData { path: path.to_owned(), project: other.clone() };
        }
        Error::Unregistered { path: path.to_owned(), is_changed: self.id_of(project).is_some() }
    }

    fn register(&mut self, id: &str, project: &Project, state: &Path) -> Result<()> {
        self.projects.insert(id.to_owned(), project.root().to_owned());
        state::write_document::<Document>(&state.join(REGISTRY), self.projects.clone())
    }
}

/// The id of a project: 32 hexadecimal digits in `.waypost/data/project-id`. `None` if there is
/// none, or if it is not registered for the project's folder: then it came with the files.
///
/// # Errors
/// If the file or the registry cannot be trusted or read.
pub fn project_id(project: &Project, state: &Path) -> Result<Option<String>> {
    let Some(id) = read_id(&own_data(project))? else { return Ok(None) };
    Ok(Registry::read(state)?.has(&id, project).then_some(id))
}

/// Checks that the list of registered data folders can be locked and read.
///
/// # Errors
/// [`Error::DamagedRegistry`], [`Error::Newer`], or if the state folder cannot be trusted or read.
pub fn check_registry(state: &Path) -> Result<()> {
    state::check_lock(state)?;
    Registry::read(state).map(drop)
}

/// Moves a damaged list of registered data folders away, and returns its new path; `None` if it is
/// not damaged. No data folder is registered then: nothing but the user can tell which of them came
/// from elsewhere.
///
/// # Errors
/// As [`check_registry`], but never [`Error::DamagedRegistry`].
pub fn set_registry_aside(state: &Path) -> Result<Option<PathBuf>> {
    let Err(Error::DamagedRegistry { .. }) = check_registry(state) else { return Ok(None) };
    let lock = state::lock(state)?;
    // Another process may have been faster.
    let aside = match check_registry(state) {
        Err(Error::DamagedRegistry { path, .. }) => Some(state::set_aside(&path)?),
        checked => checked.map(|()| None)?,
    };
    drop(lock);
    Ok(aside)
}

/// Creates and registers the data folder if it is missing or empty; otherwise checks that it is
/// registered for this project.
///
/// # Errors
/// [`Error::Unregistered`] if it came from elsewhere, [`Error::Exposed`] if it is a link.
pub fn claim_data(project: &Project, data_dir: &Path, state: &Path) -> Result<String> {
    let own = own_data(project);
    refuse_links([&own, data_dir])?;
    let lock = state::lock(state)?;
    let mut registry = Registry::read(state)?;
    let id = if is_fresh(&own)? {
        if data_dir != own && !is_fresh(data_dir)? {
            return Err(registry.unregistered(data_dir, project));
        }
        let id = new_id(project)?;
        registry.register(&id, project, state)?;
        write_id(&own, &id)?;
        id
    } else {
        let known = read_id(&own)?.filter(|id| registry.has(id, project));
        known.ok_or_else(|| registry.unregistered(&own, project))?
    };
    if data_dir != own {
        if is_fresh(data_dir)? {
            write_id(data_dir, &id)?;
        } else if read_id(data_dir)?.as_ref() != Some(&id) {
            return Err(registry.unregistered(data_dir, project));
        }
    }
    drop(lock);
    Ok(id)
}

/// Checks that an existing data folder is registered for this project. Changes nothing.
///
/// # Errors
/// [`Error::Unregistered`] if it came from elsewhere, [`Error::Exposed`] if it is a link.
pub fn check_data(project: &Project, data_dir: &Path, state: &Path) -> Result<()> {
    let own = own_data(project);
    refuse_links([&own, data_dir])?;
    let known = project_id(project, state)?;
    for folder in [own.as_path(), data_dir] {
        if !is_fresh(folder)? && (known.is_none() || read_id(folder)? != known) {
            return Err(Registry::read(state)?.unregistered(folder, project));
        }
    }
    Ok(())
}

/// Registers a data folder that came from elsewhere, at the user's request.
///
/// # Errors
/// [`Error::SameData`] if it is another project's data folder, and no copy of it; if the state folder
/// or the data folder cannot be trusted or written.
pub fn adopt_data(project: &Project, data_dir: &Path, state: &Path) -> Result<Adopted> {
    let own = own_data(project);
    refuse_links([&own, data_dir])?;
    let lock = state::lock(state)?;
    let mut registry = Registry::read(state)?;
    let found = read_id(&own)?;
    let elsewhere = found.as_ref().and_then(|id| registry.elsewhere(id, project));
    if let Some(other) = elsewhere
        && is_same_folder(&own, &data_of(other))?
    {
        return Err(Error::SameData { path: own, project: other.clone() });
    }
    let (id, adopted) = match found {
        Some(_) if elsewhere.is_some() => (new_id(project)?, Adopted::Copied),
        Some(id) if registry.has(&id, project) => (id, Adopted::Known),
        Some(id) => (id, Adopted::Registered),
        // With the id that it had, the project keeps its approvals.
        None => match registry.id_of(project) {
            Some(id) if own.join(FILE).exists() => (id.clone(), Adopted::Registered),
            _ => (new_id(project)?, Adopted::Registered),
        },
    };
    let is_same = read_id(data_dir)?.as_ref() == Some(&id);
    if !registry.has(&id, project) {
        registry.register(&id, project, state)?;
    }
    write_id(&own, &id)?;
    if data_dir != own {
        write_id(data_dir, &id)?;
    }
    drop(lock);
    Ok(match adopted {
        Adopted::Known if !is_same => Adopted::Registered,
        other => other,
    })
}

/// Removes what interrupted restores have left beside a data folder, `DATA.PID.restoring`, and returns
/// how many folders that were. The caller holds the lock of the data folder, as a restore does until its
/// end.
///
/// # Errors
/// [`Error::Io`].
pub fn remove_unfinished_restores(data_dir: &Path) -> Result<usize> {
    let (Some(name), Some(parent)) = (data_dir.file_name(), data_dir.parent()) else {
        return Ok(0);
    };
    let begin = format!("{}.", name.to_string_lossy());
    let is_left = |entry: &fs::DirEntry| {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let entry = entry.file_name();
        let rest = entry.to_str().and_then(|text| text.strip_prefix(&begin));
        let process = rest.and_then(|it| it.strip_suffix(".restoring"));
        process.is_some_and(|process| process.trim_end_matches(".aside").parse::<u32>().is_ok())
            && is_folder
    };
    let entries = fs::read_dir(parent).map_err(|error| io_error("read", parent, error))?;
    let mut count = 0;
    for entry in entries.flatten().filter(is_left) {
        let path = entry.path();
        fs::remove_dir_all(&path).map_err(|error| io_error("remove", &path, error))?;
        count += 1;
    }
    Ok(count)
}

fn own_data(project: &Project) -> PathBuf {
    data_of(project.root())
}

fn data_of(root: &Path) -> PathBuf {
    root.join(".waypost").join("data")
}

/// Whether both paths lead to one folder: a mount can show it at a second path.
fn is_same_folder(one: &Path, other: &Path) -> Result<bool> {
    let identify = |path: &Path| {
        let metadata = fs::metadata(path).map_err(|error| io_error("inspect", path, error))?;
        Ok::<_, Error>((metadata.dev(), metadata.ino()))
    };
    Ok(identify(one)? == identify(other)?)
}

/// A checkout can contain a link, and nothing may be written to its target.
fn refuse_links(folders: [&Path; 2]) -> Result<()> {
    for folder in folders {
        match folder.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => return Err(private::linked(folder)),
            Err(error)
                if !matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return Err(io_error("inspect", folder, error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a file of a data folder is an id that a process was writing when it was killed.
pub fn is_unfinished_id(name: &OsStr) -> bool {
    let rest = name.to_str().and_then(|text| text.strip_prefix(FILE)?.strip_prefix('.'));
    rest.and_then(|it| it.strip_suffix(".new")).is_some()
}

/// Whether the folder is still empty, apart from its lock and an unfinished id. Git does not store empty folders, so it
/// did not come with a clone.
fn is_fresh(folder: &Path) -> Result<bool> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.all(|entry| {
            let name = entry.map(|entry| entry.file_name());
            name.is_ok_and(|name| name == LOCK || is_unfinished_id(&name))
        })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            Err(Error::NotData { path: folder.to_owned() })
        }
        Err(error) => Err(io_error("read", folder, error)),
    }
}

fn read_id(data_dir: &Path) -> Result<Option<String>> {
    let folder = match data_dir.canonicalize() {
        Ok(folder) => folder,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io_error("read", data_dir, error)),
    };
    if !folder.is_dir() {
        return Err(Error::NotData { path: data_dir.to_owned() });
    }
    let Some(bytes) = trusted::read_of_project(&folder, FILE, 1024)? else { return Ok(None) };
    let text = String::from_utf8(bytes).unwrap_or_default();
    let id = text.trim_end();
    let is_id = id.len() == 2 * ID_BYTES
        && id.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    Ok(is_id.then(|| id.to_owned()))
}

fn write_id(data_dir: &Path, id: &str) -> Result<()> {
    create_data_dir(data_dir)?;
    if read_id(data_dir)?.as_deref() == Some(id) {
        return Ok(());
    }
    state::write(&data_dir.join(FILE), format!("{id}\n").as_bytes())
}

fn new_id(project: &Project) -> Result<String> {
    let mut bytes = [0_u8; ID_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        io_error("create an id for", project.root(), io::Error::other(error.to_string()))
    })?;
    Ok(crate::cache::hex(&bytes))
}
