//! Announces the running service to programs of this user: its socket, and `service.json`.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;
use tokio::net::UnixListener;
use waypost_api::local;

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
    files: Vec<Created>,
}

/// A file that this service has created.
#[derive(Debug)]
struct Created {
    path: PathBuf,
    /// Its device and inode.
    identity: (u64, u64),
}

impl Created {
    fn of(path: PathBuf) -> io::Result<Self> {
        let identity = identity(&path)?;
        Ok(Self { path, identity })
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = path.symlink_metadata()?;
    Ok((metadata.dev(), metadata.ino()))
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
        let created = Created::of(path.to_owned()).context("cannot use the socket")?;
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
            socket: self.files.first().map(|it| it.path.as_path()),
        };
        let text = serde_json::to_vec_pretty(&described).context("service.json")?;
        waypost_project::write_private(&file, &[&text[..], b"\n"].concat())?;
        self.files.push(Created::of(file).context("service.json")?);
        Ok(())
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        for Created { path, identity: created } in &self.files {
            if identity(path).is_ok_and(|it| it == *created)
                && let Err(error) = fs::remove_file(path)
            {
                tracing::warn!(file = %path.display(), %error, "failed to remove a file of the running service");
            }
        }
    }
}
