//! The index in memory: facts and words of each file and chunk. It holds no texts.

mod facts;
mod names;

pub(crate) use self::facts::{ChunkFact, FileFact};
pub(crate) use self::names::{link_key, name_key, own_keys, replaced_keys};

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Included, Unbounded};
use std::sync::Arc;

use crate::Chunk;
use crate::texts::TextAt;
use waypost_ranking::{Document, Merge, Slot, Slots, TextIndex, VectorIndex};

/// A file ready to be inserted.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) file: FileFact,
    pub(crate) chunks: Vec<ChunkFact>,
    pub(crate) body: Document,
    pub(crate) path: Document,
    pub(crate) chunk_words: Vec<Document>,
    /// For each chunk of code, the words inside its definition.
    pub(crate) inside: Vec<Document>,
    /// The texts of the chunks, which are stored before.
    pub(crate) texts: Vec<Chunk>,
}

/// Identifies a text index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    Body,
    Path,
    Chunks,
    Inside,
}

impl Words {
    pub(crate) const ALL: [Self; 4] = [Self::Body, Self::Path, Self::Chunks, Self::Inside];
}

/// Everything that queries read.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) files: Slots,
    pub(crate) chunks: Slots,
    file_facts: Vec<Option<FileFact>>,
    chunk_facts: Vec<Option<ChunkFact>>,
    by_path: BTreeMap<Arc<str>, Slot>,
    /// The numbers last assigned.
    pub(crate) next_file: u64,
    pub(crate) next_chunk: u64,
    pub(crate) words: [TextIndex; 4],
    pub(crate) vectors: Option<VectorIndex>,
    /// How often each name is linked to, and how often stated to be replaced.
    linked: HashMap<u64, u32>,
    replaced: HashMap<u64, u32>,
}

impl Index {
    pub(crate) fn words(&self, which: Words) -> &TextIndex {
        &self.words[which as usize]
    }

    pub(crate) fn slot(&self, path: &str) -> Option<Slot> {
        self.by_path.get(path).copied()
    }

    pub(crate) fn file(&self, slot: Slot) -> Option<&FileFact> {
        self.file_facts.get(slot as usize)?.as_ref()
    }

    pub(crate) fn file_mut(&mut self, slot: Slot) -> Option<&mut FileFact> {
        self.file_facts.get_mut(slot as usize)?.as_mut()
    }

    pub(crate) fn chunk(&self, slot: Slot) -> Option<&ChunkFact> {
        self.chunk_facts.get(slot as usize)?.as_ref()
    }

    /// Every file, by path.
    pub(crate) fn files(&self) -> impl Iterator<Item = (Slot, &FileFact)> {
        self.by_path.values().filter_map(|&slot| Some((slot, self.file(slot)?)))
    }

    /// Every chunk, by slot.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (Slot, &ChunkFact)> {
        let facts = self.chunk_facts.iter().enumerate();
        facts.filter_map(|(slot, fact)| Some((slot as Slot, fact.as_ref()?)))
    }

    /// The paths of the files below a folder, and of the file with that name.
    pub(crate) fn below(&self, path: &str) -> Vec<String> {
        let folder = format!("{path}/");
        let below = self.by_path.range::<str, _>((Included(folder.as_str()), Unbounded));
        let below = below.map(|below| below.0).take_while(|it| it.starts_with(&folder));
        let own = self.by_path.get_key_value(path).map(|value| value.0);
        own.into_iter().chain(below).map(|own| String::from(&**own)).collect()
    }

    /// How often documents refer to a file.
    pub(crate) fn linked(&self, file: &FileFact) -> u32 {
        file.keys.iter().filter_map(|key| self.linked.get(key)).sum()
    }

    /// Whether another document says that it replaces this one.
    pub(crate) fn is_replaced(&self, file: &FileFact) -> bool {
        !self.replaced.is_empty() && file.keys.iter().any(|key| self.replaced.contains_key(key))
    }

    /// Inserts a file in place of the previous one at its path. Returns the old words: freeing them
    /// takes time, which the holder of the lock need not spend.
    pub(crate) fn insert(&mut self, ready: Prepared) -> Vec<Document> {
        let Prepared { mut file, chunks, body, path, chunk_words, inside, .. } = ready;
        let number = self.slot(&file.path).and_then(|slot| self.files.id(slot));
        let number = number.unwrap_or_else(|| {
            self.next_file += 1;
            self.next_file
        });
        self.remove(&file.path);
        let slot = self.files.assign(number);
        for (at, (fact, words)) in chunks.into_iter().zip(&chunk_words).enumerate() {
            self.next_chunk += 1;
            let chunk = self.chunks.assign(self.next_chunk);
            self.words[Words::Chunks as usize].insert(chunk, words);
            if let Some(words) = inside.get(at).filter(|inside| inside.length() > 0) {
                self.words[Words::Inside as usize].insert(chunk, words);
            }
            set(&mut self.chunk_facts, chunk, ChunkFact { file: slot, ..fact });
            file.chunks.push(chunk);
        }
        for (which, document) in [(Words::Body, &body), (Words::Path, &path)] {
            // A document without words would distort the averages.
            if document.length() > 0 {
                self.words[which as usize].insert(slot, document);
            }
        }
        self.count_names(&file);
        self.by_path.insert(file.path.clone(), slot);
        set(&mut self.file_facts, slot, file);
        let mut words = chunk_words;
        words.extend(inside);
        words.extend([body, path]);
        words
    }

    /// Restores a file from a snapshot; its words are in the text indexes.
    pub(crate) fn restore(&mut self, slot: Slot, file: FileFact, chunks: Vec<ChunkFact>) {
        for (&chunk, fact) in file.chunks.iter().zip(chunks) {
            set(&mut self.chunk_facts, chunk, ChunkFact { file: slot, ..fact });
        }
        self.count_names(&file);
        self.by_path.insert(file.path.clone(), slot);
        set(&mut self.file_facts, slot, file);
    }

    /// Updates the position of a chunk's text.
    pub(crate) fn move_text(&mut self, slot: Slot, text: TextAt) {
        if let Some(Some(fact)) = self.chunk_facts.get_mut(slot as usize) {
            fact.text = text;
        }
    }

    /// Removes a file, if present.
    pub(crate) fn remove(&mut self, path: &str) {
        let Some(slot) = self.by_path.remove(path) else { return };
        if let Some(number) = self.files.id(slot) {
            self.files.remove(number);
        }
        let file = self.file_facts.get_mut(slot as usize).and_then(Option::take);
        let Some(file) = file else { return };
        for &chunk in &file.chunks {
            self.words[Words::Chunks as usize].remove(chunk);
            self.words[Words::Inside as usize].remove(chunk);
            if let Some(vectors) = &mut self.vectors {
                vectors.remove(chunk);
            }
            if let Some(id) = self.chunks.id(chunk) {
                self.chunks.remove(id);
            }
            if let Some(fact) = self.chunk_facts.get_mut(chunk as usize) {
                *fact = None;
            }
        }
        for which in [Words::Body, Words::Path] {
            self.words[which as usize].remove(slot);
        }
        for (keys, counts) in
            [(&file.links, &mut self.linked), (&file.replaces, &mut self.replaced)]
        {
            for key in keys {
                if let Some(count) = counts.get_mut(key) {
                    *count -= 1;
                    if *count == 0 {
                        counts.remove(key);
                    }
                }
            }
        }
    }

    fn count_names(&mut self, file: &FileFact) {
        for (keys, counts) in
            [(&file.links, &mut self.linked), (&file.replaces, &mut self.replaced)]
        {
            for key in keys {
                *counts.entry(*key).or_default() += 1;
            }
        }
    }

    /// A pending merge of a text index; run it without the lock, then call [`Index::install`].
    pub(crate) fn plan(&mut self) -> Option<(Words, Merge)> {
        Words::ALL.into_iter().find_map(|it| Some((it, self.words[it as usize].plan()?)))
    }

    pub(crate) fn install(&mut self, which: Words, merged: waypost_ranking::Merged) {
        self.words[which as usize].install(merged);
    }

    /// Approximate size in memory, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let words: u64 = self.words.iter().map(|word| word.stats().bytes).sum();
        let files: usize = self.files().map(|(_, it)| 2 * it.path.len() + 320).sum();
        let chunks = self.chunk_facts.len() * (size_of::<ChunkFact>() + 32);
        words + (files + chunks) as u64 + self.vectors.as_ref().map_or(0, VectorIndex::bytes)
    }
}

fn set<T>(facts: &mut Vec<Option<T>>, slot: Slot, fact: T) {
    if facts.len() <= slot as usize {
        facts.resize_with(slot as usize + 1, || None);
    }
    facts[slot as usize] = Some(fact);
}
