//! Vectors are computed once in the cluster.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;

use waypost_journal::{
    Claimed, MODEL_BYTES_MAX, MachineId, TextHash, VECTOR_BYTES_MAX, VECTORS_MAX,
};

use super::*;

const MODEL: &[u8] = b"model";
const FIRST: MachineId = MachineId([1; 16]);
const SECOND: MachineId = MachineId([2; 16]);
const LEASE: Duration = Duration::from_secs(3600);

fn text(number: u32) -> TextHash {
    let mut text = [0; 32];
    // Not in the order of the numbers.
    text[..4].copy_from_slice(&number.wrapping_mul(2_654_435_761).to_be_bytes());
    text
}

fn claim(journal: &Journal, texts: &[TextHash], machine: MachineId) -> Claimed {
    let mut claimed = journal.claim_vectors(MODEL, texts, machine, LEASE, &long()).unwrap();
    claimed.have.sort();
    claimed.claimed.sort_unstable();
    claimed.others.sort_unstable();
    claimed
}

fn found(claimed: &Claimed) -> (usize, usize, usize) {
    (claimed.have.len(), claimed.claimed.len(), claimed.others.len())
}

#[test]
fn a_text_is_computed_by_one_machine_and_had_by_all() {
    let server = server!();
    let journal = server.journal();
    let mut texts: Vec<TextHash> = (0..3).map(text).collect();
    texts.sort_unstable();
    let first = claim(&journal, &[texts[0], texts[1], texts[0]], FIRST);
    assert_eq!(first.claimed, texts[..2]);
    let second = claim(&journal, &texts, SECOND);
    assert_eq!((&second.claimed, &second.others), (&texts[2..].to_vec(), &texts[..2].to_vec()));
    // A machine that starts again goes on.
    assert_eq!(claim(&journal, &texts, FIRST).claimed, texts[..2]);
    let vectors = [(texts[0], vec![1, 2]), (texts[1], vec![3, 4])];
    assert_eq!(journal.put_vectors(MODEL, &vectors, &long()).unwrap(), 2);
    let second = claim(&journal, &texts, SECOND);
    assert_eq!((second.have, second.claimed), (vectors.to_vec(), texts[2..].to_vec()));
    // The first vector stays.
    let late = [(texts[0], vec![9]), (texts[2], vec![5])];
    assert_eq!(journal.put_vectors(MODEL, &late, &long()).unwrap(), 1);
    let mut all = journal.get_vectors(MODEL, &texts, &long()).unwrap();
    all.sort();
    assert_eq!(all.iter().map(|it| it.1[0]).collect::<Vec<_>>(), [1, 3, 5]);
    // Another model, and another store, have their own.
    let other = journal.claim_vectors(b"other", &texts, SECOND, LEASE, &long()).unwrap();
    assert_eq!(found(&other), (0, 3, 0));
    assert_eq!(found(&claim(&server.journal(), &texts, SECOND)), (0, 3, 0));
}

#[test]
fn a_claim_that_has_ended_is_taken_over() {
    let server = server!();
    let journal = server.journal();
    let texts = [text(1), text(2)];
    claim(&journal, &texts, FIRST);
    assert_eq!(found(&claim(&journal, &texts, SECOND)), (0, 0, 2));
    server.sql("UPDATE waypost.vector SET claimed_until = clock_timestamp() - interval '1 ms'");
    assert_eq!(found(&claim(&journal, &texts, SECOND)), (0, 2, 0));
    assert_eq!(found(&claim(&journal, &texts, FIRST)), (0, 0, 2));
    // A lease of no time ends at once.
    let none = journal.claim_vectors(MODEL, &texts, SECOND, Duration::ZERO, &long()).unwrap();
    assert_eq!(none.claimed.len(), 2);
    assert_eq!(found(&claim(&journal, &texts, FIRST)), (0, 2, 0));
}

/// Machines claim the same texts in other orders at the same time, new ones and ones of which the
/// claim has ended, and none waits for another in a circle.
#[test]
fn machines_that_claim_at_the_same_time_share_the_texts() {
    let server = server!();
    let journal = server.journal();
    let texts: Vec<TextHash> = (0..3000).map(text).collect();
    for part in texts[..1000].chunks(VECTORS_MAX) {
        claim(&journal, part, MachineId([9; 16]));
    }
    server.sql("UPDATE waypost.vector SET claimed_until = clock_timestamp() - interval '1 ms'");
    let computed: Mutex<BTreeMap<TextHash, u8>> = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for number in 1..=4_u8 {
            let (texts, computed) = (&texts, &computed);
            let journal = Journal::open(server.settings(), journal.store(), &long()).unwrap();
            scope.spawn(move || {
                let machine = MachineId([number; 16]);
                let mut parts: Vec<&[TextHash]> = texts.chunks(100).collect();
                if number % 2 == 0 {
                    parts.reverse();
                }
                for part in parts {
                    let claimed = claim(&journal, part, machine).claimed;
                    for text in &claimed {
                        let other = computed.lock().unwrap().insert(*text, number);
                        assert_eq!(other, None, "computed twice");
                    }
                    let vectors: Vec<_> =
                        claimed.iter().map(|claimed| (*claimed, vec![number])).collect();
                    let put = journal.put_vectors(MODEL, &vectors, &long()).unwrap();
                    assert_eq!(put, vectors.len() as u64);
                }
            });
        }
    });
    let computed = computed.into_inner().unwrap();
    assert_eq!(computed.len(), texts.len());
    for part in texts.chunks(VECTORS_MAX) {
        for (text, vector) in claim(&journal, part, FIRST).have {
            assert_eq!(vector, [computed[&text]]);
        }
    }
}

#[test]
fn vectors_of_purged_texts_are_removed_and_stay_so() {
    let server = server!();
    let journal = server.journal();
    let texts = [text(1), text(2)];
    claim(&journal, &texts, FIRST);
    journal.claim_vectors(b"other", &texts, FIRST, LEASE, &long()).unwrap();
    journal.put_vectors(MODEL, &[(texts[0], vec![1])], &long()).unwrap();
    assert_eq!(journal.trim_vectors(Duration::ZERO, &long()).unwrap(), 4);
    let late = [(texts[0], vec![1]), (texts[1], vec![2])];
    assert_eq!(journal.put_vectors(MODEL, &late, &long()).unwrap(), 0);
    assert_eq!(journal.get_vectors(MODEL, &texts, &long()).unwrap(), []);
}

#[test]
fn old_vectors_are_trimmed() {
    let server = server!();
    let journal = server.journal();
    let other = server.journal();
    let texts: Vec<TextHash> = (0..12_000).map(text).collect();
    for part in texts.chunks(VECTORS_MAX) {
        claim(&journal, part, FIRST);
        claim(&other, &part[..1], FIRST);
    }
    let hour = Duration::from_secs(3600);
    assert_eq!(journal.trim_vectors(hour, &long()).unwrap(), 0);
    server.sql("UPDATE waypost.vector SET written = written - interval '1 day'");
    let vectors: Vec<_> = texts.iter().step_by(100).map(|text| (*text, vec![1])).collect();
    assert_eq!(journal.put_vectors(MODEL, &vectors, &long()).unwrap(), 120);
    assert_eq!(journal.trim_vectors(hour, &long()).unwrap(), 12_000 - 120);
    assert_eq!(server.sql("SELECT count(*) FROM waypost.vector WHERE vector IS NOT NULL"), "120");
    assert_eq!(server.sql("SELECT count(*) FROM waypost.vector WHERE vector IS NULL"), "12");
}

#[test]
fn calls_about_vectors_have_limits() {
    let server = server!();
    let journal = server.journal();
    let texts: Vec<TextHash> = (0..=1000).map(text).collect();
    assert_eq!(claim(&journal, &texts[..VECTORS_MAX], FIRST).claimed.len(), VECTORS_MAX);
    let refused = |result: Result<()>, expected: &str| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    let none = |model: &[u8], texts: &[TextHash]| {
        journal.claim_vectors(model, texts, FIRST, LEASE, &long()).map(|_| ())
    };
    refused(none(MODEL, &texts), "at most 1000 texts, not 1001");
    refused(none(&[], &texts[..1]), "1 to 128 bytes, not 0");
    none(&[1; MODEL_BYTES_MAX], &texts[..1]).unwrap();
    refused(none(&[1; MODEL_BYTES_MAX + 1], &texts[..1]), "1 to 128 bytes, not 129");
    let put = |bytes| journal.put_vectors(MODEL, &[(texts[0], vec![0; bytes])], &long());
    refused(put(VECTOR_BYTES_MAX + 1).map(|_| ()), "at most 65536 bytes, not 65537");
    assert_eq!(put(VECTOR_BYTES_MAX).unwrap(), 1);
    let twice = [(texts[1], vec![1]), (texts[1], vec![2])];
    refused(journal.put_vectors(MODEL, &twice, &long()).map(|_| ()), "a text has two vectors");
}
