//! How the browser is reached, and what it may reach.

use std::net::SocketAddr;

use super::Resolved;
use crate::error::{Error, Result};

/// How the browser is reached, and what it may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrowserSettings {
    /// The address of its commands over HTTP.
    pub listen: SocketAddr,
    /// What shows pages.
    pub engine: BrowserEngine,
    /// What programs may reach although its address is not public.
    pub allow: Vec<String>,
    /// How the terminal shows pictures.
    pub pictures: BrowserPictures,
    /// Whether programs may take pictures of pages.
    pub screenshots: bool,
}

/// What shows the browser's pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserEngine {
    /// Chromium where there is one, else the static one.
    Auto,
    /// Chromium.
    Chromium,
    /// Pages without scripts.
    Static,
}

/// How the terminal shows pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BrowserPictures {
    /// As well as the terminal says that it can.
    Auto,
    /// Not at all.
    Off,
    /// As blocks of two colours.
    Blocks,
    /// By kitty's protocol.
    Kitty,
    /// As sixels.
    Sixel,
    /// By iTerm2's protocol.
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

    /// Refuses to have the commands where other machines could give them.
    ///
    /// # Errors
    /// [`Error::Conflict`] if the address is not loopback.
    pub fn check_listen(&self) -> Result<()> {
        if self.listen.ip().is_loopback() {
            return Ok(());
        }
        Err(Error::Conflict {
            message: format!(
                "{} can be reached by other machines, and the browser asks nobody for a token: whoever got there could use its sessions; listen on 127.0.0.1, and let other machines call it over the mesh (`ctl mesh pair`)",
                self.listen
            ),
        })
    }
}
