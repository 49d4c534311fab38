//! Imports exports with some bytes changed, and plain bytes. The store that comes of it passes its
//! own check by exporting and importing again without a problem.

#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use waypost_memory::{Draft, Store, StoreOptions, Timestamp};

fn now() -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder")
}

fn open(dir: &tempfile::TempDir) -> Store {
    let options = StoreOptions::default().with_free_bytes_min(0);
    Store::open(dir.path(), options).expect("an empty folder opens").0
}

fn template() -> &'static [u8] {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let dir = folder();
        let store = open(&dir);
        for content in ["the first memory", "another one, «quoted»", "third"] {
            store.add(Draft::new(content), now()).expect("there is room");
        }
        let mut out = Vec::new();
        store.export(&mut out).expect("it can be read");
        out
    })
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let mut bytes = if kind % 4 == 0 { rest.to_vec() } else { template().to_vec() };
    if kind % 4 != 0 {
        for edit in rest.chunks_exact(3).take(32) {
            let at = usize::from(u16::from_le_bytes([edit[0], edit[1]])) % bytes.len();
            bytes[at] = edit[2];
        }
    }
    let dir = folder();
    let store = open(&dir);
    if store.import(&mut bytes.as_slice(), now()).is_err() {
        return;
    }
    let mut exported = Vec::new();
    store.export(&mut exported).expect("it can be read");
    let other = folder();
    let copy = open(&other);
    let imported = copy.import(&mut exported.as_slice(), now()).expect("an export imports");
    assert!(imported.problems.is_empty(), "{:?}", imported.problems);
    let mut again = Vec::new();
    copy.export(&mut again).expect("it can be read");
    assert!(exported == again, "an import is not what was exported");
});
