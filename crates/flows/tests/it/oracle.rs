//! Conditions compared with CEL itself: where both give a truth value, it is the same. `namespace`
//! is left out: it is a reserved word in CEL.

use cel::{Context, Program, Value};
use proptest::prelude::*;
use waypost_events::Event;
use waypost_flows::{Condition, Facts, Truth};

use crate::world::event;

/// The data of an event; `gone` never exists.
#[derive(Debug, Clone)]
struct Said {
    text: String,
    other: String,
    whole: i64,
    share: f64,
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
        let Self { text, other, whole, share } = self;
        let data =
            serde_json::json!({"text": text, "other": other, "whole": whole, "share": share});
        event(7, "eval:scored", &data.to_string())
    }

    fn context(&self) -> Context<'static, 'static> {
        let data = std::collections::HashMap::from([
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
    condition.parse::<Condition>().unwrap_or_else(|it| panic!("{it}")).holds(&Facts::from(&event))
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

#[test]
fn where_it_differs_from_cel_it_is_on_purpose() {
    let said = Said { text: "4".to_owned(), other: "true".to_owned(), whole: 4, share: 0.5 };
    for (condition, wanted, cel) in [
        // A text that is a number is compared as one.
        ("data.text == 4", Truth::True, Some(false)),
        ("data.text != 4", Truth::False, Some(true)),
        ("data.text > 3", Truth::True, None),
        ("data.text in [3, 4]", Truth::True, Some(false)),
        // A text can be a truth value.
        ("data.other == true", Truth::True, Some(false)),
        ("data.other", Truth::True, None),
        ("!data.other", Truth::False, None),
        // A number has the methods of a text.
        ("data.whole.startsWith('4')", Truth::True, None),
        // A missing value is unknown, not an error.
        ("data.gone == 1", Truth::Unknown, None),
        ("data.gone == 1 || data.whole == 4", Truth::True, Some(true)),
    ] {
        assert_eq!(
            (ours(condition, &said), of_cel(condition, &said)),
            (wanted, cel),
            "{condition}"
        );
    }
}
