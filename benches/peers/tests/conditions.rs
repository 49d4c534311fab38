//! Conditions beside CEL itself: where both give a truth value, it is the same. `namespace` is left
//! out: CEL reserves the word.
//!
//! The tests of the workspace compare with what is recorded in `crates/flows/tests/data/cel.ndjson`,
//! so that they need no CEL. `UPDATE_EXPECT=1` records it again.

use std::collections::HashMap;
use std::fs;

use cel::{Context, Program, Value};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde::{Deserialize, Serialize};
use waypost_events::{Data, Event, Lineage, Timestamp};
use waypost_flows::{Condition, Truth};

const RECORDED: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/flows/tests/data/cel.ndjson");
/// Conditions that are recorded.
const RECORDS: usize = 1000;

/// What an event says; `gone` is never there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Said {
    text: String,
    other: String,
    whole: i64,
    share: f64,
}

/// A condition, what an event says, and the truth value that CEL gives, if it gives one.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Record {
    condition: String,
    data: Said,
    cel: Option<bool>,
}

fn text() -> impl Strategy<Value = String> {
    "[a-cé ]{0,3}"
}

fn said() -> impl Strategy<Value = Said> {
    (text(), text(), -4_i64..4, -4_i32..4).prop_map(|(text, other, whole, share)| Said {
        text,
        other,
        whole,
        share: f64::from(share) / 2.0,
    })
}

impl Said {
    fn event(&self) -> Event {
        let data = serde_json::to_string(self).expect("texts and numbers become JSON");
        Event {
            id: 7,
            kind: "eval:scored".parse().expect("a type"),
            data: serde_json::from_str::<Data>(&data).expect("an object"),
            time: Timestamp::EPOCH,
            source: "test".to_owned(),
            lineage: Lineage::default(),
            space: None,
        }
    }

    fn context(&self) -> Context<'static, 'static> {
        let data = HashMap::from([
            ("text", Value::from(self.text.as_str())),
            ("other", Value::from(self.other.as_str())),
            ("whole", Value::Int(self.whole)),
            ("share", Value::Float(self.share)),
        ]);
        let mut context = Context::default();
        context.add_variable_from_value("data", data);
        for (name, value) in [("name", "scored"), ("source", "test")] {
            context.add_variable_from_value(name, value);
        }
        context.add_variable_from_value("id", Value::Int(7));
        context.add_variable_from_value("depth", Value::Int(0));
        context
    }
}

/// A value of type text.
fn a_text() -> BoxedStrategy<String> {
    let paths = ["data.text", "data[\"other\"]", "data.gone", "name", "source"];
    prop_oneof![
        3 => prop::sample::select(paths.to_vec()).prop_map(str::to_owned),
        1 => text().prop_map(|it| format!("\"{it}\"")),
        1 => text().prop_map(|it| format!("'{it}'")),
    ]
    .boxed()
}

/// A value of type number.
fn a_number() -> BoxedStrategy<String> {
    let paths = ["data.whole", "data.share", "data.gone", "id", "depth"];
    prop_oneof![
        3 => prop::sample::select(paths.to_vec()).prop_map(str::to_owned),
        1 => (-4_i64..8).prop_map(|it| it.to_string()),
        1 => (-4_i32..8).prop_map(|it| format!("{:.1}", f64::from(it) / 2.0)),
    ]
    .boxed()
}

fn a_path_of_text() -> BoxedStrategy<String> {
    prop::sample::select(vec!["data.text", "data.other", "data.gone", "source"])
        .prop_map(str::to_owned)
        .boxed()
}

/// A comparison of values of one type; other comparisons are tested below.
fn a_test() -> BoxedStrategy<String> {
    let sign = || prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let list = |of: BoxedStrategy<String>| {
        prop::collection::vec(of, 0..4).prop_map(|it| format!("[{}]", it.join(", ")))
    };
    let method = prop_oneof![
        (prop::sample::select(vec!["startsWith", "endsWith", "contains"]), text()),
        (Just("matches"), "[a-c][*+?]?[$]?"),
    ];
    prop_oneof![
        4 => (a_text(), sign(), a_text()).prop_map(|(left, sign, right)| format!("{left} {sign} {right}")),
        4 => (a_number(), sign(), a_number()).prop_map(|(left, sign, right)| format!("{left} {sign} {right}")),
        1 => (a_path_of_text(), list(text().prop_map(|it| format!("'{it}'")).boxed()))
            .prop_map(|(path, list)| format!("{path} in {list}")),
        1 => (a_number(), list((-4_i64..8).prop_map(|it| it.to_string()).boxed()))
            .prop_map(|(number, list)| format!("{number} in {list}")),
        2 => (a_path_of_text(), method).prop_map(|(path, (method, with))| format!("{path}.{method}('{with}')")),
        1 => prop::sample::select(vec!["data.text", "data.gone"]).prop_map(|it| format!("has({it})")),
        1 => prop::sample::select(vec!["true", "false"]).prop_map(str::to_owned),
    ]
    .boxed()
}

fn a_condition() -> impl Strategy<Value = String> {
    a_test().prop_recursive(3, 12, 2, |inner| {
        let two = (inner.clone(), prop::sample::select(vec!["&&", "||"]), inner.clone());
        prop_oneof![
            two.clone().prop_map(|(left, sign, right)| format!("{left} {sign} {right}")),
            two.prop_map(|(left, sign, right)| format!("({left}) {sign} ({right})")),
            inner.clone().prop_map(|it| format!("!({it})")),
            (inner, prop::sample::select(vec!["== true", "!= false", "== false"]))
                .prop_map(|(it, with)| format!("({it}) {with}")),
        ]
    })
}

/// Nothing if CEL gives no truth value.
fn of_cel(condition: &str, said: &Said) -> Option<bool> {
    match Program::compile(condition).expect("it is CEL, too").execute(&said.context()) {
        Ok(Value::Bool(it)) => Some(it),
        Ok(_) | Err(_) => None,
    }
}

fn ours(condition: &str, said: &Said) -> Truth {
    let event = said.event();
    condition.parse::<Condition>().expect("it is ours, too").holds(&event)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn what_cel_decides_is_decided_the_same(condition in a_condition(), said in said()) {
        let ours = ours(&condition, &said);
        match of_cel(&condition, &said) {
            Some(true) => prop_assert_eq!(ours, Truth::True, "{}", condition),
            Some(false) => prop_assert_eq!(ours, Truth::False, "{}", condition),
            // A missing key is an error in CEL.
            None => {}
        }
    }
}

/// Conditions about which the two differ on purpose.
fn differing() -> Vec<Record> {
    let said = Said { text: "4".to_owned(), other: "true".to_owned(), whole: 4, share: 0.5 };
    let conditions = [
        "data.text == 4",
        "data.text != 4",
        "data.text > 3",
        "data.text in [3, 4]",
        "data.other == true",
        "data.other",
        "!data.other",
        "data.whole.startsWith('4')",
        "data.gone == 1",
        "data.gone == 1 || data.whole == 4",
    ];
    conditions.map(|condition| Record::new(condition.to_owned(), said.clone())).into()
}

impl Record {
    fn new(condition: String, data: Said) -> Self {
        let cel = of_cel(&condition, &data);
        Self { condition, data, cel }
    }
}

#[test]
fn what_is_recorded_of_cel_is_what_it_says() {
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let mut runner = TestRunner::deterministic();
        let cases = (a_condition(), said());
        let mut draw = || cases.new_tree(&mut runner).expect("nothing is rejected").current();
        let drawn = std::iter::repeat_with(|| {
            let (condition, said) = draw();
            Record::new(condition, said)
        });
        // Where CEL decides nothing, there is nothing to compare with.
        let records = differing().into_iter().chain(drawn.filter(|drawn| drawn.cel.is_some()));
        let lines = records
            .take(RECORDS)
            .map(|record| serde_json::to_string(&record).expect("it becomes JSON") + "\n");
        fs::write(RECORDED, lines.collect::<String>()).expect("it is written");
    }
    let recorded = fs::read_to_string(RECORDED).expect("it is there");
    for line in recorded.lines() {
        let record: Record = serde_json::from_str(line).expect("a record a line");
        assert_eq!(record.cel, of_cel(&record.condition, &record.data), "{}", record.condition);
    }
}
