//! Times in JSON.

use serde::{Deserialize, Serialize};
use waypost_time::{Timestamp, millis};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Both {
    text: Timestamp,
    #[serde(with = "millis")]
    number: Timestamp,
    #[serde(with = "millis::optional")]
    some: Option<Timestamp>,
    #[serde(with = "millis::optional")]
    none: Option<Timestamp>,
}

#[test]
fn a_time_is_a_string_or_a_number_of_milliseconds() {
    let time = Timestamp::from_millis(-1);
    let json = r#"{"text":"1969-12-31T23:59:59.999Z","number":-1,"some":-1,"none":null}"#;
    let both = Both { text: time, number: time, some: Some(time), none: None };
    assert_eq!(serde_json::to_string(&both).expect("it is written"), json);
    assert_eq!(serde_json::from_str::<Both>(json).expect("it is read"), both);
}

#[test]
fn what_is_no_time_is_told_what_would_be() {
    for json in ["1", "null", "\"yesterday\""] {
        let error = serde_json::from_str::<Timestamp>(json).expect_err(json).to_string();
        assert!(error.contains("RFC 3339 time such as 2025-01-31T09:30:00.000Z"), "{error}");
    }
}
