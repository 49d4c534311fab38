//! The ranges of recall's fields.

use waypost_api::{LinkRequest, RecallListRequest, RecallTurnsRequest, parse_body, parse_query};

/// The pointers and messages of the faults.
fn faults<T: std::fmt::Debug>(read: Result<T, waypost_api::Problem>) -> Vec<(String, String)> {
    let problem = read.expect_err("it is refused");
    assert_eq!(problem.status, 422, "{problem:?}");
    problem.errors.into_iter().map(|error| (error.pointer, error.message)).collect()
}

#[test]
fn positions_of_turns_are_ordered_and_stay_below_2_to_the_53() {
    let body = |from: &str, to: &str| {
        let body =
            format!(r#"{{"session":"s","harness":"claude","turns":[],"from":{from},"to":{to}}}"#);
        parse_body::<RecallTurnsRequest>(body.as_bytes())
    };
    let largest = "9007199254740991";
    for (from, to) in [("0", "0"), ("0", largest), (largest, largest)] {
        assert!(body(from, to).is_ok(), "{from} {to}");
    }
    let range = "must be between 0 and 9007199254740991 (2^53 - 1), not ";
    let whole = "must be a non-negative whole number, not ";
    for (from, to, pointer, message) in [
        ("0", "9007199254740992", "/to", format!("{range}9007199254740992")),
        ("0", "18446744073709551615", "/to", format!("{range}18446744073709551615")),
        ("9007199254740992", "7", "/from", format!("{range}9007199254740992")),
        ("-1", "0", "/from", format!("{whole}-1")),
        ("7", "-1", "/to", format!("{whole}-1")),
        ("7", "6", "/to", "must be at least `from` (7), not 6".to_owned()),
    ] {
        let found = faults(body(from, to));
        assert_eq!(found, [(pointer.to_owned(), message)], "{from} {to}");
    }
}

#[test]
fn a_refused_turn_is_named_without_its_text() {
    let body = |turns: &str| {
        let body = format!(
            r#"{{"session":"s","harness":"claude","turns":[{turns}],"from":0,"to":7,"refused":"tooLarge"}}"#
        );
        parse_body::<RecallTurnsRequest>(body.as_bytes())
    };
    assert!(body("").is_ok());
    let found = faults(body(r#"{"role":"user","text":"x"}"#));
    assert_eq!(found, [("/turns".to_owned(), "must be empty with `refused`".to_owned())]);
}

#[test]
fn a_field_is_not_judged_by_another_that_is_missing_or_wrong() {
    let body = br#"{"from":"x","to":1,"type":"updates"}"#;
    let found = faults(parse_body::<LinkRequest>(body));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "/from");
}

#[test]
fn a_page_of_the_log_starts_before_an_entry() {
    let found = faults(parse_query::<RecallListRequest>("before=0"));
    let wanted = "must be the id of an entry of the recall log, between 1 and 9007199254740991 (2^53 - 1), not 0";
    assert_eq!(found, [("?before".to_owned(), wanted.to_owned())]);
}
