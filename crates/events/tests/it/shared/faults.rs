//! What a replica does without the shared journal, with another one, and with a damaged copy.

use waypost_events::{Bus, Error, ErrorKind};
use waypost_log::{Record, SharedJournal};

use super::{Cluster, numbered};
use crate::hub::Fault;
use crate::world::{NOW, all, copy_folder, data, draft, folder, keyed, options, publish};

#[test]
fn a_replica_without_the_shared_journal_reads_and_refuses_to_publish() {
    let mut cluster = Cluster::new(2, 256, 3);
    for number in 0..20 {
        cluster.bus(0).publish(numbered(number), NOW).unwrap();
    }
    let known = cluster.bus(0).publish(keyed("a:b", "k"), NOW).unwrap().event;
    cluster.bus(1).follow().unwrap();
    publish(cluster.bus(0), "a:b");

    cluster.replicas[1].member.set_fault(Some(Fault::Unreachable));
    cluster.replicas[1].reopen();
    let bus = cluster.bus(1);
    assert_eq!(all(bus).len(), 21, "it opens with what it has");
    assert!(matches!(bus.follow(), Err(Error::SharedJournal(_))));
    let refused = bus.publish(draft("a:b"), NOW).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unavailable);
    assert_eq!(refused.to_string(), "the shared journal is unavailable: no connection");
    let duplicate = bus.publish(keyed("a:b", "k"), NOW).unwrap_err();
    assert_eq!(duplicate.kind(), ErrorKind::Unavailable, "others may have forgotten the key");
    let reused = bus.publish(keyed("b:b", "k"), NOW).unwrap_err();
    assert_eq!(reused.kind(), ErrorKind::Unavailable);
    let invalid = bus.publish(draft("a:b").with_source("x".repeat(300)), NOW).unwrap_err();
    assert_eq!(invalid.kind(), ErrorKind::Invalid);
    assert_eq!(bus.publish_batch(vec![], NOW).unwrap(), []);
    bus.write_queued();
    assert!(bus.fault().is_none(), "it may work again at any time");

    cluster.replicas[1].member.set_fault(None);
    assert_eq!(cluster.bus(1).publish(keyed("a:b", "k"), NOW).unwrap().event, known);
    assert_eq!(publish(cluster.bus(1), "a:b").id, 23);
    cluster.settle();
}

#[test]
fn a_publish_whose_answer_is_lost_is_applied_once() {
    for fault in [Fault::LostAnswer, Fault::LostAppend] {
        let cluster = Cluster::new(2, 256, 100);
        let bus = cluster.bus(0);
        publish(bus, "a:a");
        cluster.replicas[0].member.set_fault(Some(fault));
        let unknown = bus.publish(keyed("a:b", "k"), NOW).unwrap_err();
        assert!(unknown.to_string().contains("may have been written or not"), "{unknown}");
        assert_eq!(bus.last(), 1);
        let again = bus.publish(keyed("a:b", "k"), NOW).unwrap();
        assert_eq!((again.event.id, again.duplicate), (2, fault == Fault::LostAnswer));
        assert_eq!(cluster.settle().len(), 2);
    }
}

#[test]
fn a_shared_journal_that_is_shorter_or_has_gaps_stops_the_replica() {
    let mut cluster = Cluster::new(2, 256, 100);
    publish(cluster.bus(0), "a:a");
    publish(cluster.bus(0), "a:b");
    cluster.replicas[1].member.set_fault(Some(Fault::Gap));
    let gap = cluster.bus(1).follow().unwrap_err().to_string();
    assert!(gap.contains("has record 2 where 1 is expected"), "{gap}");
    cluster.replicas[1].member.set_fault(None);
    let bus = cluster.bus(1);
    assert_eq!(bus.publish(draft("a:b"), NOW).unwrap_err().kind(), ErrorKind::Unavailable);
    assert!(bus.follow().is_err(), "it stays so until it is opened again");
    assert!(bus.fault().is_some_and(|it| it.contains("where 1 is expected")));
    assert_eq!(bus.status().fault, bus.fault());
    assert_eq!(cluster.hub.last(), 2, "nothing was written");
    cluster.replicas[1].reopen();
    assert_eq!(publish(cluster.bus(1), "a:c").id, 3);

    // An older copy of the shared journal was restored.
    let other = Cluster::new(1, 256, 100);
    publish(other.bus(0), "a:a");
    let replica = &mut cluster.replicas[0];
    replica.close();
    let restored = options().with_shared_journal(other.replicas[0].member.clone());
    let (bus, _) = Bus::open(replica.dir.path(), &restored).unwrap();
    let shorter = bus.publish(draft("a:b"), NOW).unwrap_err().to_string();
    assert!(shorter.contains("it ends at record 1, not 2"), "{shorter}");
    assert!(bus.follow().is_err() && bus.fault().is_some());
    assert_eq!(all(&bus).len(), 2, "reads continue");
}

#[test]
fn a_log_with_another_last_event_is_no_replica() {
    let [mut one, other] = [(); 2].map(|()| Cluster::new(1, 256, 100));
    publish(one.bus(0), "a:b");
    publish(other.bus(0), "a:c");
    let replica = &mut one.replicas[0];
    replica.close();
    let options = options().with_shared_journal(other.replicas[0].member.clone());
    let (bus, _) = Bus::open(replica.dir.path(), &options).unwrap();
    let differs = bus.follow().unwrap_err().to_string();
    assert!(differs.contains("record 1 of this log is another one"), "{differs}");
    assert_eq!(bus.publish(draft("a:b"), NOW).unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(all(&bus).len(), 1);
}

#[test]
fn an_event_whose_data_was_replaced_on_this_machine_is_the_same_event() {
    let mut cluster = Cluster::new(2, 256, 100);
    let mut named = keyed("a:b", "k");
    named.data = data(r#"{"title":"secret"}"#);
    let id = cluster.bus(0).publish(named, NOW).unwrap().event.id;
    let erased = [(id, data(r#"{"erased":"true"}"#))].into();
    assert_eq!(cluster.bus(0).replace_data(&erased).unwrap(), 1);
    cluster.replicas[0].reopen();
    assert_eq!(publish(cluster.bus(0), "a:c").id, 2);
    cluster.bus(1).follow().unwrap();
    assert_ne!(cluster.bus(0).digest().unwrap(), cluster.bus(1).digest().unwrap());
    assert_eq!(cluster.bus(1).replace_data(&erased).unwrap(), 1);
    cluster.settle();
}

#[test]
fn a_copy_that_a_power_cut_has_shortened_is_completed() {
    let mut cluster = Cluster::new(2, 256, 4);
    let publish = |from: u64, cluster: &Cluster| {
        for number in from..from + 10 {
            let key = format!("k{number}").parse().unwrap();
            let draft = numbered(number).with_key(key);
            cluster.bus(number as usize % 2).publish(draft, NOW).unwrap();
        }
    };
    publish(0, &cluster);
    cluster.bus(1).follow().unwrap();
    assert_eq!(cluster.bus(1).reached(), 0, "nothing was synced");
    assert_eq!(cluster.bus(1).sync().unwrap(), 10);
    assert_eq!(cluster.bus(1).reached(), 10);
    let synced = folder();
    copy_folder(cluster.replicas[1].dir.path(), synced.path());
    publish(10, &cluster);
    cluster.bus(1).follow().unwrap();
    assert_eq!(cluster.bus(1).reached(), 10);
    let expected = cluster.settle();

    let replica = &mut cluster.replicas[1];
    replica.close();
    replica.dir = synced;
    replica.options.reached = 10;
    replica.open();
    assert_eq!(replica.bus().last(), 10);
    let again = replica.bus().publish(numbered(13).with_key("k13".parse().unwrap()), NOW).unwrap();
    assert_eq!((again.event, again.duplicate), (expected[13].clone(), true));
    assert_eq!(cluster.settle(), expected);
}

#[test]
fn the_index_on_disk_is_never_ahead_of_the_log() {
    let cluster = Cluster::new(2, 256, 100);
    for number in 0..10 {
        cluster.bus(0).publish(numbered(number), NOW).unwrap();
    }
    cluster.bus(1).follow().unwrap();
    for number in [0, 1] {
        assert_eq!(cluster.bus(number).reached(), 0);
        cluster.bus(number).retain(NOW).unwrap();
        assert_eq!(cluster.bus(number).reached(), 10, "the index knows of them");
    }
}

#[test]
fn what_the_own_log_fails_to_take_comes_from_the_shared_journal() {
    let mut cluster = Cluster::new(2, 256, 100);
    let replica = &mut cluster.replicas[0];
    replica.options.segment_bytes = 16 << 10;
    replica.reopen();
    publish(replica.bus(), "a:a");
    let long =
        || keyed("a:b", "k").with_data(data(&format!(r#"{{"x":"{}"}}"#, "x".repeat(20_000))));
    // The next segment of the log cannot be created.
    let log = replica.dir.path().join("log");
    let away = log.with_extension("away");
    let (from, to) = (log.clone(), away.clone());
    *replica.member.lose_folder.lock() =
        Some(Box::new(move || std::fs::rename(from, to).expect("it moves")));
    replica.member.set_fault(Some(Fault::LostFolder));
    let failed = replica.bus().publish(long(), NOW).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::Unavailable);
    assert!(failed.to_string().contains("failed to copy what it has appended"), "{failed}");
    let last = cluster.hub.last();
    let again = cluster.bus(0).publish(draft("a:c"), NOW).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::Unavailable, "{again}");
    assert!(cluster.bus(0).follow().is_err());
    assert_eq!(cluster.hub.last(), last, "nothing more is written that the replica cannot take");
    assert!(cluster.bus(0).fault().is_some());
    assert_eq!(all(cluster.bus(0)).len(), 1, "reads continue");

    cluster.replicas[0].close();
    std::fs::remove_dir_all(&log).ok();
    std::fs::rename(&away, &log).expect("it moves");
    cluster.replicas[0].open();
    let again = cluster.bus(0).publish(long(), NOW).unwrap();
    assert_eq!((again.event.id, again.duplicate), (2, true));
    cluster.settle();
}

#[test]
fn a_full_disk_stops_a_replica_until_there_is_space() {
    let mut cluster = Cluster::new(2, 256, 100);
    publish(cluster.bus(0), "a:a");
    publish(cluster.bus(1), "a:b");
    let replica = &mut cluster.replicas[0];
    replica.options.free_bytes_min = 1 << 60;
    replica.reopen();
    assert!(matches!(replica.bus().publish(draft("a:c"), NOW), Err(Error::Full)));
    assert!(matches!(replica.bus().follow(), Err(Error::Full)));
    assert_eq!((replica.bus().last(), cluster.hub.last()), (1, 2), "nothing was written");
    assert!(!cluster.hub.is_locked() && cluster.bus(0).fault().is_none());
    cluster.replicas[0].options.free_bytes_min = 0;
    cluster.replicas[0].reopen();
    assert_eq!(publish(cluster.bus(0), "a:c").id, 3);
    cluster.settle();
}

#[test]
fn an_event_that_cannot_be_read_stops_the_replica_before_its_log_has_it() {
    let cases: [(u8, u8, &[u8], &str); 4] = [
        (200, 1, b"?", "a newer release wrote it: its kind is unknown"),
        (1, 9, b"?", "a newer release wrote it: its version is unknown"),
        (1, 1, b"", "is malformed: it is truncated"),
        (1, 1, b"\x00\x00\x01x\x00\x00", "is malformed: invalid event type"),
    ];
    for (kind, version, payload, why) in cases {
        let mut cluster = Cluster::new(2, 256, 100);
        publish(cluster.bus(0), "a:a");
        let record = Record { kind, version, payload };
        cluster.hub.member(9).append(1, &[record]).expect("an append");
        let refused = cluster.bus(0).follow().unwrap_err().to_string();
        assert!(refused.contains("event 2") && refused.contains(why), "{refused}");
        assert!(cluster.bus(0).publish(draft("a:b"), NOW).is_err());
        assert!(cluster.bus(0).fault().is_some_and(|it| it.contains("event 2")));
        let publishing = cluster.bus(1).publish(draft("a:b"), NOW).unwrap_err().to_string();
        assert!(publishing.contains(why), "{publishing}");
        assert!(!cluster.hub.is_locked());
        assert_eq!(cluster.hub.last(), 2, "nothing was written behind it");
        cluster.replicas[0].reopen();
        assert_eq!(all(cluster.bus(0)).len(), 1);
    }
}
