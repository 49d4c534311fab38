//! The command line.

use std::env;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use waypost_browser::Allow;
use waypost_mesh::Pairing;
use waypost_project::{
    BrowserEngine, BrowserPictures, Flag, MeshSettings, Project, Settings, Sources,
};

use crate::{address, http, terminal};

/// Show a web page in the terminal, and serve it to programs as data
#[derive(Debug, Parser)]
#[command(
    name = "browser",
    version,
    after_help = "Programs send commands over the mesh (`ctl mesh call browser.relay read`) or over HTTP (`POST /read`).\n\nExample: browser https://example.org"
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct Arguments {
    /// URL of the first page
    url: String,
    /// Project folder [default: the nearest parent folder with .waypost, else .git]
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// The address and port for commands over HTTP; only loopback
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Run without a terminal, for programs only
    #[arg(long)]
    headless: bool,
    /// Browser engine: `chromium`, or `static`, which runs no scripts [default: Chromium if installed]
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Store cookies and site data in this profile [default: store nothing]
    #[arg(long, value_name = "NAME", value_parser = profile)]
    profile: Option<String>,
    /// How to show pictures: `auto`, `off`, `blocks`, `kitty`, `sixel` or `iterm` [default: the best that the terminal
    /// reports]
    #[arg(long, value_name = "WAY")]
    pictures: Option<String>,
    /// Do not join the mesh
    #[arg(long)]
    no_mesh: bool,
    /// Treat everything in the project as approved, for containers and CI
    #[arg(long)]
    trust_project: bool,
    /// Run Chromium without its sandbox, as root requires; only for trusted pages
    #[arg(long)]
    no_sandbox: bool,
    /// Permit programs to reach this non-public address; may be repeated
    #[arg(long, value_name = "HOST[:PORT]|private")]
    allow: Vec<String>,
}

/// The resolved options of the program.
#[derive(Debug)]
pub(crate) struct Options {
    /// The address to start with.
    pub(crate) url: String,
    pub(crate) listen: SocketAddr,
    /// Candidate paths for a command socket, best first.
    pub(crate) sockets: Vec<PathBuf>,
    /// Without a terminal.
    pub(crate) headless: bool,
    pub(crate) engine: EngineOptions,
    pub(crate) allow: Vec<Allow>,
    /// Ports of Waypost, which pages must not access.
    pub(crate) own_ports: Vec<u16>,
    /// The project's data folder, in which a running service writes its address.
    pub(crate) data_dir: PathBuf,
    /// `None` if it does not join the mesh.
    pub(crate) mesh: Option<MeshSettings>,
    pub(crate) pictures: BrowserPictures,
    pub(crate) screenshots: bool,
}

/// How pages are shown.
#[derive(Debug)]
pub(crate) struct EngineOptions {
    pub(crate) which: BrowserEngine,
    pub(crate) sandbox: bool,
    pub(crate) profile: Option<PathBuf>,
    /// The search path for programs, in the format of `PATH`.
    pub(crate) path: OsString,
    /// Where a fresh profile is created.
    pub(crate) temporary: PathBuf,
}

impl Arguments {
    /// Resolves all options.
    pub(crate) fn resolve(self) -> anyhow::Result<Options> {
        if !self.headless {
            terminal::check()?;
        }
        let current_dir = env::current_dir().context("cannot determine the current folder")?;
        let project = match &self.project {
            Some(dir) => Project::at(dir)?,
            None => Project::find(&current_dir)?,
        };
        let settings = Settings::resolve(
            &Sources::new(&project, &current_dir, &|name| env::var_os(name))
                .with_flags(&self.flags())
                .with_variables(
                    &env::vars_os()
                        .filter_map(|(name, _)| name.into_string().ok())
                        .collect::<Vec<_>>(),
                )
                .with_trust_project(self.trust_project),
        )?;
        settings.browser.check_listen()?;
        let mesh = (settings.mesh.enabled && !self.no_mesh).then(|| settings.mesh.clone());
        let keeps = self.profile.is_some() || settings.mesh.folder.starts_with(&settings.data_dir);
        if keeps {
            project.prepare()?;
            match &settings.state_dir {
                _ if settings.trust_project => {
                    waypost_project::create_data_dir(&settings.data_dir)?;
                }
                Some(state) => {
                    waypost_project::claim_data(&project, &settings.data_dir, state)?;
                }
                None => return Err(waypost_project::Error::NoState.into()),
            }
        } else if let Some(state) = settings.state_dir.as_ref().filter(|_| !settings.trust_project)
        {
            // It contains the pairing, which decides which machines to trust.
            waypost_project::check_data(&project, &settings.data_dir, state)?;
        }
        let profiles = settings.data_dir.join("browser");
        let mut sockets = http::candidates(&settings.data_dir, &settings.mesh.folder);
        // A folder without a project does not become one because of a socket.
        sockets
            .retain(|socket| !socket.starts_with(&settings.data_dir) || settings.data_dir.is_dir());
        let allow = settings.browser.allow.iter().map(|text| text.parse::<Allow>());
        Ok(Options {
            url: address::meant(&self.url),
            listen: settings.browser.listen,
            sockets,
            headless: self.headless,
            engine: EngineOptions {
                which: settings.browser.engine,
                sandbox: !self.no_sandbox,
                profile: self.profile.map(|profile| profiles.join(profile)),
                path: env::var_os("PATH").unwrap_or_default(),
                temporary: env::temp_dir(),
            },
            allow: allow.collect::<Result<_, _>>().context("browser.allow")?,
            own_ports: own_ports(&settings)?,
            data_dir: settings.data_dir.clone(),
            mesh,
            pictures: settings.browser.pictures,
            screenshots: settings.browser.screenshots,
        })
    }

    fn flags(&self) -> Vec<Flag> {
        let allow = (!self.allow.is_empty()).then(|| self.allow.join(","));
        [
            ("browser.listen", "--listen", self.listen.clone()),
            ("browser.engine", "--engine", self.engine.clone()),
            ("browser.pictures", "--pictures", self.pictures.clone()),
            ("browser.allow", "--allow", allow),
        ]
        .into_iter()
        .filter_map(|(key, flag, value)| Some(Flag::new(key, flag, value?)))
        .collect()
    }
}

/// Checks the name of a profile: it must be the name of a folder, and nothing else.
fn profile(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if (1..=64).contains(&text.len()) && text.bytes().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err("a name consists of 1 to 64 of a-z, 0-9 and -".to_owned())
}

/// The ports of the service, where `ctl` looks for it, and of the mesh for paired machines.
fn own_ports(settings: &Settings) -> anyhow::Result<Vec<u16>> {
    let mut ports = vec![settings.listen.port()];
    let url = url::Url::parse(&settings.url).ok();
    ports.extend(url.and_then(|url| url.port_or_known_default()));
    let pairing = Pairing::open(&settings.mesh.pairing_dir).context("the pairing")?;
    let address = pairing.as_ref().and_then(Pairing::address);
    ports.extend(address.and_then(|address| address.rsplit_once(':')?.1.parse::<u16>().ok()));
    Ok(ports)
}
