use std::hash::{BuildHasher, RandomState};

/// A term's number inside one index.
pub(crate) type TermId = u32;

/// Marks an empty bucket.
const NONE: TermId = TermId::MAX;
/// Marks an unused term number.
const NOWHERE: u32 = u32::MAX;
/// Less waste than this is not worth compacting the text for.
const WASTE_MIN: usize = 4096;

/// Terms by number, with their document frequencies.
///
/// An index has as many entries as its texts have distinct words, so each entry takes little space
/// beyond its letters: all terms are in one text, and hash buckets find them there.
#[derive(Debug, Clone, Default)]
pub(super) struct Dictionary {
    /// The concatenated terms, each after its length; some are unused.
    text: Vec<u8>,
    /// By number: the position of the term in `text`.
    places: Vec<u32>,
    frequencies: Vec<u32>,
    /// By number: how many documents have the term in their title.
    titles: Vec<u32>,
    /// Open addressing: a number is in its hash's bucket, or in one of the following ones without a
    /// gap. The length is a power of two, or zero.
    buckets: Vec<Bucket>,
    hasher: RandomState,
    free: Vec<TermId>,
    live: usize,
    wasted: usize,
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    hash: u32,
    id: TermId,
}

const EMPTY: Bucket = Bucket { hash: 0, id: NONE };

impl Dictionary {
    pub(super) fn id(&self, term: &str) -> Option<TermId> {
        let found = self.find(self.hash(term), |it| self.bytes(it) == term.as_bytes()).ok()?;
        Some(self.buckets[found].id)
    }

    /// The term of a number; empty if the number is unused.
    pub(super) fn name(&self, id: TermId) -> &str {
        // Only text was inserted.
        str::from_utf8(self.bytes(id)).unwrap_or_default()
    }

    fn bytes(&self, id: TermId) -> &[u8] {
        match self.places[id as usize] {
            NOWHERE => &[],
            place => self.bytes_at(place as usize),
        }
    }

    /// The document frequency of a term.
    pub(super) fn frequency(&self, id: TermId) -> u64 {
        u64::from(self.frequencies[id as usize])
    }

    /// The number of documents that have a term in their title.
    pub(super) fn titles(&self, id: TermId) -> u64 {
        u64::from(self.titles[id as usize])
    }

    /// One more than the highest number ever assigned.
    pub(super) fn bound(&self) -> usize {
        self.places.len()
    }

    /// The number of terms in at least one document.
    pub(super) fn live(&self) -> usize {
        self.live
    }

    /// Counts a document that contains a term.
    pub(super) fn count_in(&mut self, term: &str) -> TermId {
        let id = self.id(term).unwrap_or_else(|| self.add(term));
        self.count(id);
        id
    }

    /// Counts another document that contains a known term.
    pub(super) fn count(&mut self, id: TermId) {
        self.frequencies[id as usize] += 1;
    }

    /// Uncounts a document that contains a term.
    pub(super) fn count_out(&mut self, id: TermId) {
        self.frequencies[id as usize] -= 1;
        if self.frequencies[id as usize] == 0 {
            self.remove(id);
        }
    }

    /// Counts a document that has a known term in its title.
    pub(super) fn count_title(&mut self, id: TermId) {
        self.titles[id as usize] += 1;
    }

    /// Uncounts a document that has a term in its title, before [`count_out`](Self::count_out).
    pub(super) fn count_title_out(&mut self, id: TermId) {
        self.titles[id as usize] -= 1;
    }

    /// Whether some term is in no document.
    pub(super) fn has_unused(&self) -> bool {
        self.frequencies.contains(&0)
    }

    /// Inserts a new term, in no document yet.
    pub(super) fn add(&mut self, term: &str) -> TermId {
        self.live += 1;
        let id = self.free.pop().unwrap_or_else(|| {
            self.places.push(NOWHERE);
            self.frequencies.push(0);
            self.titles.push(0);
            TermId::try_from(self.places.len() - 1).expect("an index has fewer than 2^32 terms")
        });
        self.places[id as usize] = push(&mut self.text, term.as_bytes());
        if self.live * 4 > self.buckets.len() * 3 {
            self.grow();
        }
        let hash = self.hash(term);
        // It is absent: no bucket contains it.
        if let Err(at) = self.find(hash, |_| false) {
            self.buckets[at] = Bucket { hash, id };
        }
        id
    }

    /// The terms in use by name, and for each term number its position in that order.
    pub(super) fn in_order(&self) -> (Vec<TermId>, Vec<TermId>) {
        let used = self.buckets.iter().map(|bucket| bucket.id).filter(|&id| id != NONE);
        let mut order: Vec<TermId> = used.collect();
        order.sort_unstable_by(|&a, &b| self.bytes(a).cmp(self.bytes(b)));
        let mut places = vec![0; self.bound()];
        for (place, &id) in order.iter().enumerate() {
            places[id as usize] = place as TermId;
        }
        (order, places)
    }

    /// Approximate memory use.
    pub(super) fn memory(&self) -> usize {
        let numbers = [&self.places, &self.frequencies, &self.titles, &self.free];
        let numbers: usize = numbers.into_iter().map(Vec::capacity).sum();
        self.text.capacity() + numbers * 4 + self.buckets.capacity() * size_of::<Bucket>()
    }

    fn hash(&self, term: &str) -> u32 {
        self.hasher.hash_one(term) as u32
    }

    fn bytes_at(&self, place: usize) -> &[u8] {
        // A length below 255 takes one byte; otherwise the next four bytes hold it.
        let (start, length) = match self.text[place] {
            u8::MAX => {
                let length = self.text[place + 1..].first_chunk().copied().unwrap_or_default();
                (place + 5, u32::from_le_bytes(length) as usize)
            }
            length => (place + 1, usize::from(length)),
        };
        &self.text[start..start + length]
    }

    /// The bucket of a number, or the empty bucket that ends the search for it.
    fn find(&self, hash: u32, is_it: impl Fn(TermId) -> bool) -> Result<usize, usize> {
        let Some(mask) = self.buckets.len().checked_sub(1) else { return Err(0) };
        let mut at = hash as usize & mask;
        loop {
            let bucket = self.buckets[at];
            if bucket.id == NONE {
                return Err(at);
            }
            if bucket.hash == hash && is_it(bucket.id) {
                return Ok(at);
            }
            at = (at + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let count = (2 * self.buckets.len()).max(8);
        let before = std::mem::replace(&mut self.buckets, vec![EMPTY; count]);
        for bucket in before.into_iter().filter(|before| before.id != NONE) {
            if let Err(at) = self.find(bucket.hash, |_| false) {
                self.buckets[at] = bucket;
            }
        }
    }

    fn remove(&mut self, id: TermId) {
        let hash = self.hash(self.name(id));
        if let Ok(at) = self.find(hash, |it| it == id) {
            self.empty(at);
        }
        self.live -= 1;
        let place = std::mem::replace(&mut self.places[id as usize], NOWHERE);
        self.wasted += self.bytes_at(place as usize).len() + 1;
        self.free.push(id);
        if self.wasted > WASTE_MIN.max(self.text.len() / 2) {
            self.move_together();
        }
    }

    /// Empties a bucket; entries displaced by it move up.
    fn empty(&mut self, at: usize) {
        let mask = self.buckets.len() - 1;
        let (mut gap, mut next) = (at, (at + 1) & mask);
        while self.buckets[next].id != NONE {
            let own = self.buckets[next].hash as usize & mask;
            let is_past_gap = (next.wrapping_sub(own) & mask) >= (next.wrapping_sub(gap) & mask);
            if is_past_gap {
                self.buckets[gap] = self.buckets[next];
                gap = next;
            }
            next = (next + 1) & mask;
        }
        self.buckets[gap] = EMPTY;
    }

    /// Removes unused terms from the text.
    fn move_together(&mut self) {
        let mut text = Vec::with_capacity(self.text.len() - self.wasted);
        for id in 0..self.bound() {
            let place = self.places[id];
            if place != NOWHERE {
                self.places[id] = push(&mut text, self.bytes_at(place as usize));
            }
        }
        (self.text, self.wasted) = (text, 0);
    }
}

/// Appends a term to the text; returns its position.
fn push(text: &mut Vec<u8>, term: &[u8]) -> u32 {
    let place = u32::try_from(text.len()).ok().filter(|&number| number != NOWHERE);
    let place = place.expect("an index has less than 4 GiB of terms");
    if term.len() < usize::from(u8::MAX) {
        text.push(term.len() as u8);
    } else {
        text.push(u8::MAX);
        text.extend((term.len() as u32).to_le_bytes());
    }
    text.extend(term);
    place
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map_that_counts(
            steps in prop::collection::vec((0u32..60, any::<bool>()), 0..400),
        ) {
            let (mut dictionary, mut counts) = (Dictionary::default(), BTreeMap::new());
            for (number, is_in) in steps {
                // Some are longer than one byte can express.
                let term = format!("t{number}{}", "é".repeat(number as usize * 4));
                let count: &mut u32 = counts.entry(term.clone()).or_default();
                if is_in {
                    *count += 1;
                    dictionary.count_in(&term);
                } else if let Some(id) = dictionary.id(&term) {
                    *count -= 1;
                    dictionary.count_out(id);
                }
            }
            for (term, &count) in &counts {
                let id = dictionary.id(term);
                prop_assert_eq!(id.is_some(), count > 0);
                if let Some(id) = id {
                    prop_assert_eq!(dictionary.name(id), term);
                    prop_assert_eq!(dictionary.frequency(id), u64::from(count));
                }
            }
            let live: Vec<&String> = counts.iter().filter(|it| *it.1 > 0).map(|it| it.0).collect();
            let (order, places) = dictionary.in_order();
            let names: Vec<&str> = order.iter().map(|&it| dictionary.name(it)).collect();
            prop_assert_eq!(names, live);
            prop_assert_eq!(dictionary.live(), order.len());
            for (place, &id) in order.iter().enumerate() {
                prop_assert_eq!(places[id as usize] as usize, place);
            }
        }
    }

    #[test]
    fn terms_that_are_gone_leave_no_room_behind() {
        let mut dictionary = Dictionary::default();
        let names =
            |round: u32| (0..1000).map(move |number| format!("a term of round {round}, {number}"));
        for round in 0..20 {
            let ids: Vec<TermId> = names(round).map(|name| dictionary.count_in(&name)).collect();
            assert_eq!(dictionary.live(), 1000);
            for id in ids {
                dictionary.count_out(id);
            }
        }
        let one = names(0).map(|name| name.len() + 1).sum::<usize>();
        assert!(dictionary.text.len() <= 2 * one + WASTE_MIN, "{}", dictionary.text.len());
        assert_eq!(dictionary.bound(), 1000, "numbers are given out again");
        assert_eq!(dictionary.id("a term of round 3, 7"), None);
    }
}
