use std::time::Duration;

use waypost_events::{Bus, Options, Query, Retention, Timestamp};

use crate::world::{
    NOW, all, at, data, draft, folder, ids, keyed, options, page, pattern, publish,
};

fn keeping(retention: Retention) -> Options {
    options().with_retention(retention)
}

#[test]
fn nothing_goes_when_no_limit_is_set() {
    let dir = folder();
    let (bus, _) = Bus::open(dir.path(), &options()).unwrap();
    publish(&bus, "a:b");
    assert_eq!(bus.retain(Timestamp::MAX).unwrap(), 1);
    assert_eq!(all(&bus).len(), 1);
}

#[test]
fn the_newest_stay_and_stay_gone_after_opening_again() {
    let dir = folder();
    let keep = keeping(Retention::default().with_events(10));
    let (bus, _) = Bus::open(dir.path(), &keep).unwrap();
    for at in 0..30 {
        publish(&bus, if at % 2 == 0 { "even:x" } else { "odd:x" });
    }
    assert_eq!(bus.retain(NOW).unwrap(), 21);
    let look = |bus: &Bus| {
        assert_eq!((bus.first(), bus.last()), (21, 30));
        assert_eq!(ids(&page(bus, &Query::default().with_limit(1000))).len(), 10);
        assert_eq!(ids(&page(bus, &pattern("odd:*"))), [22, 24, 26, 28, 30]);
        assert_eq!(bus.get(20).unwrap(), None);
        let status = bus.status();
        assert_eq!((status.events, status.first, status.last), (10, 21, 30));
    };
    look(&bus);
    drop(bus);
    let (bus, opened) = Bus::open(dir.path(), &options()).unwrap();
    assert_eq!(opened.events, 10);
    look(&bus);
    assert_eq!(publish(&bus, "a:b").id, 31);
}

#[test]
fn replaced_data_is_in_no_file_and_everything_else_stays() {
    let dir = folder();
    let secret = |number: u64| {
        let mut draft = keyed("a:b", &format!("key-{number}")).with_space("team");
        draft.data = data(&format!(r#"{{"number":{number},"title":"secret {number}"}}"#));
        draft
    };
    let (bus, _) = Bus::open(dir.path(), &options()).unwrap();
    for number in 1..=2_000 {
        bus.publish(secret(number), at(number)).unwrap();
    }
    let before = all(&bus);
    let erased = |id: u64| data(&format!(r#"{{"number":{id},"erased":"true"}}"#));
    let replaced = [1, 700, 2_000, 2_001].map(|id| (id, erased(id))).into();
    assert_eq!(bus.replace_data(&replaced).unwrap(), 3);
    let mut expected = before;
    for id in [1, 700, 2_000] {
        expected[id as usize - 1].data = erased(id);
    }
    let look = |bus: &Bus| {
        assert_eq!(all(bus), expected);
        // The key belongs to what was published.
        assert_eq!(bus.publish(secret(700), NOW).unwrap().event.id, 700);
        assert_eq!((bus.first(), bus.last()), (1, 2_000));
    };
    look(&bus);
    drop(bus);
    let (bus, opened) = Bus::open(dir.path(), &options()).unwrap();
    assert_eq!(opened.index_rebuilt, None);
    look(&bus);
    let mut folders = vec![dir.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let has =
                |text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
            assert!(!has("secret 700") && !has("secret 2000"), "{}", path.display());
        }
    }
    assert_eq!(publish(&bus, "a:b").id, 2_001);
}

#[test]
fn old_ones_go_up_to_the_first_that_is_not() {
    let dir = folder();
    let keep = keeping(Retention::default().with_age(Duration::from_secs(1)));
    let (bus, _) = Bus::open(dir.path(), &keep).unwrap();
    for number in 0..5_000_u64 {
        // The clock goes back once: those behind the first young one stay.
        let time = if number == 4_500 { 0 } else { number };
        bus.publish(draft("a:b"), at(time)).unwrap();
    }
    assert_eq!(bus.retain(at(1000)).unwrap(), 1);
    assert_eq!(bus.retain(at(5_400)).unwrap(), 4_401);
    assert_eq!(all(&bus).len(), 600);
    assert_eq!(bus.retain(at(60_000)).unwrap(), 5_001);
    assert_eq!((bus.first(), bus.last()), (5_001, 5_000));
    assert!(all(&bus).is_empty());
    assert_eq!(publish(&bus, "a:b").id, 5_001);
    assert_eq!(ids(&page(&bus, &Query::default())), [5_001]);
}

#[test]
fn a_clock_that_skips_the_retention_time_is_not_believed_for_a_day() {
    let (hour, day) = (Duration::from_secs(60 * 60), Duration::from_secs(24 * 60 * 60));
    let dir = folder();
    let keep = keeping(Retention::default().with_age(30 * day));
    let open = || Bus::open(dir.path(), &keep).unwrap().0;
    let bus = open();
    for _ in 0..5 {
        publish(&bus, "a:b");
    }
    assert_eq!(bus.retain(NOW).unwrap(), 1);
    let skipped = NOW.saturating_add(3_650 * day);
    // As long as it is wrong, and after it was set right.
    for now in [skipped, skipped.saturating_add(23 * hour), NOW.saturating_add(hour)] {
        assert_eq!(bus.retain(now).unwrap(), 1);
    }
    // The first look after opening compares with the newest event.
    drop(bus);
    let bus = open();
    assert_eq!(bus.retain(skipped).unwrap(), 1);
    assert_eq!(bus.retain(skipped.saturating_add(day)).unwrap(), 6);
}

#[test]
fn bytes_go_by_whole_files() {
    let dir = folder();
    let keep = keeping(Retention::default().with_bytes(200 << 10));
    let (bus, _) = Bus::open(dir.path(), &keep).unwrap();
    let text = "x".repeat(1000);
    for _ in 0..600 {
        let mut it = draft("a:b");
        it.data = data(&format!(r#"{{"text":"{text}"}}"#));
        bus.publish(it, NOW).unwrap();
    }
    assert!(bus.status().bytes > 600 << 10);
    let first = bus.retain(NOW).unwrap();
    let status = bus.status();
    assert!(first > 300 && status.bytes <= 200 << 10, "{status:?}");
    assert!(status.bytes > 100 << 10, "no more went than had to: {status:?}");
    assert_eq!(all(&bus).len() as u64, 600 - first + 1);
}

#[test]
fn a_key_outlives_its_event_within_the_window() {
    let dir = folder();
    let keep = keeping(Retention::default().with_events(1));
    let (bus, _) = Bus::open(dir.path(), &keep).unwrap();
    let first = bus.publish(keyed("a:b", "k"), NOW).unwrap().event;
    publish(&bus, "a:c");
    assert_eq!(bus.retain(NOW).unwrap(), 2);
    let again = bus.publish(keyed("a:b", "k"), at(5)).unwrap();
    assert_eq!((again.event, again.duplicate), (first, true));
}

#[test]
fn compaction_takes_dropped_events_out_of_the_files() {
    let dir = folder();
    let keep = keeping(Retention::default().with_events(5));
    let (bus, _) = Bus::open(dir.path(), &keep).unwrap();
    let secret = |at: usize| {
        let mut it = draft("a:b");
        it.data = data(&format!(r#"{{"text":"secret-{at}-"}}"#));
        it
    };
    for at in 0..20 {
        bus.publish(secret(at), NOW).unwrap();
    }
    bus.retain(NOW).unwrap();
    let compacted = bus.compact().unwrap();
    assert_eq!(compacted.removed, 15);
    assert!(compacted.bytes_after < compacted.bytes_before);
    drop(bus);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir.path().join("log")).unwrap() {
        files.extend(std::fs::read(entry.unwrap().path()).unwrap());
    }
    let holds = |at: usize| {
        let text = format!("secret-{at}-");
        files.windows(text.len()).any(|window| window == text.as_bytes())
    };
    assert!((0..15).all(|it| !holds(it)) && (15..20).all(holds));
    let (bus, _) = Bus::open(dir.path(), &keep).unwrap();
    assert_eq!(all(&bus).len(), 5);
    assert_eq!(publish(&bus, "a:b").id, 21);
}
