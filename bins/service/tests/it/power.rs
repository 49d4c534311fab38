//! Power cuts: the disk as it is at one moment, without data that were only in memory.
//!
//! The project is on ext4 on a loop device whose file is on a second file system. Freezing the
//! second one holds back every write to the device, and syncs nothing of the first: a copy at that
//! time is the content of a disk that loses power. The device writes no more than 4 KiB at once, so
//! that longer writes are torn. The copy is mounted as after a restart, with its journal replayed
//! and another boot id. All of it is in mount namespaces that end with the service.
//!
//! Loop devices need root: for another user the test says that it was skipped.
//!
//! `WAYPOST_TEST_CUTS` says how many cuts follow each boot.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use parking_lot::RwLock;
use serde_json::json;
use tempfile::TempDir;

use crate::answered::{Client, Fact, Journal, Random, facts};
use crate::program::{PROGRAM, Program};
use crate::service::send;
use crate::tiny;

const CUTS_PER_BOOT: usize = 2;
const CUTS_VARIABLE: &str = "WAYPOST_TEST_CUTS";
const CLIENTS: usize = 4;
const RESTARTED: &str = "the machine was restarted while it was open";
const TORN: &str = "write at the end of the log";

/// Creates the disk or reuses what remains of one (`$1`), mounts it and runs the service on it.
const BOOT: &str = r#"set -e
mount -t tmpfs -o size=640m tmpfs /mnt
mkdir /mnt/under /mnt/disk /mnt/cut
truncate -s 256M /mnt/under.img
mkfs.ext4 -q -F -m 0 -O ^has_journal /mnt/under.img
mount -o loop /mnt/under.img /mnt/under
if [ -e "$1" ]; then
    cp --sparse=always "$1" /mnt/under/disk.img
else
    truncate -s 160M /mnt/under/disk.img
    mkfs.ext4 -q -F -b 4096 /mnt/under/disk.img
fi
disk=$(losetup --find --show --direct-io=on /mnt/under/disk.img)
echo 4 >/sys/block/${disk#/dev/}/queue/max_sectors_kb
mount $disk /mnt/disk
losetup --detach $disk
echo "boot $2" >/mnt/boot
mount --bind /mnt/boot /proc/sys/kernel/random/boot_id
shift 2
exec "$@""#;

/// Copies the disk as it is at one moment; a copy for the next boot goes to `$1`.
const CUT: &str = r#"trap '' TERM INT
rm -f /mnt/cut.img
fsfreeze --freeze /mnt/under || exit 1
cp --sparse=always /mnt/under/disk.img /mnt/cut.img
code=$?
fsfreeze --unfreeze /mnt/under || exit 1
[ $code = 0 ] && cp --sparse=always /mnt/cut.img "$1""#;

/// Runs the service on the copy, as after a restart.
const RESTART: &str = r#"set -e
mount -o loop /mnt/cut.img /mnt/cut
echo restarted >/mnt/restarted
mount --bind /mnt/restarted /proc/sys/kernel/random/boot_id
exec "$@""#;

/// The service on a disk whose power can be cut.
struct Machine<'a> {
    program: Program,
    model: &'a str,
    /// What remains of the disk after the last cut.
    left: &'a Path,
}

impl<'a> Machine<'a> {
    fn boot(number: usize, model: &'a str, left: &'a Path) -> Self {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", BOOT, "sh"]);
        command.arg(left).arg(number.to_string());
        let program = run_on(command, model, "/mnt/disk");
        Self { program, model, left }
    }

    fn cut(&self) {
        let mut command = self.enter();
        let status = command.args(["sh", "-c", CUT, "sh"]).arg(self.left).status();
        assert!(status.expect("nsenter runs").success(), "the disk could not be copied");
    }

    /// A service on what remains of the disk.
    fn restart(&self) -> Program {
        let mut command = self.enter();
        command.args(["unshare", "--mount", "--propagation", "private"]);
        command.args(["sh", "-c", RESTART, "sh"]);
        run_on(command, self.model, "/mnt/cut")
    }

    /// A command that can see the machine's disks.
    fn enter(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg("--target").arg(self.program.pid().to_string()).arg("--mount");
        command
    }
}

fn run_on(mut command: Command, model: &str, project: &str) -> Program {
    command.args([PROGRAM, "--listen", "127.0.0.1:0", "--model", model, "--project", project]);
    command.env("WAYPOST_TRUST_PROJECT", "1").stdin(Stdio::null());
    let project = |pid| PathBuf::from(format!("/proc/{pid}/root{project}"));
    Program::try_start(&mut command, project).unwrap_or_else(|log| panic!("{log}"))
}

/// Ends the clients, also if a check fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The results of the cuts.
#[derive(Debug, Default)]
struct Figures {
    cuts: usize,
    answered: usize,
    unanswered_kept: usize,
    torn: usize,
}

/// The service after a cut has every acknowledged write and no part of another one, and continues.
/// Returns the number of each client's writes that it has.
fn check(
    restarted: &Program,
    journals: &[Journal],
    answered: &[usize],
    figures: &mut Figures,
) -> Vec<usize> {
    let log = &restarted.log;
    assert!(log.contains("rebuilt state from the log") && log.contains(RESTARTED), "{log}");
    figures.torn += usize::from(log.contains(TORN));

    let mut owners = BTreeMap::new();
    for (owner, journal) in journals.iter().enumerate() {
        owners.extend(journal.created(journal.len()).into_iter().map(|id| (id, owner)));
    }
    let mut found = vec![BTreeSet::<Fact>::new(); journals.len()];
    for fact in facts(&restarted.send("GET", "/api/memory/export", b"")) {
        let owner = owners.get(&fact.0).unwrap_or_else(|| panic!("nobody wrote {fact:?}"));
        found[*owner].insert(fact);
    }
    let positions: Vec<usize> = journals
        .iter()
        .zip(answered.iter().zip(&found))
        .map(|(journal, (answered, found))| {
            journal.position(*answered, found).unwrap_or_else(|| {
                let all = journal.len();
                let differs = journal.difference(found);
                panic!("{answered} to {all} writes should be there, but differ {differs:#?}\n{log}")
            })
        })
        .collect();
    figures.cuts += 1;
    figures.answered += answered.iter().sum::<usize>();
    figures.unanswered_kept += positions.iter().sum::<usize>() - answered.iter().sum::<usize>();

    // Ids are dense.
    let ids: BTreeSet<u64> =
        journals.iter().zip(&positions).flat_map(|(it, position)| it.created(*position)).collect();
    assert!(ids.iter().copied().eq(1..=ids.len() as u64), "{ids:?}");

    // Derived data agree with it.
    let deleted: BTreeSet<u64> =
        found.iter().flatten().filter(|found| found.1 == "deleted").map(|found| found.0).collect();
    let status = restarted.send("GET", "/api/memory/status", b"").json();
    assert_eq!(status["memories"], ids.len() - deleted.len());
    assert_eq!(status["index"]["documents"], ids.len() - deleted.len());
    let links = found.iter().flatten().filter(|found| found.1.starts_with("to ")).count();
    assert_eq!(status["links"], links);

    // It accepts new memories, under ids that were never used, and finds them.
    let added =
        restarted.send("POST", "/api/memory/add", br#"{"content":"a lighthouse after the storm"}"#);
    assert_eq!((added.status, &added.json()["id"]), (201, &json!(ids.len() + 1)));
    let query = br#"{"query":"lighthouse storm","mode":"lexical"}"#;
    let hits = restarted.send("POST", "/api/memory/search", query).json();
    assert_eq!(hits[0]["id"], json!(ids.len() + 1));
    positions
}

/// A token that was acknowledged before the first cut is valid after it.
fn check_token(restarted: &Program, token: &str) {
    let answer = send(restarted.address, "GET", "/api/memory/status", token, &[], b"");
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// Cuts the power of a machine under load repeatedly; the disk after the last cut stays.
fn cut_under_load(
    machine: &Machine<'_>,
    journals: &[Journal],
    token: &str,
    random: &mut Random,
    cuts: usize,
    figures: &mut Figures,
) {
    let program = &machine.program;
    let (gate, stopping) = (RwLock::new(()), AtomicBool::new(false));
    let (sender, answers) = mpsc::channel();
    let before = journals.len() - CLIENTS;
    std::thread::scope(|scope| {
        let _stop = Stop(&stopping);
        for (number, journal) in journals.iter().enumerate().skip(before) {
            let (sender, gate, stopping) = (sender.clone(), &gate, &stopping);
            let mut client = Client::new(program.address, &program.token, number, journal);
            scope.spawn(move || {
                loop {
                    let _passed = gate.read();
                    if stopping.load(Ordering::Relaxed) {
                        return;
                    }
                    client.write();
                    // Nothing counts them any more after a failed check.
                    sender.send(()).unwrap_or_default();
                }
            });
        }
        drop(sender);
        for round in 1..=cuts {
            let wanted = 1 + random.below(60) as usize;
            assert_eq!(answers.iter().take(wanted).count(), wanted, "the clients gave up");
            let answered: Vec<usize> = journals.iter().map(Journal::len).collect();
            machine.cut();
            // All requests sent before the cut have been answered now, so their ids are known.
            let paused = gate.write();
            let restarted = machine.restart();
            let positions = check(&restarted, journals, &answered, figures);
            check_token(&restarted, token);
            if round == cuts {
                for (journal, position) in journals.iter().zip(positions) {
                    journal.truncate(position);
                }
                stopping.store(true, Ordering::Relaxed);
            }
            drop(paused);
        }
    });
}

#[test]
fn answered_writes_survive_power_cuts() {
    let is_root = std::fs::metadata("/proc/self")
        .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0);
    if !is_root {
        eprintln!("skipped: only root can make loop devices");
        return;
    }
    let folder = TempDir::new().expect("a temporary folder");
    let model = folder.path().join("model");
    std::fs::create_dir(&model).expect("it can be made");
    tiny::write(&model, &tiny::files(1));
    let model = model.to_str().expect("a temporary path is text");
    let left = folder.path().join("left.img");
    let (mut random, mut figures) = (Random(7), Figures::default());
    let mut journals: Vec<Journal> = Vec::new();
    let mut token = None;
    let cuts = std::env::var(CUTS_VARIABLE)
        .map_or(CUTS_PER_BOOT, |value| value.parse().expect("a number"));
    let models = ["none", model, "none"];
    for (boot, model) in models.into_iter().enumerate() {
        let machine = Machine::boot(boot, model, &left);
        let token = token.get_or_insert_with(|| {
            let body = br#"{"scopes":["memory:read"]}"#;
            let made = machine.program.send("POST", "/api/tokens", body);
            made.json()["token"].as_str().expect("a token").to_owned()
        });
        journals.extend((0..CLIENTS).map(|_| Journal::default()));
        cut_under_load(&machine, &journals, token, &mut random, cuts, &mut figures);
    }
    assert_eq!(figures.cuts, models.len() * cuts, "{figures:?}");
    println!("{figures:?}");
}
