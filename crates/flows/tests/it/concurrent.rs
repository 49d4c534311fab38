//! Writing and compacting beside the engine, which decides meanwhile.

use waypost_flows::Effect;

use crate::world::{World, flow};

/// The runs of which something is to be begun.
fn begun(effects: Vec<Effect>) -> Vec<String> {
    let run = |it| match it {
        Effect::Start(attempt) => Some(attempt.id.run.to_string()),
        _ => None,
    };
    effects.into_iter().filter_map(run).collect()
}

fn runs(world: &mut World) -> Vec<String> {
    let runs = world.engine().runs(None);
    runs.into_iter().map(|run| format!("{} {:?}", run.id, run.phase)).collect()
}

#[test]
fn what_is_decided_while_a_commit_is_written_is_in_the_next() {
    let mut world = World::new(&[flow("a", "a:x", 1, "    concurrency: { limit: 9 }\n")]);
    world.publish("a:x", "{}");
    world.offer_all();
    let mut first = world.engine().begin_commit();
    world.publish("a:x", "{}");
    world.offer_all();
    first.write().unwrap();
    assert_eq!(begun(world.engine().end_commit(first)), ["a.1"]);

    // So is one that was not written.
    let unwritten = world.engine().begin_commit();
    world.publish("a:x", "{}");
    world.offer_all();
    assert_eq!(begun(world.engine().end_commit(unwritten)), Vec::<String>::new());
    assert_eq!(begun(world.engine().commit().unwrap()), ["a.2", "a.3"]);

    let known = world.engine().runs(None).len();
    world.open();
    assert_eq!((known, world.engine().runs(None).len()), (3, 3));
}

#[test]
fn a_compaction_keeps_what_is_decided_meanwhile() {
    const MONTH_MS: u64 = 31 * 24 * 3_600_000;

    let mut world = World::new(&[flow("a", "a:x", 1, "")]);
    // The clock does not skip the time that runs are kept.
    let earlier = world.after(MONTH_MS / 2);
    world.engine().forget(earlier);
    let mut compaction = loop {
        // So slowly that no limit holds the flow.
        world.later(60_000);
        world.say("a:x", r#"{"k": 1}"#);
        world.finish_all();
        let now = world.after(MONTH_MS);
        world.engine().forget(now);
        // What is not on disk must not decide what goes.
        assert!(world.engine().compaction(now).is_none());
        world.commit();
        if let Some(compaction) = world.engine().compaction(now) {
            break compaction;
        }
        assert!(world.events.len() < 4096, "the journal only grows");
    };
    world.now_ms += MONTH_MS;
    world.say("a:x", r#"{"k": 2}"#);
    world.finish_all();
    world.say("a:x", r#"{"k": 3}"#);
    let (known, cursor) = (runs(&mut world), world.engine().cursor());
    assert_eq!(known.len(), 2);
    compaction.run().unwrap();
    world.engine().compacted(&compaction);
    drop(compaction);
    // It has its event, too.
    let id = world.started[0].id.run.clone();
    let event = world.engine().event_of(&id).unwrap();
    world.open();
    world.commit();
    assert_eq!(world.engine().cursor(), cursor);
    assert_eq!(world.engine().event_of(&id).unwrap(), event);
    assert_eq!(world.engine().runs(None).len(), known.len());
}
