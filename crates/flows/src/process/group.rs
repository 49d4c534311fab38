//! Process groups: telling them apart and ending them.

use std::collections::BTreeSet;
use std::fs;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde::{Deserialize, Serialize};

use crate::Orphan;

/// The variable that tells the processes of a step.
pub(super) const KEY_VARIABLE: &str = "WAYPOST_IDEMPOTENCY_KEY";
/// How often it is looked whether a group has ended.
const LOOK: Duration = Duration::from_millis(20);
/// How often is looked for processes outside of the group, at most: each time finds all that were
/// begun before it.
const LOOKS_MAX: usize = 100;

/// A process that leads its own group, told apart from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leader {
    /// Its number, which is its group's, too.
    pub pid: i32,
    /// When it began, in the kernel's ticks since the machine was started; 0 where the system does
    /// not say.
    pub start: u64,
    /// Which boot of the machine that was.
    pub boot: String,
}

impl Leader {
    pub(super) fn of(child: &Child, boot: &str) -> Self {
        let pid = pid_of(child).as_raw_nonzero().get();
        let start = stat(pid).map_or(0, |it| it.start);
        Self { pid, start, boot: boot.to_owned() }
    }

    /// Whether the process is there, and is this one.
    fn is_alive(&self) -> bool {
        self.start > 0 && stat(self.pid).is_some_and(|it| it.start == self.start)
    }
}

pub(super) fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

pub(super) fn kill_group(child: &Child, signal: Signal) {
    // A group that is gone needs no signal.
    kill_process_group(pid_of(child), signal).unwrap_or_default();
}

/// Ends what an earlier process of the service left behind: asks the process group to end, and kills
/// it after the grace. Blocks until it is gone.
///
/// The group is known by its leader, told apart by when it began. A leader that is gone, or was
/// never recorded, is made up for by looking for processes with the step's key in their
/// environment.
pub fn end_orphans(orphan: &Orphan, grace: Duration) {
    let mut groups = groups_of_members(&orphan.idempotency_key);
    groups.extend(orphan.leader.iter().filter(|it| it.is_alive()).map(|it| it.pid));
    signal(&groups, Signal::TERM);
    let looks = grace.as_millis() / LOOK.as_millis();
    for _ in 0..looks {
        groups.retain(|it| group(*it).is_some_and(|it| test_kill_process_group(it).is_ok()));
        if groups.is_empty() {
            break;
        }
        pause();
    }
    signal(&groups, Signal::KILL);
    // What they have begun since outside of their groups.
    kill_members(&orphan.idempotency_key);
}

#[expect(clippy::disallowed_methods, reason = "the caller asked to wait for processes to end")]
fn pause() {
    std::thread::sleep(LOOK);
}

/// Kills the groups of all processes with this key in their environment. They are stopped first,
/// until no further ones are found: what is stopped begins no others, however fast it was.
pub(super) fn kill_members(key: &str) {
    let mut stopped = BTreeSet::new();
    for _ in 0..LOOKS_MAX {
        let found = groups_of_members(key);
        let more: BTreeSet<i32> = found.difference(&stopped).copied().collect();
        if more.is_empty() {
            break;
        }
        signal(&more, Signal::STOP);
        stopped.extend(more);
    }
    signal(&stopped, Signal::KILL);
}

fn signal(groups: &BTreeSet<i32>, signal: Signal) {
    for group in groups.iter().filter_map(|it| group(*it)) {
        kill_process_group(group, signal).unwrap_or_default();
    }
}

fn group(pid: i32) -> Option<Pid> {
    // 0 and 1 are whole sessions and the system.
    Pid::from_raw(pid).filter(|_| pid > 1)
}

/// The groups of the processes that have this key in their environment; never this process's own.
fn groups_of_members(key: &str) -> BTreeSet<i32> {
    let variable = format!("{KEY_VARIABLE}={key}").into_bytes();
    let own = rustix::process::getpgrp().as_raw_nonzero().get();
    let Ok(processes) = fs::read_dir("/proc") else { return BTreeSet::new() };
    let pids = processes.filter_map(|it| it.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let members = pids.filter(|pid| {
        fs::read(format!("/proc/{pid}/environ"))
            .is_ok_and(|it| it.split(|byte| *byte == 0).any(|it| it == variable))
    });
    members.filter_map(stat).map(|it| it.group).filter(|it| *it != own).collect()
}

/// What `/proc/PID/stat` says (proc(5)).
struct Stat {
    group: i32,
    start: u64,
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may hold anything.
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    Some(Stat { group: fields.get(2)?.parse().ok()?, start: fields.get(19)?.parse().ok()? })
}
