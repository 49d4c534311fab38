//! Settings with their origin.

use std::path::{Path, PathBuf};

use crate::approvals::{Approvals, sha256};
use crate::cache::{
    Environment, git_ignore_file, mesh_dir, models_dir, socket_path, state_dir, user_config_file,
};
use crate::config::{self, Config};
use crate::declared::{BrowserSettings, Settings, keys};
use crate::error::{Error, PendingFile, PendingSetting, Result};
use crate::identity::check_data;
use crate::key::{Key, Origin, Resolved};
use crate::nearest::nearest;
use crate::project::Project;
use crate::value::{Kind, Value};

/// The variable that approves everything in the project.
const TRUST: &str = "WAYPOST_TRUST_PROJECT";
/// The variables that runs of flows receive and that are not settings. This crate does not know
/// flows: a test of the service compares these with the variables that runs set.
pub const RUN_VARIABLES: [&str; 6] = [
    "WAYPOST_ATTEMPT",
    "WAYPOST_EVENT_ID",
    "WAYPOST_EVENT_TYPE",
    "WAYPOST_IDEMPOTENCY_KEY",
    "WAYPOST_RUN_ID",
    "WAYPOST_TOKEN",
];
/// The prefix of the variables that contain the values of a run.
pub const EVENT_PREFIX: &str = "WAYPOST_EVENT_DATA_";

/// The sources of settings, in descending order of precedence: flags, variables, the user's own
/// `config.yaml`, the project's.
#[expect(missing_debug_implementations, reason = "it holds a closure")]
#[non_exhaustive]
pub struct Sources<'a> {
    /// The project, whose `config.yaml` is read, and whose folder is the base of relative paths in
    /// it.
    pub project: &'a Project,
    /// The base of relative paths in flags and variables.
    pub current_dir: &'a Path,
    /// The given flags.
    pub flags: &'a [Flag],
    /// The variables of the process. An empty one counts as not set.
    pub environment: &'a Environment<'a>,
    /// The names of all variables, for detecting misspelt ones.
    pub variables: &'a [String],
    /// Whether the flag `--trust-project` was given: the project's files then count as approved.
    pub trust_project: bool,
}

impl<'a> Sources<'a> {
    /// The sources without flags and without the names of variables.
    pub fn new(
        project: &'a Project,
        current_dir: &'a Path,
        environment: &'a Environment<'a>,
    ) -> Self {
        Self { project, current_dir, flags: &[], environment, variables: &[], trust_project: false }
    }

    /// Sets the given flags.
    #[must_use]
    pub fn with_flags(self, flags: &'a [Flag]) -> Self {
        Self { flags, ..self }
    }

    /// Sets the names of all variables, for detecting misspelt ones.
    #[must_use]
    pub fn with_variables(self, variables: &'a [String]) -> Self {
        Self { variables, ..self }
    }

    /// Sets whether the flag `--trust-project` was given.
    #[must_use]
    pub fn with_trust_project(self, trust_project: bool) -> Self {
        Self { trust_project, ..self }
    }
}

/// A given flag, and its setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The setting's name, such as `log.level`.
    pub key: String,
    /// The flag as the user types it, such as `--log-level`.
    pub flag: String,
    /// Its value.
    pub value: String,
}

impl Flag {
    /// Creates a given flag.
    pub fn new(key: impl Into<String>, flag: impl Into<String>, value: impl Into<String>) -> Self {
        Self { key: key.into(), flag: flag.into(), value: value.into() }
    }
}

/// One setting for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The setting's name.
    pub key: &'static str,
    /// Its value, in the form that its variable takes.
    pub value: String,
    /// Where the value came from.
    pub origin: Origin,
    /// The variable that sets it.
    pub variable: String,
}

impl Settings {
    /// Resolves all settings.
    ///
    /// # Errors
    /// [`Error::Config`] with the line, [`Error::Value`] with the flag or variable,
    /// [`Error::Conflict`] if two settings contradict each other, and [`Error::Pending`] if the
    /// project's file sets values that have not been approved.
    pub fn resolve(sources: &Sources<'_>) -> Result<Self> {
        let mut settings = Self::preview(sources)?;
        match settings.pending.take() {
            Some(pending) => Err(Error::Pending(pending)),
            None => Ok(settings),
        }
    }

    /// The same, but settings that await approval are ignored; see [`pending`](Self::pending).
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve), but never [`Error::Pending`].
    pub fn preview(sources: &Sources<'_>) -> Result<Self> {
        let trust_project = is_trusting(sources)?;
        let state_dir = state_dir(sources.environment);
        let (resolved, pending) = resolve(sources, trust_project, state_dir.as_deref())?;
        let mut settings = Self::new(&resolved);
        settings.socket = socket_path(&settings.data_dir, "service", sources.environment);
        settings.mesh.pairing_dir = settings.data_dir.join("pairing");
        settings.context.is_home = is_home(sources);
        settings.context.git_ignore_file = git_ignore_file(sources.environment);
        settings.warnings = unknown_variables(sources.variables);
        let settings = Self { trust_project, state_dir, pending, resolved, ..settings };
        settings.check()?;
        Ok(settings)
    }

    /// Where a setting's value came from; `None` if there is no such setting.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.resolved.get(key).map(|(_, origin)| origin)
    }

    /// The part of the project's file that awaits approval.
    pub fn pending(&self) -> Option<&PendingFile> {
        self.pending.as_ref()
    }

    /// Warnings about what is unusual but harmless: variables that are not settings.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// All settings with their values and origins, in the order of the documentation.
    pub fn table(&self) -> Vec<Row> {
        keys()
            .map(|key| {
                let (value, origin) = &self.resolved[key.name];
                Row {
                    key: key.name,
                    value: value.to_string(),
                    origin: origin.clone(),
                    variable: key.variable(),
                }
            })
            .collect()
    }

    /// The token file in the store's folder.
    pub fn tokens_file(&self) -> PathBuf {
        self.data_dir.join("tokens.json")
    }

    /// Refuses to listen where other machines could reach the service, unless that was allowed.
    pub fn check_listen(&self) -> Result<()> {
        if self.listen.ip().is_loopback() || self.allow_remote || self.tls.cert.is_some() {
            return Ok(());
        }
        Err(Error::Conflict {
            message: format!(
                "listening on {} would accept other machines, and tokens and memories would cross the network in the clear; listen on 127.0.0.1, set tls.cert and tls.key, or set allow_remote (behind a TLS proxy)",
                self.listen
            ),
        })
    }

    fn check(&self) -> Result<()> {
        if self.tls.cert.is_some() != self.tls.key.is_some() {
            return Err(Error::Conflict {
                message: "tls.cert and tls.key must both be set, or neither".to_owned(),
            });
        }
        if self.limits.body_bytes_max > self.limits.bodies_bytes_max {
            return Err(Error::Conflict {
                message: "limits.body_bytes_max exceeds limits.bodies_bytes_max, so a body of that size could never be accepted; raise the second or lower the first".to_owned(),
            });
        }
        Ok(())
    }
}

impl BrowserSettings {
    /// Refuses to accept commands where other machines could send them.
    ///
    /// # Errors
    /// [`Error::ExposedBrowser`] if the address is not loopback.
    pub fn check_listen(&self) -> Result<()> {
        if self.listen.ip().is_loopback() {
            return Ok(());
        }
        Err(Error::ExposedBrowser { address: self.listen })
    }
}

/// Whether the project is the user's home, or contains it as `/` does.
fn is_home(sources: &Sources<'_>) -> bool {
    let root = sources.project.root();
    let home = (sources.environment)("HOME").filter(|it| !it.is_empty());
    // The project's path contains no links.
    let home = home.and_then(|home| Path::new(&home).canonicalize().ok());
    root.parent().is_none() || home.is_some_and(|home| home.starts_with(root))
}

/// All values, and which values of the project's file await approval.
fn resolve(
    sources: &Sources<'_>,
    trust_project: bool,
    state: Option<&Path>,
) -> Result<(Resolved, Option<PendingFile>)> {
    check_flags(sources.flags)?;
    let mut layers = Layers::read(sources)?;
    let approved = if trust_project { Ok(true) } else { layers.is_approved(sources, state) };
    let (is_approved, damage) = match approved {
        Err(error @ Error::DamagedApprovals { .. }) => (false, Some(error.to_string())),
        approved => (approved?, None),
    };
    let mut values = Resolved::new();
    let mut pending = Vec::new();
    for key in keys() {
        let default = default(key, &values, sources);
        let strong = match from_outside(key, sources)? {
            Some((value, origin)) => {
                Some((place(key, value, sources.current_dir, sources), origin))
            }
            None => layers.of_user(key, sources),
        };
        let given = strong.or_else(|| {
            let (value, origin) = layers.of_project(key, sources)?;
            if is_approved || key.is_harmless || value == default {
                return Some((value, origin));
            }
            let line = config::line_of(&layers.project_bytes, key.name);
            pending.push(PendingSetting { line, key: key.name, value: value.to_string() });
            None
        });
        values.insert(key.name, given.unwrap_or((default, Origin::Default)));
    }
    pending.sort_by_key(|pending| pending.line);
    let unregistered = || unregistered(sources.project, state?);
    let damage = damage.or_else(|| (!pending.is_empty()).then(unregistered)?);
    let pending = (!pending.is_empty()).then_some(PendingFile {
        path: layers.project_file,
        settings: pending,
        user_file: layers.user_file,
        damage,
    });
    Ok((values, pending))
}

/// The configuration files.
struct Layers {
    user_file: Option<PathBuf>,
    /// For all projects, and for this one.
    user: Config,
    user_here: Config,
    project_file: PathBuf,
    project_bytes: Vec<u8>,
    project: Config,
}

impl Layers {
    fn read(sources: &Sources<'_>) -> Result<Self> {
        let root = sources.project.root();
        let user_file = user_config_file(sources.environment);
        let home = (sources.environment)("HOME").filter(|it| !it.is_empty()).map(PathBuf::from);
        let user = match &user_file {
            Some(path) => config::read_user(path, root, home.as_deref())?,
            None => config::UserFile::default(),
        };
        let project = config::read_project(root, Project::CONFIG_FILE)?;
        Ok(Self {
            user_file,
            user: user.values,
            user_here: user.of_project,
            project_file: sources.project.config_file(),
            project_bytes: project.bytes,
            project: project.values,
        })
    }

    /// Whether the user has approved the present content of the project's file.
    fn is_approved(&self, sources: &Sources<'_>, state: Option<&Path>) -> Result<bool> {
        match state {
            // Nothing needs approval, so the state folder need not be trustworthy.
            _ if self.project.is_empty() => Ok(false),
            Some(state) => {
                let approved = Approvals::new(sources.project, state).list()?;
                let sha256 = sha256(&self.project_bytes);
                Ok(approved.iter().any(|approved| {
                    approved.file == Project::CONFIG_FILE && approved.sha256 == sha256
                }))
            }
            None => Ok(false),
        }
    }

    fn of_user(&mut self, key: &Key, sources: &Sources<'_>) -> Option<(Value, Origin)> {
        let path = self.user_file.as_ref()?;
        let folder = path.parent().unwrap_or(path);
        let (value, base) = match self.user_here.remove(key.name) {
            Some(value) => (value, sources.project.root()),
            None => (self.user.remove(key.name)?, folder),
        };
        Some((place(key, value, base, sources), Origin::User(path.clone())))
    }

    fn of_project(&mut self, key: &Key, sources: &Sources<'_>) -> Option<(Value, Origin)> {
        let value = self.project.remove(key.name)?;
        let value = place(key, value, sources.project.root(), sources);
        Some((value, Origin::Config(self.project_file.clone())))
    }
}

/// Why no approval counts, if the project's data folder is not registered.
fn unregistered(project: &Project, state: &Path) -> Option<String> {
    let checked = check_data(project, &project.dir().join("data"), state);
    matches!(checked, Err(Error::Unregistered { .. })).then(|| {
        "no approval counts, because the data folder is not registered for this project; if it is yours, run `ctl allow --data` first".to_owned()
    })
}

/// Whether a variable sets what a project's file may set only with approval. A project can also set variables of
/// programs that others start in it, such as the hooks of agents.
pub fn needs_approval(variable: &str) -> bool {
    let is_of = |key: &Key| !key.is_harmless && key.variable() == variable;
    variable == TRUST || keys().any(is_of)
}

/// Whether everything in the project counts as approved, because of the flag or the variable.
fn is_trusting(sources: &Sources<'_>) -> Result<bool> {
    let text = (sources.environment)(TRUST).filter(|text| !text.is_empty());
    let Some(text) = text else { return Ok(sources.trust_project) };
    let wrong = |message| Error::Value { place: TRUST.to_owned(), message };
    let text = text.to_str().ok_or_else(|| wrong("is not UTF-8".to_owned()))?;
    let value = Kind::Bool.read_text(text).map_err(wrong)?;
    Ok(sources.trust_project || value == Value::Bool(true))
}

/// Warnings about variables that look like settings but are not.
fn unknown_variables(names: &[String]) -> Vec<String> {
    let settings: Vec<String> = keys().map(Key::variable).collect();
    let is_known = |text: &str| {
        text == TRUST
            || RUN_VARIABLES.contains(&text)
            || text.starts_with(EVENT_PREFIX)
            || settings.iter().any(|name| name == text)
    };
    let unknown = names.iter().filter(|name| name.starts_with("WAYPOST_") && !is_known(name));
    let mut warnings: Vec<String> = unknown
        .map(|name| {
            let hint = match nearest(name, settings.iter().map(String::as_str).chain([TRUST])) {
                _ if name == "WAYPOST_FLOWS_APPROVAL" => {
                    format!("; {TRUST}=1 treats everything in the project as approved")
                }
                Some(near) => format!("; did you mean {near}?"),
                None => "; docs/settings.md lists the variables".to_owned(),
            };
            format!("the variable {} is not a setting and has no effect{hint}", name.escape_debug())
        })
        .collect();
    warnings.sort_unstable();
    warnings
}

fn check_flags(flags: &[Flag]) -> Result<()> {
    for flag in flags {
        if keys().all(|key| key.name != flag.key) {
            let hint = match nearest(&flag.key, keys().map(|key| key.name)) {
                Some(name) => format!("; did you mean \"{name}\"?"),
                None => "; docs/settings.md lists the settings".to_owned(),
            };
            let message = format!("unknown setting \"{}\"{hint}", flag.key.escape_debug());
            return Err(Error::Value { place: flag.flag.clone(), message });
        }
    }
    Ok(())
}

/// The value from the last flag for the key, else from its variable.
fn from_outside(key: &Key, sources: &Sources<'_>) -> Result<Option<(Value, Origin)>> {
    let wrong = |place: &str, message| Error::Value { place: place.to_owned(), message };
    if let Some(flag) = sources.flags.iter().rev().find(|flag| flag.key == key.name) {
        let value = key.kind.read_text(&flag.value).map_err(|error| wrong(&flag.flag, error))?;
        return Ok(Some((value, Origin::Flag(flag.flag.clone()))));
    }
    let name = key.variable();
    let Some(text) = (sources.environment)(&name).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let text = text.to_str().ok_or_else(|| wrong(&name, "is not UTF-8".to_owned()))?;
    let value = key.kind.read_text(text).map_err(|error| wrong(&name, error))?;
    Ok(Some((value, Origin::Variable(name))))
}

/// Makes paths absolute: `~/` is the user's home, others are relative to `base`.
fn place(key: &Key, value: Value, base: &Path, sources: &Sources<'_>) -> Value {
    let absolute = |path: &Path| {
        let home = (sources.environment)("HOME").filter(|home| !home.is_empty());
        match (path.strip_prefix("~"), home) {
            (Ok(rest), Some(home)) => Path::new(&home).join(rest),
            _ => base.join(path),
        }
    };
    match (key.kind, value) {
        (Kind::Path, Value::Path(path)) => Value::Path(absolute(&path)),
        (Kind::Model, Value::Text(name)) if is_path(&name) => {
            Value::Path(absolute(Path::new(&name)))
        }
        (_, value) => value,
    }
}

fn is_path(name: &str) -> bool {
    name.starts_with(['.', '~']) || name.contains(['/', '\\'])
}

fn default(key: &Key, before: &Resolved, sources: &Sources<'_>) -> Value {
    let data_dir = || match before.get("data_dir") {
        Some((Value::Path(data_dir), _)) => data_dir,
        _ => unreachable!("data_dir is resolved before {}", key.name),
    };
    match key.name {
        "url" => {
            let socket = socket_path(data_dir(), "service", sources.environment);
            Value::Text(format!("unix:{}", socket.display()))
        }
        "mesh.folder" => {
            let folder = mesh_dir(sources.project.root(), sources.environment);
            Value::Path(folder.unwrap_or_else(|| data_dir().join("mesh")))
        }
        // For a user without a home, the cache is next to the store.
        "model.cache_dir" => Value::Path(
            models_dir(sources.environment)
                .unwrap_or_else(|| sources.project.dir().join("data").join("models")),
        ),
        _ if key.is_computed => key.fixed_default(),
        _ => place(key, key.fixed_default(), sources.project.root(), sources),
    }
}
