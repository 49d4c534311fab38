//! The recall log: what it lists, what it keeps, what survives.

use std::time::Duration;

use waypost_recall::{
    Entry, LogOptions, Moment, NewEntry, Opened, Part, Query, RecallLog, SessionKey, Silence, Used,
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

fn entry(session: &str, space: Option<&str>, used: &[u64]) -> NewEntry {
    let mut entry = NewEntry::new(SessionKey::new(session, space), "claude", Moment::Prompt)
        .with_search(0.75, 0.5);
    entry.used =
        used.iter().map(|id| Used { id: *id, score: Some(0.75), part: Part::Answer }).collect();
    entry.silence = used.is_empty().then_some(Silence::NotAnswerable);
    entry
}

fn ids(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|it| it.id).collect()
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
    assert_eq!(of(Query::new(10).with_session("a".to_owned())), [4, 3, 1]);
    assert_eq!(of(Query::new(10).with_memory(2)), [2, 1]);
    assert_eq!(of(Query::new(10).with_space("team".to_owned())), [3, 2]);
    assert_eq!(of(Query::new(1).with_before(4)), [3]);
    assert_eq!(of(Query::new(10).with_before(1)), [0; 0]);
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
    assert_eq!((session.offset, session.entries, &*session.harness), (77, 2, "claude"));
    assert_eq!(log.session(&other).expect("it is known").injected.len(), 1);

    log.compacted(mine.clone(), "claude", now).expect("it is written");
    let session = log.session(&mine).expect("it is known");
    assert!(session.is_compacted && session.injected.len() == 3);
    log.append(entry("a", None, &[4]).with_is_fresh(true), now).expect("it is written");
    let session = log.session(&mine).expect("it is known");
    assert_eq!(session.injected.iter().copied().collect::<Vec<_>>(), [4]);
    assert_eq!((session.is_compacted, session.offset), (false, 77));
    assert_eq!(session.compacted_at, Some(now));
}

#[test]
fn retention_removes_entries_from_lists_and_from_the_disk_and_keeps_offsets() {
    let dir = tempfile::tempdir().expect("a folder");
    let day = |days: u32| start().saturating_add(DAY * days);
    let key = SessionKey::new("a", None);
    let (log, _) = open(&dir, day(0));
    log.append(entry("old", None, &[1]), day(0)).expect("it is written");
    log.recorded(key.clone(), "claude", 5, day(20)).expect("it is written");
    log.append(entry("a", None, &[2]), day(20)).expect("it is written");
    assert_eq!(log.retain(day(30)).expect("it works"), 0);
    assert_eq!(log.retain(day(31)).expect("it works"), 1);
    assert_eq!(ids(&log.list(&Query::new(9))), [3]);
    assert_eq!(log.session(&SessionKey::new("old", None)), None);
    let before = log.bytes();
    assert_eq!(log.retain(day(32)).expect("it works"), 0);
    assert!(log.bytes() < before, "the old entry is still on the disk");
    drop(log);
    let (log, opened) = open(&dir, day(32));
    assert_eq!((opened.entries, opened.unreadable), (1, 0));
    assert_eq!(log.session(&key).expect("it is known").offset, 5);
    assert_eq!(log.append(entry("a", None, &[]), day(32)).expect("it is written"), 4);
    assert_eq!(log.retain(day(400)).expect("it works"), 2);
    assert!(log.list(&Query::new(9)).is_empty() && log.session(&key).is_none());
}

#[test]
fn too_many_entries_drop_the_oldest() {
    let dir = tempfile::tempdir().expect("a folder");
    let options = options().with_entries_max(3).with_retention(Duration::ZERO);
    let (log, _) = RecallLog::open(dir.path(), &options, start()).expect("it opens");
    for id in 1..=5 {
        log.append(entry("a", None, &[id]), start()).expect("it is written");
    }
    assert_eq!(log.retain(start()).expect("it works"), 2);
    assert_eq!(ids(&log.list(&Query::new(9))), [5, 4, 3]);
    drop(log);
    let (_, opened) = RecallLog::open(dir.path(), &options, start()).expect("it opens");
    assert_eq!(opened.entries, 3);
}

/// A record that is damaged is set aside; the others stay, and the log can be written.
#[test]
fn damage_costs_only_what_is_damaged() {
    let dir = tempfile::tempdir().expect("a folder");
    {
        let (log, _) = open(&dir, start());
        for id in 1..=3 {
            log.append(entry("session", None, &[id]), start()).expect("it is written");
        }
    }
    let file = std::fs::read_dir(dir.path())
        .expect("a folder")
        .map(|it| it.expect("a file").path())
        .find(|it| it.extension().is_some_and(|it| it == "log"))
        .expect("a segment");
    let mut bytes = std::fs::read(&file).expect("it is read");
    let second = bytes.windows(7).enumerate().filter(|(_, it)| it == b"session").nth(1);
    let (at, _) = second.expect("the second record");
    bytes[at] ^= 1;
    std::fs::write(&file, bytes).expect("it is written");
    let (log, opened) = open(&dir, start());
    assert!(opened.damage.is_some());
    assert_eq!(ids(&log.list(&Query::new(9))), [3, 1]);
    assert_eq!(log.append(entry("a", None, &[]), start()).expect("it is written"), 4);
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
