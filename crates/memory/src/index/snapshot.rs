//! The text index on disk, so that opening need not read every memory.
//!
//! One file `index/snapshot`: magic, version, the position in the journal, the names, and for each
//! space its name, its slots, its text index, its signatures and its facts; then the model and the
//! memories whose nearest other one is known; at the end a CRC-32C over the whole file. If the file
//! is incomplete or damaged, the index is built from the state.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use waypost_projection::Unusable;
use waypost_projection::files::{sync_dir, write_synced};
use waypost_ranking::{Analyzer, Cues, Period, Signature, SimilarIndex, Slots, TextIndex};

use crate::codec::{Malformed, Reader, Writer};
use crate::facet::{Facet, FacetKind};
use crate::index::alike::{Alike, Near};
use crate::index::labels::Labels;
use crate::index::view::{Fact, View, boxed};
use crate::{Error, Lifespan, MemoryId, Result};

const MAGIC: &[u8] = b"waypost-index\n";
const VERSION: u32 = 4 + Cues::VERSION + Analyzer::VERSION + Signature::VERSION;
/// The first version of this format. A snapshot of an older version than [`VERSION`] is sound, but
/// lacks something, or its texts have to be analysed again.
const VERSION_OLDEST: u32 = 2;
const FILE: &str = "snapshot";

/// A view without links and vectors, and its position in the journal.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) view: View,
    pub(crate) position: u64,
    /// Whether it has what this release needs, and its texts the terms that this release gives them.
    pub(crate) is_current: bool,
}

impl Snapshot {
    /// Reads the snapshot in `dir`; `Ok(None)` if there is none.
    pub(crate) fn load(dir: &Path) -> std::result::Result<Option<Self>, Unusable> {
        let bytes = match fs::read(dir.join(FILE)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Unusable(format!("failed to read its snapshot: {error}"))),
        };
        decode(&bytes)
            .map(Some)
            .map_err(|error| Unusable(format!("its snapshot is damaged: {}", error.0)))
    }
}

/// Encodes a view as a snapshot.
pub(crate) fn encode(view: &View, position: u64) -> Vec<u8> {
    let mut out = Writer::new();
    out.raw(MAGIC);
    out.u32(VERSION);
    out.u64(position);
    let names = UsedNames::of(view);
    out.texts(&names.names);
    out.u32(u32::try_from(view.spaces.len()).expect("fewer than 2^32 spaces"));
    for (name, space) in &view.spaces {
        out.text(name);
        out.long_bytes(&space.slots.encode());
        out.long_bytes(&space.text.encode());
        out.long_bytes(&space.similar.encode());
        for (slot, _) in space.slots.iter() {
            if let Some(fact) = space.fact(slot) {
                encode_fact(&mut out, fact, &names);
            }
        }
    }
    out.raw(&view.alike.model().unwrap_or_default());
    out.u64(view.alike.iter().len() as u64);
    for (id, near) in view.alike.iter() {
        out.u64(id.get());
        out.u64(near.map_or(0, |near| near.id.get()));
        out.u32(near.map_or(0, |near| near.cosine_min.to_bits()));
    }
    let mut bytes = out.into_bytes();
    let sum = crc32c::crc32c(&bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
    bytes
}

/// Replaces the snapshot by these bytes.
pub(crate) fn write(dir: &Path, bytes: &[u8]) -> Result<()> {
    let (path, unfinished) = (dir.join(FILE), dir.join("snapshot.new"));
    write_synced(&unfinished, bytes)?;
    fs::rename(&unfinished, &path).map_err(|error| Error::io(&path, error))?;
    Ok(sync_dir(dir)?)
}

/// Removes the snapshot, if it exists.
pub(crate) fn remove(dir: &Path) -> Result<()> {
    let path = dir.join(FILE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(path, error)),
        _ => Ok(sync_dir(dir)?),
    }
}

/// The names that facts use, renumbered: names that only deleted memories used are left out.
#[derive(Debug, Default)]
struct UsedNames {
    names: Vec<String>,
    numbers: BTreeMap<u32, u32>,
}

impl UsedNames {
    fn of(view: &View) -> Self {
        let mut used = Self::default();
        for fact in view.spaces.values().flat_map(|value| value.facts.iter().flatten()) {
            let tags = fact.labels.tags().iter().copied();
            let keys = fact.labels.facets().map(|(key, _)| key);
            for number in [fact.kind].into_iter().chain(fact.session).chain(tags).chain(keys) {
                let next = used.names.len() as u32;
                used.numbers.entry(number).or_insert_with(|| {
                    used.names.push(view.names.name(number).to_owned());
                    next
                });
            }
        }
        used
    }

    fn number(&self, number: u32) -> u32 {
        self.numbers.get(&number).copied().expect("every fact's names were collected")
    }
}

fn encode_fact(out: &mut Writer, fact: &Fact, names: &UsedNames) {
    out.u32(fact.version);
    out.time(fact.created_at);
    out.u64(fact.text_hash);
    out.u32(names.number(fact.kind));
    out.u32(fact.session.map_or(0, |session| names.number(session) + 1));
    let (tags, facets) = (fact.labels.tags(), fact.labels.facets());
    out.u32(u32::try_from(tags.len()).expect("the limits keep tags few"));
    for tag in tags {
        out.u32(names.number(*tag));
    }
    out.u8(u8::try_from(facets.len()).expect("a memory has at most 64 keys, each with two facets"));
    for (key, facet) in facets {
        out.u32(names.number(key));
        out.u8(facet.kind as u8);
        out.u64(facet.bits);
    }
    out.u8(fact.cues.to_bits());
    out.u8(u8::try_from(fact.periods.len()).expect("periods are few"));
    for period in &fact.periods {
        out.u32(period.first().cast_unsigned());
        out.u32(period.last().cast_unsigned());
    }
    out.u32(fact.length);
    out.u8(u8::from(fact.lifespan.is_some()));
    if let Some(lifespan) = &fact.lifespan {
        out.lifespan(**lifespan);
    }
}

fn decode(bytes: &[u8]) -> std::result::Result<Snapshot, Malformed> {
    let (content, sum) = bytes.split_last_chunk::<4>().ok_or(Malformed("it is truncated"))?;
    if crc32c::crc32c(content) != u32::from_le_bytes(*sum) {
        return Err(Malformed("invalid checksum"));
    }
    let mut input = Reader::new(content);
    if input.take(MAGIC.len())? != MAGIC {
        return Err(Malformed("wrong file type"));
    }
    let version = input.u32()?;
    if !(VERSION_OLDEST..=VERSION).contains(&version) {
        return Err(Malformed("unknown version"));
    }
    let position = input.u64()?;
    let mut view = View::new(None);
    if version < VERSION {
        return Ok(Snapshot { view, position, is_current: false });
    }
    let names: Vec<String> = input.texts()?;
    for name in &names {
        view.names.number(name);
    }
    let names_count = names.len() as u32;
    let known = |number: u32| {
        if number < names_count { Ok(number) } else { Err(Malformed("a name is unknown")) }
    };
    for _ in 0..input.u32()? {
        let name = input.text()?;
        let unusable = |_| Malformed("damaged index");
        let slots = Slots::decode(input.long_bytes()?).map_err(unusable)?;
        let text = TextIndex::decode(input.long_bytes()?).map_err(unusable)?;
        let signatures = input.long_bytes()?;
        let similar = SimilarIndex::decode(signatures, slots.bound()).map_err(unusable)?;
        let mut facts = Vec::with_capacity(slots.len());
        for (slot, id) in slots.iter() {
            let id = MemoryId::new(id).ok_or(Malformed("an id is out of range"))?;
            facts.push((slot, id, decode_fact(&mut input, &known)?));
        }
        view.restore_space(&name, slots, (text, similar), facts);
    }
    let model = input.array()?;
    let nearest = (0..input.u64()?).map(|_| decode_nearest(&mut input));
    let nearest: Vec<_> = nearest.collect::<std::result::Result<_, _>>()?;
    view.alike = Alike::of((model != [0; 16]).then_some(model), nearest.into_iter());
    input.end()?;
    Ok(Snapshot { view, position, is_current: true })
}

fn decode_nearest(
    input: &mut Reader<'_>,
) -> std::result::Result<(MemoryId, Option<Near>), Malformed> {
    let id = MemoryId::new(input.u64()?).ok_or(Malformed("an id is out of range"))?;
    let near = MemoryId::new(input.u64()?);
    let cosine_min = f32::from_bits(input.u32()?);
    Ok((id, near.map(|id| Near { id, cosine_min })))
}

fn decode_fact(
    input: &mut Reader<'_>,
    known: &dyn Fn(u32) -> std::result::Result<u32, Malformed>,
) -> std::result::Result<Fact, Malformed> {
    let (version, created_at, text_hash) = (input.u32()?, input.time()?, input.u64()?);
    let (kind, session, tag_count) = (known(input.u32()?)?, input.u32()?, input.u32()?);
    let session = session.checked_sub(1).map(known).transpose()?;
    let tags = (0..tag_count).map(|_| known(input.u32()?));
    let tags: Vec<u32> = tags.collect::<std::result::Result<_, _>>()?;
    let facets = (0..input.u8()?).map(|_| decode_facet(input, known));
    let facets: Vec<_> = facets.collect::<std::result::Result<_, _>>()?;
    let cues = Cues::from_bits(input.u8()?);
    let count = input.u8()?;
    let periods = (0..count).map(|_| decode_period(input));
    let periods = periods.collect::<std::result::Result<_, _>>()?;
    let length = input.u32()?;
    let lifespan = if input.flag()? { input.lifespan()? } else { Lifespan::default() };
    let embedded = false;
    Ok(Fact {
        version,
        created_at,
        text_hash,
        kind,
        session,
        labels: Labels::new(tags, facets),
        cues,
        periods,
        length,
        lifespan: boxed(lifespan),
        embedded,
    })
}

fn decode_facet(
    input: &mut Reader<'_>,
    known: &dyn Fn(u32) -> std::result::Result<u32, Malformed>,
) -> std::result::Result<(u32, Facet), Malformed> {
    let (key, kind) = (known(input.u32()?)?, u32::from(input.u8()?));
    let kind = FacetKind::of_code(kind).ok_or(Malformed("a metadata value has an unknown form"))?;
    Ok((key, Facet { kind, bits: input.u64()? }))
}

fn decode_period(input: &mut Reader<'_>) -> std::result::Result<Period, Malformed> {
    let (first, last) = (input.u32()?.cast_signed(), input.u32()?.cast_signed());
    if first <= last { Ok(Period::new(first, last)) } else { Err(Malformed("an empty period")) }
}
