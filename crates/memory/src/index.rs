//! The projection in memory: the text index and the links. It is updated after every write, or
//! built in the background while searches continue.

pub(crate) mod alike;
pub(crate) mod backlog;
pub(crate) mod changes;
pub(crate) mod condition;
pub(crate) mod embed;
pub(crate) mod graph;
pub(crate) mod labels;
mod load;
pub(crate) mod pending;
pub(crate) mod snapshot;
pub(crate) mod vectors;
pub(crate) mod view;
pub(crate) mod visible_links;
pub(crate) mod watched;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use parking_lot::Mutex;
use waypost_projection::Unusable;
use waypost_ranking::{Analyzer, Document};

use self::backlog::Backlog;
use self::changes::Changes;
use self::graph::Graph;
use self::snapshot::Snapshot;
use self::view::{Prepared, View};
use self::watched::Watched;
use crate::body::Body;
use crate::records::Records;
use crate::state::txn::Touched;
use crate::{IndexProgress, Memory, MemoryId, OpenReport, Outline, Result};

/// The index of the existing memories.
#[derive(Debug)]
pub(crate) struct Index {
    records: Arc<Records>,
    pub(crate) view: Watched<View>,
    pub(crate) analyzer: Analyzer,
    pub(crate) backlog: Backlog,
    pub(crate) changes: Changes,
    /// Held while parts of the index are sealed and merged.
    text_upkeep: Mutex<()>,
    /// What has changed since a reindex started.
    pub(crate) changed_in_reindex: Mutex<Option<Touched>>,
}

impl Index {
    /// The index as far as a snapshot has it, without the memories that have `changed` since. What
    /// it lacks is for [`Self::build`].
    pub(crate) fn load(
        records: Arc<Records>,
        snapshot: std::result::Result<Option<Snapshot>, Unusable>,
        changed: &BTreeSet<MemoryId>,
        report: &mut OpenReport,
    ) -> Result<Self> {
        let changes = Changes::default();
        let (mut view, lacking) = load::load(&records, snapshot, changed, &changes, report)?;
        view.graph = Graph::load(&records.state)?;
        report.memories = view.len() + lacking.len() as u64;
        Ok(Self {
            records,
            view: Watched::new(view),
            analyzer: Analyzer::english(),
            backlog: Backlog::new(lacking),
            changes,
            text_upkeep: Mutex::default(),
            changed_in_reindex: Mutex::new(None),
        })
    }

    /// Indexes a bounded number of missing memories; `None` if none are left. Returns the progress,
    /// and whether the index is complete.
    pub(crate) fn build(&self) -> Result<Option<(IndexProgress, bool)>> {
        let Some(taken) = self.backlog.take() else { return Ok(None) };
        self.bring_in(&taken.ids)?;
        Ok(taken.end())
    }

    fn bring_in(&self, ids: &[MemoryId]) -> Result<()> {
        let mut prepared: Vec<(MemoryId, Prepared)> = Vec::with_capacity(ids.len());
        for id in ids {
            prepared.extend(self.prepare(*id, None)?.map(|prepared| (*id, prepared)));
        }
        let mut view = self.view.write();
        for (id, prepared) in prepared {
            // If it was changed or deleted meanwhile, that thread updates the index and waits for
            // the lock.
            let head = self.records.live_head(id)?;
            if head.is_some_and(|head| head.version == prepared.version) {
                view.refresh(id, Some(prepared));
            }
        }
        self.changes.since_snapshot.fetch_add(ids.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Brings the index up to date with what a commit touched.
    pub(crate) fn publish(
        &self,
        touched: &Touched,
        bodies: &BTreeMap<MemoryId, Body>,
        mut documents: BTreeMap<MemoryId, Arc<Document>>,
    ) {
        let prepared: Vec<(MemoryId, Option<Prepared>)> = touched
            .memories
            .iter()
            .map(|id| {
                let known = bodies.get(id).map(|body| (body, documents.remove(id)));
                (*id, self.prepare(*id, known).ok().flatten())
            })
            .collect();
        let count = (touched.memories.len() + touched.links.len()) as u64;
        if let Some(changed) = self.changed_in_reindex.lock().as_mut() {
            changed.memories.extend(touched.memories.iter());
            changed.links.extend(touched.links.iter());
        }
        let mut view = self.view.write();
        for (id, prepared) in prepared {
            view.refresh(id, prepared);
        }
        for (edge, at) in &touched.links {
            match at {
                Some(at) => view.graph.insert(*edge, *at),
                None => view.graph.remove(*edge),
            }
        }
        drop(view);
        self.changes.note(count);
    }

    /// Searches the nearest other memory of some with a vector for which it is not known, the newest
    /// first, until about `vectors_max` vectors have been read; of one at least. Searches read none
    /// of it.
    pub(crate) fn note_nearest(&self, vectors_max: u64) {
        let mut vectors_read = 0;
        while vectors_read < vectors_max {
            let (id, near) = {
                let view = self.view.read();
                let Some(id) = view.alike.next_unknown() else { return };
                vectors_read += view.place(id).map_or(1, |(_, space, _)| space.embedded.max(1));
                (id, view.nearest_to(id))
            };
            self.view.write_uncounted().alike.set(id, near);
            self.changes.since_snapshot.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Adds what only the index knows.
    pub(crate) fn complete(&self, memory: Memory) -> Memory {
        let Outline { embedded, superseded_by, .. } = self.outlined(Outline::of(&memory));
        Memory { embedded, superseded_by, ..memory }
    }

    /// The same for an outline.
    pub(crate) fn outlined(&self, mut outline: Outline) -> Outline {
        let view = self.view.read();
        outline.embedded = view
            .fact(outline.id)
            .is_some_and(|fact| fact.embedded && fact.version == outline.version);
        outline.superseded_by = view.graph.updaters(outline.id).next_back();
        outline
    }

    /// What the index needs of the current version of a memory; `None` if it was deleted. `known`
    /// is its body, and perhaps its document, if already available.
    pub(crate) fn prepare(
        &self,
        id: MemoryId,
        known: Option<(&Body, Option<Arc<Document>>)>,
    ) -> Result<Option<Prepared>> {
        let Some(head) = self.records.live_head(id)? else { return Ok(None) };
        if let Some((body, document)) = known {
            let document = document.unwrap_or_else(|| Arc::new(self.document(body)));
            return Ok(Prepared::new(body, head.version, head.text_hash, document));
        }
        let Some(body) = self.records.body(id, head.version)? else { return Ok(None) };
        let document = Arc::new(self.document(&body));
        Ok(Prepared::new(&body, head.version, head.text_hash, document))
    }

    pub(crate) fn document(&self, body: &Body) -> Document {
        let text =
            body.text.as_ref().map(|text| (own_title(&text.title, &text.content), &*text.content));
        let (title, content) = text.unwrap_or_default();
        self.analyzer.document(title, content)
    }

    /// Seals and merges the text indexes' parts, unless another thread does; the work is done
    /// without a lock on the index.
    pub(crate) fn keep_up_text(&self) {
        let Some(_upkeep) = self.text_upkeep.try_lock() else { return };
        let names: Vec<String> = self.view.read().spaces.keys().cloned().collect();
        for name in names {
            // Search results are the same before and after it.
            let view = || self.view.write_uncounted();
            let plan = view().spaces.get_mut(&name).and_then(|space| space.text.plan());
            let Some(plan) = plan else { continue };
            let merged = plan.run();
            if let Some(space) = view().spaces.get_mut(&name) {
                space.text.install(merged);
            }
        }
    }
}

/// The title, unless the content starts with it: it must not count twice.
pub(crate) fn own_title<'a>(title: &'a str, content: &str) -> &'a str {
    if content.trim_start().starts_with(title) { "" } else { title }
}
