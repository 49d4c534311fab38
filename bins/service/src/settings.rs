//! What the service is started with.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use waypost_embedding::fetch;
use waypost_project::{
    ContextSettings, EventSettings, LimitSettings, MeshSettings, Model, Origin, Project, Settings,
};

use crate::umask::Umask;

/// What the service is started with, resolved from flags, environment and configuration.
#[derive(Debug, Clone)]
pub struct Options {
    /// The project.
    pub project: Project,
    /// The store's folder.
    pub data_dir: PathBuf,
    /// Where the first start writes the admin token.
    pub token_file: PathBuf,
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whether a free port is taken where that one is in use: it was the default, not asked for.
    pub any_port: bool,
    /// The socket to listen on for this user; by default `service.sock` in the store's folder.
    pub socket: Option<PathBuf>,
    /// The certificate to show over the network; without one it is plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Whether an address beyond loopback may be bound although there is no TLS.
    pub allow_remote: bool,
    /// Further values of `Host` that are ours, with or without a port.
    pub hosts: Vec<String>,
    /// Values of `Origin` that may send requests.
    pub origins: Vec<String>,
    /// The embedding model.
    pub model: ModelOptions,
    /// Which events there are, and how long they are kept.
    pub events: EventSettings,
    /// What is odd about the settings, to be told at the start.
    pub warnings: Vec<String>,
    /// What of the project's files may act.
    pub approval: Approval,
    /// What flows may do, and with what.
    pub flows: FlowOptions,
    /// What of the project is indexed, and how.
    pub context: ContextSettings,
    /// How peers are met; `None` if they are not.
    pub mesh: Option<MeshSettings>,
    /// What is accepted, and how much of it.
    pub limits: LimitSettings,
    /// Called when much memory has become free at once: who owns the allocator can have it give
    /// pages back to the system. Does nothing unless set.
    pub give_memory_back: fn(),
}

/// Which model, and where it comes from.
#[derive(Debug, Clone)]
pub struct ModelOptions {
    /// Which one.
    pub model: Model,
    /// The folder of cached models.
    pub cache_dir: PathBuf,
    /// Which sources are asked, and how.
    pub sources: fetch::Options,
    /// Texts that are embedded at once in the background.
    pub batch: usize,
}

impl ModelOptions {
    /// The name for status, without a path of this machine.
    pub(crate) fn name(&self) -> String {
        match &self.model {
            Model::Named(name) => name.clone(),
            Model::Folder(path) => {
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
            Model::Off => "none".to_owned(),
        }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.model == Model::Off
    }
}

/// Where the certificate is that the service shows.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate and those that lead to its authority, in PEM.
    pub cert: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// What flows may do, and with what.
#[derive(Debug, Clone)]
pub struct FlowOptions {
    /// The folder that is first on the `PATH` of flows' programs.
    pub programs_dir: PathBuf,
    /// What the variables and secrets of flows' programs are taken from.
    pub environment: Vec<(String, String)>,
    /// The umask of flows' programs, where it is not that of the process.
    pub umask: Option<Umask>,
}

/// What of the project's files may act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// Everything counts as approved: flow files, and a data folder that came from elsewhere.
    Off,
    /// What the user has approved. This is kept in this folder, outside of the project.
    In(PathBuf),
    /// What the user has approved, but there is no folder for that: the service does not start.
    Nowhere,
}

impl Approval {
    fn new(settings: &Settings) -> Self {
        match (!settings.trust_project, &settings.state_dir) {
            (false, _) => Self::Off,
            (true, Some(folder)) => Self::In(folder.clone()),
            (true, None) => Self::Nowhere,
        }
    }
}

/// Where the running program is; with it is its `ctl`.
fn programs_dir() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.parent().map(Path::to_owned).unwrap_or_default()
}

impl Options {
    /// Where to listen for this user.
    pub(crate) fn socket(&self) -> PathBuf {
        self.socket.clone().unwrap_or_else(|| self.data_dir.join("service.sock"))
    }

    /// What the settings of a project say.
    pub fn new(project: Project, settings: &Settings) -> Self {
        Self {
            project,
            data_dir: settings.data_dir.clone(),
            token_file: settings.token_file.clone(),
            listen: settings.listen,
            any_port: settings.origin("listen") == Some(&Origin::Default),
            socket: Some(settings.socket.clone()),
            tls: settings.tls.clone().map(|it| TlsFiles { cert: it.cert, key: it.key }),
            allow_remote: settings.allow_remote,
            hosts: settings.allowed_hosts.clone(),
            origins: settings.allowed_origins.clone(),
            model: ModelOptions {
                model: settings.model.name.clone(),
                cache_dir: settings.model.cache_dir.clone(),
                sources: if settings.model.fetch {
                    fetch::Options::default()
                } else {
                    fetch::Options::default().offline()
                },
                batch: settings.embedding.batch.max(1),
            },
            events: settings.events,
            warnings: settings.warnings().to_vec(),
            approval: Approval::new(settings),
            flows: FlowOptions {
                programs_dir: programs_dir(),
                environment: Vec::new(),
                umask: None,
            },
            context: settings.context.clone(),
            mesh: Some(settings.mesh.clone()).filter(|it| it.enabled),
            limits: settings.limits.clone(),
            give_memory_back: || (),
        }
    }

    /// The defaults for a project folder, on a free port of loopback, without a model, without a
    /// mesh, and with everything in the project taken as approved.
    ///
    /// # Errors
    /// If there is no such folder.
    pub fn for_project(folder: &Path) -> anyhow::Result<Self> {
        let project = Project::at(folder)?;
        let dir = project.dir();
        Ok(Self {
            data_dir: dir.join("data"),
            token_file: dir.join("token"),
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            any_port: false,
            socket: None,
            tls: None,
            allow_remote: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            model: ModelOptions {
                model: Model::Off,
                cache_dir: dir.join("models"),
                sources: fetch::Options::default().offline(),
                batch: 32,
            },
            events: EventSettings::default(),
            warnings: Vec::new(),
            approval: Approval::Off,
            flows: FlowOptions {
                programs_dir: programs_dir(),
                environment: Vec::new(),
                umask: None,
            },
            context: ContextSettings::default(),
            mesh: None,
            limits: LimitSettings::default(),
            give_memory_back: || (),
            project,
        })
    }
}
