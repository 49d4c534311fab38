use proptest::prelude::*;

use super::*;

fn data(json: &str) -> Data {
    serde_json::from_str(json).unwrap()
}

fn event(json: &str) -> Event {
    Event {
        id: 7,
        kind: "eval:scored".parse().unwrap(),
        data: data(json),
        time: Timestamp::from_millis(1_700_000_000_123),
        source: "scout".to_owned(),
        lineage: Lineage::default(),
        space: None,
    }
}

fn round(event: &Event, key: Option<&IdempotencyKey>) {
    let bytes = encode(event, key);
    let version = version_of(event);
    let stored = Stored::read(EVENT_KIND, version, &bytes).unwrap();
    assert_eq!(stored.event(event.id).as_ref(), Ok(event));
    assert_eq!(stored.idempotency_key().unwrap().as_ref(), key);
    assert_eq!(check_record(EVENT_KIND, version, &bytes), Ok(bytes));
}

#[test]
fn an_event_comes_back_as_it_was() {
    let key: IdempotencyKey = "order-7".parse().unwrap();
    let whole =
        r#"{"b":"x","a":-1,"min":-9223372036854775808,"max":18446744073709551615,"f":0.1,"e":""}"#;
    for json in ["{}", whole] {
        round(&event(json), None);
        round(&event(json), Some(&key));
    }
    let lineage = Lineage {
        root: Some(u64::MAX),
        cause: Some("run 12".to_owned()),
        depth: 255,
        flows: vec!["auto-merge".to_owned(), String::new()],
    };
    round(&Event { lineage, source: String::new(), ..event("{}") }, Some(&key));
    let space = Some("f\u{fc}r uns".to_owned());
    round(&Event { space: space.clone(), ..event(whole) }, Some(&key));
    round(&Event { space, ..event("{}") }, None);
    let depth_alone = Lineage { depth: 1, ..Lineage::default() };
    round(&Event { lineage: depth_alone, ..event("{}") }, None);
}

#[test]
fn an_event_cut_anywhere_is_refused() {
    let key = "k".parse().unwrap();
    let bytes = encode(&event(r#"{"a":"text","n":1,"f":0.5}"#), Some(&key));
    for end in 0..bytes.len() {
        assert!(check_record(EVENT_KIND, EVENT_VERSION, &bytes[..end]).is_err(), "{end}");
    }
    let longer = [&bytes[..], b"x"].concat();
    assert!(check_record(EVENT_KIND, EVENT_VERSION, &longer).is_err());
}

#[test]
fn a_space_is_in_version_2_only_and_has_a_name() {
    let with_space = Event { space: Some("s".to_owned()), ..event("{}") };
    assert_eq!((version_of(&event("{}")), version_of(&with_space)), (1, 2));
    let bytes = encode(&with_space, None);
    assert!(check_record(EVENT_KIND, 1, &bytes).is_err());
    let nameless = encode(&Event { space: Some(String::new()), ..event("{}") }, None);
    assert!(check_record(EVENT_KIND, 2, &nameless).is_err());
    let old = encode(&event("{}"), None);
    let read = Stored::read(EVENT_KIND, 1, &old).unwrap().event(7);
    assert_eq!(read, Ok(event("{}")), "what version 1 says");
}

#[test]
fn other_kinds_and_versions_are_refused() {
    let bytes = encode(&event("{}"), None);
    assert!(check_record(EVENT_KIND + 1, EVENT_VERSION, &bytes).is_err());
    let newer = check_record(EVENT_KIND, EVENT_VERSION + 1, &bytes).unwrap_err();
    assert!(newer.to_string().contains("newer"), "{newer}");
}

proptest! {
    #[test]
    fn whatever_is_read_is_written_the_same(mut bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(again) = check_record(EVENT_KIND, EVENT_VERSION, &bytes) {
            prop_assert_eq!(again, bytes.clone());
        }
        let good = encode(&event(r#"{"a":"text","n":1,"f":0.5}"#), None);
        for (at, byte) in good.iter().enumerate() {
            if let Some(it) = bytes.get_mut(at) {
                *it ^= byte;
            }
        }
        let changed: Vec<u8> = bytes.iter().copied().chain(good.into_iter().skip(bytes.len())).collect();
        if let Ok(again) = check_record(EVENT_KIND, EVENT_VERSION, &changed) {
            prop_assert_eq!(again, changed);
        }
    }

    #[test]
    fn numbers_have_one_encoding(number in any::<u64>()) {
        let mut bytes = Vec::new();
        put_number(&mut bytes, number);
        let mut input = Input(&bytes);
        prop_assert_eq!(input.number(), Ok(number));
        prop_assert!(input.0.is_empty());
    }
}
