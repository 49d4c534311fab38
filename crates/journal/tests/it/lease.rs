//! The lease and the fence.

use waypost_journal::{Contender, MachineId};

use super::*;
use crate::wait::until;

const TTL: Duration = Duration::from_millis(400);

#[test]
fn one_process_has_the_lease_until_it_gives_it_up() {
    let server = server!();
    let journal = server.journal();
    let mut first = Contender::new(Duration::from_secs(60)).unwrap();
    let mut second = Contender::new(Duration::from_secs(60)).unwrap();
    let mut lease = journal.contend(&mut first, &long()).unwrap().unwrap();
    assert_eq!(lease.epoch(), 1);
    assert!(journal.contend(&mut second, &long()).unwrap().is_none());
    let before = lease.expires();
    assert!(journal.renew(&mut lease, &long()).unwrap());
    assert!(lease.expires() > before);
    journal.release(&lease, &long()).unwrap();
    assert!(!journal.renew(&mut lease, &long()).unwrap());
    let lease = journal.contend(&mut second, &long()).unwrap().unwrap();
    assert_eq!(lease.epoch(), 2);
}

#[test]
fn a_holder_that_renews_keeps_it_and_one_that_stops_loses_it() {
    let server = server!();
    let journal = server.journal();
    let mut lease = journal.contend(&mut Contender::new(TTL).unwrap(), &long()).unwrap().unwrap();
    let mut other = Contender::new(TTL).unwrap();
    let begun = Instant::now();
    while begun.elapsed() < 3 * TTL {
        assert!(journal.renew(&mut lease, &long()).unwrap());
        assert!(journal.contend(&mut other, &long()).unwrap().is_none());
    }
    let expires = lease.expires();
    let taken = until(|| journal.contend(&mut other, &long()).unwrap().ok_or("the holder has it"));
    assert!(Instant::now() > expires, "it was taken before it ended");
    assert_eq!(taken.epoch(), 2);
    assert!(!journal.renew(&mut lease, &long()).unwrap());
}

#[test]
fn an_earlier_epoch_appends_nothing() {
    let server = server!();
    let journal = server.journal();
    let start = Position::start(journal.store());
    // An earlier process of the machine, and the one after it.
    let machine = MachineId([1; 16]);
    let mut contender = Contender::of(machine, TTL);
    let old = journal.contend(&mut contender, &long()).unwrap().unwrap();
    let append = |after, text, epoch| {
        journal.append(after, &records(after, &[text]), Some(epoch), &long()).unwrap()
    };
    let Outcome::Appended(end) = append(start, "old", old.epoch()) else { panic!("refused") };
    let mut contender = Contender::of(machine, TTL);
    let new = journal.contend(&mut contender, &long()).unwrap().unwrap();
    assert_eq!(append(end, "stale", old.epoch()), Outcome::Fenced(2));
    let guard = journal.lock(&long()).unwrap();
    let stale = guard.append(end, &records(end, &["stale"]), Some(old.epoch()), &long());
    assert_eq!(stale.unwrap(), Outcome::Fenced(2));
    // Records that need no lease are not fenced.
    let end = add(&journal, end, &["free"]);
    assert!(matches!(append(end, "new", new.epoch()), Outcome::Appended(_)));
    let rows = all(&journal).unwrap();
    assert_eq!(texts(&rows), ["old", "free", "new"]);
    assert_eq!(rows.iter().map(|it| it.epoch).collect::<Vec<_>>(), [1, 0, 2]);
}

/// A data folder that was copied to another machine, although it must not be.
#[test]
fn two_processes_of_one_machine_do_not_take_the_lease_from_each_other_forever() {
    let server = server!();
    let journal = server.journal();
    let machine = MachineId([1; 16]);
    let (mut first, mut second) = (Contender::of(machine, TTL), Contender::of(machine, TTL));
    let mut old = journal.contend(&mut first, &long()).unwrap().unwrap();
    let mut new = journal.contend(&mut second, &long()).unwrap().unwrap();
    assert!(!journal.renew(&mut old, &long()).unwrap());
    for _ in 0..3 {
        assert!(journal.contend(&mut first, &long()).unwrap().is_none());
        assert!(journal.renew(&mut new, &long()).unwrap());
    }
    assert_eq!(new.epoch(), 2);
}

/// A process that could not look for a while does not know whether the holder could renew.
#[test]
fn two_looks_that_are_far_apart_do_not_count() {
    let server = server!();
    let journal = server.journal();
    let _held = journal.contend(&mut Contender::new(TTL).unwrap(), &long()).unwrap().unwrap();
    let mut other = Contender::new(TTL).unwrap();
    assert!(journal.contend(&mut other, &long()).unwrap().is_none());
    let paused = Instant::now();
    until(|| (paused.elapsed() > 2 * TTL).then_some(()).ok_or("time passes"));
    assert!(journal.contend(&mut other, &long()).unwrap().is_none());
    until(|| journal.contend(&mut other, &long()).unwrap().ok_or("the holder has it"));
}
