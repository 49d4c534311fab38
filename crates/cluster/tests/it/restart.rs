//! Machines that start again, lose contact, or have another history.

use std::time::Duration;

use waypost_cluster::{Member, Part};
use waypost_memory::{Compaction, LinkKind, MemoryId};

use crate::machine::{Machine, at, create, settle, two};
use crate::proxy::{Fault, Proxy};
use crate::server;
use crate::server::Server;

const INSERT: &str = "INSERT INTO waypost.journal";

#[test]
fn a_machine_continues_where_its_stores_are_whatever_the_member_file_says() {
    let server = server!();
    let store = create(&server.url());
    let mut machines = [Machine::new(&server.url(), store), Machine::new(&server.url(), store)];
    for text in ["one", "two"] {
        machines[0].add(text).unwrap();
        machines[1].publish(text).unwrap();
    }
    settle(&machines);
    machines[0].settle_base();
    let base = Member::read(machines[0].dir.path()).unwrap().unwrap().base;
    assert_eq!((base.position.seq, base.places), (4, [2, 2, 0, 0]));
    machines[1].add("three").unwrap();
    for machine in &mut machines {
        machine.reopen(&server.url());
    }
    // The second one reads everything again, because it has not noted how far it was.
    assert_eq!(machines[1].add("four").unwrap().id.get(), 4);
    assert_eq!(machines[0].add("five").unwrap().id.get(), 5);
    settle(&machines);
}

#[test]
fn an_append_whose_answer_is_lost_is_there_once_and_one_that_is_lost_never() {
    let server = server!();
    let store = create(&server.url());
    let proxy = Proxy::new(&server);
    let machines = [Machine::new(&proxy.url(), store), Machine::new(&server.url(), store)];
    machines[0].add("before").unwrap();
    proxy.arm(INSERT, Fault::CutAfter);
    assert_eq!(machines[0].add("answer lost").unwrap().id.get(), 2);
    assert!(proxy.has_failed());
    proxy.arm(INSERT, Fault::CutBefore);
    assert_eq!(machines[0].add("append lost").unwrap().id.get(), 3);
    proxy.arm(INSERT, Fault::Hold);
    assert_eq!(machines[0].add("held").unwrap().id.get(), 4);
    proxy.release();
    settle(&machines);
    assert_eq!(machines[1].places()[0], 4);
}

#[test]
fn without_the_database_a_machine_reads_and_refuses_writes_and_then_continues() {
    let mut server = server!();
    let store = create(&server.url());
    let mut machines = [Machine::new(&server.url(), store)];
    machines[0].add("before").unwrap();
    server.kill(true);
    machines[0].reopen(&server.url());
    assert_eq!(machines[0].places()[0], 1, "it opens without the database");
    let refused = machines[0].add("meanwhile").unwrap_err();
    assert!(refused.to_string().contains("no server"), "{refused}");
    assert!(machines[0].hub.wait(Duration::from_millis(10)).is_err());
    assert!(machines[0].hub.contact().fault.is_some());
    server.run();
    let not_compared = || {
        let refused = machines[0].add("after").unwrap_err().to_string();
        refused.contains("not compared").then_some(()).ok_or(refused)
    };
    crate::wait::until(not_compared);
    crate::wait::until(|| machines[0].compare().map_or(Ok(()), Err));
    machines[0].add("after").unwrap();
    assert_eq!(machines[0].hub.contact().fault, None);
    settle(&machines);
}

/// A thread that follows reads where its store is, and then the journal: the store may append
/// meanwhile, and the base move.
#[test]
fn a_reader_that_was_overtaken_has_no_other_history() {
    let server = server!();
    let store = create(&server.url());
    let machine = Machine::new(&server.url(), store);
    machine.publish("one").unwrap();
    let before = machine.bus().position();
    machine.publish("two").unwrap();
    machine.settle_base();
    let late = machine.hub.part(Part::Events).read(before).unwrap();
    assert_eq!(late.len(), 0, "what is there is had already");
    machine.publish("three").unwrap();
    settle(&[machine]);
}

#[test]
fn a_store_that_went_back_behind_the_base_must_join_again() {
    let server = server!();
    let store = create(&server.url());
    let mut machine = Machine::new(&server.url(), store);
    machine.add("one").unwrap();
    machine.settle_base();
    let other = Machine::new(&server.url(), store);
    // Its folder is replaced by one without the memory, but not the member file.
    let member = Member::read(machine.dir.path()).unwrap().unwrap();
    std::mem::swap(&mut machine.dir, &mut Machine::new(&server.url(), store).dir);
    member.write(machine.dir.path()).unwrap();
    machine.reopen(&server.url());
    let refused = machine.store().follow().unwrap_err().to_string();
    assert!(refused.contains("join the cluster again"), "{refused}");
    assert!(machine.add("two").is_err(), "it writes nothing");
    other.follow();
    assert_eq!(other.places()[0], 1);
}

#[test]
fn a_machine_with_records_that_the_journal_lacks_writes_nothing() {
    let server = server!();
    let store = create(&server.url());
    let machine = Machine::new(&server.url(), store);
    machine.add("one").unwrap();
    machine.add("two").unwrap();
    // As after a restored backup of the database.
    server.sql("DELETE FROM waypost.journal WHERE seq = 2");
    server.sql(
        "UPDATE waypost.head SET seq = 1, hash = (SELECT hash FROM waypost.journal WHERE seq = 1)",
    );
    let refused = machine.add("three").unwrap_err().to_string();
    assert!(refused.contains("before 2"), "{refused}");
    // It stays so, even if the journal grows past it.
    let other = Machine::new(&server.url(), store);
    other.add("another two").unwrap();
    other.add("another three").unwrap();
    assert!(machine.add("three").is_err());
    assert!(machine.store().follow().is_err());
    assert_eq!(machine.hub.mark().places[Part::Memory.index()], 2);
}

/// Where the journal ends, and the hash of that.
fn end(server: &Server) -> (String, String) {
    let read =
        |text: &str| server.sql(&format!("SELECT {text} FROM waypost.head")).trim().to_owned();
    (read("seq"), read("encode(hash, 'hex')"))
}

/// The database loses everything behind an earlier [`end`].
fn lose(server: &Server, (seq, hash): &(String, String)) {
    server.sql(&format!("DELETE FROM waypost.journal WHERE seq > {seq}"));
    server.sql(&format!("UPDATE waypost.head SET seq = {seq}, hash = decode('{hash}', 'hex')"));
}

/// Two machines, and the database has lost two events of the first one.
fn two_with_lost_events(server: &Server) -> [Machine; 2] {
    let machines = two(&server.url());
    let empty = end(server);
    for text in ["one", "two"] {
        machines[0].publish(text).unwrap();
    }
    lose(server, &empty);
    machines
}

#[test]
fn no_part_applies_what_was_written_after_a_loss_that_only_another_part_shows() {
    let server = server!();
    let [mut a, b] = two_with_lost_events(&server);
    b.add("another history").unwrap();
    b.publish("another one").unwrap();
    a.reopen(&server.url());
    let refused = a.compare().unwrap();
    assert!(refused.contains("record 1 of events on this machine is another one"), "{refused}");
    for refused in [a.store().follow().unwrap_err(), a.add("three").unwrap_err()] {
        assert!(refused.to_string().contains("not compared"), "{refused}");
    }
    assert_eq!(a.places(), [0, 2, 0, 0]);
    assert!(!a.hub.is_compared());
}

/// Events of two histories can be the same: here, they have the same time.
#[test]
fn all_records_behind_the_base_are_compared() {
    let server = server!();
    let [mut a, b] = two_with_lost_events(&server);
    for text in ["another one", "two"] {
        b.publish(text).unwrap();
    }
    a.reopen(&server.url());
    let refused = a.compare().unwrap();
    assert!(refused.contains("record 1 of events on this machine is another one"), "{refused}");
}

#[test]
fn a_compaction_keeps_what_the_next_start_compares() {
    let server = server!();
    let [mut a, b] = two(&server.url());
    for text in ["one", "two"] {
        a.add(text).unwrap();
    }
    let [one, two] = [1, 2].map(|it| MemoryId::new(it).unwrap());
    a.store().link(one, two, LinkKind::RelatedTo, at(1)).unwrap();
    a.settle_base();
    let kept = end(&server);
    a.store().unlink(one, two, LinkKind::RelatedTo, at(2)).unwrap();
    let compacted = || a.store().compact(Compaction::default()).unwrap();
    // The link is below the base, and its removal is not.
    let first = compacted();
    assert!(first.bytes_after < first.bytes_before, "{first:?}");
    lose(&server, &kept);
    b.add("three").unwrap();
    a.reopen(&server.url());
    let refused = a.compare().unwrap();
    assert!(refused.contains("record 4 of memory on this machine is another one"), "{refused}");
    assert_eq!(a.places()[0], 4);
}

/// A database that lost its last record and took another one in its place is as long as before.
#[test]
fn another_history_of_the_same_length_is_found_without_another_write() {
    let server = server!();
    let machines = two(&server.url());
    let [a, b] = &machines;
    let empty = end(&server);
    a.add("the release is on Friday").unwrap();
    assert!(!a.hub.wait(Duration::from_millis(10)).unwrap());
    lose(&server, &empty);
    b.add("the release is on Monday").unwrap();
    assert_eq!(a.hub.tail().seq, b.hub.tail().seq);
    assert!(a.hub.wait(Duration::from_millis(10)).unwrap());
    let error = a.store().follow().unwrap_err().to_string();
    assert!(error.contains("another record 1"), "{error}");
}
