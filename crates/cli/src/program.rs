//! What every command needs: the project, its settings, the client.

use std::cell::{OnceCell, RefCell};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;

use serde::Deserialize;
use waypost_api::client::Client;
use waypost_project::{Flag, Origin, Project, Settings, Sources};

use crate::exit;
use crate::failure::{Failure, Result, of_other_user};
use crate::files;
use crate::global::Global;
use crate::output::Output;
use crate::positions::Positions;

/// The project and the settings that a command runs with.
#[derive(Debug)]
pub struct Program {
    global: Global,
    project: Project,
    current_dir: PathBuf,
    /// Whether an agent runs it: then the project may have set its variables.
    is_of_agent: bool,
    settings: OnceCell<Settings>,
    positions: OnceCell<Option<Positions>>,
    /// The clients of this command, which share their positions with what the command used.
    clients: RefCell<Vec<Client>>,
}

/// What a running service has written about itself to `service.json`, or one that was killed.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct Described {
    /// The process.
    pub pid: Option<u32>,
    url: Option<String>,
    socket: Option<PathBuf>,
}

/// The usual paths of the system's certificate authorities.
const SYSTEM_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

impl Program {
    /// The project that the options or the current folder name.
    pub fn new(global: Global) -> Result<Self> {
        let current_dir = std::env::current_dir().map_err(|error| {
            Failure::of(&error)
                .while_doing("cannot determine the current folder")
                .with_hint("go to a folder that exists")
        })?;
        let project = match &global.project {
            Some(folder) => Project::at(folder).map_err(|error| match error {
                waypost_project::Error::Exposed { .. } => error.into(),
                _ => Failure::of(&error).with_code(exit::USAGE),
            })?,
            None => Project::find(&current_dir)?,
        };
        Ok(Self {
            global,
            project,
            current_dir,
            is_of_agent: false,
            settings: OnceCell::new(),
            positions: OnceCell::new(),
            clients: RefCell::default(),
        })
    }

    /// The same for a command that agents run. It uses no variable that [`ignored`](Self::ignored) names.
    pub fn of_agent(global: Global) -> Result<Self> {
        Ok(Self { is_of_agent: true, ..Self::new(global)? })
    }

    /// The variables that are set and not used, because an entry or a settings file in the project may have set them.
    pub fn ignored(&self) -> Vec<String> {
        let set = std::env::vars_os().filter(|(_, value)| self.is_of_agent && !value.is_empty());
        let names = set.filter_map(|(name, _)| name.into_string().ok());
        names.filter(|name| waypost_project::needs_approval(name)).collect()
    }

    /// Reports once which variables are not used.
    fn note_ignored(&self, once: &Once, names: &str) {
        once.call_once(|| {
            Output::new(self.global.json, self.global.color).note(&format!(
                "commands of agents do not use {names}, which the project could have set: put the setting into your own config.yaml, or install the entry again with an option, such as `ctl --url URL mcp install`"
            ));
        });
    }

    /// The options that it was created from.
    pub fn global(&self) -> &Global {
        &self.global
    }

    /// The project.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The folder in which the command was called.
    pub fn current_dir(&self) -> &Path {
        &self.current_dir
    }

    /// The user's state folder, which has the approvals.
    pub fn state_dir() -> Result<PathBuf> {
        let folder = waypost_project::state_dir(&|name| std::env::var_os(name));
        folder.ok_or_else(|| waypost_project::Error::NoState.into())
    }

    /// The settings, read on first use, so that a broken file stops only commands that need it.
    pub fn settings(&self) -> Result<&Settings> {
        let settings = self.preview()?;
        match settings.pending() {
            Some(pending) => Err(waypost_project::Error::Pending(pending.clone()).into()),
            None => Ok(settings),
        }
    }

    /// The warnings about the settings, if they were read.
    pub fn warnings(&self) -> &[String] {
        self.settings.get().map_or(&[], Settings::warnings)
    }

    /// Checks that an existing data folder is registered as this project's.
    pub fn check_data(&self) -> Result<()> {
        let settings = self.settings()?;
        if settings.trust_project {
            return Ok(());
        }
        let state = Self::state_dir()?;
        Ok(waypost_project::check_data(&self.project, &settings.data_dir, &state)?)
    }

    /// Creates the data folder, or checks that it is registered as this project's.
    pub fn claim_data(&self) -> Result<()> {
        let settings = self.settings()?;
        if settings.trust_project {
            return Ok(waypost_project::create_data_dir(&settings.data_dir)?);
        }
        let state = Self::state_dir()?;
        self.project.prepare()?;
        waypost_project::claim_data(&self.project, &settings.data_dir, &state)?;
        Ok(())
    }

    /// Registers the data folder as this project's, at the user's request.
    pub fn adopt_data(&self) -> Result<()> {
        let settings = self.settings()?;
        if !settings.trust_project {
            let state = Self::state_dir()?;
            waypost_project::adopt_data(&self.project, &settings.data_dir, &state)?;
        }
        Ok(())
    }

    /// The settings, without values that are pending approval.
    pub fn preview(&self) -> Result<&Settings> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let ignored = self.ignored();
        if !ignored.is_empty() {
            static NOTED: Once = Once::new();
            self.note_ignored(&NOTED, &ignored.join(", "));
        }
        let is_ignored = |name: &str| ignored.iter().any(|ignored| ignored == name);
        let environment = |name: &str| std::env::var_os(name).filter(|_| !is_ignored(name));
        let variables: Vec<String> =
            std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
        let flags = self.flags()?;
        let settings = Settings::preview(
            &Sources::new(&self.project, &self.current_dir, &environment)
                .with_flags(&flags)
                .with_variables(&variables)
                .with_trust_project(self.global.trust_project),
        )
        .map_err(|error| match &error {
            waypost_project::Error::Value { place, .. } if place.starts_with("--") => {
                Failure::of(&error).with_code(exit::USAGE)
            }
            _ => error.into(),
        })?;
        Ok(self.settings.get_or_init(|| settings))
    }

    fn flags(&self) -> Result<Vec<Flag>> {
        let url = self.global.url.clone().map(|url| Flag::new("url", "--url", url));
        let file = self.global.token_file.as_ref().map(|file| {
            let file = file.to_str();
            let file = file.ok_or_else(|| Failure::usage("--token-file: the path is not UTF-8"))?;
            Ok(Flag::new("token_file", "--token-file", file))
        });
        url.map(Ok).into_iter().chain(file).collect()
    }

    /// Whether the command line names the service's address.
    pub fn names_address(&self) -> bool {
        self.global.url.is_some()
    }

    /// The token file of the store, which the service maintains.
    pub fn tokens_file(&self) -> Result<PathBuf> {
        self.check_data()?;
        Ok(self.settings()?.data_dir.join("tokens.json"))
    }

    /// A client with the token of the token file. Without such a file, requests have no token:
    /// public routes still respond, and the others say what is missing.
    pub fn client(&self) -> Result<Client> {
        self.check_named_token_file()?;
        let settings = self.settings()?;
        let token = self.token(settings)?;
        match self.own_socket(settings) {
            Some(socket) => self.connect(&socket, token.as_deref()),
            None => self.connect(&settings.url, token.as_deref()),
        }
    }

    /// A client of the service at the address of the settings, without those that are pending
    /// approval. The project's `service.json` decides nothing: it may have come with the project.
    pub fn running_service(&self) -> Result<Client> {
        let settings = self.preview()?;
        let token = self.token(settings)?;
        self.connect(&settings.url, token.as_deref())
    }

    /// A client of the service at that address.
    pub fn connect(&self, url: &str, token: Option<&str>) -> Result<Client> {
        let authorities = match &self.global.ca {
            Some(file) => Some(files::read(file)?),
            None if url.starts_with("https:") => self.system_authorities(),
            None => None,
        };
        let client = Client::with_authorities(url, token, authorities.as_deref())?;
        let client = client.remembering(self.positions().map(Positions::known).unwrap_or_default());
        self.clients.borrow_mut().push(client.clone());
        Ok(client)
    }

    /// The certificate authorities that OpenSSL and others use; if there are none, `None`: then the built-in ones apply.
    fn system_authorities(&self) -> Option<Vec<u8>> {
        let mut named = std::env::var_os("SSL_CERT_FILE").filter(|value| !value.is_empty());
        if self.is_of_agent && named.take().is_some() {
            static NOTED: Once = Once::new();
            self.note_ignored(&NOTED, "SSL_CERT_FILE");
        }
        let usual = SYSTEM_AUTHORITIES.iter().map(PathBuf::from);
        named.map(PathBuf::from).into_iter().chain(usual).find_map(|named| files::read(&named).ok())
    }

    /// What earlier commands have seen; `None` for a user without a state folder.
    fn positions(&self) -> Option<&Positions> {
        self.positions.get_or_init(|| Some(Positions::read(&Self::state_dir().ok()?))).as_ref()
    }

    /// Lets later commands read what this one has written or seen.
    pub fn keep_positions(&self) {
        for position in self.clients.borrow().iter().filter_map(Client::position) {
            if let Some(positions) = self.positions() {
                positions.note(position);
            }
        }
    }

    /// What the project's own service has written about itself.
    pub fn described_service(&self) -> Option<Described> {
        let data_dir = self.settings().ok()?.data_dir.canonicalize().ok()?;
        let text = waypost_project::read_of_project(&data_dir, "service.json", 64 << 10).ok()??;
        serde_json::from_slice(&text).ok()
    }

    /// The socket of the project's own service, if the variable has that service's address, as for programs of flows:
    /// the service's certificate need not be valid for loopback.
    fn own_socket(&self, settings: &Settings) -> Option<String> {
        if !settings.url.starts_with("https:")
            || !matches!(settings.origin("url"), Some(Origin::Variable(_)))
        {
            return None;
        }
        let described = self.described_service()?;
        let socket = described.socket.filter(|_| described.url.as_ref() == Some(&settings.url))?;
        Some(format!("unix:{}", socket.display()))
    }

    /// The token of a flow's run, or the one in the token file.
    fn token(&self, settings: &Settings) -> Result<Option<String>> {
        match self.environment_token() {
            Some(token) => Ok(Some(token)),
            None => self.file_token(settings),
        }
    }

    /// The token in the token file, if it exists. The file must belong to this user or root, and
    /// nobody else may be able to write to it.
    fn file_token(&self, settings: &Settings) -> Result<Option<String>> {
        let mut path = settings.token_file.clone();
        // A link that the user named is followed; one from a checkout is not.
        let is_named =
            matches!(settings.origin("token_file"), Some(Origin::Flag(_) | Origin::Variable(_)));
        if is_named && let Ok(target) = path.canonicalize() {
            path = target;
        }
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(_) | Ok(_) => {}
        }
        waypost_project::check_file(&path, self.project.owners())?;
        read_token(&path)
    }

    /// A token file that the command line names must exist.
    fn check_named_token_file(&self) -> Result<()> {
        let file = &self.settings()?.token_file;
        if file.exists() || self.global.token_file.is_none() {
            return Ok(());
        }
        let hint = "pass an existing file with --token-file; `ctl token create` creates a token";
        let failure = Failure::new(format!("no token file {}", file.display()));
        Err(failure.with_code(exit::NOT_FOUND).with_hint(hint))
    }

    /// The token of a flow's run; a token file that the command line names takes precedence.
    fn environment_token(&self) -> Option<String> {
        let is_named = self.global.token_file.is_some();
        std::env::var("WAYPOST_TOKEN").ok().filter(|value| !is_named && !value.is_empty())
    }
}

/// The token in a file; `None` if there is no such file.
fn read_token(path: &Path) -> Result<Option<String>> {
    if !path.exists() {
        return Ok(None);
    }
    let file = waypost_auth::read_token_file(path).map_err(|error| {
        let hint = of_other_user(path).unwrap_or_else(|| "pass another one with --token-file, or remove it: the next start of the service creates a new one".to_owned());
        Failure::of(&error)
            .while_doing(format!("cannot use the token file {}", path.display()))
            .with_code(exit::NOT_ALLOWED)
            .with_hint(hint)
    })?;
    Ok(Some(file.secret.expose().to_owned()))
}
