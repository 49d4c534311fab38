//! Copies of a log that is in use.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use waypost_log::{Error, Keep, Log, OnDamage, Snapshot};

use crate::{entries, fill, folder, open, record, small};

fn copy(snapshot: &Snapshot, to: &Path) {
    for file in snapshot.files() {
        let mut bytes = Vec::new();
        file.reader().read_to_end(&mut bytes).expect("readable");
        assert_eq!(bytes.len() as u64, file.bytes(), "{}", file.name());
        let path = to.join(file.name());
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, bytes).expect("written");
    }
}

#[test]
fn a_copy_has_what_was_answered_before_it_and_goes_on_above() {
    for count in [0, 1, 7, 200] {
        let (from, to) = (folder(), folder());
        let log = open(from.path());
        fill(&log, count);
        let snapshot = log.snapshot().expect("a snapshot");
        let before = entries(&log);
        fill(&log, 50);
        copy(&snapshot, to.path());
        let report = Log::verify(to.path(), &small()).expect("a log");
        assert_eq!((report.damage, report.records), (Vec::new(), count));
        let copied = open(to.path());
        assert_eq!(entries(&copied), before);
        assert_eq!(copied.append(record(b"next")).expect("there is room"), count + 1);
        drop(copied);
        assert_eq!(entries(&open(to.path())).len() as u64, count + 1);
    }
}

#[test]
fn compaction_and_retention_do_not_change_a_copy() {
    let (from, to) = (folder(), folder());
    let log = open(from.path());
    fill(&log, 300);
    log.truncate_before(100).expect("retention");
    let snapshot = log.snapshot().expect("a snapshot");
    let before = entries(&log);
    log.compact(&mut |it| if it.sequence % 2 == 0 { Keep::Yes } else { Keep::No })
        .expect("a compaction");
    log.truncate_before(250).expect("retention");
    copy(&snapshot, to.path());
    let copied = open(to.path());
    assert_eq!(entries(&copied), before);
    assert!(copied.first_sequence() > 1);

    // A copy of what retention has emptied goes on with the same sequences.
    let (snapshot, last) = (log.snapshot().expect("a snapshot"), log.last_sequence());
    let again = folder();
    copy(&snapshot, again.path());
    let copied = open(again.path());
    assert_eq!((entries(&copied), copied.last_sequence()), (entries(&log), last));
}

#[test]
fn a_copy_that_lost_its_end_is_damaged() {
    let (from, to) = (folder(), folder());
    let log = open(from.path());
    fill(&log, 10);
    copy(&log.snapshot().expect("a snapshot"), to.path());
    let name = format!("{:020}.log", 1);
    let bytes = fs::read(to.path().join(&name)).expect("a segment");
    fs::write(to.path().join(&name), &bytes[..bytes.len() - 100]).expect("written");
    assert_ne!(Log::verify(to.path(), &small()).expect("a log").damage, []);
}

#[test]
fn a_segment_that_is_damaged_is_not_copied() {
    let from = folder();
    let log = open(from.path());
    fill(&log, 300);
    drop(log);
    let name = from.path().join(format!("{:020}.log", 1));
    let mut bytes = fs::read(&name).expect("a segment");
    bytes[100] ^= 1;
    fs::write(&name, bytes).expect("written");
    let options = small().with_verify(waypost_log::Verify::Unsealed);
    let options = options.with_on_damage(OnDamage::Refuse);
    let (log, _) = Log::open(from.path(), &options).expect("it only glances");
    assert!(matches!(log.snapshot(), Err(Error::Damaged(_))));
}

#[test]
fn copies_taken_among_appends_have_a_beginning_of_them() {
    let from = folder();
    let log = open(from.path());
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..150 {
                    log.append(record(b"something to remember")).expect("there is room");
                }
            });
        }
        for _ in 0..20 {
            let answered = log.last_sequence();
            let snapshot = log.snapshot().expect("a snapshot");
            let to = folder();
            copy(&snapshot, to.path());
            let copied = open(to.path());
            assert!(copied.last_sequence() >= answered);
            assert_eq!(entries(&copied).len() as u64, copied.last_sequence());
        }
    });
}

#[test]
fn a_folder_is_taken_without_symbolic_links() {
    let from = folder();
    fs::create_dir_all(from.path().join("a/b")).expect("a folder");
    fs::write(from.path().join("a/b/c"), b"c").expect("written");
    fs::write(from.path().join("z"), b"z").expect("written");
    fs::write(from.path().join("left out"), b"").expect("written");
    std::os::unix::fs::symlink("/etc/passwd", from.path().join("link")).expect("a link");
    std::os::unix::fs::symlink("/etc", from.path().join("folder")).expect("a link");
    let wanted = |name: &str| name != "left out";
    let taken = Snapshot::default().and_folder(from.path(), &wanted).expect("taken");
    let names: Vec<_> = taken.files().iter().map(waypost_log::SnapshotFile::name).collect();
    assert_eq!(names, ["a/b/c", "z"]);
    let gone = Snapshot::default().and_folder(&from.path().join("gone"), &wanted).expect("taken");
    assert!(gone.files().is_empty());
}

#[test]
fn what_decays_while_the_log_is_open_is_not_copied() {
    let dir = folder();
    let log = open(dir.path());
    fill(&log, 20);
    log.sync().expect("it can be synced");
    let segment = dir.path().join("00000000000000000001.log");
    let mut bytes = fs::read(&segment).expect("readable");
    bytes[200] ^= 1;
    fs::write(&segment, bytes).expect("writable");
    let checked = log.snapshot().and_then(|snapshot| snapshot.check());
    assert!(matches!(checked, Err(Error::Damaged(_))));
}

#[test]
fn compaction_and_retention_leave_pinned_entries_readable() {
    let folder = folder();
    let log = open(folder.path());
    fill(&log, 300);
    let before = entries(&log);
    let pinned = log.pin();
    log.compact(&mut |entry| if entry.sequence % 2 == 0 { Keep::Yes } else { Keep::No })
        .expect("a compaction");
    log.truncate_before(250).expect("retention");
    fill(&log, 50);
    for entry in &before {
        assert_eq!(pinned.read(entry.sequence).expect("readable").as_ref(), Some(entry));
    }
    assert_eq!(log.read(1).expect("readable"), None);
}
