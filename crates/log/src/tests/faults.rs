//! A disk that fills up, fails, or may not be written.

use std::io::{Error as IoError, ErrorKind as IoKind, Result as IoResult};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::{entries, folder, open, record, small};
use crate::disk::{Gate, Op};
use crate::{ErrorKind, Keep, Log};

/// A gate that fails with `kind` whenever `when` says so and `on` is set.
fn failing(
    on: &Arc<AtomicBool>,
    kind: IoKind,
    when: impl Fn(&Op<'_>) -> bool + Send + Sync + 'static,
) -> Gate {
    let on = Arc::clone(on);
    Arc::new(
        move |op| {
            if on.load(Ordering::Relaxed) && when(op) { Err(IoError::from(kind)) } else { Ok(()) }
        },
    )
}

#[test]
fn a_failed_sync_poisons_until_the_log_is_opened_again() {
    let dir = folder();
    let on = Arc::new(AtomicBool::new(false));
    let gate = failing(&on, IoKind::Other, |op| matches!(op, Op::Sync { .. }));
    let log = Log::open_through(dir.path(), &small(4096), Some(gate)).expect("it opens").0;
    log.append(record(b"one")).expect("the disk works");
    on.store(true, Ordering::Relaxed);
    assert_eq!(log.append(record(b"two")).expect_err("no sync").kind(), ErrorKind::Io);
    on.store(false, Ordering::Relaxed);
    for _ in 0..2 {
        assert_eq!(log.append(record(b"x")).expect_err("poisoned").kind(), ErrorKind::Poisoned);
        assert_eq!(log.sync().expect_err("poisoned").kind(), ErrorKind::Poisoned);
        let compacted = log.compact(&mut |_| Keep::No);
        assert_eq!(compacted.expect_err("poisoned").kind(), ErrorKind::Poisoned);
    }
    assert_eq!(entries(&log).len(), 1, "what was answered can be read");
    drop(log);
    let log = open(dir.path(), &small(4096));
    assert!(entries(&log).len() <= 2 && log.last_sequence() >= 1);
    log.append(record(b"three")).expect("it works again");
}

#[test]
fn every_waiting_writer_hears_of_a_failed_sync() {
    let dir = folder();
    let syncs = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&syncs);
    let gate: Gate = Arc::new(move |op| match op {
        Op::Sync { .. } if counted.fetch_add(1, Ordering::Relaxed) > 20 => {
            Err(IoError::from(IoKind::Other))
        }
        _ => Ok(()),
    });
    let log = Log::open_through(dir.path(), &small(1 << 20), Some(gate)).expect("it opens").0;
    let answered: u64 = std::thread::scope(|scope| {
        let writer =
            || (0..100_000).take_while(|_| log.append(record(b"payload")).is_ok()).count() as u64;
        let writers: Vec<_> = (0..16).map(|_| scope.spawn(writer)).collect();
        writers.into_iter().map(|writer| writer.join().expect("no writer hangs or panics")).sum()
    });
    drop(log);
    let last = open(dir.path(), &small(1 << 20)).last_sequence();
    assert!(answered > 0 && last >= answered, "{answered} answered, {last} there");
}

/// A disk of so many bytes in log files: a write that does not fit is done in part.
fn tiny_disk(dir: &Path, room: &Arc<AtomicU64>) -> Gate {
    let (dir, room) = (dir.to_path_buf(), Arc::clone(room));
    Arc::new(move |op| -> IoResult<()> {
        let Op::Write { file, offset, bytes } = *op else { return Ok(()) };
        let mut others = 0;
        for entry in std::fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_name().to_str() != Some(file) {
                others += entry.metadata()?.len();
            }
        }
        let len = std::fs::metadata(dir.join(file))?.len();
        let limit = room.load(Ordering::Relaxed).saturating_sub(others);
        let end = offset + bytes.len() as u64;
        if end <= len.max(limit) {
            return Ok(());
        }
        let fits = limit.max(len).saturating_sub(offset) as usize;
        let opened = std::fs::OpenOptions::new().write(true).open(dir.join(file))?;
        opened.write_all_at(&bytes[..fits.min(bytes.len())], offset)?;
        Err(IoError::from(IoKind::StorageFull))
    })
}

#[test]
fn a_full_disk_refuses_appends_and_keeps_everything_else_going() {
    let dir = folder();
    let room = Arc::new(AtomicU64::new(40_000));
    let gate = tiny_disk(dir.path(), &room);
    let log = Log::open_through(dir.path(), &small(16 << 10), Some(gate)).expect("it opens").0;
    let payload = vec![7; 900];
    let mut answered = 0;
    let error = loop {
        match log.append(record(&payload)) {
            Ok(sequence) => {
                answered += 1;
                assert_eq!(sequence, answered);
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Full);
    assert!(answered >= 30, "{answered} fitted");
    assert_eq!(log.append(record(&payload)).expect_err("still full").kind(), ErrorKind::Full);
    assert_eq!(entries(&log).len() as u64, answered, "reads go on");
    room.store(60_000, Ordering::Relaxed);
    assert_eq!(log.append(record(&payload)).expect("there is room again"), answered + 1);
    log.compact(&mut |it| if it.sequence.is_multiple_of(2) { Keep::Yes } else { Keep::No })
        .expect("there is room");
    let sequences: Vec<u64> = entries(&log).iter().map(|entry| entry.sequence).collect();
    assert_eq!(sequences, (1..=answered + 1).filter(|it| it.is_multiple_of(2)).collect::<Vec<_>>());
    drop(log);
    let log = open(dir.path(), &small(16 << 10));
    assert_eq!(log.last_sequence(), answered + 1);
    assert_eq!(entries(&log).len(), sequences.len());
}

#[test]
fn a_half_written_batch_is_rolled_back_when_the_disk_fills_up() {
    let dir = folder();
    let on = Arc::new(AtomicBool::new(false));
    let (path, armed) = (dir.path().to_path_buf(), Arc::clone(&on));
    // A file system that copies on write can run out of room in blocks that are allocated.
    let gate: Gate = Arc::new(move |op| match *op {
        Op::Write { file, offset, bytes } if armed.swap(false, Ordering::Relaxed) => {
            let opened = std::fs::OpenOptions::new().write(true).open(path.join(file))?;
            opened.write_all_at(&bytes[..bytes.len() / 2], offset)?;
            Err(IoError::from(IoKind::StorageFull))
        }
        _ => Ok(()),
    });
    let log = Log::open_through(dir.path(), &small(64 << 10), Some(gate)).expect("it opens").0;
    log.append(record(b"one")).expect("there is room");
    on.store(true, Ordering::Relaxed);
    let lines = [b"same length".as_slice(), b"never there"].map(record);
    assert_eq!(log.append_batch(&lines).expect_err("full").kind(), ErrorKind::Full);
    assert_eq!(log.last_sequence(), 1);
    let report = Log::verify(dir.path(), &small(4096)).expect("readable");
    assert_eq!((report.records, report.torn_bytes), (1, 0), "rolled back on disk, too");
    // The retry is shorter than what failed: nothing of the rest may show behind it.
    assert_eq!(log.append(lines[0]).expect("there is room"), 2);
    drop(log);
    let log = open(dir.path(), &small(64 << 10));
    let payloads: Vec<_> = entries(&log).into_iter().map(|entry| entry.payload).collect();
    assert_eq!(payloads, [b"one".to_vec(), b"same length".to_vec()]);
}

#[test]
fn a_failed_compaction_leaves_the_log_as_it_was() {
    let mut failed = 0;
    for nth in 0.. {
        let dir = folder();
        let on = Arc::new(AtomicBool::new(false));
        let count = AtomicU64::new(0);
        let gate = failing(&on, IoKind::StorageFull, move |op| {
            matches!(op, Op::Write { .. }) && count.fetch_add(1, Ordering::Relaxed) >= nth
        });
        let log = Log::open_through(dir.path(), &small(1024), Some(gate)).expect("it opens").0;
        for at in 0..60_u8 {
            log.append(record(&[at; 50])).expect("there is room");
        }
        let all = entries(&log);
        on.store(true, Ordering::Relaxed);
        let keep = |number: u64| if number.is_multiple_of(2) { Keep::Yes } else { Keep::No };
        let Err(error) = log.compact(&mut |it| keep(it.sequence)) else { break };
        assert_eq!(error.kind(), ErrorKind::Full, "write {nth}");
        failed += 1;
        let even = |entry: &&crate::Entry| entry.sequence.is_multiple_of(2);
        let left = entries(&log);
        assert!(left.iter().filter(even).eq(all.iter().filter(even)), "write {nth}");
        on.store(false, Ordering::Relaxed);
        assert_eq!(log.append(record(b"next")).expect("there is room"), 61, "write {nth}");
        log.compact(&mut |it| keep(it.sequence)).expect("there is room");
        drop(log);
        assert_eq!(entries(&open(dir.path(), &small(1024))).len(), 30, "write {nth}");
    }
    assert!(failed >= 5, "only {failed} writes to fail");
}

#[test]
fn a_folder_that_may_not_be_written_is_named() {
    let dir = folder();
    let on = Arc::new(AtomicBool::new(true));
    let gate = failing(&on, IoKind::ReadOnlyFilesystem, |_| true);
    let error = Log::open_through(dir.path(), &small(4096), Some(gate)).expect_err("read only");
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
    assert!(error.to_string().contains(dir.path().to_str().expect("ASCII")), "{error}");
    let gate = failing(&on, IoKind::PermissionDenied, |op| matches!(op, Op::Create { .. }));
    let error = Log::open_through(dir.path(), &small(4096), Some(gate)).expect_err("no right");
    assert_eq!(error.kind(), ErrorKind::ReadOnly);
}

#[test]
fn a_panic_of_the_leader_fails_all_waiting_writes_and_poisons_the_log() {
    let dir = folder();
    let armed = Arc::new(AtomicBool::new(false));
    let (entered, entries_wait) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let (on, inside, queued) =
        (Arc::clone(&armed), Arc::clone(&entered), Arc::clone(&entries_wait));
    let gate: Gate = Arc::new(move |op| {
        if matches!(op, Op::Sync { .. }) && on.load(Ordering::Acquire) {
            inside.store(true, Ordering::Release);
            // Panics while others wait behind it.
            while queued.load(Ordering::Acquire) < 4 {
                std::thread::yield_now();
            }
            assert!(!on.swap(false, Ordering::AcqRel), "injected");
        }
        Ok(())
    });
    let log = Log::open_through(dir.path(), &small(1 << 20), Some(gate)).expect("it opens").0;
    log.append(record(b"one")).expect("the disk works");
    armed.store(true, Ordering::Release);
    std::thread::scope(|scope| {
        let leader = scope.spawn(|| log.append(record(b"two")));
        while !entered.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        let follow = || {
            entries_wait.fetch_add(1, Ordering::AcqRel);
            log.append(record(b"behind"))
        };
        let followers: Vec<_> = (0..4).map(|_| scope.spawn(follow)).collect();
        assert!(leader.join().is_err(), "the leader panics");
        for follower in followers {
            let error = follower.join().expect("no follower panics").expect_err("poisoned");
            assert_eq!(error.kind(), ErrorKind::Poisoned);
        }
    });
    assert_eq!(log.append(record(b"later")).expect_err("poisoned").kind(), ErrorKind::Poisoned);
    assert_eq!(entries(&log).len(), 1, "what was acknowledged can be read");
    drop(log);
    let log = open(dir.path(), &small(1 << 20));
    assert!((1..=2).contains(&log.last_sequence()));
    log.append(record(b"three")).expect("it works again");
}
