//! Reads conditions: one that can be asked about any event, or a place in the text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waypost_events::Data;
use waypost_flows::{CONDITION_BYTES_MAX, Condition, Facts};

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
    let kind = "eval:scored".parse().expect("a type");
    let mut said = serde_json::Map::new();
    said.insert("a".to_owned(), value.replace('\0', "").into());
    said.insert("n".to_owned(), whole.into());
    if share.is_finite() {
        said.insert("x".to_owned(), share.into());
    }
    for said in [said, serde_json::Map::new()] {
        let Ok(data) = serde_json::from_value::<Data>(said.into()) else { return };
        let facts = Facts { id: 7, kind: &kind, source: "fuzz", depth: 1, data: &data };
        let truth = condition.holds(&facts);
        assert_eq!(truth, condition.holds(&facts));
        assert!(condition.explain(&facts).iter().all(|it| text.contains(&it.text)));
    }
});
