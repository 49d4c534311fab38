use super::dictionary::{Dictionary, TermId};
use super::forward::Forward;
use super::inverted::TextIndex;
use super::sealed::NOWHERE;
use super::segment::Segment;
use crate::codec::{Format, Reader, damaged, push};
use crate::{Error, Slot};

const FORMAT: Format = Format { magic: *b"WPRt", version: 1 };

/// The slots of one segment when a snapshot is decoded: it bounds the memory for sorting.
const SEGMENT_SLOTS: usize = 1 << 18;

impl TextIndex {
    /// Encodes the index: the sorted terms, then every document's terms by slot. Two indexes with
    /// the same documents in the same slots give the same bytes, whatever their history.
    pub fn encode(&self) -> Vec<u8> {
        let (order, numbers) = self.dictionary.in_order();
        FORMAT.encode(|bytes| {
            push(bytes, order.len() as u64);
            for &id in &order {
                let name = self.dictionary.name(id).as_bytes();
                push(bytes, name.len() as u64);
                bytes.extend(name);
            }
            push(bytes, self.forward.len() as u64);
            let mut postings = Vec::new();
            for forward in &self.forward {
                let Some(forward) = forward else {
                    push(bytes, 0);
                    continue;
                };
                postings.clear();
                postings.extend(
                    forward.iter().map(|(id, count, title)| (numbers[id as usize], count, title)),
                );
                postings.sort_unstable();
                push(bytes, postings.len() as u64 + 1);
                bytes.extend(Forward::new(&postings).as_bytes());
            }
        })
    }

    /// Decodes the bytes from [`encode`](Self::encode).
    ///
    /// # Errors
    /// [`Error::NotASnapshot`], [`Error::SnapshotTooNew`], [`Error::SnapshotDamaged`]: rebuild the
    /// index.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = FORMAT.decode(bytes)?;
        let mut index = Self { dictionary: read_dictionary(&mut reader)?, ..Self::default() };
        let slots = reader.count()?;
        let mut postings = Vec::new();
        let mut base = 0;
        for slot in 0..slots {
            let (mut length, mut titled) = (0, false);
            // 0 without a document, else one more than the number of its terms.
            if reader.0.first() == Some(&0) {
                reader.take(1)?;
                index.forward.push(None);
            } else {
                let count = reader.number_u32()?.checked_sub(1);
                let count = count.ok_or(damaged("a number is not in its shortest form"))?;
                read_document(&mut reader, count, index.dictionary.bound(), &mut postings)?;
                length = index.count_decoded(&postings)?;
                titled = postings.iter().any(|&(_, _, in_title)| in_title);
                index.forward.push(Some(Forward::new(&postings)));
            }
            index.lengths.push(length);
            index.homes.push(NOWHERE);
            index.titled.push(titled);
            if slot + 1 - base == SEGMENT_SLOTS || slot + 1 == slots {
                index.seal_decoded(base);
                base = slot + 1;
            }
        }
        reader.end()?;
        if index.dictionary.has_unused() {
            return Err(damaged("a term has no document"));
        }
        Ok(index)
    }
}

impl TextIndex {
    /// Counts a document of known terms; returns its length.
    fn count_decoded(&mut self, postings: &[(TermId, u32, bool)]) -> Result<u32, Error> {
        let length: u64 = postings.iter().map(|&(_, count, _)| u64::from(count)).sum();
        let length = u32::try_from(length).map_err(|_| damaged("a document is too long"))?;
        for &(term, _, in_title) in postings {
            self.dictionary.count(term);
            if in_title {
                self.dictionary.count_title(term);
            }
        }
        self.collection.documents += 1;
        self.collection.length_total += u64::from(length);
        Ok(length)
    }

    /// Builds a segment from the documents in the slots from `base` on: a counting sort by term.
    fn seal_decoded(&mut self, base: usize) {
        let documents = || {
            let slots = self.forward.iter().enumerate().skip(base);
            slots.filter_map(|(slot, forward)| Some((slot as Slot, forward.as_ref()?)))
        };
        let mut ends = vec![0u32; self.dictionary.bound()];
        for (term, _, _) in documents().flat_map(|(_, forward)| forward.iter()) {
            ends[term as usize] += 1;
        }
        let mut total = 0;
        for end in &mut ends {
            total += std::mem::replace(end, total);
        }
        let mut postings: Vec<(Slot, u32)> = vec![(0, 0); total as usize];
        for (slot, forward) in documents() {
            for (term, count, _) in forward.iter() {
                let end = &mut ends[term as usize];
                postings[*end as usize] = (slot, count);
                *end += 1;
            }
        }
        let mut segment = Segment::default();
        segment.slots = documents().map(|(slot, _)| slot).collect();
        let mut start = 0;
        for (term, &end) in ends.iter().enumerate() {
            let list = &postings[start..end as usize];
            start = end as usize;
            if !list.is_empty() {
                segment.push(term as TermId, list, |slot| self.lengths[slot as usize]);
            }
        }
        segment.shrink();
        if !segment.slots.is_empty() {
            self.seal(segment, |home| home == NOWHERE);
        }
    }
}

fn read_dictionary(reader: &mut Reader<'_>) -> Result<Dictionary, Error> {
    let mut dictionary = Dictionary::default();
    let count = reader.count()?;
    let mut last: Option<&str> = None;
    if TermId::try_from(count).is_err() {
        return Err(damaged("it has too many terms"));
    }
    for _ in 0..count {
        let length = reader.count()?;
        let name =
            str::from_utf8(reader.take(length)?).map_err(|_| damaged("a term is not text"))?;
        if last.is_some_and(|last| last >= name) {
            return Err(damaged("its terms are not in order"));
        }
        last = Some(name);
        dictionary.add(name);
    }
    Ok(dictionary)
}

fn read_document(
    reader: &mut Reader<'_>,
    count: u32,
    terms: usize,
    postings: &mut Vec<(TermId, u32, bool)>,
) -> Result<(), Error> {
    postings.clear();
    let mut last = 0u32;
    for at in 0..count {
        let step = reader.number_u32()?;
        if at > 0 && step == 0 {
            return Err(damaged("a document has a term twice"));
        }
        let term = last.checked_add(step).filter(|&term| (term as usize) < terms);
        last = term.ok_or(damaged("a document has an unknown term"))?;
        let count = reader.number()?;
        let (count, in_title) = (u32::try_from(count >> 1).unwrap_or(0), count & 1 == 1);
        if count == 0 {
            return Err(damaged("a term's count is out of range"));
        }
        postings.push((last, count, in_title));
    }
    Ok(())
}
