//! Reads a transcript, whatever is in it, in one go and in parts. Both give the same turns, and what
//! is recorded of them has neither injected text nor more than the limit. The rest of the input is
//! read as a record of the recall log.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use waypost_recall::limits::TURN_BYTES_MAX;
use waypost_recall::{Harness, Transcript, Turn, check_record, clean};

fn read(harness: Harness, bytes: &[u8], from: u64, turns_max: usize) -> (Vec<Turn>, u64) {
    let mut transcript =
        Transcript::open(harness, Cursor::new(bytes), from).expect("bytes are read");
    let mut all = Vec::new();
    loop {
        let batch = transcript.next_batch(turns_max).expect("bytes are read");
        assert!(batch.from <= batch.to && batch.to <= bytes.len() as u64);
        all.extend(batch.turns);
        if !batch.has_more {
            return (all, batch.to);
        }
    }
}

fuzz_target!(|input: (u8, u16, u8, Vec<u8>)| {
    let (which, from, kind, bytes) = input;
    let harness = Harness::ALL[usize::from(which) % Harness::ALL.len()];
    let (turns, to) = read(harness, &bytes, 0, usize::MAX);
    assert_eq!(read(harness, &bytes, 0, 1), (turns.clone(), to));
    assert_eq!(read(harness, &bytes, to, 7).0, []);
    read(harness, &bytes, u64::from(from), 3);
    for turn in &turns {
        if let Some(kept) = clean(&turn.text) {
            assert!(!kept.is_empty() && kept.len() <= TURN_BYTES_MAX);
        }
    }
    if let Some(again) = check_record(kind, 1, &bytes) {
        assert_eq!(again, bytes);
    }
});
