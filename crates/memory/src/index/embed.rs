//! Vectors: setting a model, embedding pending memories, embedding queries.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::body::Body;
use crate::index::vectors::{StoredVector, VectorLog, model_hash};
use crate::index::view::View;
use crate::index::{Index, own_title};
use crate::limits::DIMENSIONS_MAX;
use crate::log_error::vectors_error;
use crate::records::Records;
use crate::{EmbedFn, EmbedProgress, Embedder, Error, MemoryId, Result};

/// Number of cached vectors of queries.
const QUERIES_REMEMBERED: usize = 256;
/// Number of stored vectors that are loaded into the index under one lock.
const INSTALL_AT_ONCE: usize = 512;

/// About how many vectors are compared with those of one batch; the rest follows in
/// [`Store::maintain`](crate::Store::maintain).
const NEAREST_VECTORS_MAX: u64 = 1 << 22;

/// Runs a change on a view that the caller holds.
type WithView<'a> = dyn FnMut(&dyn Fn(&mut View)) + 'a;

/// The result of embedding some texts.
#[derive(Debug, Default)]
struct Made {
    vectors: Vec<StoredVector>,
    /// Memories whose text it rejected.
    refused: Vec<(MemoryId, u64)>,
    /// Memories whose vector comes later.
    later: Vec<MemoryId>,
    last_error: Option<String>,
}

/// The current model.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) embedder: Embedder,
    pub(crate) hash: [u8; 16],
    /// Vectors of recent queries, the latest last.
    queries: Mutex<VecDeque<(String, Arc<Vec<f32>>)>>,
}

/// The current model and its vectors.
#[derive(Debug)]
pub(crate) struct Embedding {
    records: Arc<Records>,
    index: Arc<Index>,
    pub(crate) vectors: VectorLog,
    model: RwLock<Option<Arc<Model>>>,
    /// Memories that are being embedded. Held while vectors are moved between models or indexes.
    in_flight: Mutex<BTreeSet<MemoryId>>,
    /// Memories whose vector comes later. They are in flight until no other memory is pending.
    later: Mutex<BTreeSet<MemoryId>>,
}

/// A text whose vector is pending.
#[derive(Debug)]
struct Waiting {
    id: MemoryId,
    text_hash: u64,
    text: String,
}

impl Model {
    /// The model's hash and the length of its vectors.
    pub(crate) fn vectors(&self) -> ([u8; 16], usize) {
        (self.hash, self.embedder.model.dimensions)
    }

    /// The vectors of some texts, checked.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.embed_by(&self.embedder.embed, texts)
    }

    fn embed_by(&self, embed: &EmbedFn, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let vectors = embed(texts).map_err(Error::Embedding)?;
        if vectors.len() != texts.len() {
            let message =
                format!("it returned {} vectors for {} texts", vectors.len(), texts.len());
            return Err(Error::Embedding(message));
        }
        let dimensions = self.embedder.model.dimensions;
        for vector in vectors.iter().filter(|vector| !vector.is_empty()) {
            if vector.len() != dimensions {
                let message = format!("it returned {} dimensions, not {dimensions}", vector.len());
                return Err(Error::Embedding(message));
            }
            if vector.iter().any(|vector| !vector.is_finite())
                || vector.iter().all(|vector| *vector == 0.0)
            {
                return Err(Error::Embedding("it returned a zero vector".to_owned()));
            }
        }
        Ok(vectors)
    }

    /// The vector of a query, which is cached.
    pub(crate) fn embed_query(&self, query: &str) -> Result<Arc<Vec<f32>>> {
        {
            let mut queries = self.queries.lock();
            if let Some(at) = queries.iter().position(|(it, _)| it == query)
                && let Some(entry) = queries.remove(at)
            {
                let vector = Arc::clone(&entry.1);
                queries.push_back(entry);
                return Ok(vector);
            }
        }
        let embed = self.embedder.embed_queries.as_ref().unwrap_or(&self.embedder.embed);
        let vector = self.embed_by(embed, &[query])?.pop().unwrap_or_default();
        if vector.is_empty() {
            return Err(Error::Embedding("it returned no vector of the query".to_owned()));
        }
        let vector = Arc::new(vector);
        let mut queries = self.queries.lock();
        if queries.len() == QUERIES_REMEMBERED {
            queries.pop_front();
        }
        queries.push_back((query.to_owned(), Arc::clone(&vector)));
        Ok(vector)
    }
}

impl Embedding {
    pub(crate) fn new(records: Arc<Records>, index: Arc<Index>, vectors: VectorLog) -> Self {
        Self {
            records,
            index,
            vectors,
            model: RwLock::new(None),
            in_flight: Mutex::default(),
            later: Mutex::default(),
        }
    }

    /// The current model.
    pub(crate) fn model(&self) -> Option<Arc<Model>> {
        self.model.read().clone()
    }

    /// While this is held, no vector is computed and the model does not change.
    pub(crate) fn lock(&self) -> MutexGuard<'_, BTreeSet<MemoryId>> {
        self.in_flight.lock()
    }

    /// Sets or removes the model. Stored vectors of the same model are loaded immediately; those of
    /// another model stay on disk and are not searched.
    pub(crate) fn set_embedder(&self, embedder: Option<Embedder>) -> Result<()> {
        let model = embedder.map(Model::new).transpose()?.map(Arc::new);
        let mut in_flight = self.in_flight.lock();
        in_flight.clear();
        self.later.lock().clear();
        {
            let mut present = self.model.write();
            self.index.view.write().reset_vectors(model.as_ref().map(|model| model.vectors()));
            present.clone_from(&model);
        }
        if let Some(model) = model {
            self.install_stored(&model, &mut |install| install(&mut self.index.view.write()));
        }
        Ok(())
    }

    /// Loads the stored vectors of a model into a view.
    pub(crate) fn install_stored(&self, model: &Model, with_view: &mut WithView<'_>) {
        let mut stored = self.vectors.iter().filter(|vector| vector.model == model.hash).peekable();
        while stored.peek().is_some() {
            let some: Vec<StoredVector> = stored.by_ref().take(INSTALL_AT_ONCE).collect();
            with_view(&|view| {
                for vector in &some {
                    // A vector that does not match is computed again.
                    drop(view.install(vector.id, vector.text_hash, &vector.vector));
                }
            });
        }
    }

    /// Completes the index: loads the vectors of memories that were indexed after the model was
    /// set.
    pub(crate) fn complete_index(&self) {
        let in_flight = self.in_flight.lock();
        if let Some(present) = self.model() {
            self.install_stored(&present, &mut |install| install(&mut self.index.view.write()));
        }
        self.index.backlog.complete();
        drop(in_flight);
    }

    /// Embeds up to `limit` memories that lack a vector of the current model, the last changed
    /// first. A text that the model rejects does not stop the others. Does nothing without a model.
    pub(crate) fn embed_pending(&self, limit: usize) -> Result<EmbedProgress> {
        let Some(model) = self.model() else {
            return Ok(self.embed_progress(EmbedProgress::default()));
        };
        let waiting = self.take_waiting(limit)?;
        let made = embed_waiting(&model, &waiting);
        let mut in_flight = self.in_flight.lock();
        let mut later_here = self.later.lock();
        for it in &waiting {
            in_flight.remove(&it.id);
        }
        let Made { vectors, refused, later, last_error } = made?;
        let is_present = self.model.read().as_ref().is_some_and(|it| Arc::ptr_eq(it, &model));
        if !is_present {
            let skipped = waiting.len() as u64;
            return Ok(self.embed_progress(EmbedProgress { skipped, ..EmbedProgress::default() }));
        }
        in_flight.extend(&later);
        later_here.extend(&later);
        drop(later_here);
        let later = later.len() as u64;
        let mut progress = EmbedProgress { later, last_error, ..EmbedProgress::default() };
        if let Err(error) = self.vectors.append(&vectors) {
            // They are used until the next start, and then computed again.
            progress.last_error = Some(vectors_error(&error, &self.records.dir).to_string());
        }
        self.index.changes.vectors_since_sync.fetch_add(vectors.len() as u64, Ordering::Relaxed);
        let mut view = self.index.view.write();
        for it in &vectors {
            match view.install(it.id, it.text_hash, &it.vector) {
                Ok(true) => progress.embedded += 1,
                Ok(false) => progress.skipped += 1,
                Err(error) => {
                    progress.failed += 1;
                    progress.last_error = Some(error.to_string());
                    view.refuse(it.id, it.text_hash);
                }
            }
        }
        for (id, text_hash) in refused {
            view.refuse(id, text_hash);
            progress.failed += 1;
        }
        drop(view);
        self.index.note_nearest(NEAREST_VECTORS_MAX);
        Ok(self.embed_progress(progress))
    }

    fn embed_progress(&self, progress: EmbedProgress) -> EmbedProgress {
        EmbedProgress { pending: self.index.view.read().pending.len() as u64, ..progress }
    }

    /// Selects memories to embed that no other thread has selected, and reads their texts.
    fn take_waiting(&self, limit: usize) -> Result<Vec<Waiting>> {
        let mut in_flight = self.in_flight.lock();
        if !self.index.backlog.is_complete() {
            // Stored vectors are loaded when the index is complete; only then is it known which are
            // missing.
            return Ok(Vec::new());
        }
        let ids: Vec<MemoryId> = {
            let view = self.index.view.read();
            view.pending.take(limit, &in_flight)
        };
        if ids.is_empty() {
            for id in std::mem::take(&mut *self.later.lock()) {
                in_flight.remove(&id);
            }
        }
        let mut waiting = Vec::with_capacity(ids.len());
        for id in ids {
            let Some(head) = self.records.live_head(id)? else { continue };
            let Some(body) = self.records.body(id, head.version)? else { continue };
            let Some(text) = text_to_embed(&body) else { continue };
            waiting.push(Waiting { id, text_hash: head.text_hash, text });
        }
        in_flight.extend(waiting.iter().map(|waiting| waiting.id));
        Ok(waiting)
    }
}

/// Embeds texts. A text that the model rejects does not stop the others; if the model rejects all
/// of them, returns its error.
fn embed_waiting(model: &Model, waiting: &[Waiting]) -> Result<Made> {
    let mut made = Made::default();
    let keep = |made: &mut Made, it: &Waiting, vector: Vec<f32>| {
        if vector.is_empty() {
            made.later.push(it.id);
        } else {
            let (id, text_hash, model) = (it.id, it.text_hash, model.hash);
            made.vectors.push(StoredVector { id, text_hash, model, vector });
        }
    };
    if waiting.is_empty() {
        return Ok(made);
    }
    let texts: Vec<&str> = waiting.iter().map(|waiting| waiting.text.as_str()).collect();
    let first_error = match model.embed(&texts) {
        Ok(vectors) => {
            for (it, vector) in waiting.iter().zip(vectors) {
                keep(&mut made, it, vector);
            }
            return Ok(made);
        }
        Err(error) => error,
    };
    made.last_error = Some(first_error.to_string());
    for it in waiting {
        match model.embed(&[it.text.as_str()]) {
            Ok(vectors) => {
                for vector in vectors {
                    keep(&mut made, it, vector);
                }
            }
            Err(_) => made.refused.push((it.id, it.text_hash)),
        }
    }
    let nothing = made.vectors.is_empty() && made.later.is_empty();
    if nothing && waiting.len() > 1 { Err(first_error) } else { Ok(made) }
}

impl Model {
    fn new(embedder: Embedder) -> Result<Self> {
        let dimensions = embedder.model.dimensions;
        if !(1..=DIMENSIONS_MAX).contains(&dimensions) {
            let reason = format!("is {dimensions}; expected 1 to {DIMENSIONS_MAX}");
            return Err(Error::invalid("dimensions", reason));
        }
        let hash = model_hash(&embedder.model.fingerprint);
        Ok(Self { embedder, hash, queries: Mutex::new(VecDeque::new()) })
    }
}

/// The text from which a memory's vector is computed.
fn text_to_embed(body: &Body) -> Option<String> {
    let text = body.text.as_ref()?;
    let title = own_title(&text.title, &text.content);
    Some(if title.is_empty() { text.content.clone() } else { format!("{title}\n{}", text.content) })
}
