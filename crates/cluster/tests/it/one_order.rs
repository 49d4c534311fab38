//! Several machines and parts append to one journal.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

use waypost_cluster::Part;
use waypost_log::{Record, SharedError};

use crate::machine::{Machine, at, create, settle, two};
use crate::wait::until;
use crate::{long, server};

const RECORD: Record<'_> = Record { kind: 1, version: 1, payload: b"run" };

#[test]
fn parts_do_not_disturb_each_other_and_machines_get_everything() {
    let server = server!();
    let machines = two(&server.url());
    let [a, b] = &machines;
    assert_eq!(a.add("first on a").unwrap().id.get(), 1);
    // B has applied nothing yet: its event follows A's memory, which does not matter to it.
    assert_eq!(b.publish("first-on-b").unwrap().event.id, 1);
    // B decides again on top of A's memory.
    assert_eq!(b.add("second on b").unwrap().id.get(), 2);
    assert_eq!(b.add("first on a").unwrap().id.get(), 1, "it exists");
    assert!(a.publish("first-on-b").unwrap().duplicate, "its key is known");
    assert_eq!(a.add("third on a").unwrap().id.get(), 3);
    let export = settle(&machines);
    for text in ["first on a", "second on b", "third on a"] {
        assert_eq!(export.matches(&format!("\"content\":\"{text}\"")).count(), 1, "{export}");
    }
    assert_eq!(a.hub.tail(), b.hub.tail());
    assert_eq!(a.hub.tail().seq, 4);
}

#[test]
fn threads_of_three_machines_get_dense_ids_and_lose_nothing() {
    const EACH: u64 = 20;

    let server = server!();
    let store = create(&server.url());
    let mut machines = [0; 3].map(|_| Machine::new(&server.url(), store));
    machines.iter_mut().for_each(Machine::start_following);
    std::thread::scope(|scope| {
        for (number, machine) in machines.iter().enumerate() {
            scope.spawn(move || {
                for text in 0..EACH {
                    machine.add(&format!("memory {text} of {number}")).unwrap();
                }
            });
            scope.spawn(move || {
                for text in 0..EACH {
                    machine.publish(&format!("event-{text}-of-{number}")).unwrap();
                }
            });
        }
    });
    for machine in &machines {
        until(|| {
            let applied = machine.hub.applied(&machine.places());
            (applied == 6 * EACH).then_some(()).ok_or(format!("{applied} records"))
        });
        assert_eq!(machine.places(), [3 * EACH, 3 * EACH, 0, 0]);
    }
    machines.iter_mut().for_each(Machine::stop_following);
    settle(&machines);
}

#[test]
fn following_during_appends_of_all_machines_loses_nothing() {
    const EACH: u64 = 75;

    let server = server!();
    let store = create(&server.url());
    let machines = [0; 2].map(|_| Machine::new(&server.url(), store));
    let is_over = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let until_over = move |follow: &dyn Fn() -> u64| {
            while !is_over.load(Ordering::Acquire) {
                follow();
            }
        };
        let mut writers = Vec::new();
        for (number, it) in machines.iter().enumerate() {
            scope.spawn(move || until_over(&|| it.store().follow().unwrap()));
            scope.spawn(move || until_over(&|| it.bus().follow().unwrap()));
            writers.push(scope.spawn(move || {
                (0..EACH).for_each(|text| drop(it.add(&format!("{text} of {number}")).unwrap()));
            }));
            writers.push(scope.spawn(move || {
                (0..EACH)
                    .for_each(|text| drop(it.publish(&format!("{text}-of-{number}")).unwrap()));
            }));
        }
        let ended: Vec<_> = writers.into_iter().map(ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Release);
        ended.into_iter().for_each(Result::unwrap);
    });
    settle(&machines);
    assert_eq!(machines[0].places(), [2 * EACH, 2 * EACH, 0, 0]);
}

#[test]
fn waiting_returns_for_records_of_others_and_not_for_own_ones() {
    let server = server!();
    let machines = two(&server.url());
    let [a, b] = &machines;
    a.add("of a").unwrap();
    assert!(!a.hub.wait(Duration::from_millis(50)).unwrap(), "it is its own");
    assert!(!a.hub.wait(Duration::ZERO).unwrap(), "no time to answer is no failure");
    assert!(b.hub.wait(Duration::from_secs(60)).unwrap());
    b.follow();
    assert!(!b.hub.wait(Duration::from_millis(50)).unwrap());
}

#[test]
fn records_count_as_applied_when_their_part_shows_them_and_not_when_it_reads_them() {
    let server = server!();
    let store = create(&server.url());
    let machines = [Machine::new(&server.url(), store), Machine::new(&server.url(), store)];
    let [a, b] = &machines;
    a.add("first").unwrap();
    a.add("second").unwrap();
    let memory = b.hub.part(Part::Memory);
    assert_eq!(memory.read(0).unwrap().len(), 2);
    assert_eq!(b.hub.applied(&[0; 4]), 0);
    // The store has written the first one, or both, to its state, but not to its index.
    for written in 1..=2 {
        drop(memory.read(written).unwrap());
        assert_eq!(b.hub.applied(&[0; 4]), 0, "{written} of 2");
    }
    assert_eq!(b.hub.applied(&[2, 0, 0, 0]), 2);
    assert_eq!(b.hub.applied(&[0; 4]), 2, "it never goes back");
}

/// A command that writes nothing has the lock of the journal, too, if another machine was first.
#[test]
fn what_follows_a_command_without_records_is_read() {
    let server = server!();
    let machines = two(&server.url());
    let [a, b] = &machines;
    a.publish("first-on-a").unwrap();
    let unknown = waypost_memory::MemoryId::new(7).unwrap();
    b.store().delete(unknown, at(1)).unwrap_err();
    a.add("second on a").unwrap();
    settle(&machines);
}

#[test]
fn only_the_holder_of_the_lease_appends_to_flows() {
    let server = server!();
    let machines = two(&server.url());
    let [a, b] = &machines;
    let of = |machine: &Machine| machine.hub.part(Part::Flows);
    let refused =
        |result: Result<(), SharedError>| matches!(result, Err(SharedError::Elsewhere(_)));
    assert!(refused(of(a).append(0, &[RECORD])));
    a.hub.set_fence(Some(take(a)));
    of(a).append(0, &[RECORD]).unwrap();
    // B takes it at once, because A lets go.
    b.hub.set_fence(Some(take(b)));
    assert!(refused(of(a).append(1, &[RECORD])), "its epoch has ended");
    assert_eq!(of(b).append(0, &[RECORD]), Err(SharedError::Moved));
    assert_eq!(of(b).read(0).unwrap().len(), 1);
    of(b).append(1, &[RECORD]).unwrap();
    assert_eq!(of(a).read(1).unwrap()[0].sequence, 2);
}

/// Takes the lease and releases it, as far as others see.
fn take(machine: &Machine) -> u64 {
    let journal = machine.hub.journal(&long()).unwrap();
    let mut contender = waypost_journal::Contender::new(Duration::from_secs(60)).unwrap();
    let lease = journal.contend(&mut contender, &long()).unwrap().unwrap();
    let epoch = lease.epoch();
    journal.release(&lease, &long()).unwrap();
    epoch
}

#[test]
fn a_command_of_more_records_than_the_lock_takes_is_one_append() {
    let server = server!();
    let machines = two(&server.url());
    let [a, b] = &machines;
    a.publish("one").unwrap();
    let events = b.hub.part(Part::Events);
    let many: Vec<Record<'_>> = vec![RECORD; 1000];
    // B has not read A's event.
    assert_eq!(events.append(0, &many), Err(SharedError::Moved));
    assert_eq!(events.read(0).unwrap().len(), 1);
    events.append(1, &many).unwrap();
    events.release();
    let read = a.hub.part(Part::Events).read(1).unwrap();
    assert_eq!(read.len(), 1000, "an append is one page");
}

/// While a machine has the lock, others wait: it does not apply a long way under it.
#[test]
fn a_machine_that_is_far_behind_catches_up_before_it_takes_the_lock() {
    let server = server!();
    let machines = two(&server.url());
    let [a, b] = &machines;
    let has_lock = || {
        server
            .sql("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'")
            .trim()
            == "1"
    };
    let (of_a, of_b) = (a.hub.part(Part::Events), b.hub.part(Part::Events));
    of_a.append(0, &vec![RECORD; 2000]).unwrap();
    assert_eq!(of_b.append(0, &[RECORD]), Err(SharedError::Moved));
    assert!(!has_lock(), "it lacks 2,000 records");
    assert_eq!(of_b.append(1999, &[RECORD]), Err(SharedError::Moved));
    assert!(has_lock(), "it lacks one record");
    of_b.append(2000, &[RECORD]).unwrap();

    // One that never gets there takes it in the end.
    let mut tries = 0;
    while !has_lock() {
        tries += 1;
        assert_eq!(of_b.append(0, &[RECORD]), Err(SharedError::Moved));
    }
    assert!(tries > 1);
    of_b.release();
    assert!(!has_lock());
}

/// A reader of a part can have asked before the part went on, and the base with it.
#[test]
fn a_reader_that_was_overtaken_is_not_taken_for_a_part_that_went_back() {
    let server = server!();
    let machines = two(&server.url());
    let [a, b] = machines.each_ref().map(|reference| reference.hub.part(Part::Events));
    a.append(0, &[RECORD; 3]).unwrap();
    assert_eq!(b.append(0, &[RECORD]), Err(SharedError::Moved));
    b.release();
    assert_eq!(b.read(0).unwrap().len(), 3);
    assert_eq!(b.append(0, &[RECORD]), Err(SharedError::Moved));
    b.release();
    assert_eq!(b.read(3).unwrap().len(), 0);
    let hub = &machines[1].hub;
    hub.set_base(hub.mark(), Vec::new()).unwrap();
    assert_eq!(b.read(0).unwrap().len(), 0);
    assert_eq!(b.read(3).unwrap().len(), 0);
    assert!(b.read(0).unwrap().is_empty() && b.read(0).is_err(), "one that asks again lacks them");
}
