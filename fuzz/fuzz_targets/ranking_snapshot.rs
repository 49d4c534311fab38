//! Decodes snapshots whose checksums are right and whose bodies are not: an error, or an index
//! that encodes to something that decodes again.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waypost_ranking::{Slots, TextIndex, VectorIndex};

/// A snapshot of a kind, version 1, with the input as its body.
fn snapshot(magic: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = magic.to_vec();
    bytes.extend([1, 0, 0, 0]);
    bytes.extend(body);
    bytes.extend(crc32c::crc32c(&bytes).to_le_bytes());
    bytes
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, body)) = input.split_first() else { return };
    // The kinds' letters are read off real snapshots, so that this keeps up with the crate.
    match kind % 3 {
        0 => {
            let magic =
                *Slots::default().encode().first_chunk().expect("a snapshot begins with it");
            if let Ok(slots) = Slots::decode(&snapshot(&magic, body)) {
                Slots::decode(&slots.encode()).expect("what was encoded decodes");
            }
        }
        1 => {
            let magic = *TextIndex::default().encode().first_chunk().expect("as above");
            if let Ok(index) = TextIndex::decode(&snapshot(&magic, body)) {
                TextIndex::decode(&index.encode()).expect("what was encoded decodes");
            }
        }
        _ => {
            let empty = VectorIndex::new(4).expect("four dimensions are allowed");
            let magic = *empty.encode().first_chunk().expect("as above");
            if let Ok(index) = VectorIndex::decode(&snapshot(&magic, body)) {
                VectorIndex::decode(&index.encode()).expect("what was encoded decodes");
            }
        }
    }
});
