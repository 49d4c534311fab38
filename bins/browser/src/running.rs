//! The project's running service.

use std::path::PathBuf;

use serde_json::Value;

/// What a running service has written about itself, in the data folder.
const FILE: &str = "service.json";
const FILE_BYTES_MAX: u64 = 64 << 10;

/// Whether a port is that of the service which runs with this data folder. It is not always the port of the settings:
/// the service takes a free one if that is in use.
pub(crate) fn is_port_of(data_dir: PathBuf) -> impl Fn(u16) -> bool + Send + Sync {
    move |port| {
        let Ok(data_dir) = data_dir.canonicalize() else { return false };
        let read = waypost_project::read_of_project(&data_dir, FILE, FILE_BYTES_MAX);
        let described =
            read.ok().flatten().and_then(|it| serde_json::from_slice::<Value>(&it).ok());
        let url = described.as_ref().and_then(|it| it["url"].as_str());
        let url = url.and_then(|it| url::Url::parse(it).ok());
        url.and_then(|it| it.port_or_known_default()) == Some(port)
    }
}
