use std::sync::atomic::{AtomicBool, Ordering};

use waypost_log::{Keep, Log};

use crate::{entries, fill, open, record, small};

#[test]
fn compaction_removes_and_replaces_and_keeps_sequences() {
    let dir = crate::folder();
    let log = open(dir.path());
    fill(&log, 150);
    let mut asked = Vec::new();
    let compacted = log
        .compact(&mut |entry| {
            asked.push(entry.sequence);
            match entry.sequence % 10 {
                0 => Keep::Yes,
                5 => Keep::Replace(b"replaced".to_vec()),
                _ => Keep::No,
            }
        })
        .expect("there is room");
    assert_eq!(asked, (1..=150).collect::<Vec<_>>(), "each is asked about once, in order");
    assert_eq!((compacted.removed, compacted.replaced), (120, 15));
    assert!(compacted.segments_after < compacted.segments_before, "{compacted:?}");
    assert!(compacted.bytes_after < compacted.bytes_before, "{compacted:?}");
    let kept = entries(&log);
    assert_eq!(
        kept.iter().map(|it| it.sequence).collect::<Vec<_>>(),
        (1..=30).map(|it| it * 5).collect::<Vec<_>>()
    );
    assert!(kept.iter().all(|it| (it.sequence % 10 == 5) == (it.payload == b"replaced")));
    assert_eq!(log.read(7).expect("readable"), None);
    assert_eq!(log.append(record(b"next")).expect("room"), 151);
    drop(log);
    let log = open(dir.path());
    assert_eq!(entries(&log).len(), 31);
    assert_eq!(log.read(150).expect("readable"), Some(kept[29].clone()));
}

#[test]
fn sequences_continue_when_no_record_remains() {
    let dir = crate::folder();
    let log = open(dir.path());
    fill(&log, 100);
    log.compact(&mut |_| Keep::No).expect("there is room");
    assert_eq!((log.last_sequence(), entries(&log).len()), (100, 0));
    drop(log);
    let log = open(dir.path());
    assert_eq!((log.first_sequence(), log.last_sequence()), (1, 100));
    assert_eq!(log.append(record(b"next")).expect("room"), 101);
    assert_eq!(log.entries_after(0).next().expect("one").expect("readable").sequence, 101);
}

#[test]
fn removed_content_is_in_no_file() {
    let dir = crate::folder();
    let log = open(dir.path());
    fill(&log, 5);
    let secret = b"what was deleted must be gone";
    log.append(record(secret)).expect("room");
    fill(&log, 5);
    log.compact(&mut |it| if it.payload == secret { Keep::No } else { Keep::Yes }).expect("room");
    for file in std::fs::read_dir(dir.path()).expect("readable") {
        let bytes = std::fs::read(file.expect("readable").path()).expect("readable");
        assert!(!bytes.windows(secret.len()).any(|it| it == secret));
    }
    assert_eq!(entries(&log).len(), 10);
}

#[test]
fn iterators_and_appends_go_on_during_compaction() {
    let dir = crate::folder();
    let log = open(dir.path());
    fill(&log, 300);
    let mut slow = log.entries_after(0);
    assert_eq!(slow.next().expect("one").expect("readable").sequence, 1);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                fill(&log, 1);
            }
        });
        let reader = scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let mut last = 0;
                for entry in log.entries_after(0) {
                    let entry = entry.expect("readable");
                    assert!(entry.sequence > last);
                    last = entry.sequence;
                    let text = String::from_utf8(entry.payload).expect("as appended");
                    assert!(text.ends_with(&format!(" {last}")), "{last}: {text}");
                }
                assert!(last >= 300 || last == 0 || last % 3 == 0);
            }
        });
        for round in 2..6 {
            let keep = |number: u64| number.is_multiple_of(3) || !number.is_multiple_of(round);
            log.compact(&mut |it| if keep(it.sequence) { Keep::Yes } else { Keep::No })
                .expect("there is room");
        }
        done.store(true, Ordering::Relaxed);
        writer.join().expect("the writer does not panic");
        reader.join().expect("the reader does not panic");
    });
    let last = log.last_sequence();
    let seen: Vec<u64> = slow.map(|slow| slow.expect("readable").sequence).collect();
    assert!(seen.is_sorted() && seen.last() == Some(&last));
    assert!((1..=last / 3).all(|it| seen.binary_search(&(it * 3)).is_ok()), "none kept is missed");
    drop(log);
    assert_eq!(open(dir.path()).last_sequence(), last);
}

#[test]
fn retention_drops_whole_old_segments_and_remembers_it() {
    let dir = crate::folder();
    let log = open(dir.path());
    assert_eq!(log.truncate_before(50).expect("nothing to drop"), 1);
    fill(&log, 150);
    let first = log.truncate_before(100).expect("writable");
    assert!((60..=100).contains(&first), "{first}");
    assert_eq!(log.first_sequence(), first);
    assert_eq!(log.read(first - 1).expect("readable"), None);
    assert_eq!(log.read(first).expect("readable").map(|it| it.sequence), Some(first));
    assert_eq!(entries(&log)[0].sequence, first);
    let end = log.truncate_before(u64::MAX).expect("writable");
    assert!(end <= 150, "the last segment stays");
    drop(log);
    let log = open(dir.path());
    assert_eq!((log.first_sequence(), log.last_sequence()), (end, 150));
    assert_eq!(Log::verify(dir.path(), &small()).expect("readable").first_sequence, end);
    let (kept, options) = (entries(&log), small());
    drop(log);
    // The first segment that retention left is not one that may be missing.
    std::fs::remove_file(dir.path().join(format!("{end:020}.log"))).expect("it is there");
    let error = Log::open(dir.path(), &options).expect_err("a segment is missing");
    assert_eq!(error.kind(), waypost_log::ErrorKind::Damaged);
    assert!(!kept.is_empty());
}
