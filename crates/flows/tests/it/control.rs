use waypost_flows::{
    Effect, End, Engine, Error, Options, Outcome, Phase, Report, Stage, Timestamp,
};

use crate::world::{World, at, event, file, flow, id, set};

#[test]
fn a_run_is_cancelled_in_every_state() {
    let mut world = World::new(&[
        flow("a", "a:x", 1, ""),
        flow("quiet", "a:x", 1, "    debounce: { quiet: 1h }\n"),
    ]);
    world.say("a:x", "{}");
    world.say("a:x", "{}");
    let now = world.now();
    for run in ["a.2", "quiet.2", "a.1"] {
        assert!(world.engine().cancel(&id(run), "not wanted", now).unwrap());
    }
    world.commit();
    for run in ["a.2", "quiet.2"] {
        assert_eq!(world.end_of(run), (End::Cancelled, "not wanted".to_owned()));
    }
    assert_eq!(world.stopped[0].run.to_string(), "a.1");
    // A crash before its process has ended does not bring it back.
    world.open();
    world.commit();
    world.engine().orphan_ended(&id("a.1"), now);
    world.commit();
    assert_eq!(world.end_of("a.1").0, End::Cancelled);
    assert!(world.started.is_empty());
    assert!(!world.engine().cancel(&id("a.1"), "again", now).unwrap());
    let unknown = world.engine().cancel(&id("a.9"), "", now);
    assert!(matches!(unknown, Err(Error::UnknownRun(_))));
}

#[test]
fn a_failed_run_is_retried_from_where_it_failed_also_when_its_journal_was_compacted() {
    let mut world = World::new(&[flow("a", "a:x", 3, "")]);
    world.say("a:x", r#"{"k": "v"}"#);
    world.finish(Outcome::Succeeded);
    world.finish(Outcome::Failed);
    let now = world.now();
    world.engine().compact(now).unwrap();
    world.open();
    // Its flow has changed meanwhile; the run keeps its definition.
    world.install(&[flow("a", "z:z", 1, "")]);
    world.commit();
    world.engine().retry(&id("a.1"), now).unwrap();
    world.commit();
    assert_eq!((world.started[0].id.step, world.started[0].id.attempt), (1, 2));
    assert_eq!(world.started[0].event.data.get("k").unwrap().to_string(), "v");
    world.finish_all();
    assert_eq!(world.end_of("a.1").0, End::Succeeded);
    let again = world.engine().retry(&id("a.1"), now);
    assert!(matches!(again, Err(Error::NotFailed(_))));
    let keys: Vec<String> =
        world.notices.iter().map(|notice| notice.idempotency_key.clone()).collect();
    assert_eq!(keys.len(), 2, "the failure, asked for again after the start, and the success");
    assert_ne!(keys[0], keys[1]);
}

#[test]
fn a_replay_runs_past_events_again_under_a_number() {
    let mut world = World::new(&[flow("a", "a:*", 1, "    breaker: 3\n")]);
    for kind in ["a:x", "b:x", "a:y", "a:x"] {
        world.say(kind, "{}");
        world.finish_all();
        world.later(60_000);
    }
    let flow = world.started.len();
    assert_eq!(flow, 0);
    let name = id("a.1").flow;
    assert_eq!(world.engine().replay(&name, 1, 4).unwrap(), 1);
    world.commit();
    world.open();
    world.fill_all();
    world.commit();
    assert_eq!(world.running(), ["a.3.1"]);
    assert_eq!(world.finish_all(), ["a.3.1/0", "a.4.1/0"]);
    assert_eq!(world.engine().replay(&name, 0, 1).unwrap(), 2);
    world.fill_all();
    world.commit();
    assert_eq!(world.finish_all(), ["a.1.2/0"]);
    assert!(matches!(world.engine().replay(&id("z.1").flow, 0, 1), Err(Error::UnknownFlow(_))));
}

#[test]
fn a_flow_begins_where_it_says_and_comes_back_to_where_it_was() {
    let mut world = World::new(&[]);
    for _ in 0..3 {
        world.say("a:x", "{}");
    }
    let flows = [
        flow("new", "a:x", 1, ""),
        flow("old", "a:x", 1, "    start: earliest\n"),
        flow("some", "a:x", 1, "    start: after 2\n"),
        flow("later", "a:x", 1, "    start: after 4\n"),
    ];
    world.install(&flows);
    world.fill_all();
    world.say("a:x", "{}");
    let done = world.finish_all();
    let mut done: Vec<&str> = done.iter().map(|done| done.trim_end_matches("/0")).collect();
    done.sort_unstable();
    assert_eq!(done, ["new.4", "old.1", "old.2", "old.3", "old.4", "some.3", "some.4"]);
    // Absent for two events, then in force again.
    world.install(&flows[1..]);
    world.say("a:x", "{}");
    world.open();
    world.say("a:x", "{}");
    world.install(&flows[..1]);
    world.fill_all();
    world.commit();
    let now = world.now();
    for orphan in std::mem::take(&mut world.orphans) {
        world.engine().orphan_ended(&orphan.run, now);
    }
    world.commit();
    world.finish_all();
    let runs = world.engine().runs(Some(&id("new.1").flow));
    let mut runs: Vec<u64> = runs.iter().map(|run| run.id.event).collect();
    runs.sort_unstable();
    assert_eq!(runs, [4, 5, 6]);
}

#[test]
fn events_from_before_an_approval_start_no_runs() {
    let flows = [flow("a", "a:x", 1, ""), flow("b", "a:x", 1, "")];
    let mut world = World::new(&flows);
    let [a, b] = ["a.1", "b.1"].map(|it| id(it).flow);
    world.say("a:x", "{}");
    world.finish_all();
    // One lost its approval, the other is in force: noting that again changes nothing for it.
    world.install(&flows[1..]);
    world.engine().withhold([a.clone(), b.clone()].into());
    let replayed = world.engine().replay(&a, 0, 1);
    assert!(matches!(replayed, Err(Error::PendingApproval(name)) if name == a));
    world.say("a:x", "{}");
    world.open();
    world.say("a:x", "{}");
    world.engine().withhold([a.clone()].into());
    world.commit();
    world.install(&flows);
    world.fill_all();
    world.say("a:x", "{}");
    world.finish_all();
    let runs = |world: &mut World, flow| {
        let runs = world.engine().runs(Some(&flow));
        runs.iter().map(|run| run.id.event).rev().collect::<Vec<_>>()
    };
    assert_eq!(runs(&mut world, a.clone()), [1, 4]);
    assert_eq!(runs(&mut world, b), [1, 2, 3, 4]);
    // The next absence is one without a lost approval.
    world.install(&flows[1..]);
    world.say("a:x", "{}");
    world.install(&flows);
    world.fill_all();
    world.commit();
    world.finish_all();
    assert_eq!(runs(&mut world, a), [1, 4, 5]);
}

#[test]
fn a_flow_is_paused_purged_and_resumed() {
    let mut world = World::new(&[flow("a", "a:x", 1, "")]);
    let name = id("a.1").flow;
    world.engine().pause(&name, "by hand").unwrap();
    for _ in 0..3 {
        world.say("a:x", "{}");
    }
    world.open();
    world.commit();
    let status = world.engine().status().remove(0);
    assert_eq!((status.paused.as_deref(), status.stages[&Stage::Queued]), (Some("by hand"), 3));
    assert_eq!(status.oldest_waiting, Some(id("a.1")));
    let now = world.now();
    assert_eq!(world.engine().purge(&name, now).unwrap(), 3);
    world.say("a:x", "{}");
    world.engine().resume(&name, now).unwrap();
    world.commit();
    assert_eq!(world.running(), ["a.4"]);
    let mut open = world.engine().runs(None);
    open.retain(|run| !matches!(run.phase, Phase::Ended { .. }));
    assert!(matches!(open[..], [run] if matches!(run.phase, Phase::Running { .. })));
}

#[test]
fn a_flow_that_is_off_decides_its_events_and_runs_none() {
    let mut world = World::new(&[flow("a", "a:x", 1, "    enabled: false\n")]);
    world.say("a:x", "{}");
    world.install(&[flow("a", "a:x", 1, "")]);
    world.fill_all();
    world.commit();
    assert!(world.started.is_empty());
    world.say("a:x", "{}");
    assert_eq!(world.running(), ["a.2"]);
}

#[test]
fn a_journal_begins_after_the_events_that_are_there() {
    let mut world = World::new(&[flow("a", "a:x", 1, "")]);
    assert_eq!(world.engine().cursor(), 0);
    world.say("a:x", "{}");
    let folder = tempfile::tempdir().unwrap();
    let options = Options::default().with_head(7);
    let mut engine = Engine::open(folder.path(), options, at(0)).unwrap();
    engine.install(set(&file(&[flow("a", "a:x", 1, "")])));
    engine.commit().unwrap();
    engine.offer(&world.events[0], at(0));
    assert!(engine.commit().unwrap().is_empty());
    drop(engine);
    let again = Options::default().with_head(99);
    assert_eq!(Engine::open(folder.path(), again, at(0)).unwrap().cursor(), 7);
}

#[test]
fn what_is_published_has_a_key_that_the_bus_takes() {
    let (name, now) = ("n".repeat(64), Timestamp::EPOCH);
    let folder = tempfile::tempdir().unwrap();
    let options = |identity: &str| Options::default().with_identity(identity);
    for identity in ["", "a b", "é", "12345678901234567"] {
        let error = Engine::open(folder.path(), options(identity), Timestamp::EPOCH)
            .map(|_| ())
            .unwrap_err();
        assert!(matches!(error, Error::Identity(_)), "{identity}");
    }
    let mut engine = Engine::open(folder.path(), options("1234567890123456"), now).unwrap();
    engine.install(set(&file(&[flow(&name, "a:x", 1, "    breaker: 1\n")])));
    let mut drafts = Vec::new();
    for id in [(1 << 53) - 2, (1 << 53) - 1] {
        engine.offer(&event(id, "a:x", "{}"), now);
        for effect in engine.commit().unwrap() {
            if let Effect::Start(attempt) = effect {
                drafts.push(attempt.draft(attempt.event.kind.clone(), attempt.event.data.clone()));
                engine.ended(&attempt.id, Report::new(Outcome::Failed, "no"), now);
            } else if let Effect::Announce(notice) = effect {
                drafts.push(notice.draft());
            }
        }
    }
    let kinds: Vec<&str> = drafts.iter().map(|draft| draft.kind.as_str()).collect();
    assert_eq!(kinds, ["a:x", "flow:failed", "flow:throttled"]);
    // The real bus accepts them, and the same one twice as one.
    let bus_folder = tempfile::tempdir().unwrap();
    let (bus, _) =
        waypost_events::Bus::open(bus_folder.path(), &waypost_events::Options::default()).unwrap();
    for draft in drafts {
        assert!(draft.key.is_some(), "{draft:?}");
        assert!(!bus.publish(draft.clone(), now).unwrap().duplicate);
        assert!(bus.publish(draft, now).unwrap().duplicate);
    }
}
