//! A relay with a Chromium that may reach the pages.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_browser::{
    Allow, Chromium, ChromiumSettings, Deadline, Engine, Policy, Relay, find_chromium,
};

pub(crate) struct World {
    relay: Relay,
    engine: Arc<Engine>,
    _folder: TempDir,
}

impl World {
    pub(crate) async fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let program = find_chromium(&path).context("there is no Chromium in PATH")?;
        let policy = Arc::new(Policy::new(vec![Allow::Private], []));
        let settings = ChromiumSettings::new(program, folder.path().to_owned()).with_sandbox(false);
        let engine: Arc<Engine> =
            Arc::new(Chromium::start(settings, Arc::clone(&policy)).await?.into());
        let relay = Relay::new(Arc::clone(&engine), policy);
        Ok(Self { relay, engine, _folder: folder })
    }

    pub(crate) fn relay(&self) -> &Relay {
        &self.relay
    }

    pub(crate) async fn ask(&self, command: &str, arguments: Value) -> Result<Value> {
        Ok(self.relay.handle(command, arguments).await?)
    }

    pub(crate) async fn go(&self, url: &str) -> Result<()> {
        self.ask("navigate", json!({ "url": url })).await.map(drop)
    }

    pub(crate) async fn end(self) -> Result<()> {
        Ok(self.engine.end(Deadline::after(Duration::from_secs(10))).await?)
    }
}
