//! Process groups: identifying and ending them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Child;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use serde::{Deserialize, Serialize};

use crate::Orphan;

/// The variable that identifies the processes of a step.
pub(super) const KEY_VARIABLE: &str = "WAYPOST_IDEMPOTENCY_KEY";
/// How often the end of a group is checked.
const LOOK: Duration = Duration::from_millis(20);
/// The most searches for processes outside the group: each finds all that were started before it.
const LOOKS_MAX: usize = 100;

/// A process that leads its own group, distinguished from a later one with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Leader {
    /// Its number, which is also its group's.
    pub pid: i32,
    /// Its start time, in the kernel's ticks since the machine started; 0 if the system does not
    /// report it.
    pub start: u64,
    /// The boot of the machine in which it started.
    pub boot: String,
}

impl Leader {
    pub(super) fn of(child: &Child, boot: &str) -> Self {
        let pid = pid_of(child).as_raw_nonzero().get();
        let start = stat(pid).map_or(0, |stat| stat.start);
        Self { pid, start, boot: boot.to_owned() }
    }

    /// Whether the process exists, and is this one.
    fn is_alive(&self) -> bool {
        self.start > 0 && stat(self.pid).is_some_and(|stat| stat.start == self.start)
    }
}

pub(super) fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

pub(super) fn kill_group(child: &Child, signal: Signal) {
    // A group that no longer exists needs no signal.
    kill_process_group(pid_of(child), signal).unwrap_or_default();
}

/// Ends what an earlier process of the service left running: asks the process group to end, and
/// kills it after the grace. Blocks until it has ended.
///
/// The group is identified by its leader, distinguished by its start time. If the leader has ended,
/// or was never recorded, processes with the step's key in their environment are searched for
/// instead.
pub fn end_orphans(orphan: &Orphan, grace: Duration) {
    let mut members = Members::default();
    members.look(&orphan.idempotency_key, |_, _| {});
    let mut groups: BTreeSet<i32> = members.0.into_values().flatten().collect();
    groups.extend(orphan.leader.iter().filter(|leader| leader.is_alive()).map(|leader| leader.pid));
    signal(&groups, Signal::TERM);
    let looks = grace.as_millis() / LOOK.as_millis();
    for _ in 0..looks {
        groups.retain(|other| {
            group(*other).is_some_and(|group| test_kill_process_group(group).is_ok())
        });
        if groups.is_empty() {
            break;
        }
        pause();
    }
    signal(&groups, Signal::KILL);
    // Processes that they have started since outside their groups.
    kill_members(&orphan.idempotency_key);
}

#[expect(clippy::disallowed_methods, reason = "the caller asked to wait for processes to end")]
fn pause() {
    std::thread::sleep(LOOK);
}

/// Kills all processes with this key in their environment, and their groups. They are stopped
/// first, each as it is found, until no more are found: a stopped process starts no others, however
/// fast it was.
pub(super) fn kill_members(key: &str) {
    let mut members = Members::default();
    for _ in 0..LOOKS_MAX {
        if !members.look(key, |pid, group| send(pid, group, Signal::STOP)) {
            break;
        }
        std::thread::yield_now();
    }
    for (pid, group) in members.0 {
        send(pid, group, Signal::KILL);
    }
}

/// The processes of a step with their groups; never this process or its group.
#[derive(Debug, Default)]
struct Members(BTreeMap<i32, Option<i32>>);

impl Members {
    /// Searches for further processes with this key in their environment, by ascending number, and
    /// reports each immediately. Returns whether there may be more.
    fn look(&mut self, key: &str, found: impl Fn(i32, Option<i32>)) -> bool {
        let variable = format!("{KEY_VARIABLE}={key}").into_bytes();
        let this = rustix::process::getpid().as_raw_nonzero().get();
        let own = rustix::process::getpgrp().as_raw_nonzero().get();
        let Ok(processes) = fs::read_dir("/proc") else { return false };
        let pids =
            processes.filter_map(|process| process.ok()?.file_name().to_str()?.parse::<i32>().ok());
        let mut may_be_more = false;
        for pid in pids.filter(|pid| *pid != this) {
            if self.0.contains_key(&pid) {
                continue;
            }
            let Some(environ) = environ(pid) else { continue };
            if environ.split(|byte| *byte == 0).any(|part| part == variable) {
                let group = stat(pid).map(|stat| stat.group).filter(|group| *group != own);
                found(pid, group);
                self.0.insert(pid, group);
                may_be_more = true;
            } else if environ.is_empty() {
                may_be_more |= stat(pid).is_some_and(|stat| stat.is_in_exec);
            }
        }
        may_be_more
    }
}

/// Sends a signal to a process and its group.
fn send(pid: i32, of: Option<i32>, sent: Signal) {
    signal(&of.into_iter().collect(), sent);
    // A process that changes its group meanwhile still has its number.
    group(pid).map_or(Ok(()), |group| kill_process(group, sent)).unwrap_or_default();
}

fn signal(groups: &BTreeSet<i32>, signal: Signal) {
    for group in groups.iter().filter_map(|other| group(*other)) {
        kill_process_group(group, signal).unwrap_or_default();
    }
}

fn group(pid: i32) -> Option<Pid> {
    // 0 and 1 are whole sessions and the system.
    Pid::from_raw(pid).filter(|_| pid > 1)
}

/// A process's environment, as bytes; empty for kernel threads, ended processes, and processes that
/// are executing another program.
fn environ(pid: i32) -> Option<Vec<u8>> {
    let read = || fs::read(format!("/proc/{pid}/environ")).ok();
    // One that has executed another program since the file was opened is read again.
    read().and_then(|other| if other.is_empty() { read() } else { Some(other) })
}

/// Kernel threads (`PF_KTHREAD`, Linux's `include/linux/sched.h`).
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The contents of `/proc/PID/stat` (proc(5)).
struct Stat {
    group: i32,
    start: u64,
    /// Whether it lives but has no environment yet: when a process executes another program, the
    /// kernel sets the end of the environment last.
    is_in_exec: bool,
}

fn stat(pid: i32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses, which may contain anything.
    let fields: Vec<&str> = text.get(text.rfind(')')? + 1..)?.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    let is_alive = !matches!(*fields.first()?, "Z" | "X");
    let is_in_exec = is_alive && number(6)? & KERNEL_THREAD == 0 && number(48) == Some(0);
    Some(Stat { group: fields.get(2)?.parse().ok()?, start: number(19)?, is_in_exec })
}
