//! Texts on disk: for each file a row with the hash of what they were made of, and its chunks in
//! pages. All rows of a file are written at once, and each page names the hash, so that nobody reads
//! a mixture.

use std::path::Path;

use waypost_derived::{Options, Tree, Write, boot_id, remove_leftovers, set_aside};

use crate::codec::{Malformed, Reader, Writer};
use crate::{Chunk, Error, Kind, Result};

/// The version of the rows.
const VERSION: u8 = 1;
/// What sled may keep in memory: rows are read a few at a time, and the system caches its file.
const CACHE_BYTES: u64 = 4 << 20;
/// A value has at most 64 KiB; a chunk that does not fit beside others has a page of its own.
const PAGE_BYTES: usize = 32 << 10;
/// Of a chunk's text so much is kept; extraction makes shorter ones.
const CONTENT_BYTES_MAX: usize = 24 << 10;

/// What a file's content is known by.
pub(crate) type Hash = [u8; 16];

/// The texts of all files.
#[derive(Debug)]
pub(crate) struct Store {
    tree: Tree,
}

impl Store {
    /// Opens the texts in `dir`, or begins anew; the reason is told if there were some.
    pub(crate) fn open(dir: &Path) -> Result<(Self, Option<String>)> {
        let options = Options { cache_bytes: CACHE_BYTES, value_version: VERSION };
        remove_leftovers(dir)?;
        let mut why = None;
        let tree = match Tree::open(dir, &options, &boot_id())? {
            Ok(tree) => tree,
            Err(unusable) => {
                set_aside(dir)?;
                why = Some(unusable.0);
                let fresh = Tree::open(dir, &options, &boot_id())?;
                fresh.map_err(|it| Error::Damaged(it.0))?
            }
        };
        Ok((Self { tree }, why))
    }

    /// Puts a file's chunks in the place of those it had.
    pub(crate) fn put(&self, file: u64, hash: &Hash, chunks: &[Chunk]) -> Result<()> {
        let had = self.pages(file)?;
        let mut rows: Vec<Write> = Vec::new();
        let mut firsts = Vec::new();
        let mut page = Writer::default();
        let (mut first, mut at) = (0, 0);
        while at < chunks.len() {
            if page.0.is_empty() {
                page.raw(hash);
                first = at;
            }
            encode_chunk(&mut page, &chunks[at]);
            at += 1;
            if page.0.len() >= PAGE_BYTES || at == chunks.len() {
                rows.push((page_key(file, firsts.len()), Some(std::mem::take(&mut page.0))));
                firsts.push(first);
            }
        }
        rows.extend((firsts.len()..had).map(|it| (page_key(file, it), None)));
        let mut head = Writer::default();
        head.raw(hash);
        head.number(firsts.len() as u64);
        for first in firsts {
            head.number(first as u64);
        }
        rows.push((head_key(file), Some(head.0)));
        Ok(self.tree.write(rows)?)
    }

    /// Removes a file's chunks.
    pub(crate) fn remove(&self, file: u64) -> Result<()> {
        let had = self.pages(file)?;
        let mut rows: Vec<Write> = (0..had).map(|it| (page_key(file, it), None)).collect();
        rows.push((head_key(file), None));
        Ok(self.tree.write(rows)?)
    }

    /// Some of a file's chunks, by their numbers; `None` where they are not those of `hash`.
    pub(crate) fn chunks(
        &self,
        file: u64,
        hash: &Hash,
        wanted: &[u32],
    ) -> Result<Option<Vec<Chunk>>> {
        let Some(head) = self.tree.get(&head_key(file))? else { return Ok(None) };
        let (found, firsts) = decode_head(&head).map_err(damaged)?;
        if found != *hash {
            return Ok(None);
        }
        let mut chunks = Vec::with_capacity(wanted.len());
        let mut open: Option<(usize, Vec<Chunk>)> = None;
        for &number in wanted {
            let page = firsts.partition_point(|&first| first <= number).saturating_sub(1);
            if open.as_ref().is_none_or(|(at, _)| *at != page) {
                let Some(bytes) = self.tree.get(&page_key(file, page))? else { return Ok(None) };
                let (found, chunks) = decode_page(&bytes).map_err(damaged)?;
                if found != *hash {
                    return Ok(None);
                }
                open = Some((page, chunks));
            }
            let first = firsts.get(page).copied().unwrap_or_default();
            let chunk = open.as_ref().and_then(|(_, it)| it.get((number - first) as usize));
            let Some(chunk) = chunk else { return Ok(None) };
            chunks.push(chunk.clone());
        }
        Ok(Some(chunks))
    }

    /// How many pages a file has.
    fn pages(&self, file: u64) -> Result<usize> {
        let Some(head) = self.tree.get(&head_key(file))? else { return Ok(0) };
        Ok(decode_head(&head).map_err(damaged)?.1.len())
    }

    /// Writes everything to the files and waits for the disk.
    pub(crate) fn sync(&self) -> Result<()> {
        Ok(self.tree.sync()?)
    }

    /// Syncs, and marks it as closed properly.
    pub(crate) fn close(&self) -> Result<()> {
        Ok(self.tree.close()?)
    }
}

fn head_key(file: u64) -> Vec<u8> {
    let mut key = b"f".to_vec();
    key.extend(file.to_be_bytes());
    key
}

fn page_key(file: u64, page: usize) -> Vec<u8> {
    let mut key = b"t".to_vec();
    key.extend(file.to_be_bytes());
    key.extend((page as u32).to_be_bytes());
    key
}

fn damaged(why: Malformed) -> Error {
    Error::Damaged(format!("a row of the texts is damaged: {}", why.0))
}

fn decode_head(bytes: &[u8]) -> std::result::Result<(Hash, Vec<u32>), Malformed> {
    let mut input = Reader::new(bytes);
    let hash = input.array()?;
    let firsts =
        (0..input.count()?).map(|_| input.small()).collect::<std::result::Result<_, _>>()?;
    input.end()?;
    Ok((hash, firsts))
}

fn decode_page(bytes: &[u8]) -> std::result::Result<(Hash, Vec<Chunk>), Malformed> {
    let mut input = Reader::new(bytes);
    let hash = input.array()?;
    let mut chunks = Vec::new();
    while !input.is_empty() {
        chunks.push(decode_chunk(&mut input)?);
    }
    Ok((hash, chunks))
}

fn encode_chunk(out: &mut Writer, chunk: &Chunk) {
    out.number(chunk.kind as u64);
    out.text(&chunk.title);
    out.text(&chunk.name);
    out.number(chunk.line.into());
    out.number(chunk.end_line.into());
    let content = crate::text::head(&chunk.content, CONTENT_BYTES_MAX);
    out.text(content);
    let within = |it: u32| u64::from(it).min(content.len() as u64);
    out.number(within(chunk.signature.start));
    out.number(within(chunk.signature.end));
    out.optional(chunk.date);
}

fn decode_chunk(input: &mut Reader<'_>) -> std::result::Result<Chunk, Malformed> {
    Ok(Chunk {
        kind: kind(input)?,
        title: input.text()?.to_owned(),
        name: input.text()?.to_owned(),
        line: input.small()?,
        end_line: input.small()?,
        content: input.text()?.to_owned(),
        signature: input.small()?..input.small()?,
        date: input.optional()?,
    })
}

/// A kind by its number.
pub(crate) fn kind(input: &mut Reader<'_>) -> std::result::Result<Kind, Malformed> {
    let number = input.small()?;
    Kind::ALL.get(number as usize).copied().ok_or(Malformed("a kind is unknown"))
}
