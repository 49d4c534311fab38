//! Events of a space, and who finds them.

use std::sync::Arc;

use waypost_events::{Draft, Error, Pattern, Query, Tail};

use crate::world::{NOW, at, draft, keyed, open};

fn of(space: &str, kind: &str) -> Draft {
    draft(kind).with_space(space)
}

#[test]
fn a_reader_of_a_space_finds_its_events_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let bus = Arc::new(open(dir.path()));
    for number in 0..400_u64 {
        let drafts = [of("a", "x:one"), of("b", "x:one"), draft("x:one"), of("a", "y:two")];
        bus.publish(drafts[(number % 4) as usize].clone(), at(number)).unwrap();
    }
    let ids = |query: &Query| -> Vec<u64> {
        bus.read(query).unwrap().events.iter().map(|event| event.id).collect()
    };
    let all = Query::default().with_limit(1000);
    let in_a = all.clone().with_space("a".to_owned());
    let expected = |is_wanted: &dyn Fn(u64) -> bool| -> Vec<u64> {
        (1..=400).filter(|number| is_wanted(*number)).collect()
    };
    assert_eq!(ids(&all).len(), 400);
    assert_eq!(ids(&in_a), expected(&|it| it % 4 == 1 || it % 4 == 0));
    let newest = in_a.clone().with_limit(3);
    assert_eq!(ids(&newest), [396, 397, 400]);
    let pattern: Pattern = "x:*".parse().unwrap();
    let one = in_a.clone().with_pattern(pattern.clone());
    assert_eq!(ids(&one), expected(&|it| it % 4 == 1));
    let since = one.with_since(at(300)).with_after(0);
    assert_eq!(ids(&since), expected(&|it| it % 4 == 1 && it > 300));
    let nobody = all.with_space("c".to_owned()).with_after(0);
    let page = bus.read(&nobody).unwrap();
    assert_eq!((page.events.len(), page.next_after), (0, 400));

    // Paging and following see the same, and go past what is not for them.
    let mut tail = Tail::new(Arc::clone(&bus), Some(pattern), 0).in_space(Some("b".to_owned()));
    let mut seen = Vec::new();
    while tail.cursor() < 400 {
        let batch = tail.next_batch(7).unwrap();
        assert!(batch.events.iter().all(|it| it.space.as_deref() == Some("b")));
        seen.extend(batch.events.iter().map(|event| event.id));
    }
    assert_eq!(seen, expected(&|it| it % 4 == 2));
}

#[test]
fn each_space_has_idempotency_keys_of_its_own_also_after_opening_again() {
    let dir = tempfile::tempdir().unwrap();
    let with_key = |space: Option<&str>, kind: &str| {
        let mut draft = keyed(kind, "k");
        draft.space = space.map(str::to_owned);
        draft
    };
    let spaces = [None, Some("a"), Some("b")];
    for is_again in [false, true] {
        let bus = open(dir.path());
        for (id, space) in (1..).zip(spaces) {
            let published = bus.publish(with_key(space, "a:b"), NOW).unwrap();
            assert_eq!((published.event.id, published.duplicate), (id, is_again));
            let other = bus.publish(with_key(space, "a:c"), NOW);
            assert!(matches!(other, Err(Error::KeyReused { id: known }) if known == id));
        }
    }
}

#[test]
fn a_space_has_a_name() {
    let dir = tempfile::tempdir().unwrap();
    let bus = open(dir.path());
    for space in ["", "a\nb", &"x".repeat(waypost_events::SPACE_BYTES_MAX + 1)] {
        let refused = bus.publish(of(space, "a:b"), NOW);
        assert!(matches!(refused, Err(Error::Invalid { field: "space", .. })), "{space:?}");
    }
    bus.publish(of(&"x".repeat(waypost_events::SPACE_BYTES_MAX), "a:b"), NOW).unwrap();
}
