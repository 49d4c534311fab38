//! Announces the running service to programs of this user: its socket, and `service.json`.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde::Serialize;
use tokio::net::UnixListener;
use waypost_api::local;

use crate::file_identity::Placed;

/// The name of the file in the store's folder.
const FILE: &str = "service.json";

/// The content of `service.json`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Described<'a> {
    pid: u32,
    version: &'static str,
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    socket: Option<&'a Path>,
}

/// The files that exist while the service runs. Dropping it removes them; the caller must still
/// hold the store's lock, so that they are not the next service's. If the store's folder was moved
/// away, files at the same paths are those of another service, and stay.
#[derive(Debug)]
pub(crate) struct Presence {
    files: Vec<Placed>,
}

impl Presence {
    /// Listens on the socket, unless its path is too long. The caller holds the store's lock, so an
    /// existing socket is left over from a killed service.
    pub(crate) fn listen(
        path: &Path,
        runtime: &tokio::runtime::Runtime,
    ) -> anyhow::Result<(Self, Option<UnixListener>)> {
        let listener = match local::listen(path) {
            Ok(listener) => listener,
            Err(local::Error::TooLong { .. }) => {
                tracing::warn!(
                    socket = %path.display(),
                    "the path is too long for a socket, so `ctl` needs --url: set XDG_RUNTIME_DIR for the service and for ctl, or choose a data_dir with a shorter path"
                );
                return Ok((Self { files: Vec::new() }, None));
            }
            Err(error) => {
                let message = format!("cannot listen on the socket {}", path.display());
                return Err(anyhow::Error::new(error).context(message));
            }
        };
        let created = Placed::of(path.to_owned()).context("cannot use the socket")?;
        let presence = Self { files: vec![created] };
        listener.set_nonblocking(true).context("cannot use the socket")?;
        let _in_runtime = runtime.enter();
        let listener = UnixListener::from_std(listener).context("cannot use the socket")?;
        Ok((presence, Some(listener)))
    }

    /// Writes `service.json`.
    pub(crate) fn describe(&mut self, data_dir: &Path, url: &str) -> anyhow::Result<()> {
        let file = data_dir.join(FILE);
        let described = Described {
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION"),
            url,
            socket: self.files.first().map(|file| file.path()),
        };
        let text = serde_json::to_vec_pretty(&described).context("service.json")?;
        waypost_project::write_private(&file, &[&text[..], b"\n"].concat())?;
        self.files.push(Placed::of(file).context("service.json")?);
        Ok(())
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        for file in self.files.iter().filter(|file| file.is_in_place()) {
            if let Err(error) = fs::remove_file(file.path()) {
                tracing::warn!(file = %file.path().display(), %error, "failed to remove a file of the running service");
            }
        }
    }
}
