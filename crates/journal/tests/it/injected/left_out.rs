//! A follower, a holder of the lease and an operator that leave something out.

use waypost_journal::{Contender, Fence, SnapshotId};

use super::*;
use crate::checker::{FENCED, Taken};
use crate::server;
use crate::snapshots::put;
use crate::wait::until;

#[test]
fn a_follower_that_skips_a_record_is_found() {
    let server = server!();
    let mut scene = Scene::new(server.journal());
    let start = Position::start(scene.journal.store());
    let (mut right, mut wrong): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
    for page in [["a", "b", "c"], ["d", "e", "f"], ["g", "h", "i"]] {
        scene.add(&page);
        for applied in [&mut right, &mut wrong] {
            let mut rows = scene.said(applied.last().map_or(start, Row::position)).unwrap();
            assert_eq!(rows.len(), 3);
            applied.append(&mut rows);
        }
        wrong.retain(|wrong| wrong.seq != 5);
    }
    // The position that follows from what was applied, and not from the last record's name.
    let reached = |applied: &[Row]| {
        applied.iter().fold(start, |at, it| at.then(it.epoch, it.batch, &it.record))
    };
    assert_eq!(scene.said(reached(&right)).unwrap(), []);
    let said = scene.said(reached(&wrong));
    assert!(matches!(said, Err(Error::Diverged { seq: 8, .. })), "{said:?}");
    scene.seen.followers = vec![right];
    scene.is_clean();
    scene.seen.followers.push(wrong);
    scene.has(&["follower 1 applied record 6 where 5 follows"]);
}

impl Scene {
    /// Takes the lease, as soon as its holder has lost it.
    fn take(&mut self) -> u64 {
        let mut contender = Contender::new(Duration::from_millis(400)).unwrap();
        let taken = || self.journal.contend(&mut contender, &long()).unwrap().ok_or("it is held");
        let epoch = until(taken).epoch();
        let seen = self.journal.head(&long()).unwrap().position;
        self.seen.leases.push(Taken { epoch, seen });
        epoch
    }

    /// Appends a record of the fenced part by the library.
    fn add_fenced(&mut self, text: &str, fence: Fence) {
        let record = Record { part: FENCED, ..record(self.end.seq + 1, text) };
        let told = match self.journal.append(self.end, &[record], fence, &long()).unwrap() {
            Outcome::Appended(end) => {
                self.end = end;
                Told::Appended(end)
            }
            Outcome::Fenced(2) => Told::NotWritten,
            other => panic!("{other:?}"),
        };
        self.note(text, told);
    }
}

#[test]
fn an_append_of_a_stale_lease_and_one_without_a_lease_are_found() {
    let server = server!();
    // The epoch that the old holder writes without asking; a correct one asks.
    for written in [None, Some(1), Some(0)] {
        let mut scene = Scene::new(server.journal());
        let old = scene.take();
        scene.add_fenced("of the first holder", Some(old));
        // It is suspended, and another one takes the lease.
        let new = scene.take();
        assert_eq!((old, new), (1, 2));
        match written {
            None => scene.add_fenced("late", Some(old)),
            Some(epoch) => {
                let record = Record { part: FENCED, ..record(2, "late") };
                let (end, append) = raw(&scene.journal, scene.end, &record, epoch);
                assert!(server.psql("waypost", &append).status().unwrap().success());
                scene.note("late", Told::Appended(end));
                scene.end = end;
            }
        }
        scene.add_fenced("of the second holder", Some(new));
        scene.follow();
        match written {
            None => {
                assert_eq!(scene.seen.history[1].told, Told::NotWritten, "the library fences it");
                scene.is_clean();
            }
            Some(0) => scene.has(&["record 2 has the epoch 0, in which nobody had"]),
            Some(_) => {
                scene.has(&["record 2 has the epoch 1, and epoch 2 had begun at 1 ("]);
            }
        }
    }
}

/// What an operator relies on who trims the journal by hand.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Relied {
    /// A complete snapshot: that is right.
    Complete,
    Nothing,
    Unfinished,
    /// One before the records that are kept.
    TooOld,
}

#[test]
fn a_trim_without_a_snapshot_is_found() {
    let server = server!();
    for relied in [Relied::Complete, Relied::Nothing, Relied::Unfinished, Relied::TooOld] {
        let mut scene = Scene::new(server.journal());
        let store = scene.journal.store();
        let start = scene.end;
        scene.add(&["a", "b"]);
        let middle = scene.end;
        scene.add(&["c"]);
        let base = scene.end;
        scene.follow();
        let snapshot = match relied {
            Relied::Nothing => SnapshotId([1; 16]),
            Relied::TooOld => put(&scene.journal, middle, b"a\nb").id,
            Relied::Complete | Relied::Unfinished => put(&scene.journal, base, b"a\nb\nc").id,
        };
        if relied == Relied::Unfinished {
            let unfinish = "UPDATE waypost.snapshot SET finished = NULL";
            server.sql(&format!("{unfinish} WHERE id = '{snapshot}'"));
        }
        if matches!(relied, Relied::Nothing | Relied::Unfinished) {
            let refused = scene.journal.trim(snapshot, &long());
            assert!(matches!(refused, Err(Error::NoSnapshot(_))), "{refused:?}");
        }
        if relied == Relied::Complete {
            scene.journal.trim(snapshot, &long()).unwrap();
        } else {
            server.sql(&format!(
                "UPDATE waypost.head SET base_seq = 3, base_hash = '\\x{}' \
                 WHERE store = '{store}'; \
                 DELETE FROM waypost.journal WHERE store = '{store}' AND seq <= 3",
                base.hash
            ));
        }
        scene.add(&["d"]);
        // Machines that join from the start, or from the old snapshot.
        for behind in [start, middle] {
            let said = scene.said(behind);
            assert!(matches!(said, Err(Error::Trimmed { first: 4 })), "{said:?}");
        }
        if relied == Relied::Complete {
            scene.is_clean();
            continue;
        }
        scene.has(&[
            "no complete snapshot leads to there",
            "record 1 is missing, 4 follows",
            "[\"a\"]: acknowledged at 1",
            "[\"b\"]: acknowledged at 2",
            "[\"c\"]: acknowledged at 3",
        ]);
    }
}
