use std::collections::BTreeMap;

use proptest::prelude::*;
use waypost_log::{Entry, Keep, Log, Options};

use crate::{entries, record};

#[derive(Debug, Clone)]
enum Step {
    Append(Vec<Vec<u8>>),
    Unsynced(Vec<u8>),
    Sync,
    Reopen,
    Compact { modulus: u64, replace: bool },
    Truncate { part: f64 },
}

fn step() -> impl Strategy<Value = Step> {
    let payload = || prop::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        6 => prop::collection::vec(payload(), 1..5).prop_map(Step::Append),
        3 => payload().prop_map(Step::Unsynced),
        1 => Just(Step::Sync),
        2 => Just(Step::Reopen),
        1 => (2..6_u64, any::<bool>()).prop_map(|(modulus, replace)| Step::Compact { modulus, replace }),
        1 => (0.0..1.0).prop_map(|part| Step::Truncate { part }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_log_is_a_map_of_sequences(steps in prop::collection::vec(step(), 1..60)) {
        let dir = crate::folder();
        let options = Options::default().with_segment_bytes(1024).with_preallocate_bytes(512).with_free_bytes_min(0);
        let mut log = Log::open(dir.path(), &options).expect("it opens").0;
        let mut model: BTreeMap<u64, Vec<u8>> = BTreeMap::new();
        let mut last = 0;
        for step in steps {
            match step {
                Step::Append(payloads) => {
                    let records: Vec<_> = payloads.iter().map(|it| record(it)).collect();
                    let range = log.append_batch(&records).expect("there is room");
                    prop_assert_eq!(range.clone(), last + 1..last + 1 + payloads.len() as u64);
                    last = range.end - 1;
                    model.extend(range.zip(payloads));
                }
                Step::Unsynced(payload) => {
                    let range = log.append_batch_unsynced(&[record(&payload)]).expect("room");
                    prop_assert_eq!(range.clone(), last + 1..last + 2);
                    last += 1;
                    model.insert(last, payload);
                }
                Step::Sync => log.sync().expect("the disk works"),
                Step::Reopen => {
                    drop(log);
                    let (opened, recovery) = Log::open(dir.path(), &options).expect("it opens");
                    prop_assert_eq!(recovery.truncated_bytes, 0);
                    log = opened;
                }
                Step::Compact { modulus, replace } => {
                    let decide = |sequence: u64| match (sequence % modulus, replace) {
                        (0, true) => Keep::Replace(sequence.to_le_bytes().to_vec()),
                        (0, false) => Keep::No,
                        _ => Keep::Yes,
                    };
                    log.compact(&mut |it| decide(it.sequence)).expect("there is room");
                    model.retain(|sequence, payload| match decide(*sequence) {
                        Keep::Yes => true,
                        Keep::No => false,
                        Keep::Replace(new) => { *payload = new; true }
                    });
                }
                Step::Truncate { part } => {
                    let at = (last as f64 * part) as u64;
                    let first = log.truncate_before(at).expect("writable");
                    prop_assert!(first <= at.max(log.first_sequence()));
                    prop_assert_eq!(first, log.first_sequence());
                    model.retain(|sequence, _| *sequence >= first);
                }
            }
            prop_assert_eq!(log.last_sequence(), last);
            for sequence in [1, last / 2, last, last + 1] {
                let read = log.read(sequence).expect("readable").map(|it| it.payload);
                prop_assert_eq!(read.as_ref(), model.get(&sequence));
            }
            let from = last / 3;
            let after: Vec<Entry> = log.entries_after(from).map(|it| it.expect("readable")).collect();
            prop_assert!(after.iter().map(|it| &it.payload).eq(model.range(from + 1..).map(|it| it.1)));
        }
        let stored: BTreeMap<u64, Vec<u8>> =
            entries(&log).into_iter().map(|it| (it.sequence, it.payload)).collect();
        prop_assert_eq!(&stored, &model);
        let report = Log::verify(dir.path(), &Options::default()).expect("readable");
        prop_assert_eq!(report.records, model.len() as u64);
        prop_assert!(report.damage.is_empty());
    }
}
