//! Settings with their origin.

mod browser;
mod context;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cache::{Environment, approvals_dir, mesh_dir, models_dir, socket_path};
use crate::config;
use crate::error::{Error, Result};
use crate::key::{Default as KeyDefault, KEYS, Key};
use crate::nearest::nearest;
use crate::project::Project;
use crate::value::{Kind, Value};

pub use self::browser::{BrowserEngine, BrowserPictures, BrowserSettings};
pub use self::context::{ContextSettings, WatchMode};

/// Where settings come from, the strongest first: flags, variables, the project's `config.yaml`.
#[expect(missing_debug_implementations, reason = "it holds a closure")]
pub struct Sources<'a> {
    /// The project, whose `config.yaml` is read and whose folder relative paths in it start from.
    pub project: &'a Project,
    /// The folder that relative paths in flags and variables start from.
    pub current_dir: &'a Path,
    /// Flags that were given.
    pub flags: &'a [Flag],
    /// The variables of the process. An empty one counts as not set.
    pub environment: &'a Environment<'a>,
}

/// A flag that was given, and the setting that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag {
    /// The setting's name, such as `log.level`.
    pub key: String,
    /// The flag as the user knows it, such as `--log-level`.
    pub flag: String,
    /// Its value.
    pub value: String,
}

impl Flag {
    /// A flag that was given.
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
    /// The project's `config.yaml`.
    Config(PathBuf),
    /// Nobody set it.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "flag {flag}"),
            Self::Variable(name) => write!(f, "variable {name}"),
            Self::Config(path) => write!(f, "{}", path.display()),
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
    /// What it is for.
    pub description: &'static str,
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What is logged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// A level, or levels by target, as `tracing`'s `EnvFilter` reads them.
    pub level: String,
    /// How lines are written.
    pub format: LogFormat,
}

/// Which embedding model is used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Model {
    /// A known one, by its name.
    Named(String),
    /// The one in that folder.
    Folder(PathBuf),
    /// None: search goes by words alone.
    Off,
}

/// Where the embedding model comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelSettings {
    /// Which one.
    pub name: Model,
    /// True if a known model may be downloaded.
    pub fetch: bool,
    /// The folder that models are kept in, one folder each.
    pub cache_dir: PathBuf,
}

/// How embedding is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddingSettings {
    /// Texts at once.
    pub batch: usize,
}

/// Which events there are beside those that clients publish, and how long events are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSettings {
    /// The service publishes what happens to memories.
    pub memory: bool,
    /// Older ones are dropped.
    pub keep_time: Option<Duration>,
    /// So many are kept.
    pub keep_count: Option<u64>,
    /// All take at most so many bytes.
    pub keep_bytes: Option<u64>,
}

impl Default for EventSettings {
    fn default() -> Self {
        Self { memory: true, keep_time: None, keep_count: None, keep_bytes: None }
    }
}

/// What has to be approved before it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowSettings {
    /// A flow file that has changed is in force once somebody approved it.
    pub approval: bool,
    /// Where is kept what was approved; `None` for a user without a home.
    pub approvals_dir: Option<PathBuf>,
}

/// What the service's TLS is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// The certificate and those that lead to its authority, in PEM.
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
                message: "tls.cert and tls.key go together: give both, or neither".to_owned(),
            }),
        }
    }
}

/// How the programs of a project meet their peers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeshSettings {
    /// The service and the browser join.
    pub enabled: bool,
    /// The folder where the peers of this machine meet.
    pub folder: PathBuf,
    /// The folder of this machine's pairing: `pairing` in the store's folder.
    pub pairing_dir: PathBuf,
    /// They listen for paired machines.
    pub listen: bool,
    /// What a human does in the browser is published.
    pub human_events: bool,
}

/// What the service accepts, for how long it waits, and how much it does at once.
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
    /// Where `ctl` finds the service, without a slash at its end: an address that somebody gave, else
    /// `unix:` and the service's socket.
    pub url: String,
    /// The folder of the store.
    pub data_dir: PathBuf,
    /// Where the service listens for its own user.
    pub socket: PathBuf,
    /// The file with `ctl`'s token.
    pub token_file: PathBuf,
    /// True if the service may listen on an address that other machines reach.
    pub allow_remote: bool,
    /// Further `Host` names that the service answers to.
    pub allowed_hosts: Vec<String>,
    /// Origins of web pages that may call the service.
    pub allowed_origins: Vec<String>,
    /// The certificate that the service shows; `None` if it speaks plain HTTP.
    pub tls: Option<TlsSettings>,
    /// The embedding model.
    pub model: ModelSettings,
    /// How embedding is done.
    pub embedding: EmbeddingSettings,
    /// Which events there are, and how long they are kept.
    pub events: EventSettings,
    /// What of flows has to be approved.
    pub flows: FlowSettings,
    /// What of the project is indexed for queries about it.
    pub context: ContextSettings,
    /// How peers are met.
    pub mesh: MeshSettings,
    /// How the browser is reached, and what it may reach.
    pub browser: BrowserSettings,
    /// What is logged.
    pub log: LogSettings,
    /// The service's limits.
    pub limits: LimitSettings,
    resolved: Resolved,
}

impl Settings {
    /// Resolves every setting.
    ///
    /// # Errors
    /// [`Error::Config`] with the line, [`Error::Value`] with the flag or variable, and
    /// [`Error::Conflict`] where two settings do not go together.
    pub fn resolve(sources: &Sources<'_>) -> Result<Self> {
        let resolved = Resolved::new(sources)?;
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
            model: ModelSettings {
                name: resolved.model("model.name"),
                fetch: resolved.is_on("model.fetch"),
                cache_dir: resolved.path("model.cache_dir"),
            },
            embedding: EmbeddingSettings { batch: resolved.number("embedding.batch") as usize },
            events: EventSettings {
                memory: resolved.is_on("events.memory"),
                keep_time: Some(resolved.time("events.keep_time")).filter(|it| !it.is_zero()),
                keep_count: Some(resolved.number("events.keep_count")).filter(|it| *it > 0),
                keep_bytes: Some(resolved.number("events.keep_bytes")).filter(|it| *it > 0),
            },
            flows: FlowSettings {
                approval: resolved.is_on("flows.approval"),
                approvals_dir: approvals_dir(sources.project.root(), sources.environment),
            },
            context: ContextSettings::resolve(&resolved, sources),
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
            resolved,
        };
        settings.check()?;
        Ok(settings)
    }

    /// Where a setting's value came from; `None` if there is no such setting.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.resolved.0.get(key).map(|(_, origin)| origin)
    }

    /// Every setting with its value and where that came from, in the order of the documentation.
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

    /// The file of tokens in the store's folder.
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
                "listening on {} would let other machines in, and tokens and memories would cross the network in the clear; listen on 127.0.0.1, set tls.cert and tls.key, or set allow_remote (with TLS in front)",
                self.listen
            ),
        })
    }

    fn check(&self) -> Result<()> {
        if self.limits.body_bytes_max > self.limits.bodies_bytes_max {
            return Err(Error::Conflict {
                message: "limits.body_bytes_max is larger than limits.bodies_bytes_max, so a body of that size could never be taken; raise the second or lower the first".to_owned(),
            });
        }
        // What is kept from running what a checkout brings must not be off because of a checkout.
        if !self.flows.approval
            && let Some(Origin::Config(path)) = self.origin("flows.approval")
        {
            return Err(Error::Conflict {
                message: format!(
                    "flows.approval is false in {}, which a checkout can change like the flows themselves; take it out there and set WAYPOST_FLOWS_APPROVAL=false for the service",
                    path.display()
                ),
            });
        }
        Ok(())
    }
}

/// What holds where nobody says otherwise.
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

/// Every key's value and origin. The accessors expect what the table of keys promises.
#[derive(Debug, Clone)]
struct Resolved(BTreeMap<&'static str, (Value, Origin)>);

impl Resolved {
    /// The defaults of a section whose defaults depend on nothing.
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

    fn new(sources: &Sources<'_>) -> Result<Self> {
        let config_file = sources.project.config_file();
        let mut config = config::read(&config_file)?;
        check_flags(sources.flags)?;
        let mut values = BTreeMap::new();
        for key in KEYS {
            let given = match from_outside(key, sources)? {
                Some((value, origin)) => {
                    Some((place(key, value, sources.current_dir, sources), origin))
                }
                None => config.remove(key.name).map(|value| {
                    let value = place(key, value, sources.project.root(), sources);
                    (value, Origin::Config(config_file.clone()))
                }),
            };
            let resolved =
                given.unwrap_or_else(|| (default(key, &values, sources), Origin::Default));
            values.insert(key.name, resolved);
        }
        Ok(Self(values))
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

    fn time(&self, name: &str) -> Duration {
        match self.value(name) {
            Value::Time(value) => *value,
            other => unreachable!("{name} is a time, not {other:?}"),
        }
    }
}

fn check_flags(flags: &[Flag]) -> Result<()> {
    for flag in flags {
        if Key::named(&flag.key).is_none() {
            let hint = match nearest(&flag.key, KEYS.iter().map(|key| key.name)) {
                Some(name) => format!("; did you mean \"{name}\"?"),
                None => "; `ctl config show` lists the settings".to_owned(),
            };
            let message = format!("there is no setting \"{}\"{hint}", flag.key.escape_debug());
            return Err(Error::Value { place: flag.flag.clone(), message });
        }
    }
    Ok(())
}

/// From the last flag for the key, else from its variable.
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

/// Makes paths absolute: `~/` is the user's home, others start from `base`.
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
        // None.
        KeyDefault::Computed(_) if key.section() == Some("tls") => Value::Path(PathBuf::new()),
        KeyDefault::Computed(_) if key.name == "mesh.folder" => {
            let project = sources.project.root();
            let folder = mesh_dir(project, sources.environment);
            Value::Path(folder.unwrap_or_else(|| match before.get("data_dir") {
                Some((Value::Path(data_dir), _)) => data_dir.join("mesh"),
                _ => unreachable!("data_dir is resolved before mesh.folder"),
            }))
        }
        // A user without a home has the cache beside the store.
        KeyDefault::Computed(_) => Value::Path(
            models_dir(sources.environment)
                .unwrap_or_else(|| sources.project.dir().join("data").join("models")),
        ),
    }
}
