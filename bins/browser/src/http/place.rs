//! The Unix socket for commands: its path, and its removal with the program.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;
use waypost_api::local::{self, SOCKET_PATH_BYTES_MAX};

/// The name of the socket.
const NAME: &str = "browser.sock";

/// Candidate paths of the socket, best first: in the project's data folder, or, if its path would
/// be too long, next to the mesh's folder in the user's runtime folder.
pub(crate) fn candidates(data_dir: &Path, mesh_folder: &Path) -> Vec<PathBuf> {
    let mut places = vec![data_dir.join(NAME)];
    if !mesh_folder.starts_with(data_dir) {
        // That folder itself is expected to contain only sockets of peers.
        let name = mesh_folder.file_name().unwrap_or_default().to_string_lossy();
        places.push(mesh_folder.with_file_name(format!("{name}-{NAME}")));
    }
    places.retain(|place| place.as_os_str().len() <= SOCKET_PATH_BYTES_MAX);
    places
}

/// A socket that this program listens on. Its file is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    path: PathBuf,
    /// The inode of the file: another browser may have put its own socket there.
    inode: Option<u64>,
}

impl Place {
    /// Listens at the first possible path. Must be called within a runtime.
    pub(crate) fn listen(candidates: &[PathBuf]) -> Result<(Self, UnixListener), String> {
        let mut why = "its path would be too long".to_owned();
        for path in candidates {
            match bind(path) {
                Ok(listener) => {
                    let inode = fs::symlink_metadata(path).map(|metadata| metadata.ino()).ok();
                    return Ok((Self { path: path.clone(), inode }, listener));
                }
                Err(error @ local::Error::InUse { .. }) => return Err(error.to_string()),
                Err(error) => why = error.to_string(),
            }
        }
        Err(why)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

fn bind(path: &Path) -> local::Result<UnixListener> {
    let listener = local::listen(path)?;
    let from_std = |listener: std::os::unix::net::UnixListener| -> io::Result<UnixListener> {
        listener.set_nonblocking(true)?;
        UnixListener::from_std(listener)
    };
    Ok(from_std(listener)?)
}

impl Drop for Place {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|metadata| Some(metadata.ino()) == self.inode);
        if is_ours {
            // A leftover socket is replaced by the next browser.
            fs::remove_file(&self.path).unwrap_or_default();
        }
    }
}
