use proptest::prelude::*;
use waypost_api::{
    AddRequest, ContextRequest, IndexRequest, LinkRequest, MergeRequest, PatchRequest, Problem,
    Scalar, SearchRequest, parse_arguments, parse_body, parse_id, parse_optional_body,
};

fn search(body: impl AsRef<[u8]>) -> Result<SearchRequest, Problem> {
    parse_body(body.as_ref())
}

/// The only problem of a body: status, pointer (empty for none), detail.
#[track_caller]
fn refused<T: std::fmt::Debug>(outcome: Result<T, Problem>) -> (u16, String, String) {
    let problem = outcome.expect_err("the body is wrong");
    let pointer = problem.errors.first().map(|error| error.pointer.clone()).unwrap_or_default();
    (problem.status, pointer, problem.detail)
}

#[test]
fn a_full_request_is_read() {
    let body = r#"{"query":"größe","limit":3,"type":["note","fact"],"tags":["a"],"space":"s","since":"2025-01-01T01:00:00+01:00",
        "until":"2025-02-01T00:00:00Z","mode":"lexical","explain":true,"minScore":0.5,"includeSuperseded":true,
        "now":"2025-03-01T00:00:00Z"}"#;
    let read = search(body).unwrap();
    assert_eq!(read.query, "größe");
    assert_eq!(read.limit, Some(3));
    assert_eq!(read.kinds, ["note", "fact"]);
    assert_eq!(read.since.unwrap().to_string(), "2025-01-01T00:00:00.000Z");
    assert_eq!(search(serde_json::to_string(&read).unwrap()).unwrap(), read);
    assert_eq!(search(r#"{"query":"x","type":"note"}"#).unwrap().kinds, ["note"]);
    assert_eq!(
        search(r#"{"query":"x","type":null,"tags":null,"limit":null}"#).unwrap(),
        search(r#"{"query":"x"}"#).unwrap()
    );
}

#[test]
fn malformed_json_is_400_with_line_and_column() {
    for (body, what) in [
        ("{\"query\": \"x\"\n \"limit\": 3}", "expected `,` or `}` at line 2 column 2"),
        ("{\"query\": \"x\", limit: 3}", "key must be a string at line 1 column 16"),
        ("{\"query\": \"x\",}", "trailing comma at line 1 column 15"),
        ("{\"query\": 'x'}", "expected value at line 1 column 11"),
        ("{\"query\": \"x\"} {}", "trailing characters at line 1 column 16"),
        ("{\"query\": \"x\"", "EOF while parsing an object at line 1 column 13"),
        ("{\"query\": 01}", "invalid number at line 1 column 12"),
        ("{\"query\": NaN}", "expected value at line 1 column 11"),
        ("{\"query\": \"a\tb\"}", "found while parsing a string at line 1 column 13"),
        ("{\"query\": \"\\x\"}", "invalid escape at line 1 column 13"),
        ("{\"query\": \"a\\ud800b\"}", "unexpected end of hex escape at line 1 column 19"),
        ("{\"query\": \"\\udc00\"}", "surrogate in hex escape at line 1 column 17"),
        ("{\"query\": \"\\ud800\\ud800\"}", "surrogate in hex escape at line 1 column 23"),
        (
            "{\"query\": \"\\u0000\"}",
            "NUL character (U+0000), which is not permitted at line 1 column 18",
        ),
        (
            "{\"que\\u0000ry\": 1}",
            "NUL character (U+0000), which is not permitted at line 1 column 14",
        ),
        ("{\"query\": \"\0\"}", "found while parsing a string at line 1 column 12"),
        (
            "{\"query\":\"a\",\n\"\\u0071uery\":\"b\"}",
            "duplicate key \"query\" at line 2 column 12",
        ),
        ("{\"no\":[{\"a\":1,\"a\":2}]}", "duplicate key \"a\" at line 1 column 17"),
        ("\u{feff}{\"query\":\"a\"}", "expected value at line 1 column 1"),
        ("{\"limit\": 1e400}", "number out of range at line 1 column 15"),
        ("{\"no\": [-1e999]}", "number out of range at line 1 column 14"),
    ] {
        let (status, _, detail) = refused(search(body));
        assert_eq!(status, 400, "{body:?}: {detail}");
        assert!(detail.ends_with(what), "{body:?}: {detail}");
    }
    let (status, _, detail) = refused(search(b"{\"query\": \"\xff\"}"));
    assert_eq!(status, 400, "{detail}");
    assert!(detail.ends_with("invalid unicode code point at line 1 column 12"), "{detail}");
}

#[test]
fn depth_is_limited_at_32() {
    let nested =
        |depth: usize| format!("{{\"query\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    // 32 is acceptable JSON, with a field of the wrong type; 33 is not parsed.
    assert_eq!(refused(search(nested(32))).0, 422);
    let (status, _, detail) = refused(search(nested(33)));
    assert_eq!(status, 400);
    assert!(detail.contains("deeper than 32"), "{detail}");
    assert_eq!(refused(search("[".repeat(1 << 20))).0, 400);
}

#[test]
fn an_empty_body_is_fine_only_where_it_may_be_left_out() {
    assert_eq!(
        refused(search(" \n")),
        (400, String::new(), "the body is empty; expected a JSON object".to_owned())
    );
    assert_eq!(parse_optional_body::<IndexRequest>(b"").unwrap(), IndexRequest::default());
    assert_eq!(
        parse_optional_body::<IndexRequest>(br#"{"backfill":true}"#).unwrap().backfill,
        Some(true)
    );
    assert_eq!(refused(parse_optional_body::<IndexRequest>(b"[true]")).0, 422);
}

#[test]
fn a_wrong_field_is_422_with_its_pointer_and_what_would_be_right() {
    for (body, pointer, message) in [
        (r#"{"query":"x","limt":3}"#, "/limt", "did you mean `limit`?"),
        (r#"{"query":"x","min_score":0.3}"#, "/min_score", "did you mean `minScore`?"),
        (
            r#"{"query":"x","a/b~`, expected `zz":3}"#,
            "/a~1b~0`, expected `zz",
            "expected one of `query`, `limit`",
        ),
        (r#"{"limit":3}"#, "/query", "is required"),
        (r#"{"query":3}"#, "/query", "must be a string, not 3"),
        (r#"{"query":null}"#, "/query", "must be a string, not null"),
        (r#"{"query":["x"]}"#, "/query", "must be a string, not an array"),
        (
            r#"{"query":"x","limit":"3"}"#,
            "/limit",
            "must be a non-negative whole number, not a string",
        ),
        (r#"{"query":"x","limit":2.5}"#, "/limit", "not 2.5"),
        (r#"{"query":"x","limit":-1}"#, "/limit", "not -1"),
        (r#"{"query":"x","limit":0}"#, "/limit", "between 1 and 1000, not 0"),
        (r#"{"query":"x","limit":1001}"#, "/limit", "between 1 and 1000, not 1001"),
        (
            r#"{"query":"x","limit":1e30}"#,
            "/limit",
            "at most 9007199254740991 (2^53 - 1), not 1e30",
        ),
        (r#"{"query":"x","tags":["a",5]}"#, "/tags/1", "must be a string, not 5"),
        (r#"{"query":"x","tags":"a"}"#, "/tags", "must be an array, not a string"),
        (r#"{"query":"x","type":{"a":1}}"#, "/type", "a string or an array of strings"),
        (r#"{"query":"x","type":"No"}"#, "/type", "a-z"),
        (r#"{"query":"x","mode":"lexcal"}"#, "/mode", "did you mean `lexical`?"),
        (r#"{"query":"x","mode":"fast"}"#, "/mode", "not one of `hybrid`, `lexical`, `semantic`"),
        (r#"{"query":"x","explain":"yes"}"#, "/explain", "must be a boolean, not a string"),
        (r#"{"query":"x","minScore":1.5}"#, "/minScore", "between 0 and 1"),
        (r#"{"query":"x","since":"yesterday"}"#, "/since", "RFC 3339"),
        (
            r#"{"query":"x","since":"2025-02-30T00:00:00Z"}"#,
            "/since",
            "must be an RFC 3339 time such as 2025-01-31T09:30:00.000Z, not `2025-02-30T00:00:00Z`: \
             the day is 30; 2025-02 has the days 01 to 28",
        ),
        (r#"{"query":"x","mode":3}"#, "/mode", "one of `hybrid`, `lexical`, `semantic`, not 3"),
        (r#"{"query":"x","mode":["lexical"]}"#, "/mode", "`semantic`, not an array"),
        (r#"{"query":"x","mode":{"lexical":null}}"#, "/mode", "`semantic`, not an object"),
        (r#"{"query":"x","mode":{"lexical":[]}}"#, "/mode", "`semantic`, not an object"),
        (
            r#"{"query":"x","since":"2025-01-02T00:00:00Z","until":"2025-01-01T00:00:00Z"}"#,
            "/until",
            "after `since`",
        ),
        (r#"{"query":""}"#, "/query", "must not be empty"),
        (r#"["x"]"#, "", "must be a JSON object, not an array"),
        ("null", "", "must be a JSON object, not null"),
    ] {
        let (status, at, detail) = refused(search(body));
        assert_eq!((status, at.as_str()), (422, pointer), "{body}: {detail}");
        assert!(detail.contains(message), "{body}: {detail}");
    }
}

#[test]
fn lengths_count_at_the_edge_and_one_above() {
    let query = |chars: usize| format!(r#"{{"query":"{}"}}"#, "ü".repeat(chars));
    assert!(search(query(8192)).is_ok());
    assert_eq!(refused(search(query(8193))).1, "/query");
    let add = |bytes: usize| format!(r#"{{"content":"{}"}}"#, "x".repeat(bytes));
    assert!(parse_body::<AddRequest>(add(1 << 20).as_bytes()).is_ok());
    assert_eq!(refused(parse_body::<AddRequest>(add((1 << 20) + 1).as_bytes())).1, "/content");
    assert_eq!(refused(parse_body::<AddRequest>(add(0).as_bytes())).1, "/content");
}

#[test]
fn every_field_at_fault_is_named() {
    let problem =
        parse_body::<AddRequest>(br#"{"content":"","type":"A B","space":" ","tags":["",""]}"#)
            .unwrap_err();
    let pointers: Vec<_> = problem.errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(pointers, ["/content", "/type", "/tags/0", "/tags/1", "/space"]);
}

#[test]
fn ids_are_whole_positive_and_below_2_to_the_53() {
    let link = |from: &str| {
        parse_body::<LinkRequest>(
            format!(r#"{{"from":{from},"to":1,"type":"updates"}}"#).as_bytes(),
        )
    };
    for good in ["2", "9007199254740991", "2.0", "2e0"] {
        assert!(link(good).is_ok(), "{good}");
    }
    for bad in [
        "0",
        "-1",
        "1.5",
        "9007199254740992",
        "18446744073709551616",
        "1e300",
        "\"2\"",
        "null",
        "true",
        "[2]",
    ] {
        let (status, pointer, detail) = refused(link(bad));
        assert_eq!((status, pointer.as_str()), (422, "/from"), "{bad}: {detail}");
    }
    assert_eq!(refused(link("1")).1, "/to", "a link to itself");
    assert_eq!(parse_id("17").unwrap(), 17);
    for bad in ["", "0", "-1", "+1", "1.0", "9007199254740992", "99999999999999999999", "x"] {
        assert_eq!(refused(parse_id(bad)).0, 422, "{bad}");
    }
}

#[test]
fn metadata_holds_scalars_only() {
    let read: AddRequest =
        parse_body(br#"{"content":"x","metadata":{"a":"b","n":1.5,"t":true}}"#).unwrap();
    assert_eq!(read.metadata["a"], Scalar::String("b".to_owned()));
    let (status, pointer, detail) =
        refused(parse_body::<AddRequest>(br#"{"content":"x","metadata":{"a/b":{"c":1}}}"#));
    assert_eq!((status, pointer.as_str()), (422, "/metadata/a~1b"), "{detail}");
    assert!(detail.contains("a string, a number or a boolean, not an object"), "{detail}");
}

#[test]
fn a_patch_tells_absent_from_null_and_must_change_something() {
    assert_eq!(parse_body::<PatchRequest>(br#"{"session":null}"#).unwrap().session, Some(None));
    assert_eq!(parse_body::<PatchRequest>(br#"{"title":"t"}"#).unwrap().session, None);
    let (status, pointer, detail) = refused(parse_body::<PatchRequest>(b"{}"));
    assert_eq!((status, pointer.as_str()), (422, ""), "{detail}");
    assert!(detail.starts_with("must change something: "), "{detail}");
}

#[test]
fn a_null_unpins() {
    let read = parse_body::<PatchRequest>(br#"{"pinned":null}"#).unwrap();
    assert_eq!(read.pinned, Some(false));
    assert_eq!(parse_body::<PatchRequest>(br#"{"title":"t"}"#).unwrap().pinned, None);
}

#[test]
fn the_first_wrong_type_is_told_and_no_fault_of_the_whole() {
    let body = br#"{"title":7,"nope":1}"#;
    assert_eq!(refused(parse_body::<PatchRequest>(body)).1, "/title");
    let body = br#"{"nope":1,"title":7}"#;
    assert_eq!(refused(parse_body::<PatchRequest>(body)).1, "/nope");
    let body = br#"{"into":1,"from":2,"set":{"title":7}}"#;
    let problem = parse_body::<MergeRequest>(body).unwrap_err();
    let pointers: Vec<_> = problem.errors.iter().map(|error| error.pointer.as_str()).collect();
    assert_eq!(pointers, ["/set/title"], "{}", problem.detail);
    let problem = parse_body::<MergeRequest>(br#"{"into":1,"from":2,"set":{}}"#).unwrap_err();
    assert_eq!(problem.errors[0].pointer, "/set", "{}", problem.detail);
}

#[test]
fn names_are_strings_and_structs_are_objects() {
    let link = |kind: &str| {
        refused(parse_body::<LinkRequest>(
            format!(r#"{{"from":1,"to":2,"type":{kind}}}"#).as_bytes(),
        ))
    };
    for kind in [r#"{"updates":null}"#, r#"{"updates":[]}"#, r#"["updates"]"#, "null", "1"] {
        let (status, pointer, detail) = link(kind);
        assert_eq!((status, pointer.as_str()), (422, "/type"), "{kind}: {detail}");
        assert!(detail.contains("must be one of `updates`, `contradicts`"), "{kind}: {detail}");
    }
    let merge = br#"{"into":1,"from":2,"set":[null,"content"]}"#;
    let (_, pointer, detail) = refused(parse_body::<MergeRequest>(merge));
    assert_eq!(
        (pointer.as_str(), detail.as_str()),
        ("/set", "set: must be an object, not an array")
    );
    for (body, pointer) in [
        (r#"{"sources":[{"code":null}]}"#, "/sources/0"),
        (r#"{"sources":[7]}"#, "/sources/0"),
        (r#"{"taskType":7}"#, "/taskType"),
        (r#"{"taskType":{"code":null}}"#, "/taskType"),
    ] {
        let (status, at, detail) = refused(parse_body::<ContextRequest>(body.as_bytes()));
        assert_eq!((status, at.as_str()), (422, pointer), "{body}: {detail}");
        assert!(detail.contains("must be one of `") && detail.contains("`, not "), "{detail}");
    }
}

#[test]
fn names_of_a_client_are_cut_and_escaped() {
    let named = |name: &str| {
        let body = serde_json::json!({"query": "x", name: 1});
        let problem = search(body.to_string()).expect_err("an unknown field");
        assert!(problem.detail.len() < 1_000, "{}", problem.detail.len());
        assert!(problem.errors[0].pointer.len() <= 256);
        assert_eq!(Problem::fields(problem.errors.clone()).detail, problem.detail);
        problem.detail
    };
    assert!(named("a\u{1b}[31m").contains("a\\u{1b}[31m: unknown field"));
    assert!(named(&"b".repeat(1 << 16)).contains("bbb...: unknown field"));
}

#[test]
fn a_long_wrong_value_is_not_echoed() {
    let (_, _, detail) =
        refused(search(format!(r#"{{"query":"x","mode":"{}"}}"#, "y".repeat(1 << 16))));
    assert!(detail.len() < 400, "{} bytes", detail.len());
    let (_, _, detail) =
        refused(search(format!(r#"{{"query":"x","limit":"{}"}}"#, "y".repeat(1 << 16))));
    assert!(detail.len() < 400, "{} bytes", detail.len());
}

proptest! {
    /// Everything that `serde_json` writes is acceptable, whatever texts it contains, except NUL.
    #[test]
    fn every_written_body_is_read_back(query in "[^\\x00]{1,40}", tags in prop::collection::btree_set("[^\\x00\\s]{1,12}", 0..4)) {
        let request = SearchRequest { query, tags: tags.into_iter().collect(), ..SearchRequest::default() };
        let body = serde_json::to_vec(&request).unwrap();
        prop_assert_eq!(parse_body::<SearchRequest>(&body).unwrap(), request);
    }

    /// Any bytes get a response, and only input that `serde_json` cannot parse either, or that we forbid, is reported
    /// as malformed.
    #[test]
    fn any_text_is_judged_as_serde_json_judges_it(text in r#"[\[\]{}:,"\\u0-9a-f.eE+\- tru]{0,24}"#) {
        let ours = parse_body::<SearchRequest>(text.as_bytes()).unwrap_err();
        let theirs = serde_json::from_str::<serde_json::Value>(&text);
        match theirs {
            Err(_) => prop_assert_eq!(ours.status, 400, "{}", ours.detail),
            Ok(_) => prop_assert!(ours.status == 422 || ours.detail.contains("duplicate") || ours.detail.contains("NUL"), "{}", ours.detail),
        }
    }
}

#[test]
fn arguments_are_any_object_or_nothing() {
    assert_eq!(parse_arguments(b" \n").unwrap().len(), 0);
    assert_eq!(parse_arguments(br#"{"a":{"b":[1.5]},"c":null}"#).unwrap()["a"]["b"][0], 1.5);
    for (body, status) in [("{", 400), (r#"{"a":1,"a":1}"#, 400), ("[]", 422), ("7", 422)] {
        assert_eq!(refused(parse_arguments(body.as_bytes())).0, status, "{body}");
    }
}

#[test]
fn an_error_names_a_bounded_number_of_fields() {
    let body = serde_json::json!({"query": "x", "tags": vec![""; 100_000]});
    let problem = search(body.to_string()).expect_err("blank tags");
    assert_eq!(problem.errors.len(), 32);
    assert!(problem.detail.len() < 8192, "{}", problem.detail.len());
    // Each of these is of the wrong type.
    let body = serde_json::json!({"query": "x", "tags": vec![7; 100_000]});
    let problem = search(body.to_string()).expect_err("numbers");
    assert_eq!(problem.errors.len(), 1);
}

#[test]
fn metadata_filters_are_read_and_wrong_ones_are_named() {
    let body = |metadata: &str| format!(r#"{{"query":"x","metadata":{metadata}}}"#);
    let right = r#"{"a":"b","c":[1,2.5],"d":{"gte":1},"e":{"gte":"2026-01-01T00:00:00Z","lte":"2026-01-01T00:00:00Z"},"f":false}"#;
    let read = search(body(right)).unwrap();
    assert_eq!(read.metadata.len(), 5);
    assert_eq!(search(serde_json::to_string(&read).unwrap()).unwrap(), read);
    assert!(search(body("{}")).is_ok() && search(body("null")).is_ok());
    for (metadata, pointer, reason) in [
        (r#"{"k":{"gt":1}}"#, "/metadata/k/gt", "did you mean `gte`?"),
        (r#"{"k":{"above":1}}"#, "/metadata/k/above", "expected one of `gte`, `lte`"),
        (r#"{"k":{}}"#, "/metadata/k", "has no bound"),
        (r#"{"k":{"gte":true}}"#, "/metadata/k", "neither a number nor an RFC 3339 time"),
        (r#"{"k":{"lte":"b"}}"#, "/metadata/k", "neither a number nor an RFC 3339 time"),
        (r#"{"k":{"gte":2,"lte":1}}"#, "/metadata/k", "`gte` of 2, above"),
        (r#"{"k":{"gte":2,"lte":"2026-01-01T00:00:00Z"}}"#, "/metadata/k", "mixes types"),
        (r#"{"k":[]}"#, "/metadata/k", "has 0 values; expected 1 to 64"),
        (r#"{"k":[1,"1"]}"#, "/metadata/k", "mixes types"),
        (r#"{"k":[1,[2]]}"#, "/metadata/k/1", "a string, a number or a boolean"),
        (r#"{"k":null}"#, "/metadata/k", "an object with `gte` and `lte`"),
        (r#"{"":1}"#, "/metadata/", "blank"),
        (r#"["k"]"#, "/metadata", "an object"),
    ] {
        let (status, at, detail) = refused(search(body(metadata)));
        assert_eq!((status, at.as_str()), (422, pointer), "{metadata}: {detail}");
        assert!(detail.contains(reason), "{metadata}: {detail}");
    }
    let keys = |count: usize| {
        let keys: Vec<String> = (0..count).map(|number| format!(r#""k{number}":1"#)).collect();
        body(&format!("{{{}}}", keys.join(",")))
    };
    assert!(search(keys(16)).is_ok());
    assert_eq!(refused(search(keys(17))).1, "/metadata");
    let values = |count: usize| body(&format!(r#"{{"k":[{}]}}"#, vec!["1"; count].join(",")));
    assert!(search(values(64)).is_ok());
    assert_eq!(refused(search(values(65))).1, "/metadata/k");
    let tags = |count: usize| {
        let tags: Vec<String> = (0..count).map(|number| format!(r#""t{number}""#)).collect();
        format!(r#"{{"query":"x","tagsAny":[{}]}}"#, tags.join(","))
    };
    assert!(search(tags(64)).is_ok());
    assert_eq!(refused(search(tags(65))).1, "/tagsAny");
}
