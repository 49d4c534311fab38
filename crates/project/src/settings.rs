//! Settings with their origin.

mod browser;
mod context;
mod recall;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::approvals::{Approvals, sha256};
use crate::cache::{Environment, mesh_dir, models_dir, socket_path, state_dir, user_config_file};
use crate::config::{self, Config};
use crate::error::{Error, PendingFile, PendingSetting, Result};
use crate::identity::check_data;
use crate::key::{Default as KeyDefault, KEYS, Key};
use crate::nearest::nearest;
use crate::project::Project;
use crate::value::{Kind, Value};

pub use self::browser::{BrowserEngine, BrowserPictures, BrowserSettings};
pub use self::context::{ContextSettings, WatchMode};
pub use self::recall::RecallSettings;

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

/// Where a setting's value came from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A flag.
    Flag(String),
    /// A variable.
    Variable(String),
    /// The user's own `config.yaml`.
    User(PathBuf),
    /// The project's `config.yaml`.
    Config(PathBuf),
    /// It was not set.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::User(path) | Self::Config(path) => write!(f, "{}", path.display()),
            Self::Default => f.write_str("default"),
        }
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
    /// Its description.
    pub description: &'static str,
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Settings of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// A level, or levels by target, as `tracing`'s `EnvFilter` reads them.
    pub level: String,
    /// The format of lines.
    pub format: LogFormat,
}

/// The embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Model {
    /// A known one, by name.
    Named(String),
    /// The one in that folder.
    Folder(PathBuf),
    /// None: only lexical search.
    Off,
}

/// Settings of the embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// The model.
    pub name: Model,
    /// Whether a known model may be downloaded.
    pub fetch: bool,
    /// The folder of models, with one folder each.
    pub cache_dir: PathBuf,
}

/// Settings of the cross-encoder that orders the best results of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RerankSettings {
    /// Its folder, if there is one.
    pub model: Option<PathBuf>,
    /// The time for one search.
    pub budget: Duration,
    /// The number of results that it orders.
    pub candidates: usize,
}

/// Settings of embedding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddingSettings {
    /// How many texts are embedded at once.
    pub batch: usize,
}

/// Which events exist besides those that clients publish, and how long events are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSettings {
    /// Whether the service publishes changes of memories.
    pub memory: bool,
    /// Older events are dropped.
    pub keep_time: Option<Duration>,
    /// The maximum number of events.
    pub keep_count: Option<u64>,
    /// The maximum size of all events in bytes.
    pub keep_bytes: Option<u64>,
}

impl Default for EventSettings {
    fn default() -> Self {
        Self { memory: true, keep_time: None, keep_count: None, keep_bytes: None }
    }
}

/// The cluster of this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterSettings {
    /// The URL of its database; the one with which the machine joined if there is none.
    pub url: Option<String>,
    /// The name of this machine; the host name if there is none.
    pub name: Option<String>,
    /// Whether another machine embeds the queries of this one, if it has no model.
    pub peer_embedding: bool,
}

/// The service's TLS certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// The certificate and the chain to its authority, in PEM.
    pub cert: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

impl TlsSettings {
    fn resolve(resolved: &Resolved) -> Result<Option<Self>> {
        let given = |name: &str| Some(resolved.path(name)).filter(|it| !it.as_os_str().is_empty());
        match (given("tls.cert"), given("tls.key")) {
            (Some(cert), Some(key)) => Ok(Some(Self { cert, key })),
            (None, None) => Ok(None),
            _ => Err(Error::Conflict {
                message: "tls.cert and tls.key must both be set, or neither".to_owned(),
            }),
        }
    }
}

/// How the programs of a project join the mesh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshSettings {
    /// Whether the service and the browser join.
    pub enabled: bool,
    /// The folder where the peers of this machine meet.
    pub folder: PathBuf,
    /// The folder of this machine's pairing: `pairing` in the store's folder.
    pub pairing_dir: PathBuf,
    /// Whether they listen for paired machines.
    pub listen: bool,
    /// Whether a person's actions in the browser are published.
    pub human_events: bool,
}

/// Limits of the service: what it accepts, how long it waits, and how much it does at once.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "docs/settings.md describes each key from the same table")]
pub struct LimitSettings {
    pub connections_max: usize,
    pub header_read_time: Duration,
    pub header_bytes_max: usize,
    pub body_read_time: Duration,
    pub body_bytes_max: usize,
    pub bodies_bytes_max: usize,
    pub batch_bytes_max: u64,
    pub import_bytes_max: u64,
    pub unread_bytes_max: usize,
    pub unread_time_max: Duration,
    pub reads_max: usize,
    pub writes_max: usize,
    pub streams_max: usize,
    pub listeners_max: usize,
    pub queue_max: usize,
    pub store_time: Duration,
    pub shutdown_grace: Duration,
}

/// Every setting, resolved. Paths are absolute.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The service's address.
    pub listen: SocketAddr,
    /// The address at which `ctl` finds the service, without a trailing slash: a given address, or
    /// else `unix:` and the service's socket.
    pub url: String,
    /// The folder of the store.
    pub data_dir: PathBuf,
    /// The socket on which the service listens for its own user.
    pub socket: PathBuf,
    /// The file with `ctl`'s token.
    pub token_file: PathBuf,
    /// Whether the service may listen on an address that other machines can reach.
    pub allow_remote: bool,
    /// Further `Host` names that the service accepts.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call the service.
    pub allowed_origins: Vec<String>,
    /// The service's certificate; `None` for plain HTTP.
    pub tls: Option<TlsSettings>,
    /// The cluster that the service belongs to, if its data folder is that of a member.
    pub cluster: ClusterSettings,
    /// The embedding model.
    pub model: ModelSettings,
    /// The cross-encoder that orders the best results.
    pub rerank: RerankSettings,
    /// Settings of embedding.
    pub embedding: EmbeddingSettings,
    /// Hits of memory searches with a lower score are dropped, unless a request says otherwise.
    pub min_score: f64,
    /// Which events exist, and how long they are kept.
    pub events: EventSettings,
    /// Whether everything in the project counts as approved.
    pub trust_project: bool,
    /// The user's folder for approvals; `None` for a user without a home.
    pub state_dir: Option<PathBuf>,
    /// Which parts of the project are indexed for context.
    pub context: ContextSettings,
    /// What the hooks of agents do.
    pub recall: RecallSettings,
    /// Settings of the mesh.
    pub mesh: MeshSettings,
    /// Settings of the browser.
    pub browser: BrowserSettings,
    /// Settings of the log.
    pub log: LogSettings,
    /// The service's limits.
    pub limits: LimitSettings,
    pending: Option<PendingFile>,
    warnings: Vec<String>,
    resolved: Resolved,
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
        let (resolved, pending) = Resolved::new(sources, trust_project, state_dir.as_deref())?;
        let listen = resolved.address("listen");
        let settings = Self {
            listen,
            url: resolved.text("url"),
            socket: socket_path(&resolved.path("data_dir"), "service", sources.environment),
            data_dir: resolved.path("data_dir"),
            tls: TlsSettings::resolve(&resolved)?,
            token_file: resolved.path("token_file"),
            allow_remote: resolved.is_on("allow_remote"),
            allowed_hosts: resolved.list("allowed_hosts"),
            allowed_origins: resolved.list("allowed_origins"),
            cluster: ClusterSettings {
                url: Some(resolved.text("cluster.url")).filter(|it| !it.is_empty()),
                name: Some(resolved.text("cluster.name")).filter(|it| !it.is_empty()),
                peer_embedding: resolved.is_on("cluster.peer_embedding"),
            },
            model: ModelSettings {
                name: resolved.model("model.name"),
                fetch: resolved.is_on("model.fetch"),
                cache_dir: resolved.path("model.cache_dir"),
            },
            rerank: RerankSettings {
                model: Some(resolved.path("rerank.model")).filter(|it| !it.as_os_str().is_empty()),
                budget: resolved.time("rerank.budget"),
                candidates: resolved.number("rerank.candidates") as usize,
            },
            embedding: EmbeddingSettings { batch: resolved.number("embedding.batch") as usize },
            min_score: resolved.share("search.min_score"),
            events: EventSettings {
                memory: resolved.is_on("events.memory"),
                keep_time: Some(resolved.time("events.keep_time")).filter(|it| !it.is_zero()),
                keep_count: Some(resolved.number("events.keep_count")).filter(|it| *it > 0),
                keep_bytes: Some(resolved.number("events.keep_bytes")).filter(|it| *it > 0),
            },
            trust_project,
            state_dir,
            context: ContextSettings::resolve(&resolved, sources),
            recall: RecallSettings::resolve(&resolved),
            mesh: MeshSettings {
                enabled: resolved.is_on("mesh.enabled"),
                folder: resolved.path("mesh.folder"),
                pairing_dir: resolved.path("data_dir").join("pairing"),
                listen: resolved.is_on("mesh.listen"),
                human_events: resolved.is_on("mesh.human_events"),
            },
            browser: BrowserSettings::resolve(&resolved),
            log: LogSettings {
                level: resolved.text("log.level"),
                format: match resolved.text("log.format").as_str() {
                    "json" => LogFormat::Json,
                    _ => LogFormat::Text,
                },
            },
            limits: LimitSettings::new(&resolved),
            pending,
            warnings: unknown_variables(sources.variables),
            resolved,
        };
        settings.check()?;
        Ok(settings)
    }

    /// Where a setting's value came from; `None` if there is no such setting.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.resolved.0.get(key).map(|(_, origin)| origin)
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
        KEYS.iter()
            .map(|key| {
                let (value, origin) = &self.resolved.0[key.name];
                Row {
                    key: key.name,
                    value: value.to_string(),
                    origin: origin.clone(),
                    variable: key.variable(),
                    description: key.description,
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
        if self.listen.ip().is_loopback() || self.allow_remote || self.tls.is_some() {
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
        if self.limits.body_bytes_max > self.limits.bodies_bytes_max {
            return Err(Error::Conflict {
                message: "limits.body_bytes_max exceeds limits.bodies_bytes_max, so a body of that size could never be accepted; raise the second or lower the first".to_owned(),
            });
        }
        Ok(())
    }
}

/// The default values.
impl Default for LimitSettings {
    fn default() -> Self {
        Self::new(&Resolved::defaults("limits"))
    }
}

impl LimitSettings {
    fn new(resolved: &Resolved) -> Self {
        let number = |name: &str| resolved.number(&format!("limits.{name}"));
        let size = |name: &str| number(name) as usize;
        let time = |name: &str| resolved.time(&format!("limits.{name}"));
        Self {
            connections_max: size("connections_max"),
            header_read_time: time("header_read_time"),
            header_bytes_max: size("header_bytes_max"),
            body_read_time: time("body_read_time"),
            body_bytes_max: size("body_bytes_max"),
            bodies_bytes_max: size("bodies_bytes_max"),
            batch_bytes_max: number("batch_bytes_max"),
            import_bytes_max: number("import_bytes_max"),
            unread_bytes_max: size("unread_bytes_max"),
            unread_time_max: time("unread_time_max"),
            reads_max: size("reads_max"),
            writes_max: size("writes_max"),
            streams_max: size("streams_max"),
            listeners_max: size("listeners_max"),
            queue_max: size("queue_max"),
            store_time: time("store_time"),
            shutdown_grace: time("shutdown_grace"),
        }
    }
}

/// Every key's value and origin. The accessors rely on the types in the table of keys.
#[derive(Debug, Clone)]
struct Resolved(BTreeMap<&'static str, (Value, Origin)>);

impl Resolved {
    /// The fixed defaults of a section.
    fn defaults(section: &str) -> Self {
        let keys = KEYS.iter().filter(|key| key.section() == Some(section));
        let resolved = keys.map(|key| match key.default {
            KeyDefault::Text(text) => {
                let value = key.kind.read_text(text).expect("a default is a right value");
                (key.name, (value, Origin::Default))
            }
            KeyDefault::Computed(_) => unreachable!("{} is not computed", key.name),
        });
        Self(resolved.collect())
    }

    /// All values, and which values of the project's file await approval.
    fn new(
        sources: &Sources<'_>,
        trust_project: bool,
        state: Option<&Path>,
    ) -> Result<(Self, Option<PendingFile>)> {
        check_flags(sources.flags)?;
        let mut layers = Layers::read(sources)?;
        let approved = if trust_project { Ok(true) } else { layers.is_approved(sources, state) };
        let (is_approved, damage) = match approved {
            Err(error @ Error::DamagedApprovals { .. }) => (false, Some(error.to_string())),
            approved => (approved?, None),
        };
        let mut values = BTreeMap::new();
        let mut pending = Vec::new();
        for key in KEYS {
            let default = default(key, &values, sources);
            let strong = match from_outside(key, sources)? {
                Some((value, origin)) => {
                    Some((place(key, value, sources.current_dir, sources), origin))
                }
                None => layers.of_user(key, sources),
            };
            let given = strong.or_else(|| {
                let (value, origin) = layers.of_project(key, sources)?;
                if is_approved || key.is_harmless() || value == default {
                    return Some((value, origin));
                }
                let line = config::line_of(&layers.project_bytes, key.name);
                pending.push(PendingSetting { line, key: key.name, value: value.to_string() });
                None
            });
            values.insert(key.name, given.unwrap_or((default, Origin::Default)));
        }
        pending.sort_by_key(|it| it.line);
        let unregistered = || unregistered(sources.project, state?);
        let damage = damage.or_else(|| (!pending.is_empty()).then(unregistered)?);
        let pending = (!pending.is_empty()).then_some(PendingFile {
            path: layers.project_file,
            settings: pending,
            user_file: layers.user_file,
            damage,
        });
        Ok((Self(values), pending))
    }

    fn value(&self, name: &str) -> &Value {
        &self.0.get(name).expect("every key is resolved").0
    }

    fn address(&self, name: &str) -> SocketAddr {
        match self.value(name) {
            Value::Address(value) => *value,
            other => unreachable!("{name} is an address, not {other:?}"),
        }
    }

    fn text(&self, name: &str) -> String {
        match self.value(name) {
            Value::Text(value) => value.clone(),
            other => unreachable!("{name} is a text, not {other:?}"),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        match self.value(name) {
            Value::Path(value) => value.clone(),
            other => unreachable!("{name} is a path, not {other:?}"),
        }
    }

    fn model(&self, name: &str) -> Model {
        match self.value(name) {
            Value::Path(path) => Model::Folder(path.clone()),
            Value::Text(name) if name == "none" => Model::Off,
            Value::Text(name) => Model::Named(name.clone()),
            other => unreachable!("{name} is a model, not {other:?}"),
        }
    }

    fn is_on(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Bool(value) => *value,
            other => unreachable!("{name} is true or false, not {other:?}"),
        }
    }

    fn list(&self, name: &str) -> Vec<String> {
        match self.value(name) {
            Value::List(value) => value.clone(),
            other => unreachable!("{name} is a list, not {other:?}"),
        }
    }

    fn number(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Count(value) | Value::Bytes(value) => *value,
            other => unreachable!("{name} is a number, not {other:?}"),
        }
    }

    fn share(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Share(value) => *value,
            other => unreachable!("{name} is a number from 0 to 1, not {other:?}"),
        }
    }

    fn time(&self, name: &str) -> Duration {
        match self.value(name) {
            Value::Time(value) => *value,
            other => unreachable!("{name} is a time, not {other:?}"),
        }
    }
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
                Ok(approved.iter().any(|it| it.file == Project::CONFIG_FILE && it.sha256 == sha256))
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
    let is_of = |key: &Key| !key.is_harmless() && key.variable() == variable;
    variable == TRUST || KEYS.iter().any(is_of)
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
    let settings: Vec<String> = KEYS.iter().map(Key::variable).collect();
    let is_known = |it: &str| {
        it == TRUST
            || RUN_VARIABLES.contains(&it)
            || it.starts_with(EVENT_PREFIX)
            || settings.iter().any(|name| name == it)
    };
    let unknown = names.iter().filter(|it| it.starts_with("WAYPOST_") && !is_known(it));
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
        if Key::named(&flag.key).is_none() {
            let hint = match nearest(&flag.key, KEYS.iter().map(|key| key.name)) {
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
        let value = key.kind.read_text(&flag.value).map_err(|it| wrong(&flag.flag, it))?;
        return Ok(Some((value, Origin::Flag(flag.flag.clone()))));
    }
    let name = key.variable();
    let Some(text) = (sources.environment)(&name).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let text = text.to_str().ok_or_else(|| wrong(&name, "is not UTF-8".to_owned()))?;
    let value = key.kind.read_text(text).map_err(|it| wrong(&name, it))?;
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

fn default(
    key: &Key,
    before: &BTreeMap<&'static str, (Value, Origin)>,
    sources: &Sources<'_>,
) -> Value {
    match key.default {
        KeyDefault::Text(text) => {
            let value = key.kind.read_text(text).expect("a default is a right value");
            place(key, value, sources.project.root(), sources)
        }
        KeyDefault::Computed(_) if key.name == "url" => match before.get("data_dir") {
            Some((Value::Path(data_dir), _)) => {
                let socket = socket_path(data_dir, "service", sources.environment);
                Value::Text(format!("unix:{}", socket.display()))
            }
            _ => unreachable!("data_dir is resolved before url"),
        },
        KeyDefault::Computed(_) if key.section() == Some("cluster") => Value::Text(String::new()),
        // None.
        KeyDefault::Computed(_) if matches!(key.section(), Some("tls" | "rerank")) => {
            Value::Path(PathBuf::new())
        }
        KeyDefault::Computed(_) if key.name == "mesh.folder" => {
            let project = sources.project.root();
            let folder = mesh_dir(project, sources.environment);
            Value::Path(folder.unwrap_or_else(|| match before.get("data_dir") {
                Some((Value::Path(data_dir), _)) => data_dir.join("mesh"),
                _ => unreachable!("data_dir is resolved before mesh.folder"),
            }))
        }
        // For a user without a home, the cache is next to the store.
        KeyDefault::Computed(_) => Value::Path(
            models_dir(sources.environment)
                .unwrap_or_else(|| sources.project.dir().join("data").join("models")),
        ),
    }
}
