//! Reads conditions: one that can be asked about any event, or a place in the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waypost_events::{Data, Event, Lineage};
use waypost_flows::{CONDITION_BYTES_MAX, Condition, Timestamp};

fuzz_target!(|input: (&str, &str, i64, f64)| {
    let (text, value, whole, share) = input;
    let condition = match text.parse::<Condition>() {
        Ok(condition) => condition,
        Err(error) => {
            assert!((1..=text.chars().count() + 1).contains(&error.column), "{error:?}");
            return;
        }
    };
    assert!(text.len() <= CONDITION_BYTES_MAX);
    assert_eq!(condition.as_str(), text);
    let mut said = serde_json::Map::new();
    said.insert("a".to_owned(), value.replace('\0', "").into());
    said.insert("n".to_owned(), whole.into());
    if share.is_finite() {
        said.insert("x".to_owned(), share.into());
    }
    for said in [said, serde_json::Map::new()] {
        let Ok(data) = serde_json::from_value::<Data>(said.into()) else { return };
        let event = Event {
            id: 7,
            kind: "eval:scored".parse().expect("a type"),
            data,
            time: Timestamp::EPOCH,
            source: "fuzz".to_owned(),
            lineage: Lineage::default(),
            space: None,
        };
        let truth = condition.holds(&event);
        assert_eq!(truth, condition.holds(&event));
        assert!(condition.explain(&event).iter().all(|it| text.contains(&it.text)));
    }
});
