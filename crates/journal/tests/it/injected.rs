//! Clients and operators that do something wrong, on real servers: the checker finds each fault, and
//! finds nothing in the same run without it.

mod left_out;
mod lost;

use waypost_journal::BatchId;

use super::*;
use crate::checker::{Attempt, Found, Seen, Told, judge};

/// One store of a run, and what its clients have seen.
struct Scene {
    journal: Arc<Journal>,
    /// The last position that a correct client was told.
    end: Position,
    seen: Seen,
}

impl Scene {
    fn new(journal: Arc<Journal>) -> Self {
        let end = Position::start(journal.store());
        Self { journal, end, seen: Seen::default() }
    }

    /// Notes what a client was told.
    fn note(&mut self, text: &str, told: Told) {
        let now = Instant::now();
        let texts = vec![text.to_owned()];
        self.seen.history.push(Attempt { writer: 0, texts, began: now, ended: now, told });
    }

    /// Correct clients append, one after the other.
    #[track_caller]
    fn add(&mut self, texts: &[&str]) {
        for text in texts {
            self.end = add(&self.journal, self.end, &[text]);
            self.note(text, Told::Appended(self.end));
        }
    }

    /// What the library says to a machine that has applied everything up to `ours`.
    fn said(&self, ours: Position) -> Result<Vec<Row>> {
        self.journal.fetch(ours, &FetchOptions::default(), &long()).map(|fetched| fetched.rows)
    }

    /// Lets a machine follow from the beginning to the end.
    fn follow(&mut self) {
        let applied = all(&self.journal).unwrap();
        self.seen.followers.push(applied);
    }

    fn faults(&self) -> Vec<String> {
        judge(&self.seen, &Found::read(&self.journal))
    }

    /// The checker finds nothing.
    #[track_caller]
    fn is_clean(&self) {
        let found = self.faults();
        assert!(found.is_empty(), "{found:#?}");
    }

    /// The checker finds these faults, and no others.
    #[track_caller]
    fn has(&self, expected: &[&str]) {
        let found = self.faults();
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for part in expected {
            assert!(found.iter().any(|it| it.contains(part)), "no «{part}» in {found:#?}");
        }
    }
}

/// A record of a client without the library: where it ends, and SQL that appends it whatever the
/// head row says.
fn raw(journal: &Journal, after: Position, record: &Record, epoch: u64) -> (Position, String) {
    let batch = BatchId([7; 16]);
    let end = after.then(epoch, batch, record);
    let sql = format!(
        "WITH moved AS (UPDATE waypost.head SET seq = {seq}, hash = '\\x{hash}' \
         WHERE store = '{store}') INSERT INTO waypost.journal VALUES \
         ('{store}', {seq}, {epoch}, {part}, {place}, 1, 1, '{batch}', '{text}', '\\x{hash}')",
        seq = end.seq,
        hash = end.hash,
        store = journal.store(),
        part = record.part,
        place = record.place,
        text = String::from_utf8_lossy(&record.payload),
    );
    (end, sql)
}
