use std::process::Command;

use waypost_events::{Bus, ErrorKind, Lineage, Query, repair, verify};

use crate::child::end_of;
use crate::world::{NOW, all, at, data, draft, folder, open, options, page, publish};

#[test]
fn everything_is_there_after_opening_again() {
    let dir = folder();
    let bus = open(dir.path());
    for at in 0..500 {
        publish(&bus, &format!("k:n{}", at % 7));
    }
    let before = all(&bus);
    drop(bus);
    let (bus, opened) = Bus::open(dir.path(), &options()).unwrap();
    assert_eq!((opened.events, opened.truncated_bytes), (500, 0));
    assert_eq!(all(&bus), before);
    assert_eq!(publish(&bus, "a:b").id, 501);
}

#[test]
fn folders_on_the_way_are_made() {
    let dir = folder();
    let deep = dir.path().join("a").join("b").join("events");
    assert_eq!(publish(&open(&deep), "a:b").id, 1);
    assert_eq!(all(&open(&deep)).len(), 1);
}

#[test]
fn a_first_event_that_is_no_number_is_refused() {
    let dir = folder();
    let bus = open(dir.path());
    publish(&bus, "a:b");
    drop(bus);
    for text in ["", "x", "0", "-1"] {
        std::fs::write(dir.path().join("first"), text).unwrap();
        let error = Bus::open(dir.path(), &options()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Damaged);
        assert!(error.to_string().contains("first does not contain the id"), "{error}");
    }
    std::fs::remove_file(dir.path().join("first")).unwrap();
    assert_eq!(all(&open(dir.path())).len(), 1);
}

#[test]
fn a_second_opening_is_refused_with_the_pid() {
    let dir = folder();
    let bus = open(dir.path());
    let error = Bus::open(dir.path(), &options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked);
    assert!(error.to_string().contains(&std::process::id().to_string()), "{error}");
    drop(bus);
    drop(open(dir.path()));
}

/// An operator may take the file for a leftover. Neither that, nor the lock on the index alone, makes
/// a bus in use a damaged one.
#[test]
fn a_bus_in_use_is_neither_opened_nor_checked_nor_repaired() {
    let dir = folder();
    let bus = open(dir.path());
    publish(&bus, "a:b");
    let refused = || {
        let errors = [
            Bus::open(dir.path(), &options()).unwrap_err(),
            verify(dir.path(), 0).unwrap_err(),
            repair(dir.path(), 0).unwrap_err(),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::Locked, "{error}");
        }
    };
    std::fs::remove_file(dir.path().join("lock")).unwrap();
    refused();
    assert_eq!(publish(&bus, "a:b").id, 2);
    drop(bus);
    let tree = waypost_projection::Options::new(1).with_cache_bytes(1 << 20);
    let state = dir.path().join("state");
    let index = waypost_projection::Tree::open(&state, &tree, &waypost_projection::boot_id());
    let index = index.unwrap().unwrap();
    refused();
    index.release();
    let (_, opened) = Bus::open(dir.path(), &options()).unwrap();
    assert_eq!((opened.events, opened.index_rebuilt), (2, None));
}

#[test]
fn a_damaged_log_is_refused() {
    let dir = folder();
    let bus = open(dir.path());
    for _ in 0..50 {
        publish(&bus, "a:b");
    }
    drop(bus);
    let path = dir.path().join("log").join(format!("{:020}.log", 1));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[200] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert_eq!(Bus::open(dir.path(), &options()).unwrap_err().kind(), ErrorKind::Damaged);
}

#[test]
fn a_full_disk_refuses_and_keeps_reading() {
    let dir = folder();
    drop(open(dir.path()));
    let full = options().with_free_bytes_min(u64::MAX / 2);
    let (bus, _) = Bus::open(dir.path(), &full).unwrap();
    let text = "x".repeat(60_000);
    let big = || {
        let mut it = draft("a:b");
        it.data = data(&format!(r#"{{"text":"{text}"}}"#));
        it
    };
    let mut kept = 0;
    let error = loop {
        match bus.publish(big(), NOW) {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 100, "the file is never made larger");
    };
    assert_eq!(error.kind(), ErrorKind::Full);
    assert_eq!(all(&bus).len(), kept);
    assert_eq!(bus.status().fault, None);
    drop(bus);
    let bus = open(dir.path());
    assert_eq!(bus.publish(big(), NOW).unwrap().event.id, kept as u64 + 1);
}

#[test]
fn status_and_export_tell_what_there_is() {
    let dir = folder();
    let bus = open(dir.path());
    publish(&bus, "eval:scored");
    let mut it = draft("kanban:done");
    it.data = data(r#"{"pr":7,"by":"scout"}"#);
    it.lineage =
        Lineage { root: Some(1), depth: 1, flows: vec!["merge".into()], cause: Some("r1".into()) };
    bus.publish(it, at(1)).unwrap();
    publish(&bus, "eval:scored");
    let status = bus.status();
    assert_eq!((status.events, status.first, status.last, status.oldest), (3, 1, 3, Some(NOW)));
    assert_eq!(status.kinds, [("eval:scored".to_owned(), 2), ("kanban:done".to_owned(), 1)]);
    assert_eq!((status.other_kinds, status.keys, status.fault), (0, 0, None));
    let mut lines = Vec::new();
    assert_eq!(bus.export(&mut lines, 2).unwrap(), 2);
    let lines = String::from_utf8(lines).unwrap();
    let first = format!(
        r#"{{"id":2,"type":"kanban:done","data":{{"pr":7,"by":"scout"}},"time":{},"source":"test","root":1,"cause":"r1","depth":1,"flows":["merge"]}}"#,
        at(1).as_millis()
    );
    assert_eq!(lines.lines().next().unwrap(), first);
    assert_eq!(bus.export(&mut Vec::new(), 0).unwrap(), 3);
}

/// The child's part of the test below: publishes until it is killed, and says what was answered.
#[test]
fn child_that_publishes() {
    let Some(dir) = std::env::var_os("WAYPOST_EVENTS_CHILD") else { return };
    let bus = open(dir.as_ref());
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let bus = &bus;
            scope.spawn(move || {
                loop {
                    let event = bus.publish(draft(&format!("t:n{thread}")), NOW).unwrap().event;
                    println!("answered {} {thread}", event.id);
                }
            });
        }
    });
}

#[test]
fn acknowledged_events_survive_kills() {
    use std::io::{BufRead as _, BufReader};

    let dir = folder();
    let mut answered: Vec<(u64, String)> = Vec::new();
    for round in 1..=5 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["lifecycle::child_that_publishes", "--exact", "--nocapture"])
            .env("WAYPOST_EVENTS_CHILD", dir.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut count = 0;
        for line in lines {
            let line = line.unwrap();
            if let Some((_, rest)) = line.split_once("answered ") {
                let (id, thread) = rest.split_once(' ').unwrap();
                answered.push((id.parse().unwrap(), thread.to_owned()));
                count += 1;
            }
            if count == 100 * round {
                child.kill().unwrap();
            }
        }
        end_of(&mut child);
        assert!(count >= 100 * round, "the child ended early");
        let bus = open(dir.path());
        let events = all(&bus);
        assert!(events.iter().map(|it| it.id).eq(1..=bus.last()), "in order, without gaps");
        for (id, thread) in &answered {
            assert_eq!(events[*id as usize - 1].kind.name(), format!("n{thread}"));
        }
        assert_eq!(page(&bus, &Query::default().with_limit(1)).events[0].id, bus.last());
    }
}
