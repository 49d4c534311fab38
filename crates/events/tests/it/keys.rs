use std::sync::Arc;

use waypost_events::Error;

use crate::world::{NOW, all, at, data, draft, folder, keyed, open, publish};

#[test]
fn the_same_key_and_body_is_the_same_event() {
    let dir = folder();
    let bus = open(dir.path());
    let one = keyed("a:b", "k").with_data(data(r#"{"a":1,"b":"x"}"#));
    let first = bus.publish(one.clone(), NOW).unwrap();
    assert!(!first.duplicate);
    let shuffled = one.with_data(data(r#"{"b":"x","a":1}"#)).with_source("other");
    for draft in [keyed("a:b", "k2"), draft("a:b")] {
        assert!(!bus.publish(draft, NOW).unwrap().duplicate);
    }
    let again = bus.publish(shuffled, at(5)).unwrap();
    assert_eq!((again.event, again.duplicate), (first.event, true));
    assert_eq!(bus.last(), 3);
}

#[test]
fn the_same_key_with_another_body_is_refused_with_the_event() {
    let dir = folder();
    let bus = open(dir.path());
    publish(&bus, "a:b");
    bus.publish(keyed("a:b", "k"), NOW).unwrap();
    let other_data = keyed("a:b", "k").with_data(data(r#"{"a":1}"#));
    for other in [keyed("a:c", "k"), other_data] {
        assert!(matches!(bus.publish(other, NOW), Err(Error::KeyReused { id: 2 })));
    }
    assert_eq!(bus.last(), 2);
}

#[test]
fn keys_are_known_after_opening_again() {
    let dir = folder();
    let bus = open(dir.path());
    let first = bus.publish(keyed("a:b", "k"), NOW).unwrap().event;
    drop(bus);
    let bus = open(dir.path());
    let again = bus.publish(keyed("a:b", "k"), at(1)).unwrap();
    assert_eq!((again.event, again.duplicate), (first, true));
    assert!(matches!(bus.publish(keyed("a:c", "k"), NOW), Err(Error::KeyReused { id: 1 })));
}

#[test]
fn a_hundred_publishers_of_one_key_make_one_event() {
    let dir = folder();
    let bus = Arc::new(open(dir.path()));
    let threads: Vec<_> = (0..100)
        .map(|at| {
            let bus = Arc::clone(&bus);
            std::thread::spawn(move || {
                if at % 10 == 9 {
                    // Something else between them.
                    return !bus.publish(draft("a:other"), NOW).unwrap().duplicate;
                }
                bus.publish(keyed("a:b", "one"), NOW).unwrap().duplicate
            })
        })
        .collect();
    let answers: Vec<bool> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(answers.iter().filter(|it| **it).count(), 89 + 10);
    let events = all(&bus);
    assert_eq!(events.len(), 11);
    assert_eq!(events.iter().filter(|it| it.kind.as_str() == "a:b").count(), 1);
}
