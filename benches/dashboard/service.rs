//! The service as a process of its own, and a tab that is signed in to its dashboard.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use waypost_api::client::Client;
use waypost_api::{DashboardCodeRequest, routes};

use crate::child::end_of;
use crate::chrome::{Chrome, Tab};
use crate::wait::until;

/// A service that ends when this is dropped.
pub(crate) struct Service {
    child: Child,
    url: String,
    token: String,
}

impl Service {
    /// Starts it for a project, and waits until it is ready.
    pub(crate) fn start(project: &Path, variables: &[(&str, &str)]) -> Result<Self> {
        let address = free_address()?;
        let mut command = Command::new(program("service")?);
        command.args(["--offline", "--listen", &address.to_string(), "--project"]).arg(project);
        command.envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("starting {command:?}"))?;
        let url = format!("http://{address}");
        let mut service = Self { child, url, token: String::new() };
        // A start with a million events takes longer than one wait.
        let mut found = Err(String::new());
        for _ in 0..10 {
            let has_ended = service.child.try_wait()?.is_some();
            ensure!(!has_ended, "the service ended: {command:?}");
            found = service.ready(project);
            if found.is_ok() {
                break;
            }
        }
        service.token = found.map_err(anyhow::Error::msg)?;
        Ok(service)
    }

    /// Waits a while until it is ready: its token.
    fn ready(&self, project: &Path) -> Result<String, String> {
        let mut looks = 0;
        until(|| {
            looks += 1;
            let is_ready = || -> Result<String> {
                let token = fs::read_to_string(project.join(".waypost/token"))?.trim().to_owned();
                Client::new(&self.url, Some(&token))?.call(&routes::READY, ())?;
                Ok(token)
            };
            match is_ready() {
                Err(_) if looks < 400 => Err("the service is not ready"),
                found => Ok(found.map_err(|error| format!("{error:#}"))),
            }
        })
    }

    pub(crate) fn client(&self) -> Result<Client> {
        Ok(Client::new(&self.url, Some(&self.token))?)
    }

    /// A tab of the dashboard.
    pub(crate) fn open(&self, chrome: &mut Chrome) -> Result<Tab> {
        let code = self
            .client()?
            .call(&routes::CREATE_DASHBOARD_CODE, DashboardCodeRequest::default())?
            .code;
        let tab = chrome.tab();
        chrome.go(&tab, &format!("{}/#code={code}", self.url));
        chrome.until(&tab, "document.querySelector('#nav a[aria-current=page]')");
        Ok(tab)
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        end_of(&mut self.child);
    }
}

/// A program of the same build as this one.
pub(crate) fn program(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    ensure!(path.is_file(), "{} is missing: build it first", path.display());
    Ok(path)
}

fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}
