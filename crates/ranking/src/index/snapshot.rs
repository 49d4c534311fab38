use super::forward::Forward;
use super::{Dictionary, TermId, TextIndex};
use crate::codec::{Format, Reader, damaged, push};
use crate::{Error, Slot};

const FORMAT: Format = Format { magic: *b"WPRt", version: 1 };

impl TextIndex {
    /// The index as bytes: the terms in order, then every document's terms by slot. Two indexes with
    /// the same documents in the same slots give the same bytes, however they came about.
    pub fn encode(&self) -> Vec<u8> {
        let (order, numbers) = self.dictionary.in_order();
        FORMAT.encode(|bytes| {
            push(bytes, order.len() as u64);
            for &id in &order {
                let name = self.dictionary.names[id as usize].as_bytes();
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

    /// The index that [`encode`](Self::encode) made the bytes of.
    ///
    /// # Errors
    /// [`Error::NotASnapshot`], [`Error::SnapshotTooNew`], [`Error::SnapshotDamaged`]: build the index anew.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut reader = FORMAT.decode(bytes)?;
        let mut index = Self { dictionary: read_dictionary(&mut reader)?, ..Self::default() };
        let slots = reader.count()?;
        let mut postings = Vec::new();
        for slot in 0..slots {
            let slot = Slot::try_from(slot).map_err(|_| damaged("it has too many slots"))?;
            let count = reader.count()?;
            if count == 0 {
                index.push_gap();
                continue;
            }
            read_document(&mut reader, count - 1, index.dictionary.names.len(), &mut postings)?;
            index.insert_decoded(slot, &postings)?;
        }
        reader.end()?;
        if index.dictionary.frequencies.contains(&0) {
            return Err(damaged("a term has no document"));
        }
        Ok(index)
    }
}

fn read_dictionary(reader: &mut Reader<'_>) -> Result<Dictionary, Error> {
    let mut dictionary = Dictionary::default();
    let count = reader.count()?;
    let mut last: Option<&str> = None;
    for id in 0..count {
        let length = reader.count()?;
        let name =
            str::from_utf8(reader.take(length)?).map_err(|_| damaged("a term is not text"))?;
        if last.is_some_and(|last| last >= name) {
            return Err(damaged("its terms are not in order"));
        }
        last = Some(name);
        let id = TermId::try_from(id).map_err(|_| damaged("it has too many terms"))?;
        dictionary.ids.insert(name.into(), id);
        dictionary.names.push(name.into());
        dictionary.frequencies.push(0);
    }
    dictionary.live = count as u64;
    Ok(dictionary)
}

fn read_document(
    reader: &mut Reader<'_>,
    count: usize,
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
