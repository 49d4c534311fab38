//! The types that a flow declares for values, and the durations of flow files.

use waypost_events::Data;
use waypost_flows::{CHOICES_MAX, DataType, Span, TYPE_BYTES_MAX, parse};

#[test]
fn each_type_admits_its_values_and_no_others() {
    for (kind, right, wrong) in [
        (
            "integer",
            &["0", "412", "-5", "999999999999999999"][..],
            &["", "-", "007", "+1", "1.0", "1e3", "0x1", " 1", "1\n", "9999999999999999999"][..],
        ),
        ("number", &["0", "-1.5", "1e3", "1E-5"], &["", "x", ".5", "1 ", "inf"]),
        ("boolean", &["true", "false"], &["", "True", "1", "yes"]),
        ("slug", &["a", "0", "A_b-9"], &["", "-a", "_a", "a b", "a/b", "é", "a\n", "a.b", "$(x)"]),
        ("one of [open, closed]", &["open", "closed"], &["", "ope", "open "]),
        ("one of [needs work, done]", &["needs work"], &["needs"]),
        ("one of [-rf, done]", &["-rf"], &["rf"]),
        ("matches [a-z0-9/-]+", &["a/b-1"], &["", "A", "a b", "a\n"]),
        ("matches (?i)[a-j]+", &["aB"], &["x"]),
        // Unicode has a Kelvin sign, which is a k.
        ("matches (?i)k", &["k", "K", "\u{212a}"], &["x"]),
        ("matches a|b", &["a", "b"], &["ab", "xb", "ax"]),
        ("matches v\\d+", &["v1", "v٣"], &["v"]),
        ("matches v[0-9]{1,3}\\.x", &["v1.x"], &["v1x"]),
        ("matches .+", &["$(x)"], &["", "a\nb"]),
        ("matches [^a]", &["b"], &["a"]),
        ("matches a b", &["a b"], &["ab"]),
        ("matches ^a$", &["a"], &["a\n"]),
        ("matches (?m)^a$", &["a"], &["a\n", "b\na"]),
        ("text", &["", "$(x)"], &[]),
    ] {
        let parsed: DataType = kind.parse().unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_eq!(parsed.to_string(), kind);
        for value in right {
            assert!(parsed.admits(value), "{kind} admits {value:?}");
        }
        for value in wrong {
            assert!(!parsed.admits(value), "{kind} does not admit {value:?}");
        }
    }
}

#[test]
fn what_is_not_a_type_is_refused() {
    let long = format!("matches {}", "a".repeat(TYPE_BYTES_MAX));
    let many = format!(
        "one of [{}]",
        (0..=CHOICES_MAX).map(|it| it.to_string()).collect::<Vec<_>>().join(",")
    );
    for (kind, said) in [
        ("", "not a type"),
        ("Integer", "integer, number"),
        ("int", "not a type"),
        ("one of", "not a type"),
        ("one of a, b", "in brackets"),
        ("one of []", "empty entry"),
        ("one of [a,,b]", "empty entry"),
        ("one of [a, a]", "duplicate entry"),
        ("one of ['a', b]", "without quotes"),
        ("one of [a\u{7}]", "without quotes"),
        ("matches (", "unclosed group"),
        ("matches a)|(?:b", "invalid regular expression"),
        ("matches (?x)a #", "invalid regular expression"),
        ("matches (a{1000}){1000}", "invalid regular expression"),
        (&long, "the limit is 4096"),
        (&many, "the limit is 100"),
    ] {
        let error = kind.parse::<DataType>().unwrap_err();
        assert!(error.contains(said), "{kind:.60}: {error}");
    }
}

#[test]
fn a_value_that_is_missing_or_of_another_type_is_named() {
    let flow = "flows: [{ name: a, trigger: { pattern: 'a:b', data: { n: integer, s: 'one of [open, closed]', t: text } }, actions: [{ type: command, command: ls }] }]";
    let types = &parse(flow).unwrap()[0].trigger.data;
    let data = |text: &str| serde_json::from_str::<Data>(text).unwrap();
    assert!(types.admit(&data(r#"{"n": 412, "s": "open", "t": "$(x)", "more": 1}"#)));
    assert!(types.admit(&data(r#"{"n": "412", "s": "closed", "t": ""}"#)));
    let wrong = data(r#"{"n": 4.5, "s": "other"}"#);
    let said: Vec<String> = types.mismatches(&wrong).collect();
    assert_eq!(
        said,
        [
            "data.n is \"4.5\", not integer",
            "data.s is \"other\", not one of [open, closed]",
            "data.t is missing, not text"
        ]
    );
}

#[test]
fn a_span_is_numbers_with_units() {
    for (text, milliseconds) in
        [("500ms", 500), ("30s", 30_000), ("1h30m", 5_400_000), ("7d", 604_800_000)]
    {
        let span: Span = text.parse().unwrap();
        assert_eq!(span.0.as_millis(), milliseconds);
        assert_eq!(span.to_string(), text);
    }
    for text in
        ["", "0s", "5", "s", "5 s", "-5s", "1.5s", "5S", "5w", "400d", "99999999999999999999s"]
    {
        assert!(text.parse::<Span>().is_err(), "{text}");
    }
}
