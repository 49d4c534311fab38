use std::collections::BTreeMap;
use std::sync::Barrier;

use waypost_log::{Error, ErrorKind, Log, Options, PAYLOAD_BYTES_MAX, Record};

use crate::{entries, fill, open, record, small};

#[test]
fn an_acknowledged_append_exists_after_reopening() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let nested = dir.path().join("of/its/own");
    let (log, _) = Log::open(&nested, &Options::default()).expect("a missing folder is created");
    for payload in [&b"one"[..], b"", b"three"] {
        log.append(Record { kind: 7, version: 2, payload }).expect("there is room");
    }
    drop(log);
    let (log, recovery) = Log::open(&nested, &Options::default()).expect("it opens again");
    assert_eq!(recovery.truncated_bytes, 0);
    let entries = entries(&log);
    let payloads: Vec<&[u8]> = entries.iter().map(|entry| entry.payload.as_slice()).collect();
    assert_eq!(payloads, [&b"one"[..], b"", b"three"]);
    assert!(entries.iter().all(|it| it.kind == 7 && it.version == 2));
    assert_eq!(log.read(2).expect("readable"), Some(entries[1].clone()));
    assert_eq!(log.read(0).expect("readable"), None);
    assert_eq!(log.read(4).expect("readable"), None);
    assert_eq!(log.last_sequence(), 3);
}

#[test]
fn sequences_have_no_gaps_and_cross_segments() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let log = open(dir.path());
    fill(&log, 200);
    assert!(log.segments() > 3, "{} segments", log.segments());
    drop(log);
    let log = open(dir.path());
    let sequences: Vec<u64> = entries(&log).iter().map(|entry| entry.sequence).collect();
    assert_eq!(sequences, (1..=200).collect::<Vec<_>>());
    for sequence in 1..=200 {
        let entry = log.read(sequence).expect("readable").expect("appended");
        assert!(entry.payload.ends_with(format!(" {sequence}").as_bytes()));
    }
    let report = Log::verify(dir.path(), &small()).expect("readable");
    assert_eq!((report.records, report.last_sequence, report.torn_bytes), (200, 200, 0));
    assert!(report.damage.is_empty());
}

#[test]
fn a_batch_has_neighbouring_sequences_and_may_be_larger_than_a_segment() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let log = open(dir.path());
    let large = vec![5; 10_000];
    let range = log.append_batch(&[record(b"a"), record(&large), record(b"c")]).expect("room");
    assert_eq!(range, 1..4);
    assert_eq!(log.append_batch(&[]).expect("nothing to do"), 4..4);
    assert_eq!(log.append(record(b"d")).expect("room"), 4);
    drop(log);
    let log = open(dir.path());
    let payloads: Vec<_> = entries(&log).into_iter().map(|entry| entry.payload).collect();
    assert_eq!(payloads, [b"a".to_vec(), large, b"c".to_vec(), b"d".to_vec()]);
}

#[test]
fn many_threads_get_their_own_sequences_and_find_their_own_records() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let log = open(dir.path());
    let start = Barrier::new(64);
    let appended: BTreeMap<u64, Vec<u8>> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..64_u8)
            .map(|writer| {
                let (log, start) = (&log, &start);
                scope.spawn(move || {
                    start.wait();
                    let mut mine = Vec::new();
                    for round in 0..20_u8 {
                        let payload = vec![writer; usize::from(round) + 1];
                        let twice = [record(&payload), record(&payload)];
                        let range = match round % 3 {
                            0 => log.append_batch(&twice),
                            1 => log.append_batch_unsynced(&twice),
                            _ => log.append(twice[0]).map(|first| first..first + 1),
                        };
                        let range = range.expect("there is room");
                        assert!(log.last_sequence() >= range.end - 1, "readable when answered");
                        mine.extend(range.map(|range| (range, payload.clone())));
                    }
                    mine
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().expect("no writer panics")).collect()
    });
    log.sync().expect("the disk works");
    drop(log);
    let log = open(dir.path());
    let stored: BTreeMap<u64, Vec<u8>> =
        entries(&log).into_iter().map(|entry| (entry.sequence, entry.payload)).collect();
    assert_eq!(stored, appended);
    assert_eq!(stored.keys().copied().collect::<Vec<_>>(), (1..=2176).collect::<Vec<_>>());
}

#[test]
fn an_iterator_goes_on_when_more_is_appended() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let log = open(dir.path());
    fill(&log, 3);
    let mut behind = log.entries_after(1);
    assert_eq!(
        behind.by_ref().map(|it| it.expect("readable").sequence).collect::<Vec<_>>(),
        [2, 3]
    );
    assert!(behind.next().is_none());
    fill(&log, 60);
    let rest: Vec<u64> = behind.map(|behind| behind.expect("readable").sequence).collect();
    assert_eq!(rest, (4..=63).collect::<Vec<_>>());
    assert!(log.entries_after(63).next().is_none());
    assert!(log.entries_after(u64::MAX).next().is_none());
}

#[test]
fn what_cannot_be_done_is_said_and_harms_nothing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let log = open(dir.path());
    let error = Log::open(dir.path(), &small()).expect_err("it is open");
    assert_eq!(error.kind(), ErrorKind::InUse);
    let large = vec![0; PAYLOAD_BYTES_MAX + 1];
    let error = log.append(record(&large)).expect_err("over the limit");
    assert!(matches!(error, Error::TooLarge { len_bytes, .. } if len_bytes == (64 << 20) + 1));
    fill(&log, 1);
    drop(log);
    let no_room = small().with_segment_bytes(64 << 10).with_free_bytes_min(u64::MAX);
    let (log, _) = Log::open(dir.path(), &no_room).expect("what is there can be read");
    assert_eq!(entries(&log).len(), 1);
    fill(&log, 10);
    let large = vec![0; 3000];
    let error = log.append_batch(&[record(&large), record(&large)]).expect_err("it had to grow");
    assert_eq!(error.kind(), ErrorKind::Full);
    assert_eq!(log.last_sequence(), 11);
    fill(&log, 1);
    drop(log);
    assert_eq!(entries(&open(dir.path())).len(), 12);
}

#[test]
fn an_append_after_a_record_is_refused_if_the_log_ends_elsewhere() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let log = open(dir.path());
    assert_eq!(log.append_batch_after(0, &[record(b"a"), record(b"b")]).expect("its place"), 1..3);
    for expected in [0, 1, 3] {
        let error = log.append_batch_after(expected, &[record(b"c")]).expect_err("another place");
        assert!(matches!(error, Error::Moved { last: 2, .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::Moved);
    }
    assert_eq!(log.append_batch_after(2, &[record(b"c")]).expect("its place"), 3..4);
    assert_eq!(entries(&log).len(), 3);
}

#[test]
fn of_appends_after_the_same_record_one_is_written() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let log = open(dir.path());
    let (threads, rounds) = (8, 50);
    let barrier = Barrier::new(threads);
    let race = || {
        let appended = (0..rounds).map(|round| {
            barrier.wait();
            log.append_batch_after(round, &[record(b"mine")])
        });
        let (won, lost): (Vec<_>, Vec<_>) = appended.partition(Result::is_ok);
        assert!(lost.into_iter().all(|it| it.unwrap_err().kind() == ErrorKind::Moved));
        won.len() as u64
    };
    let won: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(race)).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
    });
    assert_eq!((won, log.last_sequence()), (rounds, rounds));
}
