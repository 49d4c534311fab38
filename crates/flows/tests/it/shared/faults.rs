//! A shared journal that does not answer, or is not the right one.

use std::sync::atomic::Ordering;
use std::time::Duration;

use waypost_flows::{Error, Outcome, Phase};

use super::{Cluster, folder};
use crate::hub::Fault;
use crate::world::{flow, id};

/// A commit whose answer is lost has no effects, whether its records exist or not: nothing has
/// started. If they exist, the next leader finds an action that began.
#[test]
fn after_a_lost_answer_nothing_starts_and_the_records_decide() {
    for (fault, is_written) in [(Fault::LostAnswer, true), (Fault::LostAppend, false)] {
        let mut cluster = Cluster::new(2, &[flow("a", "a:x", 1, "")]);
        cluster.take_over(0);
        cluster.publish("a:x", "{}");
        cluster.offer(0);
        cluster.nodes[0].access.member.set_fault(Some(fault));
        let error = cluster.commit(0).unwrap_err();
        assert!(matches!(error, Error::SharedJournal(_)), "{error}");
        assert!(error.to_string().contains("may have been written or not"), "{error}");
        assert_eq!((cluster.begun.len(), cluster.engine(0).decides()), (0, false));
        // The state is that of the log, which has nothing of it yet.
        assert!(cluster.engine(0).runs(None).is_empty());
        assert!(cluster.engine(0).digest().is_some());

        cluster.take_over(0);
        assert_eq!(cluster.engine(0).cursor(), u64::from(is_written));
        // It looks for a process of the attempt that it had recorded.
        assert_eq!(cluster.nodes[0].orphans.len(), usize::from(is_written));
        cluster.settle(0);
        let run = cluster.engine(0).run(&id("a.1")).unwrap();
        let tries: Vec<_> = run.tries.iter().map(|it| it.report.outcome).collect();
        let all = [Outcome::Interrupted, Outcome::Succeeded];
        assert_eq!(tries, all[usize::from(!is_written)..]);
        assert_eq!(cluster.begun.len(), 1, "one attempt was started");
        cluster.compare();
    }
}

/// Every second append loses its answer: a part of a large commit is written, and the rest is
/// decided again.
#[test]
fn a_part_of_a_commit_is_a_commit() {
    let max = waypost_log::AppendMax { records: 4, bytes: 1 << 20 };
    let flows = [flow("a", "a:x", 1, "    breaker: 0\n"), flow("b", "a:x", 1, "    breaker: 0\n")];
    let mut cluster = Cluster::with(2, &flows, max, 3);
    for _ in 0..12 {
        cluster.publish("a:x", "{}");
    }
    for attempt in 0..40 {
        cluster.lead(attempt % 2).unwrap();
        cluster.offer(attempt % 2);
        cluster.nodes[attempt % 2].access.member.set_fault(Some(Fault::LostAnswer));
        cluster.commit(attempt % 2).unwrap_err();
    }
    cluster.nodes[0].access.member.set_fault(None);
    cluster.take_over(0);
    cluster.settle(0);
    let runs = cluster.engine(0).runs(None);
    assert_eq!(runs.len(), 24);
    assert!(runs.iter().all(|it| matches!(it.phase, Phase::Ended { .. })));
    cluster.compare();
}

/// With each decision as an append of its own, and after each of them: the machine that takes over
/// completes every run, and repeats nothing that is recorded.
#[test]
fn after_any_append_another_machine_can_take_over() {
    let retried = "  - name: retried\n    trigger: { pattern: \"a:x\" }\n    concurrency: { mode: restart }\n    actions: [{ type: command, command: ls, retry: { max: 1, initial: 1s } }]\n";
    let flows = [
        flow("a", "a:*", 2, "    concurrency: { limit: 2 }\n"),
        flow("calm", "a:x", 1, "    start: earliest\n    debounce: { quiet: 5s }\n"),
        retried.to_owned(),
    ];
    let max = waypost_log::AppendMax { records: 1, bytes: 1 << 20 };
    let mut lost = 0;
    loop {
        lost += 1;
        let mut cluster = Cluster::with(2, &flows, max, 100);
        cluster.nodes[0].access.lost_in.store(lost, Ordering::SeqCst);
        let is_done = begin(&mut cluster).is_ok();
        cluster.take_over(1);
        cluster.settle(1);
        let runs = cluster.engine(1).runs(None);
        assert_eq!(runs.len(), 7, "after append {lost}: {runs:?}");
        let is_ended = |run: &&waypost_flows::Run| matches!(run.phase, Phase::Ended { .. });
        assert!(runs.iter().all(is_ended), "after append {lost}: {runs:?}");
        cluster.check_records();
        cluster.compare();
        if is_done {
            break;
        }
    }
    assert!(lost > 12, "{lost} appends");
}

/// Events and results on the first machine, until a commit fails.
fn begin(cluster: &mut Cluster) -> Result<(), Error> {
    for kind in ["a:x", "a:y", "a:x"] {
        cluster.publish(kind, "{}");
    }
    cluster.lead(0)?;
    cluster.commit(0)?;
    cluster.offer(0);
    cluster.commit(0)?;
    for outcome in [Outcome::Failed, Outcome::Succeeded].into_iter().cycle().take(9) {
        if cluster.nodes[0].started.is_empty() {
            cluster.now_ms += 5_000;
            let now = cluster.now(0);
            cluster.engine(0).wake(now);
            cluster.commit(0)?;
        } else {
            let attempt = cluster.nodes[0].started.remove(0);
            cluster.report(0, &attempt, outcome)?;
        }
    }
    Ok(())
}

#[test]
fn without_the_shared_journal_reads_work_and_nothing_is_decided() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 1, "")]);
    cluster.take_over(0);
    cluster.say(0, "a:x", "{}");
    cluster.compare();
    for number in 0..2 {
        cluster.nodes[number].access.member.set_fault(Some(Fault::Unreachable));
    }
    cluster.open(1);
    assert_eq!(cluster.engine(1).runs(None).len(), 1);
    assert!(matches!(cluster.engine(1).follow(), Err(Error::SharedJournal(_))));
    assert!(matches!(cluster.lead(1), Err(Error::SharedJournal(_))));
    assert!(!cluster.engine(1).decides());
    let done = cluster.nodes[0].started.remove(0);
    assert!(cluster.report(0, &done, Outcome::Succeeded).is_err());
    assert!(cluster.engine(0).run(&id("a.1")).unwrap().tries.is_empty());
    for number in 0..2 {
        cluster.nodes[number].access.member.set_fault(None);
    }
    cluster.take_over(1);
    cluster.settle(1);
    assert_eq!(cluster.engine(1).run(&id("a.1")).unwrap().tries.len(), 2);
    cluster.compare();
}

#[test]
fn a_shared_journal_with_a_gap_or_of_others_is_refused() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 1, "")]);
    cluster.take_over(0);
    cluster.say(0, "a:x", "{}");
    cluster.nodes[1].access.member.set_fault(Some(Fault::Gap));
    let error = cluster.engine(1).follow().unwrap_err();
    assert!(error.to_string().contains("has record 2 where 1 is expected"), "{error}");
    cluster.nodes[1].access.member.set_fault(None);
    // Not until it is opened again.
    cluster.engine(1).follow().unwrap_err();
    cluster.open(1);
    cluster.compare();

    let mut other = Cluster::new(1, &[flow("b", "a:x", 1, "")]);
    other.take_over(0);
    for _ in 0..9 {
        other.say(0, "a:x", "{}");
    }
    other.nodes[0].engine = None;
    cluster.nodes[1].engine = None;
    cluster.nodes[1].dir = std::mem::replace(&mut other.nodes[0].dir, folder());
    cluster.open(1);
    let error = cluster.engine(1).follow().unwrap_err();
    assert!(error.to_string().contains("it ends at record"), "{error}");
}

/// The shared journal takes the records and the log of the leader does not: nothing starts there,
/// and another machine finds an action that began.
#[test]
fn a_leader_whose_log_does_not_take_the_records_starts_nothing() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 1, "    breaker: 0\n")]);
    cluster.take_over(0);
    // More than one segment takes, in several appends.
    let text = format!(r#"{{"k": "{}"}}"#, "x".repeat(60_000));
    for _ in 0..150 {
        cluster.publish("a:x", &text);
    }
    cluster.offer(0);
    let log = cluster.nodes[0].dir.path().join("log");
    let aside = cluster.nodes[0].dir.path().join("aside");
    let member = cluster.nodes[0].access.member.clone();
    *member.lose_folder.lock() = Some(Box::new(move || std::fs::rename(log, aside).unwrap()));
    member.set_fault(Some(Fault::LostFolder));
    let before = cluster.hub.last();
    let error = cluster.commit(0).unwrap_err();
    assert!(matches!(error, Error::Log(_)), "{error}");
    assert!(cluster.hub.last() > before);
    assert_eq!((cluster.begun.len(), cluster.engine(0).decides()), (0, false));
    assert!(cluster.engine(0).follow().is_err());
    cluster.nodes.remove(0);
    cluster.take_over(0);
    assert_eq!(cluster.nodes[0].started[0].id.attempt, 2);
    cluster.settle(0);
    assert_eq!(cluster.engine(0).runs(None).len(), 150);
    cluster.compare();
}

/// A commit that is being written when the machine steps down has no effects, and the state is that
/// of the records afterwards.
#[test]
fn a_commit_that_is_being_written_has_no_effects_after_stepping_down() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 1, "")]);
    cluster.take_over(0);
    cluster.publish("a:x", "{}");
    cluster.offer(0);
    let mut commit = cluster.engine(0).begin_commit();
    // No second one meanwhile.
    let mut second = cluster.engine(0).begin_commit();
    assert!(matches!(second.write(), Err(Error::NotLeading)));
    assert!(cluster.engine(0).end_commit(second).is_empty());
    assert_eq!(cluster.engine(0).digest(), None);
    cluster.engine(0).step_down();
    assert_eq!(cluster.engine(0).follow().unwrap(), 0);
    let now = cluster.now(0);
    assert!(matches!(cluster.engine(0).lead(now), Err(Error::NotLeading)));
    commit.write().unwrap();
    assert!(cluster.engine(0).end_commit(commit).is_empty());
    assert_eq!(cluster.engine(0).cursor(), 1);
    assert!(cluster.engine(0).digest().is_some());
    cluster.compare();
}

#[test]
fn a_thread_waits_for_a_position_without_the_engine() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 1, "")]);
    cluster.take_over(0);
    let files = cluster.engine(1).files();
    let position = cluster.engine(0).position();
    assert!(position > 0 && files.wait_for(0, Duration::ZERO));
    assert!(!files.wait_for(position, Duration::ZERO));
    let waiting = {
        let files = files.clone();
        std::thread::spawn(move || files.wait_for(position, Duration::from_secs(60)))
    };
    // Fetched without the engine; the same page twice changes nothing.
    let (page, again) = (files.page().unwrap(), files.page().unwrap());
    assert_eq!(cluster.engine(1).take_page(&page).unwrap(), position);
    assert_eq!(cluster.engine(1).take_page(&again).unwrap(), 0);
    assert!(waiting.join().unwrap());
    assert_eq!(files.sync().unwrap(), position);
    assert_eq!(cluster.engine(1).reached(), position);
    cluster.compare();
}
