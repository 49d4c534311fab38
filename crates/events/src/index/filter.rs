//! A Bloom filter over the types and namespaces of one block.

use crate::Pattern;

pub(crate) const WORDS: usize = 64;
/// With more entries nearly every bit would be set: the filter then accepts everything.
const ENTRIES_MAX: usize = 1024;

/// 4,096 bits, two for each entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Filter {
    words: Box<[u64; WORDS]>,
}

impl Filter {
    pub(crate) fn of<'a>(kinds: impl ExactSizeIterator<Item = &'a str>) -> Self {
        if kinds.len() > ENTRIES_MAX {
            return Self { words: Box::new([u64::MAX; WORDS]) };
        }
        let mut filter = Self { words: Box::new([0; WORDS]) };
        let mut last = "";
        for kind in kinds {
            filter.insert(kind);
            let namespace = namespace(kind);
            if namespace != last {
                filter.insert(namespace);
                last = namespace;
            }
        }
        filter
    }

    /// `false` only if no type of the block matches.
    pub(crate) fn may_have(&self, pattern: &Pattern) -> bool {
        let literal = pattern.literal();
        if pattern.is_exact() {
            self.has(literal)
        } else {
            // A prefix of a namespace is in no filter.
            !literal.contains(':') || self.has(namespace(literal))
        }
    }

    pub(crate) fn words(&self) -> &[u64; WORDS] {
        &self.words
    }

    pub(crate) fn from_words(words: Box<[u64; WORDS]>) -> Self {
        Self { words }
    }

    fn insert(&mut self, entry: &str) {
        for bit in bits(entry) {
            self.words[bit / 64] |= 1 << (bit % 64);
        }
    }

    fn has(&self, entry: &str) -> bool {
        bits(entry).into_iter().all(|bit| self.words[bit / 64] & (1 << (bit % 64)) != 0)
    }
}

/// With the colon, which distinguishes it from a type.
fn namespace(kind: &str) -> &str {
    kind.find(':').map_or(kind, |colon| &kind[..=colon])
}

/// FNV-1a (Fowler, Noll, Vo), and two parts of it.
fn bits(entry: &str) -> [usize; 2] {
    let hash = entry.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let bit = |number: u64| (number % (WORDS as u64 * 64)) as usize;
    [bit(hash ^ (hash >> 47)), bit((hash >> 20) ^ (hash >> 40))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_let_through_and_most_else_is_not() {
        let kinds: Vec<String> =
            (0..100).map(|number| format!("n{}:k{number}", number % 7)).collect();
        let filter = Filter::of(kinds.iter().map(String::as_str));
        let may = |text: &str| filter.may_have(&text.parse().unwrap());
        assert!(kinds.iter().all(|it| may(it)));
        assert!(may("n3:*") && may("n3:zzz*") && may("n*") && may("*"));
        let wrong = (0..1000).filter(|number| may(&format!("m{number}:*"))).count();
        assert!(wrong < 50, "{wrong} of 1000 patterns without an event were let through");
    }

    #[test]
    fn very_many_types_let_everything_through() {
        let kinds: Vec<String> = (0..2000).map(|number| format!("n{number}:k")).collect();
        assert!(Filter::of(kinds.iter().map(String::as_str)).may_have(&"other:*".parse().unwrap()));
    }
}
