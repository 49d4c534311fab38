use proptest::prelude::*;

use super::*;
use crate::{Part, Reason, Refusal, Silence, Used, Withheld};

fn scores() -> impl Strategy<Value = Option<f32>> {
    prop::option::of(0.0f32..=1.0)
}

fn moments() -> impl Strategy<Value = Moment> {
    let refused = (any::<u64>(), prop::sample::select(Refusal::CODES));
    prop_oneof![
        prop::sample::select(vec![Moment::Start, Moment::Prompt, Moment::Compact]),
        refused.prop_map(|(before, why)| Moment::Refused { before, why }),
    ]
}

fn entries() -> impl Strategy<Value = Entry> {
    let used = (any::<u64>(), prop::sample::select(Part::CODES), scores());
    let used = used.prop_map(|(id, part, score)| Used { id, score, part });
    let withheld = (any::<u64>(), prop::sample::select(Reason::CODES), scores());
    let withheld = withheld.prop_map(|(id, reason, score)| Withheld { id, score, reason });
    (
        (".{0,20}", prop::option::of(".{0,20}"), "[a-z]{1,9}"),
        (moments(), any::<bool>(), scores(), scores()),
        prop::collection::vec(used, 0..9),
        prop::collection::vec(withheld, 0..9),
        prop::option::of(prop::sample::select(Silence::CODES)),
    )
        .prop_map(
            |(
                (session, space, harness),
                (moment, is_fresh, answerable, threshold),
                used,
                withheld,
                silence,
            )| {
                let key = SessionKey::new(&session, space.as_deref());
                let new = Entry::new(key, &harness, moment);
                Entry { is_fresh, answerable, threshold, used, withheld, silence, ..new }
            },
        )
}

fn records() -> impl Strategy<Value = Record> {
    (entries(), 0i64..4_000_000_000_000, any::<u64>(), 0..3).prop_map(
        |(entry, at, offset, which)| {
            let at = Timestamp::from_millis(at);
            let (key, harness) = (entry.key.clone(), Arc::clone(&entry.harness));
            match which {
                0 => Record::Entry(Entry { at, ..entry }),
                1 => Record::Recorded { key, harness, at, offset },
                _ => Record::Compacted { key, harness, at },
            }
        },
    )
}

proptest! {
    #[test]
    fn every_record_is_read_back(record in records()) {
        let bytes = record.encode().expect("it is within the limits");
        let (kind, version) = record.tag();
        prop_assert!(can_read(kind, version));
        prop_assert_eq!(Record::decode(kind, version, &bytes), Some(record));
    }

    #[test]
    fn a_shorter_or_longer_payload_is_malformed(record in records(), cut in any::<prop::sample::Index>()) {
        let mut bytes = record.encode().expect("it is within the limits");
        let (kind, version) = record.tag();
        let cut = cut.index(bytes.len());
        prop_assert_eq!(Record::decode(kind, version, &bytes[..cut]), None);
        bytes.push(0);
        prop_assert_eq!(Record::decode(kind, version, &bytes), None);
    }

    #[test]
    fn any_bytes_are_a_record_or_malformed(kind in 0u8..6, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some(again) = check_record(kind, VERSION, &bytes) {
            prop_assert_eq!(again, bytes);
        }
    }
}

#[test]
fn limits_hold() {
    let named = |count: u64| {
        let used = (0..count).map(|id| Used { id, score: None, part: Part::Task }).collect();
        let new = Entry::new(SessionKey::new("s", None), "claude", Moment::Prompt);
        Record::Entry(Entry { used, ..new }).encode()
    };
    assert!(named(NAMED_MAX as u64).is_ok());
    assert!(named(NAMED_MAX as u64 + 1).is_err());
    let session = |bytes: usize| {
        let key = SessionKey::new(&"s".repeat(bytes), None);
        Record::Compacted { key, harness: "claude".into(), at: Timestamp::EPOCH }.encode()
    };
    assert!(session(SESSION_BYTES_MAX).is_ok());
    let error = session(SESSION_BYTES_MAX + 1).expect_err("it is too long");
    assert_eq!(error.to_string(), "the session has 4097 bytes; the limit is 4096");
}
