//! A real service in this process, with a store of its own.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

use crate::ctl::{self, Ran};

pub(crate) struct Service {
    folder: TempDir,
    url: String,
    running: Option<waypost_service::Running>,
}

impl Service {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("the service plays along");
        fs::create_dir(folder.path().join(".waypost")).expect("the service plays along");
        Self::start_in(folder, |_, _| {})
    }

    /// With changes to its folder and its options.
    pub(crate) fn start_with(change: impl FnOnce(&Path, &mut waypost_service::Options)) -> Self {
        Self::start_in(tempfile::tempdir().expect("the service plays along"), change)
    }

    /// In an existing folder.
    pub(crate) fn start_at(
        folder: TempDir,
        change: impl FnOnce(&Path, &mut waypost_service::Options),
    ) -> Self {
        Self::start_in(folder, change)
    }

    /// A client with the admin token.
    pub(crate) fn client(&self) -> waypost_api::client::Client {
        let token = fs::read_to_string(self.folder().join(".waypost/token")).expect("a token");
        waypost_api::client::Client::new(&self.url, Some(token.trim())).expect("an address")
    }

    fn start_in(
        folder: TempDir,
        change: impl FnOnce(&Path, &mut waypost_service::Options),
    ) -> Self {
        let mut options =
            waypost_service::Options::for_project(folder.path()).expect("the service plays along");
        change(folder.path(), &mut options);
        let running = waypost_service::start(&options).expect("the service plays along");
        let url = format!("http://{}", running.address());
        Self { folder, url, running: Some(running) }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The program, for use with this service.
    pub(crate) fn ctl_command(&self, arguments: &[&str]) -> Command {
        // It trusts the project, as the service does here.
        let arguments = [&["--trust-project", "--url", &self.url][..], arguments].concat();
        ctl::command(self.folder(), &arguments)
    }

    /// Runs the program against this service.
    pub(crate) fn ctl(&self, arguments: &[&str]) -> Ran {
        ctl::ran(self.ctl_command(arguments).output().expect("the program starts"))
    }

    pub(crate) fn ctl_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        ctl::with_input(&mut self.ctl_command(arguments), input)
    }

    /// Adds a memory and returns its id.
    pub(crate) fn add(&self, content: &str) -> u64 {
        self.ctl(&["--json", "add", content]).json()["id"]
            .as_u64()
            .expect("the service plays along")
    }

    /// Starts it again in its folder.
    pub(crate) fn restart(self) -> Self {
        self.restart_at("127.0.0.1:0")
    }

    /// The same at that address.
    pub(crate) fn restart_at(mut self, address: &str) -> Self {
        self.stop();
        let address = address.parse().expect("an address");
        Self::start_in(self.folder, |_, options| options.listen = address)
    }

    pub(crate) fn stop(&mut self) {
        if let Some(running) = self.running.take() {
            running.shutdown().expect("the service plays along");
        }
    }
}
