//! What writers were told, compared with what the journal has.

use std::collections::BTreeMap;
use std::time::Instant;

use waypost_journal::{Position, Row};

/// One append, as its writer saw it. Its texts are in no other append.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) writer: usize,
    pub(crate) texts: Vec<String>,
    pub(crate) began: Instant,
    pub(crate) ended: Instant,
    pub(crate) told: Told,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Told {
    Appended(Position),
    NotWritten,
    /// Nothing was promised.
    Nothing,
}

/// Every way in which the journal differs from what the writers were told.
pub(crate) fn problems(history: &[Attempt], rows: &[Row]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for (row, seq) in rows.iter().zip(1..) {
        if row.seq != seq {
            found.push(format!("record {seq} is missing, {} follows", row.seq));
        }
        at.entry(String::from_utf8_lossy(&row.record.payload).into_owned())
            .or_default()
            .push(row.seq);
    }
    let mut acknowledged: Vec<(&Attempt, u64)> = Vec::new();
    for attempt in history {
        let places: Vec<Vec<u64>> =
            attempt.texts.iter().map(|it| at.remove(it).unwrap_or_default()).collect();
        let name = format!("writer {}: {:?}", attempt.writer, attempt.texts);
        if let Some(twice) = places.iter().find(|it| it.len() > 1) {
            found.push(format!("{name}: duplicated at {twice:?}"));
        }
        let seqs: Vec<u64> = places.concat();
        let is_whole = seqs.len() == places.len() && seqs.windows(2).all(|it| it[0] + 1 == it[1]);
        match attempt.told {
            Told::Appended(end) if seqs.is_empty() => {
                found.push(format!("{name}: acknowledged at {end}, and lost"));
            }
            Told::Appended(end) => {
                if !is_whole || seqs.last() != Some(&end.seq) {
                    found.push(format!("{name}: acknowledged at {end}, but at {seqs:?}"));
                }
                if rows.get(end.seq as usize - 1).map(Row::position) != Some(end) {
                    found.push(format!("{name}: another hash than {end}"));
                }
                acknowledged.push((attempt, end.seq));
            }
            Told::NotWritten if !seqs.is_empty() => {
                found.push(format!("{name}: not written, but at {seqs:?}"));
            }
            Told::Nothing if !seqs.is_empty() && !is_whole => {
                found.push(format!("{name}: in part, at {seqs:?}"));
            }
            Told::NotWritten | Told::Nothing => {}
        }
    }
    for (text, seqs) in at {
        found.push(format!("nobody wrote {text:?}, at {seqs:?}"));
    }
    // Who began after an acknowledgement comes behind it.
    acknowledged.sort_by_key(|(_, seq)| *seq);
    let mut latest_began: Option<Instant> = None;
    for (attempt, seq) in acknowledged {
        if latest_began.is_some_and(|it| it > attempt.ended) {
            found.push(format!("record {seq} was acknowledged before an earlier one was begun"));
        }
        latest_began = latest_began.max(Some(attempt.began));
    }
    found
}
