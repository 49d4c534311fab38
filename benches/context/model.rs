//! The default model.

use anyhow::Result;
use waypost_context::Embedder;

/// The model as a context takes it.
#[cfg(feature = "model")]
pub(crate) fn embedder() -> Result<Option<Embedder>> {
    use std::sync::Arc;

    use anyhow::Context as _;
    use waypost_embedding::{Model, fetch};

    let models = waypost_project::models_dir(&|name| std::env::var_os(name))
        .context("there is no cache folder")?;
    let options = fetch::Options::default();
    let folder = fetch::ensure(fetch::DEFAULT_MODEL, &models, &options, &mut |_| {})?;
    let model = Model::load(&folder)?;
    let fingerprint = model.fingerprint().to_owned();
    let dimensions = model.dimensions();
    let embed = move |texts: &[&str]| model.embed(texts).map_err(|error| error.to_string());
    Ok(Some(Embedder { fingerprint, dimensions, embed: Arc::new(embed) }))
}

#[cfg(not(feature = "model"))]
pub(crate) fn embedder() -> Result<Option<Embedder>> {
    anyhow::bail!("--model needs this package to be built with its feature `model`")
}
