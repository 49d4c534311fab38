use waypost_events::Lineage;
use waypost_flows::{End, Outcome, Stage};

use crate::world::{World, event, file, flow, set};

/// Publishes what a run emits.
fn emit(world: &mut World, kind: &str, lineage: &Lineage) {
    let id = world.publish(kind, "{}");
    world.events[id as usize - 1].lineage = lineage.clone();
    world.offer_all();
    world.commit();
}

#[test]
fn a_flow_does_not_start_itself() {
    let mut world = World::new(&[flow("a", "a:x", 1, ""), flow("b", "b:x", 1, "")]);
    world.say("a:x", "{}");
    let first = world.finish(Outcome::Succeeded).lineage;
    assert_eq!((first.root, first.cause.as_deref(), first.depth), (Some(1), Some("a.1"), 1));
    emit(&mut world, "a:x", &first);
    let (end, why) = world.end_of("a.2");
    assert_eq!(end, End::Skipped);
    assert!(why.ends_with("allow_recursion is 0: a > a"), "{why}");
    // Nor through another flow.
    emit(&mut world, "b:x", &first);
    let second = world.finish(Outcome::Succeeded).lineage;
    assert_eq!((second.root, &second.flows[..]), (Some(1), &["a".to_owned(), "b".to_owned()][..]));
    emit(&mut world, "a:x", &second);
    assert!(world.end_of("a.4").1.ends_with("a > b > a"));
}

#[test]
fn a_flow_that_may_starts_itself_as_often_as_it_says_and_no_deeper_than_any() {
    let mut world = World::new(&[
        flow("twice", "a:x", 1, "    allow_recursion: 2\n"),
        flow("often", "b:x", 1, "    allow_recursion: 1000\n    breaker: 0\n"),
    ]);
    for (kind, wanted) in [("a:x", 3), ("b:x", 17)] {
        world.say(kind, "{}");
        let mut runs = 0;
        while !world.started.is_empty() {
            runs += 1;
            let lineage = world.finish(Outcome::Succeeded).lineage;
            emit(&mut world, kind, &lineage);
        }
        assert_eq!(runs, wanted, "{kind}");
    }
    let last = world.events.len();
    let why = world.end_of(&format!("often.{last}")).1;
    assert!(
        why.starts_with("a chain of 17 runs led to the event; the limit is 16: often > often"),
        "{why}"
    );
}

#[test]
fn fan_out_ends_with_the_depth() {
    // Each event leads to ten of another type, which lead to ten of the first.
    let even = "    allow_recursion: 99\n    breaker: 0\n    concurrency: { limit: 99 }\n";
    let mut world = World::new(&[flow("a", "a:x", 1, even), flow("b", "b:x", 1, even)]);
    world.say("a:x", "{}");
    let mut begun = 0;
    for depth in 1..=20 {
        let done: Vec<_> = std::mem::take(&mut world.started);
        begun += done.len();
        for attempt in &done {
            world.report(attempt, Outcome::Succeeded);
        }
        // One of ten is enough to see where it ends.
        if let Some(attempt) = done.first() {
            let kind = if depth % 2 == 0 { "a:x" } else { "b:x" };
            emit(&mut world, kind, &attempt.lineage);
        }
    }
    assert_eq!((begun, world.started.len()), (17, 0));
}

#[test]
fn a_loop_through_the_outside_opens_the_breaker_and_in_the_end_pauses_the_flow() {
    let mut world = World::new(&[flow("a", "a:x", 1, "    breaker: 5\n")]);
    for opening in 1..=10 {
        for _ in 0..20 {
            world.say("a:x", "{}");
            world.finish_all();
        }
        let throttled: Vec<_> = world
            .notices
            .drain(..)
            .filter(|notice| notice.kind.as_str() == "flow:throttled")
            .collect();
        assert_eq!(throttled.len(), if opening == 10 { 2 } else { 1 });
        let why = throttled[0].data.get("why").unwrap().to_string();
        assert_eq!(why, "more than 5 runs in a minute; chain: a");
        assert_eq!(world.engine().status()[0].stages[&Stage::Queued], 15);
        // It is also open after a restart of the service, and closes after a quiet minute.
        world.open();
        world.commit();
        world.later(59_999);
        assert!(world.started.is_empty());
        world.later(1);
        assert_eq!(world.finish_all().len(), if opening == 10 { 0 } else { 15 });
    }
    let status = world.engine().status().remove(0);
    assert_eq!(status.paused.as_deref(), Some("its breaker opened 10 times within an hour"));
    let now = world.now();
    world.engine().resume(&status.name, now).unwrap();
    world.commit();
    assert_eq!(world.finish_all().len(), 15);
}

#[test]
fn only_the_flows_that_want_a_type_are_found() {
    let text = file(&[
        flow("all", "*", 1, ""),
        flow("space", "a:*", 1, ""),
        flow("begin", "a:xy*", 1, ""),
        flow("one", "a:xyz", 1, ""),
        flow("other", "b:*", 1, ""),
    ]);
    let set = set(&text);
    for (kind, wanted) in [
        ("a:xyz", vec!["all", "begin", "one", "space"]),
        ("a:x", vec!["all", "space"]),
        ("c:xyz", vec!["all"]),
    ] {
        let event = event(1, kind, "{}");
        let mut found: Vec<&str> =
            set.wanting(&event.kind).map(|wanting| wanting.flow.name.as_str()).collect();
        found.sort_unstable();
        assert_eq!(found, wanted, "{kind}");
    }
}
