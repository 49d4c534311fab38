//! The options of the service.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use waypost_embedding::fetch;
use waypost_project::{
    ClusterSettings, ContextSettings, EventSettings, LimitSettings, MeshSettings, Model, Origin,
    Project, RecallSettings, Settings, TlsSettings,
};

use crate::umask::Umask;

/// After how many records the leader of a cluster writes a snapshot.
const SNAPSHOT_RECORDS: u64 = 50_000;

/// The options of the service, resolved from flags, environment and configuration.
#[derive(Debug, Clone)]
pub struct Options {
    /// The project.
    pub project: Project,
    /// The data folder.
    pub data_dir: PathBuf,
    /// Where the first start writes the admin token.
    pub token_file: PathBuf,
    /// The address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whether to take a free port if this one is in use: only for the default.
    pub any_port: bool,
    /// The socket to listen on for this user; by default `service.sock` in the store's folder.
    pub socket: Option<PathBuf>,
    /// The certificate for the network; without one the service speaks plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Whether a non-loopback address may be bound without TLS.
    pub allow_remote: bool,
    /// Further accepted values of `Host`, with or without a port.
    pub hosts: Vec<String>,
    /// Accepted values of `Origin`.
    pub origins: Vec<String>,
    /// The embedding model.
    pub model: ModelOptions,
    /// The lowest score of a hit, unless a search has its own.
    pub min_score: f64,
    /// The settings of a member of a cluster. Whether the project is one is in its data folder.
    pub cluster: ClusterSettings,
    /// After how many records the leader of a cluster writes a snapshot to the database; 50,000 by
    /// default.
    pub snapshot_records: u64,
    /// Events about memories, and the retention of events.
    pub events: EventSettings,
    /// Warnings about the settings, to be logged at the start.
    pub warnings: Vec<String>,
    /// Which of the project's files count as approved.
    pub approval: Approval,
    /// The permissions and the environment of flows.
    pub flows: FlowOptions,
    /// How long recorded turns and the recall log are kept.
    pub recall: RecallSettings,
    /// The options of project context.
    pub context: ContextSettings,
    /// How to join the mesh; `None` if it is disabled.
    pub mesh: Option<MeshSettings>,
    /// The cross-encoder that orders the best results of a search, if there is one.
    pub rerank: Option<RerankOptions>,
    /// The limits on requests.
    pub limits: LimitSettings,
    /// How long the service stays idle before it stops; `None` if it runs until a signal.
    pub exit_idle: Option<Duration>,
    /// Called when much memory was freed at once, so that the program that owns the allocator can
    /// return pages to the system. Does nothing unless set.
    pub release_memory: fn(),
}

/// The model and its sources.
#[derive(Debug, Clone)]
pub struct ModelOptions {
    /// The model.
    pub model: Model,
    /// The folder of cached models.
    pub cache_dir: PathBuf,
    /// The allowed sources and their options.
    pub sources: fetch::Options,
    /// Number of texts embedded at once in the background.
    pub batch: usize,
}

impl ModelOptions {
    /// The name for the status, without a path of this machine.
    pub(crate) fn name(&self) -> String {
        match &self.model {
            Model::Named(name) => name.clone(),
            Model::Folder(path) => last_part(path),
            Model::Off => "none".to_owned(),
        }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.model == Model::Off
    }
}

/// The cross-encoder.
#[derive(Debug, Clone)]
pub struct RerankOptions {
    /// Its folder.
    pub folder: PathBuf,
    /// The time for one search; where it is exceeded, the order stays.
    pub budget: Duration,
    /// The number of best results that it orders.
    pub candidates: usize,
}

impl RerankOptions {
    /// The name for the status, without a path of this machine.
    pub(crate) fn name(&self) -> String {
        last_part(&self.folder)
    }
}

fn last_part(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The files of the service's certificate.
#[derive(Debug, Clone)]
pub struct TlsFiles {
    /// The certificate and its chain up to the authority, in PEM.
    pub cert: PathBuf,
    /// Its private key, in PEM.
    pub key: PathBuf,
}

/// The permissions and the environment of flows.
#[derive(Debug, Clone)]
pub struct FlowOptions {
    /// The folder that is first on the `PATH` of flows' programs.
    pub programs_dir: PathBuf,
    /// The environment from which flows' programs get variables and secrets.
    pub environment: Vec<(String, String)>,
    /// The umask of flows' programs, if it differs from the process's.
    pub umask: Option<Umask>,
    /// The program that, with the argument [`GUARD_ARGUMENT`](crate::GUARD_ARGUMENT), calls
    /// [`run_guard`](crate::run_guard). In a cluster it ends the programs of flows with the lease, even
    /// if this process is suspended; without one, they end only if this process runs.
    pub guard: Option<PathBuf>,
}

/// Which of the project's files count as approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// Everything counts as approved: flow files, and an unregistered data folder.
    Off,
    /// Only what the user has approved, as recorded in this folder outside the project.
    In(PathBuf),
    /// Only what the user has approved, but there is no folder with approvals: the service does not
    /// start.
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

fn tls_files(settings: &TlsSettings) -> Option<TlsFiles> {
    let (cert, key) = settings.cert.clone().zip(settings.key.clone())?;
    Some(TlsFiles { cert, key })
}

/// The folder of the running program, which also contains its `ctl`.
fn programs_dir() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.parent().map(Path::to_owned).unwrap_or_default()
}

impl Options {
    /// The socket to listen on for this user.
    pub(crate) fn socket(&self) -> PathBuf {
        self.socket.clone().unwrap_or_else(|| self.data_dir.join("service.sock"))
    }

    /// The options according to the settings of a project.
    pub fn new(project: Project, settings: &Settings) -> Self {
        Self {
            project,
            data_dir: settings.data_dir.clone(),
            token_file: settings.token_file.clone(),
            listen: settings.listen,
            any_port: settings.origin("listen") == Some(&Origin::Default),
            socket: Some(settings.socket.clone()),
            tls: tls_files(&settings.tls),
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
            min_score: settings.search.min_score,
            cluster: settings.cluster.clone(),
            snapshot_records: SNAPSHOT_RECORDS,
            events: settings.events,
            warnings: settings.warnings().to_vec(),
            approval: Approval::new(settings),
            flows: FlowOptions {
                programs_dir: programs_dir(),
                environment: Vec::new(),
                umask: None,
                guard: None,
            },
            recall: settings.recall,
            context: settings.context.clone(),
            mesh: Some(settings.mesh.clone()).filter(|mesh| mesh.enabled),
            rerank: settings.rerank.model.clone().map(|folder| RerankOptions {
                folder,
                budget: settings.rerank.budget,
                candidates: settings.rerank.candidates,
            }),
            limits: settings.limits.clone(),
            exit_idle: None,
            release_memory: || (),
        }
    }

    /// The defaults for a project folder, on a free loopback port, without a model, without a mesh,
    /// and with everything in the project approved.
    ///
    /// # Errors
    /// If the folder does not exist.
    pub fn for_project(folder: &Path) -> anyhow::Result<Self> {
        let project = Project::at(folder)?;
        let dir = project.dir();
        let mut settings = Settings::default();
        settings.data_dir = dir.join("data");
        settings.token_file = dir.join("token");
        settings.listen = SocketAddr::from(([127, 0, 0, 1], 0));
        settings.model.name = Model::Off;
        settings.model.fetch = false;
        settings.model.cache_dir = dir.join("models");
        settings.mesh.enabled = false;
        settings.trust_project = true;
        Ok(Self { any_port: false, socket: None, ..Self::new(project, &settings) })
    }
}
