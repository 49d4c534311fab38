use std::time::Duration;

use waypost_flows::{End, Outcome, Phase, Stage};

use crate::world::{World, flow, id};

#[test]
fn runs_of_a_flow_begin_in_the_order_of_the_events() {
    let mut world = World::new(&[flow("a", "a:x", 2, ""), flow("b", "a:x", 1, "")]);
    for _ in 0..3 {
        world.say("a:x", "{}");
    }
    assert_eq!(world.running(), ["a.1", "b.1"]);
    let done = world.finish_all();
    let of_a: Vec<&String> = done.iter().filter(|done| done.starts_with('a')).collect();
    assert_eq!(of_a, ["a.1/0", "a.1/1", "a.2/0", "a.2/1", "a.3/0", "a.3/1"]);
}

#[test]
fn a_key_has_an_order_of_its_own() {
    let key = "    concurrency: { key: data.pr }\n";
    let mut world = World::new(&[flow("a", "a:x", 1, key)]);
    for pr in ["1", "2", "1", "\"1\"", "3"] {
        world.say("a:x", &format!(r#"{{"pr": {pr}}}"#));
    }
    world.say("a:x", "{}");
    assert_eq!(world.running(), ["a.1", "a.2", "a.5", "a.6"]);
    world.finish(Outcome::Succeeded);
    assert_eq!(world.running(), ["a.2", "a.5", "a.6", "a.3"]);
}

#[test]
fn a_run_that_waits_for_its_next_try_holds_up_no_other_and_keeps_its_turn() {
    let flow = "  - name: a\n    trigger: { pattern: \"a:x\" }\n    actions: [{ type: command, command: ls, retry: { max: 2, initial: 10s, on: [failure] } }]\n";
    let mut world = World::new(&[flow.to_owned()]);
    world.say("a:x", "{}");
    world.say("a:x", "{}");
    world.say("a:x", "{}");
    world.finish(Outcome::Failed);
    assert_eq!(world.running(), ["a.2"]);
    let Phase::Retrying { until } = world.engine().run(&id("a.1")).unwrap().phase else {
        panic!("it waits for its next try");
    };
    let waited = until.saturating_duration_since(world.now());
    assert!(until >= world.now() && waited <= Duration::from_secs(10), "{until}");
    // A restart of the service in between does not change this.
    world.open();
    world.commit();
    assert_eq!(world.engine().next_wake(), Some(until));
    world.later(10_000);
    let now = world.now();
    world.engine().orphan_ended(&id("a.2"), now);
    world.commit();
    assert_eq!(world.running(), ["a.1"]);
    world.finish(Outcome::TimedOut);
    let (end, why) = world.end_of("a.1");
    assert_eq!((end, why.as_str()), (End::Failed, "action 1: said so"));
    world.finish(Outcome::Failed);
    world.later(20_000);
    world.finish_all();
    assert_eq!(world.end_of("a.2").0, End::Succeeded);
}

#[test]
fn tries_are_counted_and_used_up() {
    let flow = "  - name: a\n    trigger: { pattern: \"a:x\" }\n    actions: [{ type: command, command: ls, name: list, retry: { max: 2 } }]\n";
    let mut world = World::new(&[flow.to_owned()]);
    world.say("a:x", "{}");
    for attempt in 1..=3 {
        assert_eq!(world.finish(Outcome::Failed).id.attempt, attempt);
        world.later(300_000);
    }
    let (end, why) = world.end_of("a.1");
    assert_eq!((end, why.as_str()), (End::Failed, "action 1 (list): said so, after 3 attempts"));
    assert_eq!(world.notices[0].kind.as_str(), "flow:failed");
    // An action that could not start is not retried.
    world.say("a:x", "{}");
    world.finish(Outcome::Refused);
    assert_eq!(world.end_of("a.2").0, End::Failed);
}

#[test]
fn an_action_can_be_left_out_and_may_fail_where_the_flow_says_so() {
    let flow = r#"  - name: a
    trigger: { pattern: "a:x" }
    actions:
      - { type: command, command: ls, if: data.n > 1 }
      - { type: command, command: ls, continue_on_error: true }
      - { type: command, command: ls, if: data.n > 1 }
"#;
    let mut world = World::new(&[flow.to_owned()]);
    world.say("a:x", r#"{"n": 1}"#);
    assert_eq!(world.started[0].id.step, 1);
    world.finish(Outcome::Failed);
    assert_eq!(world.end_of("a.1").0, End::Succeeded);
    world.say("a:x", r#"{"n": 2}"#);
    assert_eq!(world.finish_all(), ["a.2/0", "a.2/1", "a.2/2"]);
}

#[test]
fn a_value_that_a_later_action_lacks_fails_the_run_before_anything_starts() {
    let flow = r#"  - name: a
    trigger: { pattern: "a:x" }
    actions:
      - { type: command, command: ls }
      - { type: exec, exec: [echo, "{{data.k}}"], if: data.n > 1, name: say }
      - { type: emit, event: "b:x", data: { m: "{{data.n}}" } }
"#;
    let mut world = World::new(&[flow.to_owned()]);
    let failed = |world: &mut World, run: &str, why: &str| {
        assert!(world.started.is_empty(), "{:?}", world.started);
        let (end, said) = world.end_of(run);
        assert_eq!((end, said.as_str()), (End::Failed, why));
        assert_eq!(world.notices.pop().unwrap().kind.as_str(), "flow:failed");
    };
    let missing =
        "action 2 (say): the event has no data.k; set a default with {{data.k | default(\"…\")}}";
    world.say("a:x", r#"{"n": 2}"#);
    failed(&mut world, "a.1", missing);
    let now = world.now();
    world.engine().retry(&id("a.1"), now).unwrap();
    world.commit();
    failed(&mut world, "a.1", missing);
    world.say("a:x", r#"{"n": 2, "k": "-x"}"#);
    let dash = "action 2 (say): argument 1 starts with -, because of an event's value: put -- before it, or write allow_dash: true in the action";
    failed(&mut world, "a.2", dash);
    // An action that is left out needs no values.
    world.say("a:x", r#"{"n": 1}"#);
    assert_eq!(world.finish_all(), ["a.3/0", "a.3/2"]);
    world.say("a:x", r#"{"n": 2, "k": "x"}"#);
    assert_eq!(world.finish_all(), ["a.4/0", "a.4/1", "a.4/2"]);
    // The journal is read to the same.
    world.open();
    assert_eq!(world.end_of("a.2").1, dash);
}

#[test]
fn what_finds_no_room_is_skipped_with_the_reason() {
    let skip = "    concurrency: { mode: skip }\n";
    let few = "    concurrency: { max_queued: 1 }\n";
    let rare = "    rate_limit: { runs: 2, per: 1m, key: data.k }\n    concurrency: { limit: 9 }\n";
    let mut world = World::new(&[
        flow("skip", "a:x", 1, skip),
        flow("few", "a:x", 1, few),
        flow("rare", "a:x", 1, rare),
    ]);
    for _ in 0..3 {
        world.say("a:x", r#"{"k": 1}"#);
    }
    world.say("a:x", r#"{"k": 2}"#);
    for (run, said) in [
        ("skip.2", "concurrency.mode is skip"),
        ("few.3", "concurrency.max_queued: 1 runs are already queued"),
        ("rare.3", "rate_limit: the limit is 2 runs in 1m"),
    ] {
        let (end, why) = world.end_of(run);
        assert_eq!(end, End::Skipped);
        assert!(why.contains(said), "{why}");
    }
    assert!(world.running().contains(&"rare.4".to_owned()));
    world.finish_all();
    // The windows survive a restart of the service, and end.
    world.open();
    world.say("a:x", r#"{"k": 1}"#);
    assert_eq!(world.end_of("rare.5").0, End::Skipped);
    world.later(60_000);
    world.say("a:x", r#"{"k": 1}"#);
    assert!(world.running().contains(&"rare.6".to_owned()));
}

#[test]
fn with_restart_the_newest_takes_the_place_of_the_others() {
    let mut world = World::new(&[flow("a", "a:x", 1, "    concurrency: { mode: restart }\n")]);
    world.say("a:x", "{}");
    world.say("a:x", "{}");
    assert_eq!(world.stopped.len(), 1);
    world.say("a:x", "{}");
    assert_eq!((world.stopped.len(), world.running()), (1, vec!["a.1".to_owned()]));
    assert_eq!(world.end_of("a.2").0, End::Skipped);
    world.finish(Outcome::Cancelled);
    assert_eq!(world.end_of("a.1").0, End::Cancelled);
    assert_eq!(world.running(), ["a.3"]);
}

#[test]
fn with_restart_a_next_try_gives_way_to_what_is_newer() {
    let flow = "  - name: a\n    trigger: { pattern: \"a:x\" }\n    concurrency: { mode: restart }\n    actions: [{ type: command, command: ls, retry: { max: 5 } }]\n";
    let mut world = World::new(&[flow.to_owned()]);
    world.say("a:x", "{}");
    world.finish(Outcome::Failed);
    world.say("a:x", "{}");
    assert_eq!(world.end_of("a.1").0, End::Skipped);
    world.later(600_000);
    assert_eq!((world.running(), world.stopped.len()), (vec!["a.2".to_owned()], 0));
}

#[test]
fn a_clock_that_is_set_back_makes_no_wait_longer_and_no_window_wider() {
    const HOUR_MS: u64 = 3_600_000;
    let rare = "    rate_limit: { runs: 1, per: 1m }\n";
    let quiet = "    debounce: { quiet: 5s }\n";
    let mut world = World::new(&[flow("rare", "a:x", 1, rare), flow("quiet", "b:x", 1, quiet)]);
    world.now_ms += HOUR_MS;
    world.say("a:x", "{}");
    world.say("b:x", "{}");
    world.finish_all();
    for starts_again in [false, true] {
        world.now_ms -= HOUR_MS / 4;
        if starts_again {
            world.open();
            world.commit();
        }
        world.later(0);
        let wake = world.engine().next_wake();
        assert!(wake.is_none_or(|it| it <= world.after(5000)), "{wake:?}");
        world.later(5000);
        assert_eq!(world.finish_all().len(), usize::from(!starts_again));
    }
    world.say("a:x", "{}");
    assert_eq!(world.end_of("rare.3").0, End::Skipped);
    world.later(60_000);
    world.say("a:x", "{}");
    assert_eq!(world.running(), ["rare.4"]);
}

#[test]
fn a_clock_that_is_ten_years_ahead_for_a_while_stops_nothing() {
    const TEN_YEARS_MS: i64 = 10 * 365 * 24 * 3_600_000;
    let retried = "  - name: again\n    trigger: { pattern: \"c:x\" }\n    actions: [{ type: command, command: ls, retry: { max: 3, initial: 1m } }]\n";
    let mut world = World::new(&[
        flow("rare", "a:x", 1, "    rate_limit: { runs: 1, per: 1m }\n"),
        flow("quiet", "b:x", 1, "    debounce: { quiet: 5s }\n"),
        retried.to_owned(),
    ]);
    for jump in [TEN_YEARS_MS, -TEN_YEARS_MS] {
        world.say("a:x", "{}");
        world.say("b:x", "{}");
        world.say("c:x", "{}");
        world.finish(Outcome::Succeeded);
        world.finish(Outcome::Failed);
        assert_eq!(world.running(), [""; 0], "one waits for quiet, one for its next try");
        world.now_ms = world.now_ms.checked_add_signed(jump).unwrap();
        world.later(0);
        // Forward, the waits are over; back, they end no later than planned.
        let wake = world.engine().next_wake();
        assert!(wake.is_none_or(|it| it <= world.after(60_000)), "{wake:?}");
        world.later(60_000);
        assert_eq!(world.finish_all().len(), 2);
        world.later(60_000);
    }
    let runs = world.engine().runs(None).len();
    assert_eq!(runs as u64, world.engine().stages().values().sum::<u64>(), "they are counted");
    let status = world.engine().status();
    let succeeded: u64 =
        status.iter().map(|status| status.stages[&Stage::Ended(End::Succeeded)]).sum();
    assert_eq!((runs, succeeded), (6, 6));
}

#[test]
fn debounce_waits_for_quiet_and_not_for_ever() {
    let quiet = "    debounce: { quiet: 5s, max: 12s, key: data.k }\n";
    let mut world = World::new(&[flow("a", "a:x", 1, quiet)]);
    world.say("a:x", r#"{"k": 1}"#);
    world.later(4000);
    world.say("a:x", r#"{"k": 1}"#);
    world.say("a:x", r#"{"k": 2}"#);
    assert_eq!(world.end_of("a.1").1, "debounce: event 2 followed");
    // It survives a restart of the service.
    world.open();
    world.commit();
    world.later(4999);
    assert!(world.running().is_empty());
    world.later(1);
    assert_eq!(world.running(), ["a.2"]);
    world.finish_all();
    assert_eq!(world.end_of("a.3").0, End::Succeeded);
    // While events keep coming, the run waits up to the limit.
    for _ in 0..4 {
        world.say("a:x", r#"{"k": 1}"#);
        world.later(3500);
    }
    assert_eq!(world.running(), ["a.7"]);
}

#[test]
fn no_more_than_the_limit_goes_on_at_once_over_all_flows() {
    let flows: Vec<String> =
        (0..70).map(|number| flow(&format!("f{number:02}"), "a:x", 1, "")).collect();
    let mut world = World::new(&flows);
    world.say("a:x", "{}");
    assert_eq!(world.started.len(), 64);
    world.finish(Outcome::Succeeded);
    assert_eq!(world.started.len(), 64);
    assert_eq!(world.finish_all().len(), 69);
}
