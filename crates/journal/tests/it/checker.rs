//! What writers, followers and holders of the lease were told, compared with what the journal has.

use std::collections::BTreeMap;
use std::time::Instant;

use waypost_journal::{FetchOptions, Journal, Position, Row};

use crate::long;

/// The part whose records only the holder of the lease appends.
pub(crate) const FENCED: u8 = 3;

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

/// The lease was taken, and the journal ended here at a look afterwards.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Taken {
    pub(crate) epoch: u64,
    pub(crate) seen: Position,
}

/// What the clients of a run have seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) history: Vec<Attempt>,
    /// What each follower has applied, from the first record on.
    pub(crate) followers: Vec<Vec<Row>>,
    pub(crate) leases: Vec<Taken>,
}

/// What a machine that joins now gets.
#[derive(Debug)]
pub(crate) struct Found {
    base: Position,
    /// The newest snapshot from which the journal can be followed: its position, and the texts of
    /// all records up to there, one on each line.
    snapshot: Option<(Position, Vec<String>)>,
    /// What follows the snapshot; without one, what follows the base.
    rows: Vec<Row>,
}

impl Found {
    pub(crate) fn read(journal: &Journal) -> Self {
        let head = journal.head(&long()).unwrap();
        let mut found = Self { base: head.base, snapshot: None, rows: Vec::new() };
        for it in journal.snapshots(&long()).unwrap() {
            let is_reached = it.position.seq >= head.base.seq
                && it.incarnation == head.incarnation
                && journal.fetch(it.position, &FetchOptions::default(), &long()).is_ok();
            let mut content = Vec::new();
            if is_reached && journal.get_snapshot(&it, &mut content, &long(), &mut |_| ()).is_ok() {
                let texts =
                    String::from_utf8(content).unwrap().lines().map(str::to_owned).collect();
                found.snapshot = Some((it.position, texts));
                break;
            }
        }
        let mut after = found.snapshot.as_ref().map_or(head.base, |snapshot| snapshot.0);
        loop {
            let more = journal.fetch(after, &FetchOptions::default(), &long()).unwrap().rows;
            let Some(last) = more.last() else { return found };
            after = last.position();
            found.rows.extend(more);
        }
    }

    /// The text at each number, of what a machine that joins has.
    fn texts(&self) -> Vec<(u64, String)> {
        let before = self.snapshot.iter().flat_map(|(_, texts)| (1..).zip(texts.iter().cloned()));
        before.chain(self.rows.iter().map(|row| (row.seq, text(row)))).collect()
    }
}

/// Every promise that was not kept.
pub(crate) fn judge(seen: &Seen, found: &Found) -> Vec<String> {
    let mut problems = writers(&seen.history, &found.texts(), &found.rows);
    for (number, applied) in seen.followers.iter().enumerate() {
        problems.extend(follower(number, applied, found));
    }
    problems.extend(fences(&seen.leases, &found.rows));
    problems.extend(base(found));
    problems
}

/// Every way in which a journal that was never trimmed differs from what the writers were told.
pub(crate) fn problems(history: &[Attempt], rows: &[Row]) -> Vec<String> {
    let texts: Vec<_> = rows.iter().map(|row| (row.seq, text(row))).collect();
    writers(history, &texts, rows)
}

fn text(row: &Row) -> String {
    String::from_utf8_lossy(&row.record.payload).into_owned()
}

fn writers(history: &[Attempt], texts: &[(u64, String)], rows: &[Row]) -> Vec<String> {
    let mut found = Vec::new();
    let mut at: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    let mut next = 1;
    for (seq, text) in texts {
        if *seq != next {
            found.push(format!("record {next} is missing, {seq} follows"));
        }
        next = seq + 1;
        at.entry(text.clone()).or_default().push(*seq);
    }
    let mut acknowledged: Vec<(&Attempt, u64)> = Vec::new();
    for attempt in history {
        let places: Vec<Vec<u64>> =
            attempt.texts.iter().map(|text| at.remove(text).unwrap_or_default()).collect();
        let name = format!("writer {}: {:?}", attempt.writer, attempt.texts);
        if let Some(twice) = places.iter().find(|place| place.len() > 1) {
            found.push(format!("{name}: duplicated at {twice:?}"));
        }
        let seqs: Vec<u64> = places.concat();
        let is_whole =
            seqs.len() == places.len() && seqs.windows(2).all(|window| window[0] + 1 == window[1]);
        match attempt.told {
            Told::Appended(end) if seqs.is_empty() => {
                found.push(format!("{name}: acknowledged at {end}, and lost"));
            }
            Told::Appended(end) => {
                if !is_whole || seqs.last() != Some(&end.seq) {
                    found.push(format!("{name}: acknowledged at {end}, but at {seqs:?}"));
                }
                // A snapshot has no hashes.
                let row = rows.iter().find(|row| row.seq == end.seq);
                if row.is_some_and(|row| row.position() != end) {
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
    found.extend(order(acknowledged));
    found
}

/// Who began after an acknowledgement comes behind it.
fn order(mut acknowledged: Vec<(&Attempt, u64)>) -> Vec<String> {
    acknowledged.sort_by_key(|(_, seq)| *seq);
    let mut found = Vec::new();
    let mut latest_began: Option<Instant> = None;
    for (attempt, seq) in acknowledged {
        if latest_began.is_some_and(|began| began > attempt.ended) {
            found.push(format!("record {seq} was acknowledged before an earlier one was begun"));
        }
        latest_began = latest_began.max(Some(attempt.began));
    }
    found
}

/// What a follower has applied is the beginning of the journal, with nothing left out.
fn follower(number: usize, applied: &[Row], journal: &Found) -> Vec<String> {
    let mut found = Vec::new();
    let texts: BTreeMap<u64, String> = journal.texts().into_iter().collect();
    let mut next = 1;
    for row in applied {
        let seq = row.seq;
        if seq != next {
            found.push(format!("follower {number} applied record {seq} where {next} follows"));
        }
        next = seq + 1;
        if journal.snapshot.is_none() && seq <= journal.base.seq {
            // It cannot be compared.
            continue;
        }
        let stored = journal.rows.iter().find(|row| row.seq == seq);
        if stored.is_some_and(|stored| stored != row) || texts.get(&seq) != Some(&text(row)) {
            found.push(format!("follower {number} has another record {seq} than the journal"));
        }
    }
    found
}

/// A record of the fenced part has the epoch that the lease had when it was appended.
fn fences(leases: &[Taken], rows: &[Row]) -> Vec<String> {
    let mut found = Vec::new();
    for row in rows.iter().filter(|row| row.record.part == FENCED || row.epoch > 0) {
        let (seq, epoch) = (row.seq, row.epoch);
        if !leases.iter().any(|lease| lease.epoch == epoch) {
            found
                .push(format!("record {seq} has the epoch {epoch}, in which nobody had the lease"));
        } else if let Some(later) =
            leases.iter().find(|lease| lease.epoch > epoch && lease.seen.seq < seq)
        {
            found.push(format!(
                "record {seq} has the epoch {epoch}, and epoch {} had begun at {}",
                later.epoch, later.seen
            ));
        }
    }
    found
}

/// The journal can be followed from its first record, or from a complete snapshot.
fn base(found: &Found) -> Option<String> {
    let base = found.base;
    (base.seq > 0 && found.snapshot.is_none()).then(|| {
        format!("the journal begins after {base}, and no complete snapshot leads to there")
    })
}
