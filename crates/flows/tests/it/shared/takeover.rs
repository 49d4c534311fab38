//! One machine decides, the others follow and take over.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

use waypost_flows::{
    End, Engine, Error, FlowFile, FlowSet, Leader, Options, Outcome, Phase, Stage,
};
use waypost_log::AppendMax;

use super::{Cluster, folder};
use crate::child::end_of;
use crate::world::{at, flow, id, set};

const ONCE: &str = "  - name: once\n    trigger: { pattern: \"a:x\" }\n    actions: [{ type: command, command: ls, on_interrupt: fail }]\n";

#[test]
fn a_follower_shows_what_the_leader_does_and_decides_nothing() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 2, "")]);
    cluster.take_over(0);
    cluster.say(0, "a:x", "{}");
    assert_eq!(cluster.engine(1).position(), 0);
    cluster.compare();
    let follower = cluster.engine(1);
    let run = follower.run(&id("a.1")).unwrap();
    assert!(matches!(run.phase, Phase::Running { .. }));
    assert_eq!(run.machine.as_deref(), Some("machine-0"));
    assert_eq!(follower.event_of(&id("a.1")).unwrap().id, 1);
    assert_eq!(follower.status()[0].stages[&Stage::Running], 1);

    let (name, now) = ("a".parse().unwrap(), at(1));
    let is_refused = |answer: Result<(), Error>| matches!(answer, Err(Error::NotLeading));
    assert!(is_refused(follower.cancel(&id("a.1"), "", now).map(drop)));
    assert!(is_refused(follower.retry(&id("a.1"), now)));
    assert!(is_refused(follower.purge(&name, now).map(drop)));
    assert!(is_refused(follower.pause(&name, "")));
    assert!(is_refused(follower.resume(&name, now)));
    assert!(is_refused(follower.replay(&name, 0, 1).map(drop)));
    assert!(is_refused(follower.commit().map(drop)));
    follower.maintain(now).unwrap();
    assert_eq!((follower.next_wake(), follower.backfill()), (None, None));

    // What is passed to it is ignored: it must not be decided later.
    cluster.publish("a:x", "{}");
    cluster.offer(1);
    let done = cluster.nodes[0].started[0].id.clone();
    let report = waypost_flows::Report::new(Outcome::Failed, "");
    cluster.engine(1).ended(&done, report, now);
    cluster.engine(1).wake(at(u64::MAX >> 20));
    cluster.compare();
    assert_eq!(cluster.engine(1).cursor(), 1);
    cluster.finish(0, Outcome::Succeeded);
    cluster.finish(0, Outcome::Succeeded);
    cluster.compare();
    let run = cluster.engine(1).run(&id("a.1")).unwrap();
    assert!(matches!(run.phase, Phase::Ended { end: End::Succeeded, .. }));
}

#[test]
fn what_was_running_on_a_lost_machine_is_interrupted_and_done_steps_are_not_repeated() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 3, ""), ONCE.to_owned()]);
    cluster.take_over(0);
    cluster.say(0, "a:x", "{}");
    let first = cluster.nodes[0].started.remove(0);
    assert_eq!(first.id.run, id("a.1"));
    cluster.report(0, &first, Outcome::Succeeded).unwrap();
    cluster.nodes[0].engine = None;

    cluster.take_over(1);
    // Its processes are on the other machine: there is nothing to look for here.
    assert!(cluster.nodes[1].orphans.is_empty());
    let started: Vec<_> =
        cluster.nodes[1].started.iter().map(|started| started.id.clone()).collect();
    assert_eq!((started.len(), started[0].step, started[0].attempt), (1, 1, 2));
    let once = cluster.engine(1).run(&id("once.1")).unwrap();
    let Phase::Ended { end: End::Failed, why, .. } = &once.phase else { panic!("{once:?}") };
    assert_eq!(why, "interrupted, and on_interrupt is fail");
    let cut = &once.tries[0];
    assert_eq!(
        (cut.report.outcome, cut.machine.as_deref()),
        (Outcome::Interrupted, Some("machine-0"))
    );
    assert_eq!(cut.report.detail, "another machine took over the flows while it ran on machine-0");
    cluster.settle(1);
    let run = cluster.engine(1).run(&id("a.1")).unwrap();
    let tries: Vec<_> = run.tries.iter().map(|it| (it.step, it.report.outcome)).collect();
    let (done, cut) = (Outcome::Succeeded, Outcome::Interrupted);
    assert_eq!(tries, [(0, done), (1, cut), (1, done), (2, done)]);

    // Where the output of each attempt is.
    let tries = run.tries.clone();
    cluster.open(0);
    cluster.compare();
    let there = |cluster: &mut Cluster, number: usize| -> Vec<Option<String>> {
        let engine = cluster.engine(number);
        tries.iter().map(|it| engine.elsewhere(it).map(str::to_owned)).collect()
    };
    let (zero, one) = (Some("machine-0".to_owned()), Some("machine-1".to_owned()));
    assert_eq!(there(&mut cluster, 1), [zero.clone(), zero, None, None]);
    assert_eq!(there(&mut cluster, 0), [None, None, one.clone(), one]);
    // Compaction drops the records of starts, and keeps this.
    let now = cluster.now(0);
    cluster.engine(0).compact(now).unwrap();
    cluster.open(0);
    assert_eq!(
        cluster.engine(0).run(&id("a.1")).unwrap().tries[1].machine.as_deref(),
        Some("machine-0")
    );
    cluster.compare();
}

#[test]
fn a_machine_without_the_lease_commits_nothing_and_starts_nothing() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 2, "")]);
    cluster.take_over(0);
    cluster.say(0, "a:x", "{}");
    let before = cluster.hub.last();
    let taken = cluster.lead(1);
    taken.unwrap();
    // The new leader has appended nothing yet: only the epoch tells the old one.
    assert_eq!(cluster.hub.last(), before);
    cluster.publish("a:x", "{}");
    cluster.offer(0);
    let first = cluster.nodes[0].started.remove(0);
    let refused = cluster.report(0, &first, Outcome::Succeeded).unwrap_err();
    assert!(matches!(refused, Error::SharedJournal(_)), "{refused}");
    assert_eq!((cluster.hub.last(), cluster.nodes[0].started.len()), (before, 0));
    // Its state is that of the records again.
    assert!(!cluster.engine(0).decides());
    assert_eq!(cluster.engine(0).cursor(), 1);
    assert!(cluster.engine(0).run(&id("a.1")).unwrap().tries.is_empty());
    assert!(matches!(cluster.engine(0).commit(), Err(Error::NotLeading)));
    assert!(matches!(cluster.commit(0), Err(Error::NotLeading)));

    // Without a fence, the position refuses it.
    cluster.commit(1).unwrap();
    let epoch = cluster.lease.load(std::sync::atomic::Ordering::SeqCst);
    cluster.lead(0).unwrap();
    cluster.nodes[1].access.epoch.store(epoch + 1, std::sync::atomic::Ordering::SeqCst);
    cluster.commit(0).unwrap();
    cluster.offer(1);
    assert!(matches!(cluster.commit(1), Err(Error::NotLeading)));
    assert!(cluster.nodes[1].started.is_empty());
    assert!(!cluster.hub.is_locked());
    cluster.settle(0);
    cluster.compare();
}

#[test]
fn who_leads_decides_on_everything_that_was_written() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 1, "")]);
    cluster.take_over(0);
    for _ in 0..40 {
        cluster.say(0, "a:x", "{}");
    }
    cluster.settle(0);
    cluster.nodes[0].step_down();
    // It has followed nothing.
    cluster.take_over(1);
    assert_eq!(cluster.engine(1).position(), cluster.hub.last());
    cluster.settle(1);
    let runs = cluster.engine(1).runs(None);
    assert_eq!(runs.len(), 40);
    assert!(runs.iter().all(|it| it.tries.len() == 1));
    cluster.compare();
}

#[test]
fn the_clock_of_the_next_machine_makes_no_wait_longer_or_shorter() {
    let wait = "  - name: a\n    trigger: { pattern: \"a:x\" }\n    debounce: { quiet: 10s }\n    actions: [{ type: command, command: ls }]\n";
    let mut cluster = Cluster::new(2, &[wait.to_owned()]);
    cluster.nodes[0].skew_ms = 3_600_000;
    cluster.take_over(0);
    cluster.say(0, "a:x", "{}");
    cluster.nodes[0].step_down();
    cluster.take_over(1);
    let wait = cluster.engine(1).next_wake().unwrap().saturating_duration_since(cluster.now(1));
    assert!(wait <= Duration::from_secs(10), "{wait:?}");
    cluster.now_ms += 10_000;
    let now = cluster.now(1);
    cluster.engine(1).wake(now);
    cluster.commit(1).unwrap();
    assert_eq!(cluster.nodes[1].started.len(), 1);
}

/// Two machines with one boot id and one set of process numbers, as containers may seem to have.
#[test]
fn a_process_of_another_machine_is_never_signalled() {
    let mut cluster = Cluster::new(3, &[flow("a", "a:x", 1, "")]);
    cluster.take_over(0);
    cluster.say(0, "a:x", "{}");
    // A process that is not of the flow has the number, the start and the boot that are recorded.
    let mut victim =
        Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let pid = i32::try_from(victim.id()).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let start = stat[stat.rfind(')').unwrap() + 1..].split_whitespace().nth(19).unwrap();
    let leader = Leader { pid, start: start.parse().unwrap(), boot: "one boot of all".to_owned() };
    let begun = cluster.nodes[0].started[0].id.clone();
    cluster.engine(0).spawned(&begun, leader.clone());
    cluster.commit(0).unwrap();

    // On the same machine, it is the process to end.
    cluster.open(0);
    cluster.take_over(0);
    assert_eq!(cluster.nodes[0].orphans[0].leader.as_ref(), Some(&leader));
    cluster.take_over(1);
    assert!(cluster.nodes[1].orphans.is_empty());
    let again = cluster.nodes[1].started[0].id.clone();
    assert_eq!(again.attempt, 2);
    cluster.engine(1).spawned(&again, leader.clone());
    cluster.commit(1).unwrap();

    // A copy of the journal that continues alone does not know which machine it is on: it searches
    // by the key of the step, and gets no number.
    cluster.compare();
    let image = folder();
    super::copy_folder(cluster.nodes[2].dir.path(), image.path());
    let options = Options::default().with_boot("one boot of all");
    let mut alone = Engine::open(image.path(), options, cluster.now(0)).unwrap();
    let effects = alone.commit().unwrap();
    let orphans = effects.iter().filter_map(|effect| match effect {
        waypost_flows::Effect::EndOrphan(orphan) => Some(orphan),
        _ => None,
    });
    let orphans: Vec<_> = orphans.collect();
    assert_eq!((orphans.len(), orphans[0].leader.as_ref()), (1, None));
    waypost_flows::end_orphans(orphans[0], Duration::ZERO);
    assert!(victim.try_wait().unwrap().is_none(), "it lives");
    drop(victim.stdin.take());
    assert!(end_of(&mut victim).success());
}

#[test]
fn a_definition_is_in_the_log_of_every_machine_that_takes_over() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 1, "")]);
    cluster.take_over(0);
    cluster.say(0, "a:x", "{}");
    cluster.settle(0);
    cluster.compare();
    cluster.now_ms += 31 * 24 * 3_600_000;
    for day in 0..2 {
        let now = at(cluster.now_ms + day * 24 * 3_600_000);
        cluster.engine(0).forget(now);
        cluster.commit(0).unwrap();
    }
    assert_eq!(cluster.nodes[0].removed, [id("a.1")]);
    // One machine drops the definition, the other one still has it.
    let now = cluster.now(0);
    cluster.engine(0).compact(now).unwrap();
    cluster.open(0);
    cluster.take_over(1);
    cluster.say(1, "a:x", "{}");
    // The file has another text now: the run keeps its definition.
    cluster.flows = cluster.flows.replace("true", "ls");
    cluster.open(0);
    cluster.take_over(0);
    cluster.settle(0);
    let run = cluster.engine(0).run(&id("a.2")).unwrap();
    assert!(matches!(run.phase, Phase::Ended { end: End::Succeeded, .. }), "{run:?}");
}

#[test]
fn the_output_of_runs_that_are_forgotten_is_found() {
    let mut cluster = Cluster::new(2, &[flow("a", "a:x", 1, "")]);
    cluster.take_over(0);
    cluster.say(0, "a:x", "{}");
    cluster.settle(0);
    let files = cluster.engine(0).files();
    assert_eq!(files.outputs().unwrap(), []);
    for run in ["a.1", "a.7"] {
        std::fs::create_dir_all(files.output_dir(&id(run))).unwrap();
    }
    let found: BTreeSet<_> = files.outputs().unwrap().into_iter().collect();
    assert_eq!(found, BTreeSet::from([id("a.1"), id("a.7")]));
    assert_eq!(cluster.engine(0).unknown_outputs().unwrap(), [id("a.7")]);
}

#[test]
fn a_large_commit_is_split_between_decisions() {
    let max = AppendMax { records: 8, bytes: 1 << 20 };
    let mut cluster =
        Cluster::with(2, &[flow("a", "a:x", 1, "    concurrency: { limit: 9 }\n")], max, 100);
    cluster.take_over(0);
    for _ in 0..30 {
        cluster.publish("a:x", "{}");
    }
    cluster.offer(0);
    cluster.commit(0).unwrap();
    let member = cluster.nodes[0].access.member.clone();
    assert!(member.largest.load(std::sync::atomic::Ordering::Relaxed) <= 8);
    assert!(member.appends.load(std::sync::atomic::Ordering::Relaxed) > 10);
    assert_eq!(member.moved.load(std::sync::atomic::Ordering::Relaxed), 0);
    cluster.settle(0);
    assert_eq!(cluster.engine(0).runs(None).len(), 30);
    cluster.compare();
}

#[test]
fn sets_of_flows_are_compared_by_their_names_and_texts() {
    let file = |name: &str, flow: &str| FlowFile::new(name, &format!("flows:\n{flow}")).unwrap();
    let (one, two) = (flow("one", "a:x", 1, ""), flow("two", "a:x", 1, ""));
    let (first, second) = (file("1.yaml", &one), file("2.yaml", &two));
    let both = FlowSet::new([&first, &second]).digest();
    assert_eq!(both, FlowSet::new([&file("3.yaml", &two), &first]).digest());
    assert_ne!(both, FlowSet::new([&first]).digest());
    assert_ne!(both, set(&format!("flows:\n{one}{two}")).digest());
    let changed = file("2.yaml", &flow("two", "a:x", 2, ""));
    assert_ne!(both, FlowSet::new([&first, &changed]).digest());
    assert_eq!(FlowSet::default().digest(), FlowSet::new([]).digest());
}

#[test]
fn a_replica_needs_the_name_of_its_machine() {
    let cluster = Cluster::new(1, &[flow("a", "a:x", 1, "")]);
    let long = "m".repeat(65);
    for name in [None, Some(""), Some("a b"), Some(long.as_str())] {
        let dir = folder();
        let options = Options::default().with_shared_journal(cluster.nodes[0].access.clone());
        let options = name.map_or(options.clone(), |name| options.with_machine(name));
        let refused = Engine::open(dir.path(), options, at(0)).unwrap_err();
        assert!(matches!(refused, Error::Machine(_)), "{refused}");
    }
    let dir = folder();
    let options = Options::default()
        .with_shared_journal(cluster.nodes[0].access.clone())
        .with_machine(&long[1..]);
    Engine::open(dir.path(), options, at(0)).unwrap();
}
