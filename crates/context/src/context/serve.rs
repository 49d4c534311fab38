//! From candidates to items: checks each file, and reads the text.

use std::collections::HashMap;
use std::sync::Arc;

use waypost_time::Timestamp;

use super::Context;
use crate::discover::Places;
use crate::history::History;
use crate::index::{ChunkFact, Index};
use crate::rank::{Candidate, Selection, What, date};
use crate::text::{hash, tokens};
use crate::texts::{Hash, Texts};
use crate::{Chunk, Extractor, Item, Stat, read};

/// Candidates looked up at once, for each requested item.
const AT_ONCE: usize = 2;
/// The most files parsed again for one answer; further changed files are left out.
const ANEW_MAX: usize = 40;

/// Creates the items of one answer.
pub(super) struct Server<'a> {
    context: &'a Context,
    now: Timestamp,
    extractor: Extractor,
    anew: usize,
    /// What the index knows of the first candidates: looked up all at once, since each lookup may
    /// have to wait for a file to be inserted.
    known: HashMap<What, Known>,
    /// The state of each file, by path.
    states: HashMap<Arc<str>, State>,
    places: Places,
    history: Option<Arc<History>>,
}

/// The state of a file, compared with the index.
#[derive(Debug, Clone)]
enum State {
    /// Unchanged: its texts are stored.
    Same,
    /// Changed: its current chunks.
    Anew(Vec<Chunk>),
    /// Deleted, or not to be returned.
    Gone,
}

/// What the index knows of a candidate; read at once, so that it belongs to one version of the
/// file.
struct Known {
    path: Arc<str>,
    texts: Arc<Texts>,
    hash: Hash,
    stat: Stat,
    still: bool,
    updated_at: Timestamp,
    chunk: ChunkFact,
}

impl<'a> Server<'a> {
    pub(super) fn new(context: &'a Context, now: Timestamp) -> Self {
        Self {
            context,
            now,
            extractor: Extractor::new(),
            anew: 0,
            known: HashMap::new(),
            states: HashMap::new(),
            places: Places::default(),
            history: context.history(),
        }
    }

    /// The final items of a selection.
    pub(super) fn serve(mut self, selection: Selection<'_>) -> Vec<Item> {
        self.look_up(&selection);
        selection.items(|candidate| self.item(candidate))
    }

    fn item(&mut self, candidate: &Candidate) -> Option<Item> {
        match candidate.what {
            What::Commit(place) => self.commit(place, candidate),
            What::Chunk(..) => self.chunk(candidate),
        }
    }

    fn commit(&mut self, place: u32, candidate: &Candidate) -> Option<Item> {
        let history = self.history.as_ref()?;
        let commit = history.commit(place as usize)?;
        let id = crate::text::head(commit.id(), 12);
        let paths: Vec<&str> = commit.paths().take(20).collect();
        let Context { root, rules, .. } = self.context;
        let is_there = |text: &&&str| rules.one_of(root, text, &mut self.places).is_ok();
        let path = paths.iter().find(is_there).map_or(".", |path| *path);
        let mut content = format!("commit {id}\n");
        if !commit.body().is_empty() {
            content = format!("{content}\n{}\n", commit.body().trim_end());
        }
        content.extend(paths.iter().flat_map(|path| ["\n", path]));
        Some(made(commit.subject().to_owned(), content, candidate, path, (1, 1), commit.time()))
    }

    fn chunk(&mut self, candidate: &Candidate) -> Option<Item> {
        let known = self.known(candidate)?;
        if !self.states.contains_key(&known.path) {
            let state = self.look(&known);
            self.states.insert(known.path.clone(), state);
        }
        let chunk = match self.states.get(&known.path)? {
            State::Same => known.texts.read(&known.hash, known.chunk.text).or_else(|| {
                // The texts are damaged or gone: read the file, which is the source.
                let state = self.take_apart(&known.path);
                self.states.insert(known.path.clone(), state);
                self.anew(&known)
            })?,
            State::Anew(_) => self.anew(&known)?,
            State::Gone => return None,
        };
        let lines = (chunk.line, chunk.end_line);
        let updated_at = chunk.date.unwrap_or(known.updated_at);
        Some(made(chunk.title, chunk.content, candidate, &known.path, lines, updated_at))
    }

    fn look_up(&mut self, selection: &Selection<'_>) {
        let index = self.context.index.read();
        let texts = Arc::clone(&self.context.texts.read());
        let known =
            |candidate: &Candidate| Some((candidate.what, known(&index, &texts, candidate)?));
        self.known = selection.first(AT_ONCE).filter_map(known).collect();
    }

    fn known(&mut self, candidate: &Candidate) -> Option<Known> {
        self.known.remove(&candidate.what).or_else(|| {
            let index = self.context.index.read();
            known(&index, &self.context.texts.read(), candidate)
        })
    }

    /// The current state of a file.
    fn look(&mut self, known: &Known) -> State {
        match self.context.rules.one_of(&self.context.root, &known.path, &mut self.places) {
            Err(_) => {
                self.context.stale.lock().push(known.path.to_string());
                State::Gone
            }
            Ok(found) if found.stat == known.stat && known.still => State::Same,
            Ok(found) => match read(&self.context.root, &found, self.context.rules.limits()) {
                Ok((bytes, _)) if hash(&bytes) == known.hash => State::Same,
                Ok(_) => {
                    self.context.stale.lock().push(known.path.to_string());
                    self.take_apart(&known.path)
                }
                Err(_) => State::Gone,
            },
        }
    }

    /// The current chunks of a file.
    fn take_apart(&mut self, path: &str) -> State {
        self.anew += 1;
        if self.anew > ANEW_MAX {
            return State::Gone;
        }
        let Context { root, rules, .. } = self.context;
        let Ok(found) = rules.one_of(root, path, &mut self.places) else { return State::Gone };
        let Ok((bytes, _)) = read(root, &found, rules.limits()) else { return State::Gone };
        let extract = self.extractor.extract(&found, &bytes, self.now);
        extract.map_or(State::Gone, |extract| State::Anew(extract.chunks))
    }

    /// The chunk of a newly parsed file that corresponds to the candidate: of the same kind and
    /// name, nearest to its old position. Each is returned once.
    fn anew(&mut self, known: &Known) -> Option<Chunk> {
        let State::Anew(chunks) = self.states.get_mut(&known.path)? else { return None };
        let wanted = &known.chunk;
        let is_same = |chunk: &Chunk| {
            chunk.kind == wanted.kind && crate::prepare::last_name(&chunk.name) == wanted.name
        };
        let same = chunks.iter().enumerate().filter(|pair| is_same(pair.1));
        let at = same.min_by_key(|same| same.1.line.abs_diff(wanted.line))?.0;
        Some(chunks.swap_remove(at))
    }
}

/// What an index knows of a chunk. The texts are those from when it was locked.
fn known(index: &Index, texts: &Arc<Texts>, candidate: &Candidate) -> Option<Known> {
    let What::Chunk(file, slot) = candidate.what else { return None };
    let (fact, chunk) = (index.file(file)?, index.chunk(slot)?);
    // The slot may have been reused since the candidate was found.
    if fact.path != candidate.path || chunk.file != file {
        return None;
    }
    Some(Known {
        path: fact.path.clone(),
        texts: Arc::clone(texts),
        hash: fact.hash,
        stat: fact.stat,
        still: fact.is_still(&fact.stat),
        updated_at: date(fact, chunk),
        chunk: *chunk,
    })
}

fn made(
    title: String,
    content: String,
    candidate: &Candidate,
    path: &str,
    (line, end_line): (u32, u32),
    updated_at: Timestamp,
) -> Item {
    Item {
        source: candidate.kind.source(),
        kind: candidate.kind,
        tokens: tokens(title.len() + content.len()),
        title,
        content,
        path: path.to_owned(),
        line,
        end_line,
        score: candidate.score,
        updated_at: Some(updated_at),
        truncated: false,
        why: candidate.why.list(),
    }
}
