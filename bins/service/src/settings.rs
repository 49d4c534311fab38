//! What the service is started with.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use waypost_embedding::fetch;
use waypost_project::{EventSettings, LimitSettings, Model, Project, Settings};

use crate::loader::ModelOptions;

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
    /// Whether an address beyond loopback may be bound although there is no TLS.
    pub allow_remote: bool,
    /// Further values of `Host` that are ours, with or without a port.
    pub hosts: Vec<String>,
    /// Values of `Origin` that may send requests.
    pub origins: Vec<String>,
    /// The embedding model.
    pub model: ModelOptions,
    /// How long events are kept.
    pub events: EventSettings,
    /// What is accepted, and how much of it.
    pub limits: LimitSettings,
}

impl Options {
    /// What the settings of a project say.
    pub fn new(project: Project, settings: &Settings) -> Self {
        Self {
            project,
            data_dir: settings.data_dir.clone(),
            token_file: settings.token_file.clone(),
            listen: settings.listen,
            allow_remote: settings.allow_remote,
            hosts: settings.allowed_hosts.clone(),
            origins: settings.allowed_origins.clone(),
            model: ModelOptions {
                model: settings.model.name.clone(),
                cache_dir: settings.model.cache_dir.clone(),
                sources: fetch::Options {
                    offline: !settings.model.fetch,
                    ..fetch::Options::default()
                },
                batch: settings.embedding.batch.max(1),
            },
            events: settings.events,
            limits: settings.limits.clone(),
        }
    }

    /// The defaults for a project folder, on a free port of loopback, without a model.
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
            allow_remote: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            model: ModelOptions {
                model: Model::Off,
                cache_dir: dir.join("models"),
                sources: fetch::Options { offline: true, ..fetch::Options::default() },
                batch: 32,
            },
            events: EventSettings::default(),
            limits: LimitSettings::default(),
            project,
        })
    }
}
