use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use waypost_events::{Error, ErrorKind, Query, Tail};

use crate::world::{NOW, after, at, draft, folder, ids, open, page, pattern, publish};

#[test]
fn without_a_cursor_the_newest_come_and_with_one_the_next() {
    let dir = folder();
    let bus = open(dir.path());
    assert_eq!(page(&bus, &Query::default()).next_after, 0);
    for _ in 0..25 {
        publish(&bus, "a:b");
    }
    let newest = page(&bus, &Query::default().with_limit(10));
    assert_eq!(ids(&newest), (16..=25).collect::<Vec<_>>());
    assert_eq!((newest.next_after, newest.first, newest.last), (25, 1, 25));
    let next = page(&bus, &after(3, 4));
    assert_eq!((ids(&next), next.next_after), (vec![4, 5, 6, 7], 7));
    let rest = page(&bus, &after(7, 1000));
    assert_eq!((rest.events.len(), rest.next_after), (18, 25));
    assert!(page(&bus, &after(25, 10)).events.is_empty());
    let before = page(&bus, &Query::default().with_before(10).with_limit(3));
    assert_eq!((ids(&before), before.next_after), (vec![7, 8, 9], 9));
    let between = page(&bus, &after(3, 10).with_before(6));
    assert_eq!((ids(&between), between.next_after), (vec![4, 5], 5));
    let none = page(&bus, &after(8, 10).with_before(3));
    assert_eq!((ids(&none), none.next_after), (vec![], 8));
}

#[test]
fn a_pattern_selects_and_its_cursor_passes_what_it_does_not() {
    let dir = folder();
    let bus = open(dir.path());
    for at in 1..=100 {
        publish(&bus, if at % 10 == 0 { "rare:x" } else { "often:x" });
    }
    assert_eq!(ids(&page(&bus, &pattern("rare:*"))).len(), 10);
    let next = page(&bus, &pattern("rare:x").with_after(55).with_limit(2));
    assert_eq!((ids(&next), next.next_after), (vec![60, 70], 70));
    let none = page(&bus, &pattern("none:*").with_after(55));
    assert_eq!((ids(&none), none.next_after), (vec![], 100));
    assert_eq!(ids(&page(&bus, &pattern("*").with_limit(2))), [99, 100]);
    assert_eq!(ids(&page(&bus, &pattern("r*").with_limit(2))), [90, 100]);
}

#[test]
fn since_is_by_time_also_when_the_clock_went_back() {
    let dir = folder();
    let bus = open(dir.path());
    for time in [100, 200, 300, 50, 250] {
        bus.publish(draft("a:b"), at(time)).unwrap();
    }
    let since = |since| Query::default().with_since(since);
    assert_eq!(ids(&page(&bus, &since(at(200)))), [2, 3, 5]);
    assert_eq!(ids(&page(&bus, &since(at(200)).with_limit(1))), [5]);
    assert_eq!(ids(&page(&bus, &since(at(200)).with_after(0).with_limit(1))), [2]);
    assert_eq!(ids(&page(&bus, &since(at(300)).with_pattern("a:*".parse().unwrap()))), [3]);
    assert!(page(&bus, &since(at(301))).events.is_empty());
}

#[test]
fn limits_and_cursors_out_of_range_are_refused() {
    let dir = folder();
    let bus = open(dir.path());
    publish(&bus, "a:b");
    for bad in [after(0, 0), after(0, 1001), after(2, 10), after(u64::MAX, 10)] {
        let error = bus.read(&bad).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert_eq!(ids(&page(&bus, &after(0, 1000))), [1]);
    assert_eq!(ids(&page(&bus, &after(0, 1).with_before(u64::MAX))), [1]);
    assert!(page(&bus, &Query::default().with_before(0)).events.is_empty());
}

#[test]
fn a_tail_gives_each_event_once() {
    let dir = folder();
    let bus = Arc::new(open(dir.path()));
    let rare = "rare:*".parse().unwrap();
    let mut tail = Tail::new(Arc::clone(&bus), Some(rare), bus.last());
    assert!(tail.next_batch(10).unwrap().events.is_empty());
    for at in 1..=30 {
        publish(&bus, if at % 10 == 0 { "rare:x" } else { "often:x" });
    }
    let batch = tail.next_batch(2).unwrap();
    assert_eq!(batch.events.iter().map(|it| it.id).collect::<Vec<_>>(), [10, 20]);
    assert_eq!((batch.examined, tail.cursor()), (20, 20));
    let batch = tail.next_batch(2).unwrap();
    assert_eq!((batch.events.len(), batch.examined), (1, 30));
    assert!(tail.next_batch(0).is_err());
    tail.skip_to(15);
    assert_eq!(tail.next_batch(100_000).unwrap().events.len(), 2);
}

#[test]
fn who_waits_is_woken_and_who_listens_is_told() {
    let dir = folder();
    let bus = Arc::new(open(dir.path()));
    assert_eq!(bus.wait_beyond(0, Duration::ZERO), 0);
    let (tell, told) = std::sync::mpsc::channel();
    let listening = Arc::clone(&bus);
    let subscription = bus.subscribe(Box::new(move |last| {
        assert!(listening.get(last).unwrap().is_some(), "it is visible");
        tell.send(last).unwrap();
    }));
    let waiting = Arc::clone(&bus);
    let waiter = std::thread::spawn(move || waiting.wait_beyond(0, Duration::from_secs(60)));
    publish(&bus, "a:b");
    assert_eq!(waiter.join().unwrap(), 1);
    assert_eq!(told.recv_timeout(Duration::from_secs(60)), Ok(1));
    drop(subscription);
    publish(&bus, "a:b");
    let after = told.recv_timeout(Duration::from_secs(60));
    assert_eq!(after, Err(RecvTimeoutError::Disconnected), "the listener is gone");
    assert_eq!(bus.wait_beyond(1, Duration::ZERO), 2);
}

#[test]
fn an_older_cursor_than_what_is_kept_is_gone() {
    let dir = folder();
    let mut options = crate::world::options();
    options.retention.events = Some(5);
    let (bus, _) = waypost_events::Bus::open(dir.path(), &options).unwrap();
    for _ in 0..20 {
        publish(&bus, "a:b");
    }
    assert_eq!(bus.retain(NOW).unwrap(), 16);
    assert!(matches!(bus.read(&after(14, 10)), Err(Error::Gone { first: 16 })));
    assert_eq!(ids(&page(&bus, &after(15, 10))), (16..=20).collect::<Vec<_>>());
}
