//! Chooses the engine that shows pages.

use std::sync::Arc;

use anyhow::{Context, bail};
use waypost_browser::{Chromium, ChromiumSettings, Engine, Plain, Policy, find_chromium};
use waypost_project::BrowserEngine;

use crate::cli::EngineOptions;

/// Starts the selected engine; returns a remark if it may not be the expected one.
pub(crate) async fn start(
    options: &EngineOptions,
    policy: Arc<Policy>,
) -> anyhow::Result<(Arc<Engine>, Option<&'static str>)> {
    let found = match options.which {
        BrowserEngine::Static => None,
        BrowserEngine::Chromium | BrowserEngine::Auto => find_chromium(&options.path),
    };
    if let Some(program) = found {
        let mut settings =
            ChromiumSettings::new(program, options.temporary.clone()).with_sandbox(options.sandbox);
        settings.profile.clone_from(&options.profile);
        return Ok((Arc::new(Chromium::start(settings, policy).await?.into()), None));
    }
    if options.which == BrowserEngine::Chromium {
        bail!(
            "no Chromium or Chrome in PATH: install Debian's package `chromium`, or pass --engine static, which runs no scripts"
        );
    }
    if options.profile.is_some() {
        bail!("--profile needs Chromium: the static engine keeps nothing");
    }
    let plain = Plain::start(policy).await.context("the static engine does not start")?;
    let remark = "no Chromium is in PATH, so pages are shown without their scripts";
    let is_surprise = options.which == BrowserEngine::Auto;
    Ok((Arc::new(plain.into()), is_surprise.then_some(remark)))
}
