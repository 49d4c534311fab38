//! Several buses on one shared journal.

mod faults;
mod random;
mod retention;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use waypost_events::{Bus, Draft, Error, ErrorKind, Event, Options, Refused, Tail};
use waypost_log::AppendMax;

use crate::hub::{Hub, Member};
use crate::world::{NOW, after, all, data, draft, folder, keyed, options, page, publish};

/// A shared journal and the folders of its replicas.
struct Cluster {
    hub: Arc<Hub>,
    hub_dir: TempDir,
    replicas: Vec<Replica>,
}

struct Replica {
    member: Arc<Member>,
    dir: TempDir,
    options: Options,
    bus: Option<Arc<Bus>>,
}

impl Cluster {
    fn new(replicas: usize, records_max: usize, page: usize) -> Self {
        Self::with(replicas, records_max, page, &options())
    }

    fn with(replicas: usize, records_max: usize, page: usize, options: &Options) -> Self {
        let hub_dir = folder();
        let max = AppendMax { records: records_max, bytes: 1 << 20 };
        let hub = Hub::open(hub_dir.path(), max, page);
        let open = |number| Replica::new(hub.member(number), options);
        let replicas = (0..replicas).map(open).collect();
        Self { hub, hub_dir, replicas }
    }

    fn bus(&self, number: usize) -> &Bus {
        self.replicas[number].bus()
    }

    /// Brings every replica up to the hub, compares them and returns what they have.
    fn settle(&self) -> Vec<Event> {
        assert!(!self.hub.is_locked(), "a replica has kept the lock");
        for replica in &self.replicas {
            replica.member.set_fault(None);
            replica.bus().follow().expect("the hub is reachable");
            assert_eq!(replica.bus().position(), self.hub.last());
        }
        let (one, others) = self.replicas.split_first().expect("there is one");
        let (events, digest) = (all(one.bus()), one.bus().digest().expect("a digest"));
        for other in others {
            assert_eq!(all(other.bus()), events);
            assert_eq!(other.bus().digest().expect("a digest"), digest);
        }
        events
    }
}

impl Replica {
    fn new(member: Arc<Member>, options: &Options) -> Self {
        let options = options.clone().with_shared_journal(member.clone());
        let mut replica = Self { member, dir: folder(), options, bus: None };
        replica.open();
        replica
    }

    fn open(&mut self) {
        let (bus, _) = Bus::open(self.dir.path(), &self.options).expect("the bus opens");
        self.bus = Some(Arc::new(bus));
    }

    fn close(&mut self) {
        drop(self.bus.take());
    }

    fn reopen(&mut self) {
        self.close();
        self.open();
    }

    /// Opens it again without its index.
    fn rebuild(&mut self) {
        self.close();
        std::fs::remove_dir_all(self.dir.path().join("state")).expect("it goes");
        self.open();
    }

    fn bus(&self) -> &Bus {
        self.bus.as_ref().expect("the bus is open")
    }

    fn shared(&self) -> Arc<Bus> {
        Arc::clone(self.bus.as_ref().expect("the bus is open"))
    }
}

fn numbered(number: u64) -> Draft {
    draft("a:b").with_data(data(&format!(r#"{{"n":{number}}}"#)))
}

#[test]
fn drafts_are_decided_again_when_others_have_published() {
    let cluster = Cluster::new(2, 256, 100);
    let (here, there) = (cluster.bus(0), cluster.bus(1));
    let first = here.publish(keyed("a:b", "k"), NOW).unwrap();
    assert_eq!((first.event.id, first.duplicate), (1, false));
    assert_eq!(publish(there, "a:c").id, 2, "it has read the first one");

    let again = there.publish(keyed("a:b", "k"), NOW).unwrap();
    assert_eq!((&again.event, again.duplicate), (&first.event, true));
    let taken = there.publish(keyed("a:b", "elsewhere"), NOW).unwrap().event;
    let again = here.publish(keyed("a:b", "elsewhere"), NOW).unwrap();
    assert_eq!((again.event, again.duplicate), (taken, true), "the key was used meanwhile");

    publish(there, "a:d");
    let batch = vec![keyed("b:b", "k"), draft("a:e"), keyed("a:b", "new"), keyed("a:b", "new")];
    let answers = here.publish_batch(batch, NOW).unwrap();
    assert_eq!(answers[0], Err(Refused::KeyReused { id: 1 }));
    let ids: Vec<_> = answers[1..]
        .iter()
        .map(|answer| answer.as_ref().map(|it| (it.event.id, it.duplicate)))
        .collect();
    assert_eq!(ids, [Ok((5, false)), Ok((6, false)), Ok((6, true))]);
    assert_eq!(cluster.settle().len(), 6);
    assert!(cluster.replicas.iter().all(|it| it.member.moved.load(Ordering::Relaxed) > 0));
}

#[test]
fn readers_and_listeners_hear_of_what_others_publish() {
    let cluster = Cluster::new(2, 256, 3);
    let heard = Arc::new(AtomicU64::new(0));
    let hears = Arc::clone(&heard);
    let there = cluster.bus(1);
    let _subscription = there.subscribe(Box::new(move |last| {
        let before = hears.swap(last, Ordering::SeqCst);
        assert!(before < last, "{last} after {before}");
    }));
    for _ in 0..7 {
        publish(cluster.bus(0), "a:b");
    }
    assert!(!there.wait_for(7, Duration::from_millis(1)));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let reached = there.wait_for(7, Duration::from_secs(20));
            (reached, there.get(7).unwrap().is_some())
        });
        assert_eq!(there.follow().unwrap(), 7);
        assert_eq!(waiting.join().unwrap(), (true, true));
    });
    assert_eq!(heard.load(Ordering::SeqCst), 7);
    publish(cluster.bus(0), "a:b");
    publish(there, "a:b");
    assert_eq!(heard.load(Ordering::SeqCst), 9, "its own, and the one before it");
    assert_eq!(there.follow().unwrap(), 0);
}

#[test]
fn a_cursor_of_one_replica_continues_on_another() {
    let cluster = Cluster::new(2, 256, 10);
    for number in 1..=30 {
        cluster.bus(0).publish(numbered(number), NOW).unwrap();
    }
    let mut here = Tail::new(cluster.replicas[0].shared(), None, 0);
    let mut seen = here.next_batch(17).unwrap().events;
    let mut there = Tail::new(cluster.replicas[1].shared(), None, here.cursor());
    let behind = there.next_batch(10).unwrap_err();
    assert!(matches!(behind, Error::Behind { after: 17, last: 0 }), "{behind}");
    assert_eq!(behind.kind(), ErrorKind::Unavailable);
    let query = after(17, 10);
    assert!(matches!(cluster.bus(1).read(&query), Err(Error::Behind { .. })));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 31..=60 {
                cluster.bus(0).publish(numbered(number), NOW).unwrap();
                cluster.bus(1).follow().unwrap();
            }
        });
        while seen.len() < 60 {
            assert!(cluster.bus(1).wait_for(there.cursor() + 1, Duration::from_secs(20)));
            seen.extend(there.next_batch(7).unwrap().events);
        }
    });
    assert_eq!(seen, all(cluster.bus(0)));
    cluster.settle();
}

#[test]
fn batches_keep_to_the_limit_and_a_larger_one_stays_whole() {
    let cluster = Cluster::new(2, 8, 5);
    let member = &cluster.replicas[0].member;
    let bus = cluster.bus(0);
    for number in 0..20 {
        bus.queue(numbered(number), NOW, Box::new(|it| drop(it.expect("published")))).unwrap();
    }
    bus.write_queued();
    assert_eq!(bus.last(), 20);
    let counts =
        || (member.largest.load(Ordering::Relaxed), member.appends.load(Ordering::Relaxed));
    assert_eq!(counts(), (8, 3));
    publish(cluster.bus(1), "a:b");
    let answers = bus.publish_batch((0..30).map(numbered).collect(), NOW).unwrap();
    assert_eq!(answers.len(), 30);
    assert_eq!(counts(), (30, 4), "one append");
    assert_eq!(page(bus, &after(0, 1000)).events.len(), 51);
    cluster.settle();
}

#[test]
fn reads_and_the_status_do_not_wait_for_the_shared_journal() {
    let cluster = Cluster::new(1, 256, 100);
    publish(cluster.bus(0), "a:b");
    let bus = cluster.replicas[0].shared();
    let (sender, receiver) = std::sync::mpsc::channel();
    // Called while the append is in progress.
    *cluster.replicas[0].member.lose_folder.lock() = Some(Box::new(move || {
        let looks = std::thread::spawn(move || {
            let status = bus.status();
            let follows = bus.fault().is_none() && bus.reached() <= bus.position();
            sender.send((status.last, all(&bus).len(), follows)).expect("it is received");
        });
        let seen = receiver.recv_timeout(Duration::from_secs(20)).expect("nothing waits");
        assert_eq!(seen, (1, 1, true));
        looks.join().expect("it ends");
    }));
    cluster.replicas[0].member.set_fault(Some(crate::hub::Fault::LostFolder));
    assert_eq!(publish(cluster.bus(0), "a:b").id, 2);
}
