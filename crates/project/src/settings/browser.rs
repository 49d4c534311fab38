//! Settings of the browser.

use std::net::SocketAddr;

use super::Resolved;
use crate::error::{Error, Result};

/// How programs connect to the browser, and what it may access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserSettings {
    /// The address of its commands over HTTP.
    pub listen: SocketAddr,
    /// The engine that shows pages.
    pub engine: BrowserEngine,
    /// The non-public addresses that programs may access.
    pub allow: Vec<String>,
    /// How the terminal shows pictures.
    pub pictures: BrowserPictures,
    /// Whether programs may take screenshots of pages.
    pub screenshots: bool,
}

/// The browser's engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserEngine {
    /// Chromium if it is installed, else the static engine.
    Auto,
    /// Chromium.
    Chromium,
    /// Pages without scripts.
    Static,
}

/// How the terminal shows pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserPictures {
    /// In the best way that the terminal says it supports.
    Auto,
    /// Not at all.
    Off,
    /// As blocks of two colours.
    Blocks,
    /// With kitty's protocol.
    Kitty,
    /// As sixels.
    Sixel,
    /// With iTerm2's protocol.
    Iterm,
}

impl BrowserSettings {
    pub(super) fn resolve(resolved: &Resolved) -> Self {
        Self {
            listen: resolved.address("browser.listen"),
            engine: match resolved.text("browser.engine").as_str() {
                "chromium" => BrowserEngine::Chromium,
                "static" => BrowserEngine::Static,
                _ => BrowserEngine::Auto,
            },
            allow: resolved.list("browser.allow"),
            pictures: match resolved.text("browser.pictures").as_str() {
                "off" => BrowserPictures::Off,
                "blocks" => BrowserPictures::Blocks,
                "kitty" => BrowserPictures::Kitty,
                "sixel" => BrowserPictures::Sixel,
                "iterm" => BrowserPictures::Iterm,
                _ => BrowserPictures::Auto,
            },
            screenshots: resolved.is_on("browser.screenshots"),
        }
    }

    /// Refuses to accept commands where other machines could send them.
    ///
    /// # Errors
    /// [`Error::ExposedBrowser`] if the address is not loopback.
    pub fn check_listen(&self) -> Result<()> {
        if self.listen.ip().is_loopback() {
            return Ok(());
        }
        Err(Error::ExposedBrowser { address: self.listen })
    }
}
