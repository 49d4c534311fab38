use std::path::{Path, PathBuf};

use waypost_log::{DamageKind, Entry, Error, ErrorKind, Keep, Log, OnDamage, Options, Verify};

use crate::{entries, fill, open, record, small};

fn files(dir: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(dir).expect("readable");
    let mut files: Vec<_> = listed.map(|listed| listed.expect("readable").path()).collect();
    files.sort();
    files
}

fn flip(path: &Path, at: usize, bit: u8) {
    let mut bytes = std::fs::read(path).expect("readable");
    bytes[at] ^= 1 << bit;
    std::fs::write(path, bytes).expect("writable");
}

/// A copy of a log with a bit of one file's byte flipped.
fn flipped(source: &Path, file: &Path, at: usize) -> tempfile::TempDir {
    let dir = crate::folder();
    for other in files(source) {
        let name = other.file_name().expect("a file");
        std::fs::copy(&other, dir.path().join(name)).expect("writable");
    }
    flip(&dir.path().join(file.file_name().expect("a file")), at, (at % 8) as u8);
    dir
}

/// Opens a log with one bit flipped in it, which must either change nothing, or be reported; and
/// salvaging it must keep all that is not reported as lost.
fn check_flipped(dir: &Path, before: &[Entry], last: u64, what: &str) {
    let report = Log::verify(dir, &small()).expect("readable");
    match Log::open(dir, &small()) {
        Ok((log, _)) => {
            assert!(report.damage.is_empty(), "{what}: verify says {:?}", report.damage);
            assert_eq!(entries(&log), before, "{what}: silently changed");
            assert_eq!(log.last_sequence(), last, "{what}");
        }
        Err(error) => {
            let Error::Damaged(damage) = &error else { unreachable!("{what}: {error}") };
            assert_eq!(damage, &report.damage, "{what}");
            let salvage = small().with_on_damage(OnDamage::Salvage);
            let (log, recovery) = Log::open(dir, &salvage).expect("salvage opens");
            assert_eq!(&recovery.damage, damage, "{what}");
            let lost =
                |entry: &&Entry| damage.iter().any(|d| (d.from..=d.to).contains(&entry.sequence));
            let kept: Vec<Entry> = before.iter().filter(|before| !lost(before)).cloned().collect();
            assert_eq!(entries(&log), kept, "{what}: {damage:?}");
            assert!(before.len() - kept.len() <= 1, "{what}: one bit, one record: {damage:?}");
            assert_eq!(log.append(record(b"goes on")).expect("room"), last + 1, "{what}");
            drop(log);
            assert_eq!(entries(&open(dir)).len(), kept.len() + 1, "{what}");
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_is_harmless_or_reported() {
    let source = crate::folder();
    let log = open(source.path());
    fill(&log, 50);
    log.truncate_before(40).expect("writable");
    log.compact(&mut |it| if it.sequence % 4 == 0 { Keep::No } else { Keep::Yes }).expect("room");
    fill(&log, 40);
    log.append_batch(&[record(b"one"), record(b""), record(b"three")]).expect("room");
    let (before, last) = (entries(&log), log.last_sequence());
    drop(log);
    let mut reported = 0;
    for file in files(source.path()) {
        let bytes = std::fs::read(&file).expect("readable");
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        let positions = (0..used).chain((used..bytes.len()).step_by(501));
        for at in positions {
            let dir = flipped(source.path(), &file, at);
            let what = format!("{} byte {at}", file.display());
            reported += usize::from(
                !Log::verify(dir.path(), &small()).expect("readable").damage.is_empty(),
            );
            check_flipped(dir.path(), &before, last, &what);
        }
    }
    assert!(reported > 1000, "only {reported} flips were seen");
}

#[test]
fn a_missing_segment_is_reported_with_its_sequences() {
    let dir = crate::folder();
    let log = open(dir.path());
    fill(&log, 150);
    let all = entries(&log);
    drop(log);
    let files = files(dir.path());
    std::fs::remove_file(&files[1]).expect("it is there");
    let damage = match Log::open(dir.path(), &small()) {
        Err(Error::Damaged(damage)) => damage,
        other => unreachable!("{other:?}"),
    };
    assert_eq!((damage.len(), damage[0].what), (1, DamageKind::Missing));
    let lost = damage[0].from..=damage[0].to;
    let salvage = small().with_on_damage(OnDamage::Salvage);
    let log = Log::open(dir.path(), &salvage).expect("salvage opens").0;
    let kept: Vec<_> = all.into_iter().filter(|item| !lost.contains(&item.sequence)).collect();
    assert_eq!(entries(&log), kept);
}

#[test]
fn refusing_and_verifying_change_nothing() {
    let dir = crate::folder();
    let log = open(dir.path());
    fill(&log, 80);
    drop(log);
    let files = files(dir.path());
    flip(&files[0], 100, 3);
    std::fs::write(dir.path().join(format!("{:020}.log.new", 900)), b"half").expect("writable");
    let content = || {
        self::files(dir.path())
            .iter()
            .map(|file| std::fs::read(file).expect("readable"))
            .collect::<Vec<_>>()
    };
    let before = content();
    let error = Log::open(dir.path(), &small()).expect_err("damaged");
    let text = error.to_string();
    assert!(text.contains("00000000000000000001.log at offset 32, sequence 1"), "{text}");
    Log::verify(dir.path(), &small()).expect("readable");
    assert_eq!(content(), before);
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let dir = crate::folder();
    drop(open(dir.path()));
    let file = &files(dir.path())[0];
    let mut bytes = std::fs::read(file).expect("readable");
    bytes[8..12].copy_from_slice(&9_u32.to_le_bytes());
    let crc = crc32c::crc32c(&bytes[..12]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    std::fs::write(file, bytes).expect("writable");
    let error = Log::open(dir.path(), &small()).expect_err("it is newer");
    assert_eq!(error.kind(), ErrorKind::Newer);
    assert!(error.to_string().contains("format version 9"), "{error}");
}

/// All entries, or the first error.
fn read_all(log: &Log) -> Result<Vec<Entry>, Error> {
    log.entries_after(0).collect()
}

#[test]
fn a_flipped_bit_is_noticed_when_it_is_read_if_not_at_opening() {
    let source = crate::folder();
    let log = open(source.path());
    fill(&log, 50);
    log.compact(&mut |it| if it.sequence % 4 == 0 { Keep::No } else { Keep::Yes }).expect("room");
    fill(&log, 50);
    let (before, last) = (read_all(&log).expect("readable"), log.last_sequence());
    drop(log);
    let glancing = small().with_verify(Verify::Unsealed);
    let (mut at_opening, mut at_reading) = (0, 0);
    for file in files(source.path()) {
        let bytes = std::fs::read(&file).expect("readable");
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        for at in (0..used).step_by(3).chain(used.saturating_sub(32)..used) {
            let dir = flipped(source.path(), &file, at);
            let what = format!("{} byte {at}", file.display());
            let report = Log::verify(dir.path(), &small()).expect("readable");
            let error = match Log::open(dir.path(), &glancing) {
                Err(error) => {
                    at_opening += 1;
                    error
                }
                Ok((log, _)) => {
                    assert_eq!(log.last_sequence(), last, "{what}");
                    match read_all(&log) {
                        Ok(entries) => {
                            assert!(report.damage.is_empty(), "{what}: {:?}", report.damage);
                            assert_eq!(entries, before, "{what}: silently changed");
                            continue;
                        }
                        Err(error) => {
                            at_reading += 1;
                            let first = report.damage[0].from;
                            let held = log.read(first).map(|it| it.map(|it| it.sequence));
                            assert!(
                                held.is_err() || held.is_ok_and(|it| it != Some(first)),
                                "{what}"
                            );
                            error
                        }
                    }
                }
            };
            let Error::Damaged(damage) = &error else { unreachable!("{what}: {error}") };
            assert_eq!(damage, &report.damage, "{what}");
        }
    }
    assert!(at_opening > 50 && at_reading > 500, "{at_opening} and {at_reading}");
}

#[test]
fn segments_that_were_not_checked_are_compacted_and_dropped_like_others() {
    let dir = crate::folder();
    let log = open(dir.path());
    fill(&log, 200);
    let before = entries(&log);
    drop(log);
    let glancing = small().with_verify(Verify::Unsealed);
    let (log, _) = Log::open(dir.path(), &glancing).expect("it opens");
    assert!(log.segments() > 3);
    let mut checked = 0;
    while log.check_next().expect("undamaged") {
        checked += 1;
    }
    assert_eq!(checked, log.segments() - 1, "all but the one that opening has read");
    drop(log);
    let (log, _) = Log::open(dir.path(), &glancing).expect("it opens");
    assert_eq!(log.read(77).expect("readable").as_ref(), before.get(76));
    let first = log.truncate_before(60).expect("writable");
    assert!(first > 1 && first <= 60);
    let kept: Vec<Entry> = before
        .into_iter()
        .filter(|before| before.sequence >= first && !before.sequence.is_multiple_of(5))
        .collect();
    let keep = |entry: &Entry| if entry.sequence.is_multiple_of(5) { Keep::No } else { Keep::Yes };
    log.compact(&mut |it| keep(it)).expect("room");
    assert_eq!(entries(&log), kept);
    drop(log);
    let (log, _) = Log::open(dir.path(), &glancing).expect("it opens");
    assert_eq!(entries(&log), kept);
    assert!(Log::verify(dir.path(), &small()).expect("readable").damage.is_empty());
}

fn salvaging() -> Options {
    small().with_on_damage(OnDamage::Salvage)
}

fn damage_of(error: Error) -> Vec<waypost_log::Damage> {
    match error {
        Error::Damaged(damage) => damage,
        other => unreachable!("{other}"),
    }
}

/// Salvages a log that had given out the sequences up to `last`, and checks that what is not
/// reported as lost is there, and that no sequence is given out twice.
fn check_salvage(dir: &Path, before: &[Entry], last: u64, what: &str) {
    let damage = damage_of(Log::open(dir, &small()).expect_err(what));
    let (log, recovery) = Log::open(dir, &salvaging()).expect("salvage opens");
    assert_eq!(recovery.damage, damage, "{what}");
    let lost = |entry: &&Entry| damage.iter().any(|d| (d.from..=d.to).contains(&entry.sequence));
    let kept: Vec<Entry> = before.iter().filter(|before| !lost(before)).cloned().collect();
    assert_eq!(entries(&log), kept, "{what}: {damage:?}");
    let next = log.append(record(b"goes on")).expect("room");
    assert!(next > last, "{what}: {next} was given out before");
    drop(log);
    let log = open(dir);
    assert_eq!((entries(&log).len(), log.last_sequence()), (kept.len() + 1, next), "{what}");
}

/// A copy of a folder's files, as `kill -9` would leave them.
fn copied(source: &Path) -> tempfile::TempDir {
    let dir = crate::folder();
    for file in files(source) {
        let name = file.file_name().expect("a file");
        std::fs::copy(&file, dir.path().join(name)).expect("writable");
    }
    dir
}

fn last_segment(dir: &Path) -> PathBuf {
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "log");
    files(dir).into_iter().rfind(is_segment).expect("a log has segments")
}

#[test]
fn a_log_that_lost_its_end_is_damaged() {
    let source = crate::folder();
    let log = open(source.path());
    fill(&log, 150);
    log.append_batch(&[record(b"one"), record(b""), record(b"three")]).expect("room");
    let (before, last) = (entries(&log), log.last_sequence());
    let killed = copied(source.path());
    drop(log);
    for source in [source.path(), killed.path()] {
        let segment = last_segment(source);
        let bytes = std::fs::read(&segment).expect("readable");
        let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
        for at in (0..used - 32).step_by(29) {
            for is_shorter in [true, false] {
                let dir = copied(source);
                let mut cut = bytes.clone();
                if is_shorter {
                    cut.truncate(at);
                } else {
                    cut[at..].fill(0);
                }
                let path = dir.path().join(segment.file_name().expect("a file"));
                std::fs::write(path, cut).expect("writable");
                let what = format!("{at} of {used}, {is_shorter}");
                let report = Log::verify(dir.path(), &small()).expect("readable");
                assert_eq!(report.damage.last().map(|it| it.to), Some(last), "{what}");
                check_salvage(dir.path(), &before, last, &what);
            }
        }
    }
}

#[test]
fn a_log_that_lost_its_end_names_the_sequences() {
    let dir = crate::folder();
    let log = open(dir.path());
    fill(&log, 20);
    drop(log);
    let segment = last_segment(dir.path());
    let mut bytes = std::fs::read(&segment).expect("readable");
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    bytes[used - 32 - 3 * 104..].fill(0);
    std::fs::write(&segment, bytes).expect("writable");
    let error = Log::open(dir.path(), &small()).expect_err("it is too short");
    let text = error.to_string();
    assert!(text.contains("the log ends too early in 00000000000000000001.log"), "{text}");
    assert!(text.contains("sequences 18 to 20"), "{text}");
}

#[test]
fn missing_files_are_noticed_by_what_is_left_or_by_what_the_caller_knows() {
    let source = crate::folder();
    let log = open(source.path());
    fill(&log, 150);
    let (before, last) = (entries(&log), log.last_sequence());
    drop(log);
    let names: Vec<PathBuf> = files(source.path());
    assert!(names.len() > 4, "{names:?}");
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "log");
    let without = |gone: &dyn Fn(usize, &PathBuf) -> bool| {
        let dir = copied(source.path());
        for (_, name) in names.iter().enumerate().filter(|pair| gone(pair.0, pair.1)) {
            let name = name.file_name().expect("a file");
            std::fs::remove_file(dir.path().join(name)).expect("a file");
        }
        dir
    };
    for gone in 0..names.len() - 1 {
        check_salvage(without(&|at, _| at == gone).path(), &before, last, "one segment");
        check_salvage(without(&|at, it| is_segment(it) && at >= gone).path(), &before, last, "end");
    }
    let empty = without(&|_, _| true);
    assert_eq!(Log::verify(empty.path(), &small()).expect("readable").damage, []);
    let knowing = small().with_reached(last);
    let damage = damage_of(Log::open(empty.path(), &knowing).expect_err("it is gone"));
    assert_eq!((damage[0].from, damage[0].to, damage[0].what), (1, last, DamageKind::Missing));
    assert_eq!(Log::verify(empty.path(), &knowing).expect("readable").damage, damage);
    let salvaging = salvaging().with_reached(last);
    let log = Log::open(empty.path(), &salvaging).expect("salvage opens").0;
    assert!(log.append(record(b"goes on")).expect("room") > last);
    drop(log);
    assert_eq!(entries(&open(empty.path())).len(), 1);
}

#[test]
fn an_older_copy_of_the_last_segment_is_noticed() {
    let dir = crate::folder();
    let log = open(dir.path());
    fill(&log, 10);
    let older = std::fs::read(last_segment(dir.path())).expect("readable");
    fill(&log, 10);
    let (before, last) = (entries(&log), log.last_sequence());
    drop(log);
    std::fs::write(last_segment(dir.path()), older).expect("writable");
    let report = Log::verify(dir.path(), &small()).expect("readable");
    assert_eq!(report.damage.len(), 1, "{report:?}");
    assert_eq!((report.damage[0].from, report.damage[0].to), (11, 20));
    check_salvage(dir.path(), &before, last, "older");
}

#[test]
fn an_older_copy_of_the_folder_is_noticed_by_what_the_caller_knows() {
    let dir = crate::folder();
    let log = open(dir.path());
    fill(&log, 10);
    let older = copied(dir.path());
    fill(&log, 1_000);
    // As the last time that the caller looked; more was appended before the folder was replaced.
    let reached = log.reached();
    assert_eq!(reached, log.last_sequence());
    fill(&log, 40);
    log.append_batch_unsynced(&[record(b"not on disk yet")]).expect("room");
    assert_eq!((log.reached(), log.last_sequence()), (reached + 40, reached + 41));
    let last = log.last_sequence();
    assert_eq!(Log::verify(older.path(), &small()).expect("readable").damage, []);
    let knowing = small().with_reached(reached);
    let damage = damage_of(Log::open(older.path(), &knowing).expect_err("it is older"));
    assert_eq!((damage[0].from, damage[0].to, damage[0].what), (11, reached, DamageKind::Short));
    let salvaging = salvaging().with_reached(reached);
    let log = Log::open(older.path(), &salvaging).expect("salvage opens").0;
    assert_eq!(entries(&log).len(), 10);
    assert!(log.append(record(b"goes on")).expect("room") > last, "none is given out again");
}

#[test]
fn what_was_cut_off_is_unsure_only_after_a_power_cut() {
    let source = crate::folder();
    let log = open(source.path());
    fill(&log, 10);
    log.append_batch_unsynced(&[record(b"on its way")]).expect("room");
    let killed = copied(source.path());
    let segment = last_segment(killed.path());
    let mut bytes = std::fs::read(&segment).expect("readable");
    let used = bytes.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    bytes[used - 3] ^= 1;
    std::fs::write(&segment, bytes).expect("writable");
    let rebooted = copied(killed.path());
    // As after a power cut in which the notes were lost: no file is as good as an old one.
    std::fs::remove_file(rebooted.path().join("reached")).expect("it is there");
    for (dir, is_unsure) in [(killed, false), (rebooted, true)] {
        let (log, recovery) = Log::open(dir.path(), &small()).expect("a torn tail is cut");
        assert!(recovery.truncated_bytes > 0);
        assert_eq!(recovery.is_unsure, is_unsure);
        assert_eq!(log.last_sequence(), 10);
    }
}

#[test]
fn newer_files_beside_the_segments_are_refused_by_name() {
    for (name, magic, len) in [("reached", b"WPLOGRCH", 128), ("floor", b"WPLOGFLR", 32)] {
        let dir = crate::folder();
        let log = open(dir.path());
        fill(&log, 3);
        drop(log);
        let mut bytes = vec![0; len];
        bytes[..8].copy_from_slice(magic);
        bytes[8..12].copy_from_slice(&2_u32.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..12]);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        std::fs::write(dir.path().join(name), &bytes).expect("writable");
        let error = Log::open(dir.path(), &small()).expect_err("it is newer");
        assert_eq!(error.kind(), ErrorKind::Newer, "{error}");
        assert!(error.to_string().contains("written by a newer release"), "{error}");
        assert_eq!(
            Log::open(dir.path(), &salvaging()).expect_err("newer").kind(),
            ErrorKind::Newer
        );
        assert_eq!(std::fs::read(dir.path().join(name)).expect("readable"), bytes);
    }
}

#[test]
fn a_log_of_every_earlier_format_opens_as_it_was() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/v1");
    let with_note = copied(&data);
    let without = copied(&data);
    std::fs::remove_file(without.path().join("reached")).expect("it is there");
    for dir in [with_note, without] {
        let (log, recovery) = Log::open(dir.path(), &small()).expect("it opens");
        assert_eq!((recovery.truncated_bytes, recovery.damage.len()), (0, 0));
        let found: Vec<String> = entries(&log)
            .iter()
            .map(|entry| {
                format!("{}:{}:{:x}", entry.sequence, entry.kind, crc32c::crc32c(&entry.payload))
            })
            .collect();
        // Sequence, kind and checksum of each; 13 and 14 went in a compaction.
        let wanted = "1:1:41786119 2:1:fcdfac20 3:1:1be94873 4:1:fba4ca4e 5:1:e77e92e \
                      6:1:62b4492e 7:2:dd1f6f57 8:2:f20caea2 9:4:e10d9958 10:4:f8a29571 \
                      11:4:c9c4339 12:4:cbfc8d23 15:3:5c62c06f 16:3:94de27f5 17:6:552f6072";
        assert_eq!(found.join(" "), wanted);
        assert_eq!(log.append(record(b"goes on")).expect("room"), 18);
    }
}

#[test]
fn a_read_names_the_record_that_is_damaged_and_the_log_remembers_it() {
    let dir = crate::folder();
    let log = open(dir.path());
    for number in 1..=12 {
        log.append(record(format!("record {number}").as_bytes())).expect("room");
    }
    let [segment] = &files(dir.path())
        .into_iter()
        .filter(|file| {
            std::fs::read(file).is_ok_and(|bytes| place_of(&bytes, b"record 7").is_some())
        })
        .collect::<Vec<_>>()[..]
    else {
        unreachable!("one segment has the record")
    };
    let at = place_of(&std::fs::read(segment).expect("readable"), b"record 7").expect("there");
    flip(segment, at, 3);
    assert_eq!(log.damage(), Vec::new(), "nothing has read it");
    for _ in 0..2 {
        let Err(Error::Damaged(met)) = log.read(7) else { unreachable!("the record is damaged") };
        assert_eq!(met.iter().map(|it| (it.from, it.to)).collect::<Vec<_>>(), [(7, 7)]);
        assert_eq!(met[0].records(), 1);
        assert_eq!(log.damage(), met);
    }
    assert_eq!(log.read(8).expect("readable").expect("there").payload, b"record 8");
    assert_eq!(log.append(record(b"goes on")).expect("room"), 13);
    let met = log.damage();
    drop(log);
    let Err(Error::Damaged(again)) = Log::open(dir.path(), &small()) else {
        unreachable!("the record is damaged")
    };
    assert_eq!(again, met);
}

/// A log of 20 records, the only segment's file, and the offset behind the payload of record 6.
fn twenty() -> (tempfile::TempDir, Log, PathBuf, usize) {
    let dir = crate::folder();
    let (log, _) = Log::open(dir.path(), &Options::default()).expect("it opens");
    for number in 1..=20 {
        log.append(record(format!("record {number:02}").as_bytes())).expect("room");
    }
    let segment = files(dir.path()).into_iter().next().expect("a segment");
    let bytes = std::fs::read(&segment).expect("readable");
    let at = |text: &[u8]| place_of(&bytes, text).expect("there");
    let frame = at(b"record 06") + b"record 06".len();
    (dir, log, segment, frame)
}

#[test]
fn a_read_finds_records_behind_one_whose_head_is_damaged() {
    // From the end of the record before to the end of its own payload.
    for byte in 0..20 {
        let (_dir, log, segment, frame) = twenty();
        flip(&segment, frame + byte, 3);
        for number in 1..=20_u64 {
            match log.read(number) {
                Ok(entry) => {
                    let payload = entry.map(|entry| entry.payload).unwrap_or_default();
                    assert_eq!(payload, format!("record {number:02}").as_bytes(), "byte {byte}");
                }
                Err(error) => assert!(number == 7 || number == 6, "byte {byte}: {number}: {error}"),
            }
        }
        assert!(log.damage().len() <= 1, "byte {byte}: {:?}", log.damage());
    }
}

#[test]
fn a_log_that_is_cut_off_while_it_is_open_is_damaged() {
    let (_dir, log, segment, frame) = twenty();
    let file = std::fs::OpenOptions::new().write(true).open(segment).expect("a file");
    file.set_len(frame as u64).expect("it can be cut");
    assert_eq!(log.read(3).expect("readable").expect("there").payload, b"record 03");
    let Err(Error::Damaged(met)) = log.read(12) else { unreachable!("the record is gone") };
    assert!(met.iter().any(|it| it.from <= 12 && it.to >= 12), "{met:?}");
    assert_eq!(log.damage(), met);
}

fn place_of(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|window| window == needle)
}

#[test]
fn files_that_are_removed_or_replaced_while_the_log_is_open_are_noticed() {
    let remove: fn(&Path) = |dir| std::fs::remove_dir_all(dir).expect("it is there");
    let rename: fn(&Path) = |dir| {
        std::fs::rename(dir, dir.with_extension("old")).expect("it is there");
        std::fs::create_dir(dir).expect("a folder");
    };
    let replace: fn(&Path) = |dir| {
        for file in files(dir) {
            let bytes = std::fs::read(&file).expect("readable");
            std::fs::remove_file(&file).expect("it is there");
            std::fs::write(&file, bytes).expect("writable");
        }
    };
    for harm in [remove, rename, replace] {
        let folder = crate::folder();
        let dir = folder.path().join("log");
        let log = open(&dir);
        fill(&log, 60);
        assert!(log.segments() > 1 && log.damage().is_empty());
        harm(&dir);
        let damage = log.damage();
        assert!(damage.iter().all(|it| it.what == DamageKind::Missing));
        assert_eq!((damage.len(), damage[0].from), (log.segments(), 1));
        let error = log.append(record(b"lost")).expect_err("nothing would find it");
        assert!(matches!(error, Error::Gone(_)), "{error}");
        assert_eq!(log.append(record(b"x")).expect_err("poisoned").kind(), ErrorKind::Poisoned);
        assert!(matches!(log.fault(), Some(Error::Gone(_))));
        assert_eq!(entries(&log).len(), 60, "what was acknowledged can be read");
    }
}
