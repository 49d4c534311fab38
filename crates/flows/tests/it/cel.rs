//! Conditions beside the answers of CEL: where it gives a truth value, ours is the same.
//! `benches/peers/tests/conditions.rs` records the answers, and compares with CEL itself.

use serde_json::Value;
use waypost_flows::{Condition, Truth};

use crate::world::event;

/// A line a condition: the condition, the data of the event, and CEL's answer, if it has one.
const RECORDED: &str = include_str!("../data/cel.ndjson");
/// The first lines differ on purpose; here is what we make of each.
const DIFFERING: [(&str, Truth); 10] = [
    // A text that is a number is compared as one.
    ("data.text == 4", Truth::True),
    ("data.text != 4", Truth::False),
    ("data.text > 3", Truth::True),
    ("data.text in [3, 4]", Truth::True),
    // A text can be a truth value.
    ("data.other == true", Truth::True),
    ("data.other", Truth::True),
    ("!data.other", Truth::False),
    // A number has the methods of a text.
    ("data.whole.startsWith('4')", Truth::True),
    // What is missing is unknown, and no error.
    ("data.gone == 1", Truth::Unknown),
    ("data.gone == 1 || data.whole == 4", Truth::True),
];

struct Recorded {
    condition: String,
    ours: Truth,
    cel: Option<bool>,
}

fn recorded() -> impl Iterator<Item = Recorded> {
    RECORDED.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let condition = line["condition"].as_str().expect("a text").to_owned();
        let event = event(7, "eval:scored", &line["data"].to_string());
        let parsed: Condition = condition.parse().unwrap_or_else(|error| panic!("{error}"));
        let ours = parsed.holds(&event);
        Recorded { condition, ours, cel: line["cel"].as_bool() }
    })
}

#[test]
fn what_cel_decides_is_decided_the_same() {
    let mut compared = 0;
    for Recorded { condition, ours, cel } in recorded().skip(DIFFERING.len()) {
        let cel = if cel.expect("it has an answer") { Truth::True } else { Truth::False };
        assert_eq!(ours, cel, "{condition}");
        compared += 1;
    }
    assert!(compared > 500, "{compared} conditions");
}

#[test]
fn where_it_differs_from_cel_it_is_on_purpose() {
    let found: Vec<Recorded> = recorded().take(DIFFERING.len()).collect();
    for (found, (condition, ours)) in found.iter().zip(DIFFERING) {
        assert_eq!((found.condition.as_str(), found.ours), (condition, ours));
    }
    // Where a condition has a truth value in both, it is another, except in the last.
    let same = found.iter().filter(|found| found.cel == Some(found.ours == Truth::True)).count();
    assert_eq!(same, 1);
}
