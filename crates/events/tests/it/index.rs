//! The index on disk: what it answers, and what happens when it is gone, behind or wrong.

use std::path::Path;

use waypost_events::{Bus, ErrorKind, Opened, Pattern, Query, Retention};
use waypost_projection::{Options as TreeOptions, Tree, boot_id};

use crate::child::end_of;
use crate::world::{NOW, at, copy_folder, draft, folder, ids, keyed, options, page, publish};

/// Two finished blocks of 65,536 events, and a part of the third.
const COUNT: u64 = 2 * 65_536 + 10_000;

fn kind(id: u64) -> String {
    match id {
        _ if id % 30_000 == 7 => "rare:x".to_owned(),
        _ if id % 30_000 == 8 => format!("rare:y{}", id / 30_000),
        _ if id > 65_536 && id <= 2 * 65_536 && id.is_multiple_of(2) => format!("many:k{id}"),
        _ => format!("often:k{}", id % 5),
    }
}

fn fill(bus: &Bus, to: u64) {
    while bus.last() < to {
        let next = bus.last() + 1;
        let drafts = (next..=to.min(next + 4_999)).map(|id| draft(&kind(id))).collect();
        let time = at(bus.last() / 5_000);
        assert!(bus.publish_batch(drafts, time).expect("it works").iter().all(Result::is_ok));
    }
}

/// A filled bus that was closed.
fn filled() -> tempfile::TempDir {
    let dir = folder();
    let bus = Bus::open(dir.path(), &wide()).expect("it works").0;
    fill(&bus, COUNT);
    bus.close().expect("it works");
    dir
}

fn wide() -> waypost_events::Options {
    options().with_segment_bytes(1 << 20)
}

fn open(dir: &Path) -> (Bus, Opened) {
    Bus::open(dir, &wide()).expect("it works")
}

/// Asks for many patterns in many places, and compares with what was published.
fn check_patterns(bus: &Bus) {
    for text in
        ["rare:*", "rare:x", "rare:y3", "r*", "many:k65538", "many:k13*", "often:k4", "none:*"]
    {
        check_pattern(bus, text);
    }
}

fn check_pattern(bus: &Bus, text: &str) {
    let pattern: Pattern = text.parse().expect("it works");
    let all: Vec<u64> = (bus.first()..=bus.last())
        .filter(|id| pattern.matches(&kind(*id).parse().expect("it works")))
        .collect();
    let query = Query::default().with_pattern(pattern).with_limit(20);
    let newest: Vec<u64> = all.iter().rev().take(20).rev().copied().collect();
    assert_eq!(ids(&page(bus, &query)), newest, "{text}");
    for after in [bus.first() - 1, 65_500, 65_536, 100_000, 131_072, bus.last() - 1] {
        if after + 1 < bus.first() || after > bus.last() {
            continue;
        }
        let next: Vec<u64> = all.iter().filter(|item| **item > after).take(20).copied().collect();
        let query = query.clone().with_after(after);
        assert_eq!(ids(&page(bus, &query)), next, "{text} after {after}");
        let earlier = &all[..all.partition_point(|item| *item < after)];
        let before = &earlier[earlier.len().saturating_sub(20)..];
        let mut query = query.with_before(after);
        query.after = None;
        assert_eq!(ids(&page(bus, &query)), before, "{text} before {after}");
    }
}

/// Asks by time as well.
fn check(bus: &Bus) {
    check_patterns(bus);
    let since = Query::default().with_since(at(25)).with_limit(1).with_after(bus.first() - 1);
    assert_eq!(ids(&page(bus, &since)), [25 * 5_000 + 1]);
}

#[test]
fn finished_blocks_are_on_disk_and_the_rest_is_read_again() {
    let dir = filled();
    let (bus, opened) = open(dir.path());
    assert_eq!((opened.events, opened.replayed, opened.index_rebuilt), (COUNT, 10_000, None));
    assert_eq!(bus.status().indexed, 2 * 65_536);
    check(&bus);
    check(&bus);
    let status = bus.status();
    let often: u64 =
        status.kinds.iter().filter(|kind| kind.0.starts_with("often:")).map(|kind| kind.1).sum();
    assert_eq!(often, (1..=COUNT).filter(|it| kind(*it).starts_with("often:")).count() as u64);
    assert_eq!(status.kinds.iter().map(|it| it.1).sum::<u64>() + status.other_kinds, COUNT);
}

#[test]
fn what_was_just_published_answers_the_same() {
    let dir = folder();
    let bus = open(dir.path()).0;
    fill(&bus, COUNT);
    assert_eq!(bus.status().indexed, 2 * 65_536);
    check(&bus);
}

#[test]
fn a_missing_index_is_rebuilt() {
    let dir = filled();
    std::fs::remove_dir_all(dir.path().join("state")).unwrap();
    let (bus, opened) = open(dir.path());
    assert_eq!(opened.index_rebuilt.as_deref(), Some("missing"));
    assert_eq!(opened.replayed, COUNT);
    check(&bus);
    drop(bus);
    assert_eq!(open(dir.path()).1.index_rebuilt, None);
}

#[test]
fn an_index_with_flipped_bits_is_detected_or_harmless() {
    let whole = filled();
    for at in [40, 5_000, 100_000, 400_000] {
        let dir = folder();
        copy_folder(whole.path(), dir.path());
        let path = dir.path().join("state").join("db");
        let mut bytes = std::fs::read(&path).unwrap();
        for byte in bytes.iter_mut().skip(at).step_by(7).take(64) {
            *byte ^= 0x10;
        }
        std::fs::write(&path, bytes).unwrap();
        let (bus, _) = open(dir.path());
        check(&bus);
        drop(bus);
        check(&open(dir.path()).0);
    }
}

#[test]
fn a_missing_row_is_detected_and_read_from_the_log() {
    let dir = filled();
    let state = dir.path().join("state");
    let tree_options = TreeOptions::new(1).with_cache_bytes(8 << 20);
    let tree = Tree::open(&state, &tree_options, &boot_id()).unwrap().unwrap();
    let key = [b"b", &0_u64.to_be_bytes()[..], b"rare:x", &[0, 0]].concat();
    assert!(tree.get(&key).unwrap().is_some());
    tree.write(vec![(key, None)]).unwrap();
    tree.close().unwrap();
    drop(tree);
    let (bus, opened) = open(dir.path());
    assert_eq!(opened.index_rebuilt, None);
    // Every answer is read from the log, which is slow: these match in the block of the row.
    for text in ["rare:x", "r*", "often:k4"] {
        check_pattern(&bus, text);
    }
    drop(bus);
    let (bus, opened) = open(dir.path());
    assert!(opened.index_rebuilt.is_some_and(|it| it.contains("rebuilt")));
    check(&bus);
}

#[test]
fn an_index_ahead_of_its_log_shows_that_the_log_is_damaged() {
    let dir = filled();
    std::fs::remove_dir_all(dir.path().join("log")).unwrap();
    let error = Bus::open(dir.path(), &wide()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Damaged);
    waypost_events::repair(dir.path(), 0).unwrap();
    let (bus, opened) = open(dir.path());
    assert_eq!(opened.index_rebuilt.as_deref(), Some("missing"));
    assert!(publish(&bus, "a:b").id > COUNT);
}

#[test]
fn retention_goes_through_finished_blocks() {
    let dir = filled();
    let retention = Retention::default().with_events(COUNT - 70_000);
    let retaining = wide().with_retention(retention);
    let (bus, _) = Bus::open(dir.path(), &retaining).unwrap();
    assert_eq!(bus.retain(NOW).unwrap(), 70_001);
    check(&bus);
    drop(bus);
    let (bus, opened) = Bus::open(dir.path(), &retaining).unwrap();
    assert_eq!((opened.index_rebuilt, opened.replayed), (None, 10_000));
    assert_eq!(bus.first(), 70_001);
    check(&bus);
    fill(&bus, COUNT + 140_000);
    assert_eq!(bus.retain(NOW).unwrap(), 210_001);
    assert!(bus.compact().unwrap().removed > 0);
    drop(bus);
    let (bus, opened) = Bus::open(dir.path(), &retaining).unwrap();
    assert_eq!((opened.index_rebuilt, bus.first()), (None, 210_001));
    assert_eq!(ids(&page(&bus, &Query::default().with_limit(1))), [COUNT + 140_000]);
}

#[test]
fn keys_outlive_their_events_also_when_opened_again() {
    let dir = folder();
    let retention = Retention::default().with_events(10);
    let retaining = options().with_retention(retention);
    let (bus, _) = Bus::open(dir.path(), &retaining).unwrap();
    let used = bus.publish(keyed("a:b", "mine"), NOW).unwrap().event;
    fill(&bus, 3_000);
    bus.retain(NOW).unwrap();
    assert_eq!(bus.get(used.id).unwrap(), None);
    drop(bus);
    let (bus, _) = Bus::open(dir.path(), &retaining).unwrap();
    let again = bus.publish(keyed("a:b", "mine"), at(1)).unwrap();
    assert_eq!((again.event, again.duplicate), (used, true));
    assert_eq!(bus.status().keys, 1);
    bus.retain(NOW.saturating_add(2 * waypost_events::KEY_WINDOW)).unwrap();
    assert_eq!(bus.status().keys, 1, "fewer than 100,000 events came after it");
}

#[test]
fn damage_that_opening_did_not_look_at_is_told_by_whoever_finds_it() {
    let dir = filled();
    let path = dir.path().join("log").join(format!("{:020}.log", 1));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[5_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let (bus, opened) = open(dir.path());
    assert_eq!((opened.events, opened.index_rebuilt), (COUNT, None));
    let newest = Query::default().with_limit(3);
    assert_eq!(ids(&page(&bus, &newest)), [COUNT - 2, COUNT - 1, COUNT]);
    let damaged = ErrorKind::Damaged;
    assert_eq!(bus.get(2).unwrap_err().kind(), damaged);
    let oldest = Query::default().with_after(0);
    assert_eq!(bus.read(&oldest).unwrap_err().kind(), damaged);
    assert_eq!(bus.retain(NOW).unwrap_err().kind(), damaged, "the background finds it, too");
    assert!(publish(&bus, "a:b").id > COUNT);
}

/// The child's part of the test below: publishes until it is killed, and says what was answered.
#[test]
fn child_that_fills() {
    let Some(dir) = std::env::var_os("WAYPOST_EVENTS_FILLING_CHILD") else { return };
    let bus = open(dir.as_ref()).0;
    while bus.last() < 20 * 65_536 {
        fill(&bus, bus.last() + 3_000);
        println!("answered {}", bus.last());
    }
}

#[test]
fn kills_while_blocks_are_finished_leave_a_correct_index() {
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};

    let dir = folder();
    let mut answered = 0;
    for round in 1..=4 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["index::child_that_fills", "--exact", "--nocapture"])
            .env("WAYPOST_EVENTS_FILLING_CHILD", dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            if let Some((_, last)) = line.unwrap().split_once("answered ") {
                answered = last.parse().unwrap();
            }
            // Once while the first row is written, once some time after, twice in the middle.
            if answered >= round * 65_536 + [0, 9_000, 30_000, 0][round as usize - 1] {
                child.kill().unwrap();
            }
        }
        end_of(&mut child);
        let (bus, opened) = open(dir.path());
        assert!(bus.last() >= answered && answered > round * 65_536);
        assert_eq!(opened.index_rebuilt, None, "a kill alone does no harm");
        assert!(opened.replayed < 2 * 65_536 + 3_000, "{opened:?}");
        check_patterns(&bus);
    }
}
