//! The real model, from the cache or downloaded to it by the real code.

use std::path::PathBuf;

use waypost_embedding::{Model, fetch};

/// `WAYPOST_MODELS`, or the user's cache folder.
fn cache_dir() -> PathBuf {
    let named = |variable: &str| std::env::var_os(variable).map(PathBuf::from);
    named("WAYPOST_MODELS").unwrap_or_else(|| {
        let cache = named("XDG_CACHE_HOME")
            .or_else(|| named("HOME").map(|home| home.join(".cache")))
            .expect("one of WAYPOST_MODELS, XDG_CACHE_HOME and HOME is set");
        cache.join("waypost").join("models")
    })
}

/// The folder of all-MiniLM-L6-v2. Tests run in separate processes and may all get here at once on
/// a machine without the model: one downloads it, the others wait.
pub(crate) fn folder() -> PathBuf {
    let text =
        |variable: &str| std::env::var_os(variable).and_then(|value| value.into_string().ok());
    let mut hub = fetch::Hub::default();
    (hub.endpoint, hub.token) = (text("HF_ENDPOINT"), text("HF_TOKEN"));
    let options = fetch::Options::default().with_hub(Some(hub));
    fetch::ensure(fetch::DEFAULT_MODEL, &cache_dir(), &options, &mut |_| {}).unwrap()
}

pub(crate) fn load() -> Model {
    Model::load(&folder()).unwrap()
}
