//! A position of the journal of a cluster, which clients pass on to read their own writes.

use std::fmt;
use std::str::FromStr;

/// The response header with the position of the journal that the response includes.
pub const POSITION_HEADER: &str = "waypost-position";
/// The request header with the position that the machine must have before it answers.
pub const MIN_POSITION_HEADER: &str = "waypost-min-position";

/// A position of the journal of a cluster: `STORE:INCARNATION:SEQUENCE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalPosition {
    /// The id of the store, a UUID in lower case.
    pub store: String,
    /// The incarnation of the journal, from 1.
    pub incarnation: u64,
    /// The last record.
    pub seq: u64,
}

impl JournalPosition {
    /// Whether this is the later one of two positions of one journal, or of another journal.
    pub fn replaces(&self, earlier: &Self) -> bool {
        (&self.store, self.incarnation) != (&earlier.store, earlier.incarnation)
            || self.seq > earlier.seq
    }
}

impl fmt::Display for JournalPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.store, self.incarnation, self.seq)
    }
}

/// Why a text is no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a position is STORE:INCARNATION:SEQUENCE, with a UUID and two numbers")]
pub struct InvalidPosition;

impl FromStr for JournalPosition {
    type Err = InvalidPosition;

    fn from_str(text: &str) -> Result<Self, InvalidPosition> {
        let mut parts = text.split(':');
        let (Some(store), Some(incarnation), Some(seq), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(InvalidPosition);
        };
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_uuid = store.len() == 36
            && store.bytes().enumerate().all(|(at, it)| match at {
                8 | 13 | 18 | 23 => it == b'-',
                _ => is_digit(it),
            });
        let number = |text: &str| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            if is_plain {
                text.parse::<u64>().map_err(|_| InvalidPosition)
            } else {
                Err(InvalidPosition)
            }
        };
        if !is_uuid {
            return Err(InvalidPosition);
        }
        let (incarnation, seq) = (number(incarnation)?, number(seq)?);
        Ok(Self { store: store.to_owned(), incarnation, seq })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORE: &str = "00112233-4455-6677-8899-aabbccddeeff";

    #[test]
    fn a_position_reads_back_and_other_texts_are_none() {
        let position = JournalPosition { store: STORE.to_owned(), incarnation: 2, seq: 4711 };
        let text = position.to_string();
        assert_eq!(text, format!("{STORE}:2:4711"));
        assert_eq!(text.parse(), Ok(position));
        let upper = STORE.to_uppercase();
        for text in [
            String::new(),
            STORE.to_owned(),
            format!("{STORE}:2"),
            format!("{STORE}:2:3:4"),
            format!("{STORE}:+2:3"),
            format!("{STORE}:2:-3"),
            format!("{STORE}:2:99999999999999999999"),
            format!("{upper}:2:3"),
            format!("{}:2:3", &STORE[1..]),
            format!("{}:2:3", STORE.replace('-', "0")),
        ] {
            assert_eq!(text.parse::<JournalPosition>(), Err(InvalidPosition), "{text}");
        }
    }

    #[test]
    fn a_later_position_and_one_of_another_journal_replace_an_earlier_one() {
        let at = |incarnation, seq| JournalPosition { store: STORE.to_owned(), incarnation, seq };
        assert!(at(1, 5).replaces(&at(1, 4)));
        assert!(!at(1, 4).replaces(&at(1, 4)));
        assert!(!at(1, 3).replaces(&at(1, 4)));
        assert!(at(2, 1).replaces(&at(1, 4)));
    }
}
