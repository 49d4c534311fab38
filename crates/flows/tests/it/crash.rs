use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use waypost_flows::{Effect, End, Engine, Options, Outcome, Phase, Report};

use crate::world::{Choices, World, at, event, file, flow, id, set};

fn flows() -> Vec<String> {
    vec![
        flow("one", "a:*", 1, ""),
        flow("three", "a:x", 3, "    concurrency: { limit: 2, key: data.k }\n"),
        flow("all", "*", 2, "    concurrency: { limit: 3 }\n"),
        flow("early", "b:*", 1, "    start: earliest\n"),
        flow("calm", "c:x", 1, "    breaker: 2\n"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whenever the process is killed, each event's runs are created once and end, recorded steps
    /// are not repeated, and only what was interrupted three times fails.
    #[test]
    fn every_run_is_created_once_and_ends_whenever_the_process_is_killed(seed in 1_u64..) {
        let mut choices = Choices(seed);
        let mut world = World::new(&flows());
        let mut recorded: BTreeSet<(String, u16)> = BTreeSet::new();
        let mut crashes = 0;
        for _ in 0..120 {
            match choices.below(8) {
                0..3 => {
                    let kind = ["a:x", "a:y", "b:x", "c:x"][choices.below(4) as usize];
                    let data = format!(r#"{{"k": {}}}"#, choices.below(2));
                    world.publish(kind, &data);
                }
                3 => world.offer_all(),
                4 => world.commit(),
                5 | 6 if !world.started.is_empty() => {
                    let idx = choices.below(world.started.len() as u64) as usize;
                    let done = world.started.remove(idx);
                    world.report(&done, Outcome::Succeeded);
                    recorded.insert((done.id.run.to_string(), done.id.step));
                }
                7 => match choices.below(8) {
                    0..2 => {
                        crashes += 1;
                        world.open();
                    }
                    2 => {
                        let now = world.now();
                        world.engine().compact(now).unwrap();
                    }
                    _ => world.later(choices.below(20_000)),
                },
                _ => world.later(choices.below(20_000)),
            }
            for attempt in &world.started {
                let step = (attempt.id.run.to_string(), attempt.id.step);
                prop_assert!(!recorded.contains(&step), "{step:?} is done again");
            }
        }
        settle(&mut world, &mut recorded);

        let mut wanted: BTreeMap<String, usize> = BTreeMap::new();
        let set = set(&format!("flows:\n{}", flows().concat()));
        for event in &world.events {
            for entry in set.wanting(&event.kind) {
                let steps = entry.flow.actions.len();
                wanted.insert(format!("{}.{}", entry.flow.name, event.id), steps);
            }
        }
        let engine = world.engine();
        let runs = engine.runs(None);
        let found: BTreeSet<String> = runs.iter().map(|it| it.id.to_string()).collect();
        prop_assert_eq!(&found, &wanted.keys().cloned().collect::<BTreeSet<_>>());
        for run in runs {
            let cut = run.tries.iter().filter(|it| it.report.outcome == Outcome::Interrupted).count();
            match &run.phase {
                Phase::Ended { end: End::Succeeded, .. } => {
                    prop_assert!(cut < 3);
                    let done = run.tries.len() - cut;
                    prop_assert_eq!(done, wanted[&run.id.to_string()], "{:?}", run);
                }
                Phase::Ended { end: End::Failed, why, .. } => {
                    prop_assert_eq!((cut, why.as_str()), (3, "interrupted 3 times"));
                }
                other => prop_assert!(false, "{} is {other:?} after {crashes} crashes", run.id),
            }
        }
    }
}

/// Does all remaining work.
fn settle(world: &mut World, recorded: &mut BTreeSet<(String, u16)>) {
    loop {
        world.offer_all();
        world.fill_all();
        world.commit();
        for orphan in std::mem::take(&mut world.orphans) {
            let now = world.now();
            world.engine().orphan_ended(&orphan.run, now);
        }
        world.commit();
        if let Some(attempt) = world.started.pop() {
            let step = (attempt.id.run.to_string(), attempt.id.step);
            assert!(recorded.insert(step.clone()), "{step:?} is done again");
            world.report(&attempt, Outcome::Succeeded);
        } else if world.engine().next_wake().is_some() {
            world.later(60_000);
        } else {
            return;
        }
    }
}

#[test]
fn a_run_and_the_cursor_are_on_disk_before_any_action_starts() {
    let mut world = World::new(&[flow("a", "a:x", 1, "")]);
    world.publish("a:x", "{}");
    world.offer_all();
    assert!(world.started.is_empty());
    // Killed before the commit: nothing was decided, and nothing started.
    world.open();
    assert_eq!(world.engine().cursor(), 0);
    assert!(world.engine().runs(None).is_empty());
    world.offer_all();
    world.commit();
    assert_eq!(world.running(), ["a.1"]);
    // Killed after it: the event is evaluated, the run exists, its action was interrupted.
    world.open();
    world.offer_all();
    world.commit();
    assert_eq!((world.engine().cursor(), world.orphans.len()), (1, 1));
    assert!(world.started.is_empty());
}

#[test]
fn after_a_crash_a_run_goes_on_with_the_step_that_was_not_recorded() {
    let mut world = World::new(&[flow("a", "a:x", 3, "")]);
    world.say("a:x", "{}");
    world.finish(Outcome::Succeeded);
    assert_eq!((world.started[0].id.step, world.started[0].id.attempt), (1, 1));
    world.open();
    world.commit();
    let orphan = world.orphans.remove(0);
    assert!(orphan.idempotency_key.ends_with(".a.1.1"), "{orphan:?}");
    let now = world.now();
    world.engine().orphan_ended(&orphan.run, now);
    world.commit();
    assert_eq!((world.started[0].id.step, world.started[0].id.attempt), (1, 2));
    assert_eq!(world.finish_all(), ["a.1/1", "a.1/2"]);
    assert_eq!(world.end_of("a.1").0, End::Succeeded);
}

#[test]
fn what_is_cut_off_three_times_is_dead_and_at_once_where_the_flow_says_so() {
    let at_most_once = "  - name: once\n    trigger: { pattern: \"a:x\" }\n    actions: [{ type: command, command: ls, on_interrupt: fail }]\n";
    let mut world = World::new(&[flow("again", "a:x", 1, ""), at_most_once.to_owned()]);
    world.say("a:x", "{}");
    for crash in 1..=3 {
        world.open();
        world.commit();
        let orphans = std::mem::take(&mut world.orphans);
        assert_eq!(orphans.len(), if crash == 1 { 2 } else { 1 });
        for orphan in orphans {
            let now = world.now();
            world.engine().orphan_ended(&orphan.run, now);
        }
        world.commit();
        assert_eq!(world.running().len(), usize::from(crash < 3));
    }
    assert_eq!(world.end_of("again.1"), (End::Failed, "interrupted 3 times".to_owned()));
    let (end, why) = world.end_of("once.1");
    assert_eq!((end, why.as_str()), (End::Failed, "interrupted, and on_interrupt is fail"));
}

#[test]
fn an_end_is_announced_until_somebody_has_published_it() {
    let mut world = World::new(&[flow("a", "a:x", 1, "")]);
    world.say("a:x", "{}");
    world.finish(Outcome::Failed);
    let notice = world.notices.remove(0);
    assert_eq!((notice.kind.as_str(), notice.lineage.depth), ("flow:failed", 1));
    assert_eq!(notice.data.get("why").unwrap().to_string(), "action 1: said so");
    world.open();
    world.commit();
    assert_eq!(world.notices, std::slice::from_ref(&notice));
    world.engine().announced(&notice.end.unwrap());
    world.commit();
    world.open();
    world.commit();
    assert!(world.notices.is_empty());
}

#[test]
fn an_end_that_is_published_late_does_not_stand_for_the_one_after_it() {
    let mut world = World::new(&[flow("a", "a:x", 1, "")]);
    world.say("a:x", "{}");
    world.finish(Outcome::Failed);
    let failed = world.notices.remove(0).end.unwrap();
    let now = world.now();
    world.engine().retry(&failed.run, now).unwrap();
    world.commit();
    world.engine().announced(&failed);
    world.finish(Outcome::Succeeded);
    let succeeded = world.notices.remove(0);
    world.engine().announced(&failed);
    world.open();
    world.commit();
    assert_eq!(world.notices, [succeeded]);
}

#[test]
fn history_is_as_long_as_the_options_say() {
    let folder = tempfile::tempdir().unwrap();
    let options = || Options::default().with_runs_kept(5).with_runs_kept_max(8);
    let mut engine = Engine::open(folder.path(), options(), at(0)).unwrap();
    let flows = ["a", "b"].map(|it| flow(it, "a:x", 1, "    concurrency: { limit: 99 }\n"));
    engine.install(set(&file(&flows)));
    for id in 1..=7 {
        engine.offer(&event(id, "a:x", "{}"), at(id));
        for effect in engine.commit().unwrap() {
            if let Effect::Start(attempt) = effect {
                engine.ended(&attempt.id, Report::new(Outcome::Succeeded, ""), at(id));
            }
        }
    }
    engine.maintain(at(100)).unwrap();
    engine.commit().unwrap();
    let ids = |engine: &Engine| -> Vec<String> {
        engine.runs(None).iter().map(|run| run.id.to_string()).collect()
    };
    // The newest of each flow, and of these the newest overall.
    let wanted = ["b.7", "a.7", "b.6", "a.6", "b.5", "a.5", "b.4", "a.4"];
    assert_eq!(ids(&engine), wanted);
    engine.compact(at(100)).unwrap();
    drop(engine);
    assert_eq!(ids(&Engine::open(folder.path(), options(), at(100)).unwrap()), wanted);
}

#[test]
fn history_ends_and_the_journal_with_it() {
    let mut world = World::new(&[flow("a", "a:x", 2, "    breaker: 0\n")]);
    for _ in 0..20 {
        world.say("a:x", r#"{"k": 1}"#);
        world.finish_all();
    }
    world.say("a:x", "{}");
    world.finish(Outcome::Failed);
    world.say("a:x", "{}");
    world.finish(Outcome::Succeeded);
    world.later(31 * 24 * 3_600_000);
    world.say("a:y", "{}");
    let before = world.engine().runs(None).len();
    // A clock that has skipped this much may be wrong, for a day.
    for removed in [0, 21] {
        let now = world.now();
        world.engine().maintain(now).unwrap();
        world.commit();
        assert_eq!((before, world.removed.len()), (22, removed));
        world.later(24 * 3_600_000);
    }
    let now = world.now();
    world.engine().compact(now).unwrap();
    // The unfinished run remains, and continues after the next start.
    world.open();
    world.commit();
    let runs = world.engine().runs(None);
    assert_eq!(runs.iter().map(|it| it.id.to_string()).collect::<Vec<_>>(), ["a.22"]);
    assert_eq!(world.engine().cursor(), 23);
    let now = world.now();
    let orphan = world.orphans.remove(0);
    world.engine().orphan_ended(&orphan.run, now);
    world.commit();
    assert_eq!(world.finish_all(), ["a.22/1"]);
    // Runs dropped from the history are not created again.
    let old = event(1, "a:x", "{}");
    world.engine().offer(&old, now);
    world.commit();
    assert!(world.started.is_empty());
}

#[test]
fn a_definition_that_no_run_had_is_recorded_again() {
    let mut world = World::new(&[flow("a", "a:x", 1, "")]);
    world.say("a:x", "{}");
    world.finish_all();
    world.later(31 * 24 * 3_600_000);
    for _ in 0..2 {
        let now = world.now();
        world.engine().forget(now);
        world.later(24 * 3_600_000);
    }
    assert_eq!(world.removed, [id("a.1")]);
    // The next process reads the definition, and drops it from the journal.
    world.open();
    let now = world.now();
    world.engine().compact(now).unwrap();
    world.say("a:x", "{}");
    world.open();
    world.commit();
    assert!(world.notices.is_empty(), "{:?}", world.notices);
    assert_eq!(world.orphans.len(), 1);
}
