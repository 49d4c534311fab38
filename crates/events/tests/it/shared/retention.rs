//! Retention: one replica decides, and all of them drop the same.

use std::time::Duration;

use proptest::prelude::*;
use waypost_events::{Bus, Draft, Error, Retention, RetentionPoint};
use waypost_log::{Log, Record, SharedJournal};

use super::{Cluster, numbered};
use crate::hub::Fault;
use crate::world::{NOW, all, at, copy_folder, draft, folder, ids, keyed, options, page, publish};

fn keeping(events: u64) -> waypost_events::Options {
    let options = options().with_segment_bytes(4 << 10);
    options.with_retention(Retention::default().with_events(events))
}

fn with_own_key(number: u64) -> Draft {
    numbered(number).with_key(format!("k{number}").parse().expect("a key"))
}

fn fill(cluster: &Cluster, count: u64) {
    for number in 0..count {
        let bus = cluster.bus(number as usize % cluster.replicas.len());
        bus.publish(with_own_key(number), at(number)).expect("published");
    }
}

fn apply_everywhere(cluster: &Cluster, point: &RetentionPoint) {
    let point = RetentionPoint::decode(&point.encode()).expect("a point");
    for replica in &cluster.replicas {
        replica.bus().apply_retention(&point).expect("applied");
    }
}

/// Whether the replica knows the key of the event that [`fill`] published with this number.
fn knows(bus: &Bus, number: u64) -> bool {
    let published = bus.publish(with_own_key(number), at(number)).expect("published");
    assert!(!published.duplicate || published.event.id == number + 1);
    published.duplicate
}

#[test]
fn one_replica_decides_and_all_drop_the_same() {
    let cluster = Cluster::with(2, 256, 100, &keeping(20));
    fill(&cluster, 100);
    let (here, there) = (cluster.bus(0), cluster.bus(1));
    there.follow().unwrap();
    assert_eq!(there.retain(NOW).unwrap(), 1, "it decides nothing on its own");
    here.follow().unwrap();
    let point = here.decide_retention(NOW).unwrap().expect("80 events are too many");
    assert_eq!(point, RetentionPoint { first: 81, keys_from: 1, last: 100 });
    assert_eq!(here.first(), 1, "nothing is dropped yet");
    apply_everywhere(&cluster, &point);
    assert_eq!(here.decide_retention(NOW).unwrap(), None);
    for bus in [here, there] {
        assert_eq!((bus.first(), all(bus).len()), (81, 20));
        assert!(bus.get(80).unwrap().is_none());
        assert_eq!(bus.retain(NOW).unwrap(), 81);
    }
    let older = RetentionPoint { first: 5, keys_from: 1, last: 100 };
    apply_everywhere(&cluster, &older);
    assert_eq!(cluster.settle().len(), 20);

    // The next one drops and forgets more.
    let next = RetentionPoint { first: 91, keys_from: 50, last: 100 };
    apply_everywhere(&cluster, &next);
    assert_eq!(cluster.settle().len(), 10);
    assert!(knows(there, 49) && knows(here, 60) && knows(there, 99));
    assert!(!knows(here, 48), "the key is free");
    assert!(!knows(there, 0));
    let again = there.publish(keyed("a:b", "k48").with_data(numbered(48).data), NOW).unwrap();
    assert_eq!((again.event.id, again.duplicate), (101, true), "it belongs to the later event");
    cluster.settle();
}

#[test]
fn keys_of_dropped_events_outlive_the_index_and_reach_a_machine_that_joins() {
    let mut cluster = Cluster::with(2, 256, 100, &keeping(20));
    fill(&cluster, 100);
    cluster.settle();
    apply_everywhere(&cluster, &RetentionPoint { first: 91, keys_from: 30, last: 100 });
    let expected = cluster.settle();
    for number in [0, 1] {
        let replica = &mut cluster.replicas[number];
        replica.bus().retain(NOW).unwrap();
        replica.bus().compact().unwrap();
        replica.rebuild();
        assert_eq!((replica.bus().first(), replica.bus().status().keys), (91, 71));
    }
    assert_eq!(cluster.settle(), expected);
    assert!(knows(cluster.bus(0), 29) && knows(cluster.bus(1), 29));

    let snapshot = cluster.bus(0).snapshot().unwrap();
    let joined = &mut cluster.replicas[1];
    joined.close();
    joined.dir = folder();
    for file in snapshot.files() {
        let path = joined.dir.path().join(file.name());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut out = std::fs::File::create(path).unwrap();
        std::io::copy(&mut file.reader(), &mut out).unwrap();
    }
    joined.open();
    assert_eq!(cluster.settle(), expected);
    assert!(!knows(cluster.bus(1), 28) && knows(cluster.bus(1), 29));
}

#[test]
fn files_go_when_events_are_dropped_and_their_keys_are_forgotten() {
    let cluster = Cluster::with(1, 256, 100, &keeping(20));
    fill(&cluster, 300);
    let bus = cluster.bus(0);
    let before = bus.status().segments;
    let point = bus.decide_retention(NOW).unwrap().unwrap();
    bus.apply_retention(&point).unwrap();
    bus.retain(NOW).unwrap();
    assert_eq!(bus.status().segments, before, "the keys are known");
    assert_eq!(bus.compact().unwrap().removed, 0);
    publish(bus, "a:b");
    bus.apply_retention(&RetentionPoint { first: 290, keys_from: 200, last: 301 }).unwrap();
    bus.retain(NOW).unwrap();
    assert!(bus.status().segments < before);
    assert!(bus.compact().unwrap().removed > 0);
    bus.apply_retention(&RetentionPoint { first: 302, keys_from: 302, last: 301 }).unwrap();
    bus.retain(NOW).unwrap();
    bus.compact().unwrap();
    assert_eq!((bus.status().events, bus.status().keys), (0, 0));
    assert_eq!(bus.compact().unwrap().bytes_after, bus.bytes());
    assert_eq!(publish(bus, "a:b").id, 302);
}

#[test]
fn a_point_waits_for_the_events_that_it_drops() {
    let mut cluster = Cluster::with(2, 256, 10, &keeping(20));
    for number in 0..50 {
        cluster.bus(0).publish(numbered(number), NOW).unwrap();
    }
    let point = cluster.bus(0).decide_retention(NOW).unwrap().unwrap();
    cluster.replicas[1].member.set_fault(Some(Fault::Unreachable));
    let there = cluster.bus(1);
    assert!(matches!(there.apply_retention(&point), Err(Error::SharedJournal(_))));
    assert_eq!(there.first(), 1);
    cluster.replicas[1].member.set_fault(None);
    let later = RetentionPoint { last: 60, ..point };
    let early = there.apply_retention(&later).unwrap_err().to_string();
    assert!(early.contains("events up to 60") && early.contains("up to 50"), "{early}");
    let impossible = RetentionPoint { first: 52, ..point };
    assert!(matches!(there.apply_retention(&impossible), Err(Error::Invalid { .. })));
    there.apply_retention(&point).unwrap();
    assert_eq!((there.first(), there.last(), there.reached()), (31, 50, 50));
    // What a power cut leaves: the file that says what is dropped, and the log that was synced.
    let left = folder();
    copy_folder(cluster.replicas[1].dir.path(), left.path());
    let replica = &mut cluster.replicas[1];
    replica.close();
    replica.dir = left;
    replica.open();
    assert_eq!(replica.bus().first(), 31);
    cluster.bus(0).apply_retention(&point).unwrap();
    cluster.settle();
}

#[test]
fn a_bus_that_becomes_a_replica_forgets_the_keys_of_dropped_events() {
    let dir = folder();
    let keep = keeping(10);
    let (bus, _) = Bus::open(dir.path(), &keep).unwrap();
    for number in 0..40 {
        bus.publish(with_own_key(number), NOW).unwrap();
    }
    assert_eq!(bus.retain(NOW).unwrap(), 31);
    let refused = bus.apply_retention(&RetentionPoint { first: 35, keys_from: 1, last: 40 });
    assert!(matches!(refused, Err(Error::Invalid { .. })), "it is no replica");
    assert!(bus.publish(with_own_key(0), NOW).unwrap().duplicate);
    drop(bus);

    // Whoever makes the shared journal of it puts its records there.
    let mut cluster = Cluster::with(2, 256, 100, &keep);
    let other = folder();
    copy_folder(&dir.path().join("log"), other.path());
    let (log, _) = Log::open(other.path(), &waypost_log::Options::default()).unwrap();
    for number in 1..=40 {
        // What the log no longer has keeps its number.
        let entry = log.read(number).unwrap();
        let payload = entry.as_ref().map_or(&b""[..], |entry| &entry.payload);
        let record = Record { kind: 1, version: 1, payload };
        cluster.hub.member(9).append(number - 1, &[record]).unwrap();
    }
    for replica in &mut cluster.replicas {
        replica.close();
        replica.dir = folder();
        copy_folder(dir.path(), replica.dir.path());
    }
    // One has the index and the other, which joined, has not.
    std::fs::remove_dir_all(cluster.replicas[1].dir.path().join("state")).unwrap();
    cluster.replicas.iter_mut().for_each(super::Replica::open);
    cluster.settle();
    assert!(knows(cluster.bus(0), 30) && knows(cluster.bus(1), 30));
    assert!(!knows(cluster.bus(0), 29) && !knows(cluster.bus(1), 0));
    cluster.settle();
}

#[test]
fn age_is_decided_by_the_clock_of_one_replica() {
    let mut cluster = Cluster::new(2, 256, 100);
    let minute = Duration::from_secs(60);
    cluster.replicas[0].options.retention = Retention::default().with_age(minute);
    cluster.replicas[0].reopen();
    cluster.bus(0).publish(draft("a:b"), NOW).unwrap();
    cluster.bus(1).publish(draft("a:c"), at(30_000)).unwrap();
    cluster.bus(0).follow().unwrap();
    assert_eq!(cluster.bus(0).decide_retention(at(59_000)).unwrap(), None);
    let point = cluster.bus(0).decide_retention(at(61_000)).unwrap().unwrap();
    assert_eq!(point.first, 2);
    assert_eq!(cluster.bus(1).decide_retention(at(61_000)).unwrap(), None, "it keeps everything");
    apply_everywhere(&cluster, &point);
    assert_eq!(cluster.settle().len(), 1);
    assert_eq!(ids(&page(cluster.bus(1), &waypost_events::Query::default())), [2]);
    cluster.replicas[1].reopen();
    assert_eq!(cluster.bus(1).first(), 2);
}

proptest! {
    #[test]
    fn a_point_has_one_encoding(first: u64, keys_from: u64, last: u64) {
        let point = RetentionPoint { first, keys_from, last };
        let bytes = point.encode();
        match RetentionPoint::decode(&bytes) {
            Ok(decoded) => prop_assert_eq!(decoded, point),
            Err(_) => prop_assert!(first == 0 || keys_from == 0 || first.max(keys_from) > last),
        }
        prop_assert!(RetentionPoint::decode(&bytes[..bytes.len() - 1]).is_err());
        prop_assert!(RetentionPoint::decode(&[&bytes[..], &[0]].concat()).is_err());
    }

    #[test]
    fn bytes_that_are_no_point_are_refused(bytes: Vec<u8>) {
        if let Ok(point) = RetentionPoint::decode(&bytes) {
            prop_assert_eq!(point.encode(), bytes);
        }
    }
}

#[test]
fn a_point_of_a_newer_release_says_so() {
    let refused = RetentionPoint::decode(&[2, 1, 1, 1]).unwrap_err();
    assert!(refused.is_newer(), "{refused}");
    assert!(!RetentionPoint::decode(&[1, 9, 1, 1]).unwrap_err().is_newer());
}
