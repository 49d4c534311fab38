//! Conditions: what they hold for, and how they explain it.

use proptest::prelude::*;
use waypost_events::{Data, Event};
use waypost_flows::{Condition, Truth};

use crate::world::event;

/// An event with this data.
fn of(data: &Data) -> Event {
    let mut event = event(7, "eval:scored", "{}");
    (event.source, event.lineage.depth) = ("ctl".to_owned(), 1);
    event.data.clone_from(data);
    event
}

fn data(json: &str) -> Data {
    serde_json::from_str(json).unwrap()
}

fn truth(condition: &str, data: &Data) -> Truth {
    let parsed: Condition =
        condition.parse().unwrap_or_else(|error| panic!("{condition}: {error}"));
    parsed.holds(&of(data))
}

#[test]
fn conditions_hold_or_do_not() {
    let event = data(
        r#"{"improved": "true", "delta": 0.25, "text": "0.25", "agent": "scout", "n": 412, "pr-number": "412",
            "empty": "", "big": 9007199254740993}"#,
    );
    for (condition, wanted) in [
        (r#"data.improved == "true""#, true),
        ("data.improved == 'true'", true),
        ("data.improved == true", true),
        ("data.improved", true),
        ("!data.improved", false),
        ("data.improved != false", true),
        ("data.delta > 0.1 && data.delta < 1", true),
        ("data.text > 0.1", true),
        ("data.text == 0.25", true),
        ("data.text == \"0.250\"", false),
        ("data.text == 0.250", true),
        ("data.agent > 5", false),
        ("data.agent <= 5", false),
        ("data.agent != 5", true),
        ("data.n == 412 && data.pr-number == 412 && data[\"pr-number\"] == 412.0", true),
        ("data.big == 9007199254740993 && data.big != 9007199254740992", true),
        ("data.agent in [\"scout\", 'planner']", true),
        ("data.n in [1, 2, 412]", true),
        ("data.n in []", false),
        ("has(data.agent) && !has(data.status)", true),
        ("data.agent.startsWith('sc') && data.agent.endsWith(\"ut\")", true),
        ("data.agent.contains('x') || data.agent.matches('^s.+t$')", true),
        ("type == 'eval:scored' && namespace == 'eval' && name == 'scored'", true),
        ("id == 7 && depth == 1 && source == 'ctl'", true),
        ("(data.delta > 1) == false", true),
        ("data.delta > 1 || data.n > 1 && data.n > 1000", false),
        ("(data.delta < 1 || data.n < 1) && data.n < 1000", true),
        ("data.empty == ''", true),
        ("-1 < data.delta && 2.5e-1 == data.delta", true),
        ("true", true),
    ] {
        assert_eq!(truth(condition, &event), wanted.into(), "{condition}");
    }
}

#[test]
fn a_regular_expression_takes_linear_time() {
    // One that backtracks takes 2 to the power of 60,000 steps.
    let mut event = Data::default();
    event.insert("text", format!("{}!", "a".repeat(60_000))).unwrap();
    assert_eq!(truth("data.text.matches('^(a+)+$')", &event), Truth::False);
}

#[test]
fn what_the_event_does_not_say_is_unknown_and_never_true() {
    let event = data(r#"{"delta": 1}"#);
    for (condition, wanted) in [
        ("data.status == 'failed'", Truth::Unknown),
        ("data.status != 'failed'", Truth::Unknown),
        ("!(data.status == 'failed')", Truth::Unknown),
        ("data.status", Truth::Unknown),
        ("data.delta", Truth::Unknown),
        ("data.status.contains('x')", Truth::Unknown),
        ("data.status in ['x']", Truth::Unknown),
        ("data.status == 'x' && data.delta == 1", Truth::Unknown),
        ("data.status == 'x' && data.delta == 2", Truth::False),
        ("data.status == 'x' || data.delta == 1", Truth::True),
        ("(data.status == 'x') == true", Truth::Unknown),
    ] {
        assert_eq!(truth(condition, &event), wanted, "{condition}");
    }
}

#[test]
fn each_comparison_is_explained() {
    let event = event(7, "eval:scored", r#"{"improved": "false"}"#);
    let condition: Condition = "data.improved == 'true' && !(data.delta > 0.1)".parse().unwrap();
    let findings = condition.explain(&event);
    assert_eq!(findings.len(), 2);
    assert_eq!(findings[0].text, "data.improved == 'true'");
    assert_eq!(findings[0].truth, Truth::False);
    assert_eq!(findings[0].because, "data.improved is \"false\"");
    assert_eq!(findings[1].text, "data.delta > 0.1");
    assert_eq!(findings[1].truth, Truth::Unknown);
    assert_eq!(findings[1].because, "data.delta is missing");
}

#[test]
fn what_is_no_condition_is_refused_with_the_place_and_a_hint() {
    let deep = format!("{}true{}", "(".repeat(400), ")".repeat(400));
    let nots = format!("{}true", "!".repeat(900));
    let long = "true ".repeat(300);
    let wide = vec!["true"; 140].join("||");
    for (text, column, said) in [
        ("", 1, "empty"),
        ("   ", 4, "empty"),
        ("data.a = 1", 8, "write =="),
        ("data.a == 1 and data.b == 2", 13, "write &&"),
        ("data.a == 1 or data.b", 13, "write ||"),
        ("not data.a", 1, "write !"),
        ("data.a == “x”", 11, "typographic"),
        ("data.a == x", 11, "data.x"),
        ("improved == 'true'", 1, "data.improved"),
        ("data.a + 1", 8, "arithmetic"),
        ("data.a - 1", 8, "arithmetic"),
        ("data.a == 'x", 11, "expected '"),
        ("data.a == '\\x'", 12, "after \\"),
        ("data.a ==", 10, "expected a comparison"),
        ("data == 1", 6, "expected a key"),
        ("data.a.lower() == 'x'", 8, "startsWith"),
        ("data.a.matches('(')", 16, "regular expression"),
        ("data.a.matches('((a{100}){100}){100}')", 16, "too large"),
        ("data.a in 'x'", 11, "["),
        ("data.a == 0x10", 11, "not a decimal number"),
        ("(data.a == 1", 13, ")"),
        ("data.a == 1)", 12, "the end"),
        (&deep, 18, "16 levels deep"),
        (&nots, 18, "16 levels deep"),
        (&long, 1, "1024"),
        (&"1 + ".repeat(20_000), 1, "1024"),
        (&"(".repeat(5_000), 1, "1024"),
        (&"x".repeat(1 << 20), 1, "1024"),
        (&wide, 1, ""),
    ] {
        let error = text.parse::<Condition>().unwrap_err();
        assert!(error.what.contains(said), "{text:.40}: {error}");
        assert!(said.is_empty() || error.column == column, "{text:.40}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,80}") {
        drop(text.parse::<Condition>());
    }

    #[test]
    fn no_row_of_words_makes_it_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "data", ".", "a", "[", "]", "(", ")", "!", "&&", "||", "==", "!=", "<", "in", "'x'", "1", "-2.5",
            ",", "has", "type", "true", "matches", "startsWith",
        ]), 0..20)
    ) {
        if let Ok(condition) = words.join(" ").parse::<Condition>() {
            let event = event(1, "a:b", "{}");
            prop_assert!(condition.explain(&event).iter().all(|it| !it.text.is_empty()));
            condition.holds(&event);
        }
    }

    #[test]
    fn numbers_are_compared_as_numbers_whether_they_came_as_texts_or_not(
        a in -1000_i64..1000, b in -1000_i64..1000, as_text in any::<bool>()
    ) {
        let mut event = Data::default();
        if as_text {
            event.insert("a", a.to_string()).unwrap();
        } else {
            event.insert("a", a).unwrap();
        }
        for (sign, holds) in [
            ("==", a == b), ("!=", a != b), ("<", a < b), ("<=", a <= b), (">", a > b), (">=", a >= b),
        ] {
            prop_assert_eq!(truth(&format!("data.a {sign} {b}"), &event), holds.into());
        }
    }
}
