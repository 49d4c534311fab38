use super::{Change, Files, Outcome, Scenario, Second, run};
use crate::events::SECOND;
use crate::place::Method;
use crate::stores::Workload;

/// 300 stores on 8 machines that hold a third of them.
fn scenario(method: Method, change: Change) -> Scenario {
    let mut workload = Workload::of(300, 20_000.0);
    workload.memories_sigma = 1.0;
    Scenario {
        workload,
        machines: 8,
        memory_bytes: 1_500_000_000,
        databases: 1,
        method,
        second: Second::OnDisk,
        files: Files::Log,
        change,
        warm_seconds: 1_800,
        quiet_seconds: 1_800,
        seed: 3,
    }
}

fn outcome(scenario: &Scenario) -> Outcome {
    let outcome = run(scenario).expect("every store fits a machine");
    assert!(!outcome.is_over, "a machine exceeded its memory");
    for metrics in [&outcome.quiet, &outcome.after] {
        let answered = metrics.at_once + metrics.waits.len() as u64 + metrics.failed;
        assert_eq!(metrics.requests, answered);
    }
    outcome
}

#[test]
fn the_same_seed_gives_the_same_outcome() {
    let scenario = scenario(Method::Bounded, Change::Lose(2));
    let other = Scenario { seed: 4, ..scenario.clone() };
    assert_eq!(outcome(&scenario), outcome(&scenario));
    assert_ne!(outcome(&scenario), outcome(&other));
}

#[test]
fn stores_are_loaded_on_demand_within_the_memory_of_a_machine() {
    let scenario = scenario(Method::Bounded, Change::None);
    let outcome = outcome(&scenario);
    assert!(outcome.quiet.loads > 0 && outcome.evicted > 0);
    assert!(outcome.peaks.iter().all(|it| *it <= scenario.memory_bytes));
    assert!(!outcome.quiet.waits.is_empty() && outcome.quiet.waited_share() < 0.5);
}

#[test]
fn with_enough_memory_a_store_is_loaded_once() {
    let mut scenario = scenario(Method::Bounded, Change::None);
    scenario.memory_bytes *= 100;
    let outcome = outcome(&scenario);
    assert_eq!(outcome.evicted, 0);
    assert!(outcome.open.iter().sum::<usize>() <= scenario.workload.stores);
}

#[test]
fn after_a_loss_every_store_has_two_owners_again() {
    for method in [Method::Ring, Method::Rendezvous, Method::Bounded] {
        for lost in [1, 2, 4] {
            let outcome = outcome(&scenario(method, Change::Lose(lost)));
            assert!(outcome.is_complete, "{method:?} {lost}");
            assert!(outcome.complete_seconds > 60.0, "replacement begins after 60 s");
            assert!(outcome.copies_moved > 30 * lost);
            assert_eq!(outcome.restored_seconds > 0.0, outcome.without_copy > 0);
        }
    }
}

#[test]
fn only_the_loss_of_several_machines_leaves_stores_without_a_copy() {
    let one = outcome(&scenario(Method::Bounded, Change::Lose(1)));
    let four = outcome(&scenario(Method::Bounded, Change::Lose(4)));
    assert_eq!((one.without_copy, one.after.failed), (0, 0));
    assert!(four.without_copy > 0);
    assert!(four.restored_seconds < four.complete_seconds);
}

#[test]
fn added_machines_take_over_without_failed_requests() {
    let outcome = outcome(&scenario(Method::Bounded, Change::Add(2)));
    assert!(outcome.is_complete);
    assert_eq!(outcome.after.failed, 0);
    let fair = 2 * 300 * 2 / 10;
    assert!((fair / 2..fair * 5 / 4).contains(&outcome.copies_moved), "{}", outcome.copies_moved);
}

#[test]
fn an_open_second_owner_shortens_the_waits_after_a_loss() {
    let mut scenario = scenario(Method::Bounded, Change::Lose(2));
    scenario.memory_bytes *= 100;
    let on_disk = outcome(&scenario);
    scenario.second = Second::Open;
    let open = outcome(&scenario);
    let waits = |outcome: &Outcome| outcome.after.waits.iter().sum::<f64>();
    assert!(waits(&open) < waits(&on_disk), "{:?} {:?}", open.after.waits, on_disk.after.waits);
    let bytes = |outcome: &Outcome| outcome.peaks.iter().sum::<u64>();
    assert!(bytes(&open) > bytes(&on_disk) * 3 / 2, "it needs more memory");
}

#[test]
fn copying_all_files_takes_more_bytes_and_less_time() {
    let mut scenario = scenario(Method::Bounded, Change::Add(1));
    let log = outcome(&scenario);
    scenario.files = Files::All;
    let all = outcome(&scenario);
    assert!(all.bytes_moved > log.bytes_moved);
    assert!(all.complete_seconds < log.complete_seconds);
}

#[test]
fn appends_are_counted_by_the_second() {
    let outcome = outcome(&scenario(Method::Bounded, Change::None));
    let appends: u64 = outcome.quiet.appends.iter().sum();
    let share = appends as f64 / outcome.quiet.requests as f64;
    assert!((0.17..0.23).contains(&share), "{share}");
    assert!(outcome.quiet.appends.len() as u64 <= 2 * 1_800, "{SECOND} us each");
}

#[test]
fn a_store_that_fits_no_machine_is_an_error() {
    let mut scenario = scenario(Method::Bounded, Change::None);
    scenario.memory_bytes = 100_000_000;
    assert!(run(&scenario).is_err());
}
