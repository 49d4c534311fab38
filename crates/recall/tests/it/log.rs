//! The recall log: what it lists, what it keeps, what survives.

use std::time::Duration;

use waypost_recall::{
    Entry, ErrorKind, LogOptions, Moment, Opened, Part, Query, RecallLog, SessionKey, Silence,
    Used, repair, verify,
};
use waypost_time::Timestamp;

const DAY: Duration = Duration::from_secs(24 * 3600);

fn options() -> LogOptions {
    LogOptions::default().with_free_bytes_min(0)
}

fn open(dir: &tempfile::TempDir, now: Timestamp) -> (RecallLog, Opened) {
    RecallLog::open(dir.path(), &options(), now).expect("it opens")
}

fn start() -> Timestamp {
    "2026-11-01T12:00:00Z".parse().expect("a time")
}

fn entry(session: &str, space: Option<&str>, used: &[u64]) -> Entry {
    let mut entry = Entry::new(SessionKey::new(session, space), "claude", Moment::Prompt)
        .with_search(0.75, 0.5);
    entry.used =
        used.iter().map(|id| Used { id: *id, score: Some(0.75), part: Part::Answer }).collect();
    entry.silence = used.is_empty().then_some(Silence::NotAnswerable);
    entry
}

fn ids(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.id).collect()
}

#[test]
fn entries_are_listed_newest_first_by_session_memory_and_space() {
    let dir = tempfile::tempdir().expect("a folder");
    let now = start();
    {
        let (log, opened) = open(&dir, now);
        assert_eq!(opened, Opened::default());
        for (session, space, used) in [
            ("a", None, &[1, 2][..]),
            ("b", Some("team"), &[2]),
            ("a", Some("team"), &[3]),
            ("a", None, &[]),
        ] {
            log.append(entry(session, space, used), now).expect("it is written");
        }
    }
    let (log, opened) = open(&dir, now);
    assert_eq!(opened.entries, 4);
    let all = log.list(&Query::new(10));
    assert_eq!(ids(&all), [4, 3, 2, 1]);
    assert_eq!(all[0].silence, Some(Silence::NotAnswerable));
    assert_eq!((all[3].answerable, all[3].threshold), (Some(0.75), Some(0.5)));
    let of = |query: Query| ids(&log.list(&query));
    assert_eq!(of(Query { session: Some("a".to_owned()), ..Query::new(10) }), [4, 3, 1]);
    assert_eq!(of(Query { memory: Some(2), ..Query::new(10) }), [2, 1]);
    assert_eq!(of(Query { space: Some("team".to_owned()), ..Query::new(10) }), [3, 2]);
    assert_eq!(of(Query { before: Some(4), ..Query::new(1) }), [3]);
    assert_eq!(of(Query { before: Some(1), ..Query::new(10) }), [0; 0]);
}

#[test]
fn a_session_is_what_its_records_say_also_after_opening_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let now = start();
    let (mine, other) = (SessionKey::new("a", None), SessionKey::new("a", Some("team")));
    {
        let (log, _) = open(&dir, now);
        assert_eq!(log.session(&mine), None);
        log.append(entry("a", None, &[1, 2]), now).expect("it is written");
        log.recorded(mine.clone(), "claude", 77, now).expect("it is written");
        log.append(entry("a", Some("team"), &[9]), now).expect("it is written");
        log.append(entry("a", None, &[3]), now).expect("it is written");
    }
    let (log, _) = open(&dir, now);
    let session = log.session(&mine).expect("it is known");
    assert_eq!(session.injected.iter().copied().collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!((session.offset, session.before_restart), (77, None));
    assert_eq!(&*session.harness, "claude");
    assert_eq!(log.session(&other).expect("it is known").injected.len(), 1);

    log.compacted(mine.clone(), "claude", now).expect("it is written");
    let session = log.session(&mine).expect("it is known");
    assert!(session.is_compacted && session.injected.len() == 3);
    log.append(Entry { is_fresh: true, ..entry("a", None, &[4]) }, now).expect("it is written");
    let session = log.session(&mine).expect("it is known");
    assert_eq!(session.injected.iter().copied().collect::<Vec<_>>(), [4]);
    assert_eq!((session.is_compacted, session.offset), (false, 77));
    assert_eq!(session.compacted_at, Some(now));

    // The transcript became shorter, and is read again in parts.
    for (offset, days) in [(0, 1), (50, 2), (90, 2)] {
        log.recorded(mine.clone(), "claude", offset, day(days)).expect("it is written");
    }
    drop(log);
    let (log, _) = open(&dir, day(2));
    let session = log.session(&mine).expect("it is known");
    assert_eq!((session.offset, session.before_restart), (90, Some(now)));
}

fn day(days: u32) -> Timestamp {
    start().saturating_add(DAY * days)
}

#[test]
fn retention_removes_entries_from_lists_and_from_the_disk_and_keeps_offsets() {
    let dir = tempfile::tempdir().expect("a folder");
    let key = SessionKey::new("a", None);
    let (log, _) = open(&dir, day(0));
    for memory in 1..=2 {
        log.append(entry("old", None, &[memory]), day(0)).expect("it is written");
    }
    log.recorded(key.clone(), "claude", 5, day(20)).expect("it is written");
    log.append(entry("a", None, &[2]), day(20)).expect("it is written");
    let listed = |log: &RecallLog, now| {
        log.retain(now).expect("it works");
        ids(&log.list(&Query::new(9)))
    };
    assert_eq!(listed(&log, day(30)), [4, 2, 1]);
    assert_eq!(listed(&log, day(31)), [4]);
    assert_eq!(log.session(&SessionKey::new("old", None)), None);
    let before = log.bytes();
    assert_eq!(listed(&log, day(32)), [4]);
    assert!(log.bytes() < before, "the old entries are still on the disk");
    drop(log);
    let (log, opened) = open(&dir, day(32));
    assert_eq!((opened.entries, opened.unreadable), (1, 0));
    assert_eq!(log.session(&key).expect("it is known").offset, 5);
    assert_eq!(log.append(entry("a", None, &[]), day(32)).expect("it is written"), 5);
    assert_eq!(listed(&log, day(62)), [5]);
    assert_eq!(listed(&log, day(63)), [0; 0]);
    assert_eq!(log.session(&key), None);
}

#[test]
fn a_clock_that_skips_the_retention_time_is_not_believed_for_a_day() {
    let dir = tempfile::tempdir().expect("a folder");
    let key = SessionKey::new("a", None);
    let is_whole = |log: &RecallLog, now| {
        log.retain(now).expect("it works");
        log.list(&Query::new(9)).len() == 1
            && log.session(&key).is_some_and(|session| session.offset == 5)
    };
    let (log, _) = open(&dir, day(0));
    log.append(entry("a", None, &[1]), day(0)).expect("it is written");
    log.recorded(key.clone(), "claude", 5, day(0)).expect("it is written");
    assert!(is_whole(&log, day(0)));
    // As long as it is wrong, and after it was set right.
    for days in [3_650, 3_650, 1] {
        assert!(is_whole(&log, day(days)), "{days} days");
    }
    // The first look after opening compares with the newest record.
    drop(log);
    let (log, _) = open(&dir, day(3_650));
    assert!(is_whole(&log, day(3_650)));
    assert!(!is_whole(&log, day(3_651)));
}

#[test]
fn too_many_entries_drop_the_oldest() {
    let dir = tempfile::tempdir().expect("a folder");
    let options = options().with_entries_max(3).with_retention(Duration::ZERO);
    let (log, _) = RecallLog::open(dir.path(), &options, start()).expect("it opens");
    for id in 1..=5 {
        let session = if id == 1 { "old" } else { "a" };
        log.append(entry(session, None, &[id]), start()).expect("it is written");
    }
    assert_eq!(ids(&log.list(&Query::new(9))), [5, 4, 3]);
    log.retain(start()).expect("it works");
    assert_eq!(log.session(&SessionKey::new("old", None)), None);
    drop(log);
    let (_, opened) = RecallLog::open(dir.path(), &options, start()).expect("it opens");
    assert_eq!(opened.entries, 3);
}

#[test]
fn too_many_sessions_drop_those_that_were_not_seen_for_the_longest_time_with_their_entries() {
    let dir = tempfile::tempdir().expect("a folder");
    let options = options().with_sessions_max(16);
    let (log, _) = RecallLog::open(dir.path(), &options, start()).expect("it opens");
    let key = |name: &str| SessionKey::new(name, None);
    log.recorded(key("told"), "claude", 7, start()).expect("it is written");
    log.recorded(key("used"), "claude", 7, start()).expect("it is written");
    for number in 0..100 {
        log.append(entry(&format!("new {number}"), None, &[]), day(1)).expect("it is written");
        log.append(entry("used", None, &[]), day(1)).expect("it is written");
        let known =
            (0..=number).filter(|number| log.session(&key(&format!("new {number}"))).is_some());
        assert!(known.count() <= 16 && log.list(&Query::new(1_000)).len() <= 2 * 16);
    }
    assert_eq!(log.session(&key("used")).expect("it is known").offset, 7);
    // It was recorded at the start, and no other session that was dropped was recorded.
    assert_eq!((log.session(&key("told")), log.forgotten()), (None, Some(start())));
    drop(log);
    let (log, opened) = RecallLog::open(dir.path(), &options, day(1)).expect("it opens");
    assert!(opened.entries <= 2 * 16);
    assert_eq!(log.session(&key("told")), None);
}

#[test]
fn what_was_dropped_is_told_also_after_opening_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let (log, _) = open(&dir, day(0));
    assert_eq!(log.forgotten(), None);
    for (session, days) in [("a", 0), ("b", 1), ("c", 20), ("d", 40)] {
        log.recorded(SessionKey::new(session, None), "claude", 5, day(days))
            .expect("it is written");
        log.retain(day(days)).expect("it works");
    }
    // The sessions `a` and `b` are older than 30 days.
    assert_eq!(log.forgotten(), Some(day(1)));
    drop(log);
    let (log, _) = open(&dir, day(41));
    assert_eq!(log.forgotten(), Some(day(1)));
    assert!(log.session(&SessionKey::new("c", None)).is_some());
    // All is dropped, except the time of the newest record.
    for days in [70, 71] {
        log.retain(day(days)).expect("it works");
    }
    drop(log);
    let (log, opened) = open(&dir, day(72));
    assert_eq!((opened.entries, log.forgotten()), (0, Some(day(40))));
}

/// The segment file of a log that has only one.
fn segment(dir: &tempfile::TempDir) -> std::path::PathBuf {
    std::fs::read_dir(dir.path())
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .find(|path| path.extension().is_some_and(|extension| extension == "log"))
        .expect("a segment")
}

#[test]
fn a_damaged_log_is_refused_and_a_repair_keeps_what_is_sound() {
    let dir = tempfile::tempdir().expect("a folder");
    {
        let (log, _) = open(&dir, start());
        for id in 1..=3 {
            let at = day(u32::try_from(id).expect("a day"));
            log.append(entry("session", None, &[id]), at).expect("it is written");
        }
    }
    let file = segment(&dir);
    let mut bytes = std::fs::read(&file).expect("it is read");
    let second = bytes.windows(7).enumerate().filter(|(_, it)| it == b"session").nth(1);
    let (at, _) = second.expect("the second record");
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).expect("it is written");
    let error = RecallLog::open(dir.path(), &options(), day(9)).expect_err("it is damaged");
    assert_eq!(error.kind(), ErrorKind::Damaged);
    let said = error.to_string();
    assert!(said.starts_with("the recall log is damaged: bad record in recall/log/"), "{said}");
    assert_eq!(verify(dir.path(), 0).expect("it is checked").damage.len(), 1);
    let repaired = repair(dir.path(), 0).expect("it is repaired");
    assert_eq!((repaired.kept, repaired.set_aside.len()), (2, 1));
    let (log, _) = open(&dir, day(9));
    assert_eq!(ids(&log.list(&Query::new(9))), [3, 1]);
    // The lost record is not newer than the one after it.
    assert_eq!(log.forgotten(), Some(day(3)));
    assert_eq!(log.append(entry("a", None, &[]), day(9)).expect("it is written"), 4);
}

#[test]
fn a_log_that_is_gone_or_an_older_copy_is_refused_and_after_a_repair_all_is_forgotten() {
    for older in [0, 1] {
        let dir = tempfile::tempdir().expect("a folder");
        let write = |count: u64, now| {
            let (log, _) = open(&dir, now);
            for id in log.reached()..count {
                log.append(entry("a", None, &[id + 1]), now).expect("it is written");
            }
            log.reached()
        };
        write(older, start());
        let copy = tempfile::tempdir().expect("a folder");
        for file in std::fs::read_dir(dir.path()).expect("a folder") {
            let file = file.expect("a file");
            std::fs::copy(file.path(), copy.path().join(file.file_name())).expect("a copy");
        }
        let reached = write(3, day(1));
        assert_eq!(reached, 3);
        let options = options().with_reached(reached);
        let error = RecallLog::open(copy.path(), &options, day(2)).expect_err("it is incomplete");
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert_eq!(verify(copy.path(), reached).expect("it is checked").damage.len(), 1);
        let repaired = repair(copy.path(), reached).expect("it is repaired");
        assert_eq!(repaired.kept, older);
        assert!(repaired.set_aside.iter().any(|it| it.is_loss) && repaired.last >= reached);
        let forgotten = |now| {
            let (log, _) = RecallLog::open(copy.path(), &options, now).expect("it opens");
            log.forgotten()
        };
        // At the next start, whenever that is.
        assert_eq!([day(2), day(3)].map(forgotten), [day(2), day(3)].map(Some));
        let (log, _) = RecallLog::open(copy.path(), &options, day(4)).expect("it opens");
        let id = log.append(entry("a", None, &[]), day(5)).expect("it is written");
        assert!(id > reached);
        drop(log);
        assert_eq!(forgotten(day(9)), Some(day(5)));
        // The clock was ahead when it was repaired, and is right now.
        assert_eq!(forgotten(day(4)), Some(day(4)));
    }
    let dir = tempfile::tempdir().expect("a folder");
    let gone = dir.path().join("recall/log");
    assert_eq!(verify(&gone, 0).expect("it is checked").damage.len(), 0);
    assert_eq!(repair(&gone, 0).expect("nothing is to be done").last, 0);
    assert_eq!(verify(&gone, 7).expect("it is checked").damage.len(), 1);
    assert!(repair(&gone, 7).expect("it is repaired").last >= 7);
    assert_eq!(verify(&gone, 7).expect("it is checked").damage.len(), 0);
}

#[test]
fn many_threads_append_at_once_and_nothing_is_lost() {
    let dir = tempfile::tempdir().expect("a folder");
    let (log, _) = open(&dir, start());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let log = &log;
            scope.spawn(move || {
                for id in 0..25 {
                    let new = entry("a", None, &[thread * 100 + id + 1]);
                    log.append(new, start()).expect("it is written");
                }
            });
        }
    });
    let listed = log.list(&Query::new(1_000));
    drop(log);
    let (log, _) = open(&dir, start());
    assert_eq!(listed, log.list(&Query::new(1_000)));
    assert_eq!(log.session(&SessionKey::new("a", None)).expect("it is known").injected.len(), 100);
}
