//! Opens a log with some bytes overwritten. Each entry that it then gives must be one that was
//! appended, and salvage must leave a log that opens and takes appends.

#![no_main]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use waypost_log::{Entry, ErrorKind, Keep, Log, OnDamage, Options, Record, Verify};

type Files = BTreeMap<String, Vec<u8>>;

fn options(on_damage: OnDamage) -> Options {
    let verify = Verify::All;
    Options::default()
        .with_segment_bytes(2048)
        .with_preallocate_bytes(1024)
        .with_free_bytes_min(0)
        .with_on_damage(on_damage)
        .with_verify(verify)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}

fn entries(log: &Log) -> Vec<Entry> {
    log.entries_after(0).map_while(Result::ok).collect()
}

/// A log with whole, compacted and dropped segments.
fn template() -> &'static (Files, BTreeMap<u64, Entry>) {
    static TEMPLATE: OnceLock<(Files, BTreeMap<u64, Entry>)> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let dir = folder();
        let (log, _) = Log::open(dir.path(), &options(OnDamage::Refuse)).expect("it opens");
        let append = |count: u8| {
            for at in 0..count {
                let payload = vec![at; usize::from(at) * 3];
                let record = Record { kind: at, version: 1, payload: &payload };
                log.append_batch(&[record, record]).expect("there is room");
            }
        };
        append(20);
        log.truncate_before(15).expect("writable");
        let mut keep = |entry: &Entry| if entry.sequence % 5 == 0 { Keep::No } else { Keep::Yes };
        log.compact(&mut keep).expect("there is room");
        append(20);
        let entries = entries(&log).into_iter().map(|entry| (entry.sequence, entry)).collect();
        (files(dir.path()), entries)
    })
}

fn files(dir: &Path) -> Files {
    let listed = std::fs::read_dir(dir).expect("readable");
    let paths = listed.map(|listed| listed.expect("readable").path());
    paths
        .map(|path| {
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            (name, std::fs::read(path).expect("readable"))
        })
        .collect()
}

fuzz_target!(|input: &[u8]| {
    let (template, appended) = template();
    let mut files: Vec<(String, Vec<u8>)> =
        template.iter().map(|it| (it.0.clone(), it.1.clone())).collect();
    // Each six bytes: a file, an offset, a value, and whether to overwrite, to cut or to add.
    for edit in input.chunks_exact(6).take(64) {
        let count = files.len();
        let bytes = &mut files[usize::from(edit[0]) % count].1;
        let at = usize::from(u16::from_le_bytes([edit[1], edit[2]])) % (bytes.len() + 1);
        match edit[4] % 8 {
            0 => bytes.truncate(at),
            1 => bytes.extend(std::iter::repeat_n(edit[3], usize::from(edit[5]))),
            2 => {
                let end = (at + usize::from(edit[5]) * 8).min(bytes.len());
                bytes[at..end].fill(0);
            }
            3 => {
                let from = at.min(bytes.len());
                let piece = bytes[from..(from + 200).min(bytes.len())].to_vec();
                let to = (usize::from(edit[5]) * 8).min(bytes.len());
                let end = (to + piece.len()).min(bytes.len());
                bytes.splice(to..end, piece);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= edit[3];
                }
            }
        }
    }
    let dir = folder();
    for (name, bytes) in &files {
        std::fs::write(dir.path().join(name), bytes).expect("writable");
    }
    let genuine = |log: &Log| {
        let found = entries(log);
        assert!(found.iter().all(|it| appended.get(&it.sequence) == Some(it)), "made up");
        assert!(found.is_sorted_by_key(|it| it.sequence));
        found.len()
    };
    let report = Log::verify(dir.path(), &options(OnDamage::Refuse));
    let log = match Log::open(dir.path(), &options(OnDamage::Refuse)) {
        Ok((log, _)) => log,
        Err(error) => {
            assert!(matches!(error.kind(), ErrorKind::Damaged | ErrorKind::Newer), "{error}");
            match Log::open(dir.path(), &options(OnDamage::Salvage)) {
                Ok((log, _)) => log,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Newer, "{error}");
                    return;
                }
            }
        }
    };
    assert!(report.is_ok());
    let count = genuine(&log);
    let next = log.last_sequence() + 1;
    let record = Record { kind: 1, version: 1, payload: b"goes on" };
    assert_eq!(log.append(record).expect("there is room"), next);
    drop(log);
    let (log, _) = Log::open(dir.path(), &options(OnDamage::Refuse)).expect("it is whole now");
    assert_eq!(entries(&log).len(), count + 1);
});
