use std::collections::BTreeMap;

use proptest::prelude::*;
use waypost_flows::{Outcome, Phase, RunId};

use crate::world::{Choices, World, flow};

fn flows() -> Vec<String> {
    let retry = "  - name: retry\n    trigger: { pattern: \"a:*\" }\n    breaker: 4\n    actions:\n      - { type: command, command: ls, retry: { max: 2, initial: 5s } }\n      - { type: command, command: ls, continue_on_error: true }\n";
    vec![
        retry.to_owned(),
        flow("two", "a:x", 2, "    concurrency: { limit: 2, key: data.k, max_queued: 3 }\n"),
        flow("newest", "*", 2, "    concurrency: { mode: restart }\n    breaker: 0\n"),
        flow("calm", "b:x", 1, "    debounce: { quiet: 10s, max: 15s, key: data.k }\n"),
        flow("rare", "b:*", 1, "    rate_limit: { runs: 2, per: 30s }\n"),
        flow("busy", "a:x", 1, "    concurrency: { mode: skip }\n"),
    ]
}

/// The limit of concurrent runs with the same key in each flow.
fn limit_of(flow: &str) -> usize {
    if flow == "two" { 2 } else { 1 }
}

/// The part of the runs that must be the same after another process opened the journal: everything
/// except what time and the crash itself change.
fn remembered(world: &mut World) -> (u64, BTreeMap<String, String>) {
    let engine = world.engine();
    let runs = engine.runs(None).into_iter().map(|run| {
        let state = match &run.phase {
            Phase::Ended { .. } => format!("{:?}", run.phase),
            // That a wait is over is not recorded.
            Phase::Quiet { .. } | Phase::Retrying { .. } | Phase::Queued => "waits".to_owned(),
            Phase::Running { .. } => "runs".to_owned(),
        };
        let tries = run.tries.iter().map(|it| (it.step, it.attempt, it.report.outcome));
        (run.id.to_string(), format!("{state} {:?} {:?}", run.key, tries.collect::<Vec<_>>()))
    });
    let runs = runs.collect();
    (engine.cursor(), runs)
}

fn some_run(world: &mut World, choices: &mut Choices) -> Option<RunId> {
    let runs = world.engine().runs(None);
    let idx = choices.below(runs.len().max(1) as u64) as usize;
    runs.get(idx).map(|run| run.id.clone())
}

fn check_limits(world: &mut World) -> Result<(), TestCaseError> {
    let mut running: BTreeMap<(String, Option<String>), usize> = BTreeMap::new();
    for run in world.engine().runs(None) {
        if matches!(run.phase, Phase::Running { .. }) {
            *running.entry((run.id.flow.to_string(), run.key.clone())).or_default() += 1;
        }
    }
    for ((flow, key), count) in running {
        prop_assert!(count <= limit_of(&flow), "{flow} {key:?} has {count}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever is requested in whatever order: limits hold, a restart of the service remembers
    /// everything, and in the end nothing waits that could run.
    #[test]
    fn under_any_operations_limits_hold_nothing_is_lost_and_nothing_hangs(seed in 1_u64..) {
        let mut choices = Choices(seed);
        let mut world = World::new(&flows());
        let names: Vec<_> = world.engine().status().into_iter().map(|it| it.name).collect();
        for _ in 0..150 {
            let now = world.now();
            let name = names[choices.below(names.len() as u64) as usize].clone();
            match choices.below(16) {
                0..4 => {
                    let kind = ["a:x", "a:y", "b:x"][choices.below(3) as usize];
                    world.say(kind, &format!(r#"{{"k": {}}}"#, choices.below(2)));
                }
                4..9 if !world.started.is_empty() => {
                    let idx = choices.below(world.started.len() as u64) as usize;
                    let done = world.started.remove(idx);
                    let outcomes =
                        [Outcome::Succeeded, Outcome::Failed, Outcome::TimedOut, Outcome::Refused];
                    world.report(&done, outcomes[choices.below(4) as usize]);
                }
                9 => if let Some(run) = some_run(&mut world, &mut choices) {
                    world.engine().cancel(&run, "not wanted", now).unwrap();
                },
                10 => if let Some(run) = some_run(&mut world, &mut choices) {
                    // Most did not fail.
                    world.engine().retry(&run, now).unwrap_or_default();
                },
                11 => match choices.below(3) {
                    0 => world.engine().pause(&name, "by hand").unwrap(),
                    1 => world.engine().resume(&name, now).unwrap(),
                    _ => drop(world.engine().purge(&name, now)),
                },
                12 => {
                    let until = world.events.len() as u64;
                    world.engine().replay(&name, until.saturating_sub(3), until).unwrap();
                    world.fill_all();
                }
                13 => world.engine().compact(now).unwrap(),
                14 => {
                    world.commit();
                    let before = remembered(&mut world);
                    world.open();
                    let mut after = remembered(&mut world);
                    // Runs that could start immediately may have started.
                    for (run, state) in &mut after.1 {
                        if before.1[run].starts_with("waits") && state.starts_with("runs") {
                            *state = state.replacen("runs", "waits", 1);
                        }
                    }
                    prop_assert_eq!(before, after);
                }
                _ => world.later(choices.below(8_000)),
            }
            world.commit();
            for orphan in std::mem::take(&mut world.orphans) {
                let now = world.now();
                world.engine().orphan_ended(&orphan.run, now);
            }
            world.commit();
            check_limits(&mut world)?;
        }
        for name in names {
            let now = world.now();
            world.engine().resume(&name, now).unwrap();
        }
        for _ in 0..40 {
            world.fill_all();
            world.commit();
            world.finish_all();
            world.later(60_000);
        }
        let mut open = world.engine().runs(None);
        open.retain(|run| !matches!(run.phase, Phase::Ended { .. }));
        let open: Vec<String> =
            open.iter().map(|run| format!("{} {:?}", run.id, run.phase)).collect();
        prop_assert!(open.is_empty(), "{open:?}");
        prop_assert_eq!(world.engine().next_wake(), None);
    }
}
