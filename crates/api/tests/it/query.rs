use waypost_api::{LinkKind, LinkRequest, LinksRequest, ListRequest, Problem, parse_query};

fn list(query: &str) -> Result<ListRequest, Problem> {
    parse_query(query)
}

#[test]
fn parameters_are_read() {
    assert_eq!(list("").unwrap(), ListRequest::default());
    let read = list("limit=5&type=note&type=fact&tags=a%20b%26c&tags=d+e&space=gr%C3%B6%C3%9Fe&since=2025-01-01T00:00:00Z&after=7").unwrap();
    assert_eq!((read.limit, read.after), (Some(5), Some(7)));
    assert_eq!(read.kinds, ["note", "fact"]);
    assert_eq!(read.tags, ["a b&c", "d e"]);
    assert_eq!(read.space.as_deref(), Some("größe"));
    let link: LinkRequest = parse_query("from=1&to=2&type=part_of").unwrap();
    assert_eq!(link, LinkRequest { from: 1, to: 2, kind: LinkKind::PartOf });
}

#[test]
fn wrong_parameters_are_named() {
    for (query, pointer, message) in [
        ("limt=5", "?limt", "did you mean `limit`?"),
        ("limit=0", "?limit", "between 1 and 1000"),
        ("limit=x", "?limit", "whole number"),
        ("limit=", "?limit", "whole number"),
        ("limit=1&limit=2", "?limit", "more than once"),
        ("after=-1", "?after", "whole number"),
        (
            "after=99999999999999999999",
            "?after",
            "must be a non-negative whole number, at most 9007199254740991 (2^53 - 1), not 99999999999999999999",
        ),
        ("order=x", "?order", "`x` is not one of `id`, `newest`"),
        ("since=2025-02-30T00:00:00Z", "?since", "not `2025-02-30T00:00:00Z`: the day is 30"),
        ("space=", "?space", "blank"),
        ("since=1", "?since", "RFC 3339"),
        ("type=A", "?type", "a-z"),
    ] {
        let problem = list(query).expect_err(query);
        assert_eq!(
            (problem.status, problem.errors[0].pointer.as_str()),
            (422, pointer),
            "{}",
            problem.detail
        );
        assert!(problem.detail.contains(message), "{query}: {}", problem.detail);
    }
    let problem = parse_query::<LinksRequest>("depth=17").unwrap_err();
    assert_eq!(problem.errors[0].pointer, "?depth");
    let problem = parse_query::<LinkRequest>("from=1&to=2&type=update").unwrap_err();
    assert!(problem.detail.contains("did you mean `updates`?"), "{}", problem.detail);
}

#[test]
fn broken_encoding_is_400() {
    for query in ["space=%", "space=%4", "space=%zz", "space=%ff", "space=%00"] {
        assert_eq!(list(query).expect_err(query).status, 400);
    }
}

#[test]
fn the_first_wrong_parameter_is_told_and_all_that_are_out_of_range() {
    let pointers = |query: &str| {
        let problem = list(query).expect_err("it is wrong");
        problem.errors.into_iter().map(|error| error.pointer).collect::<Vec<_>>()
    };
    assert_eq!(pointers("limt=5&after=x&space=&limit=0"), ["?limt"]);
    assert_eq!(pointers("after=x&limt=5"), ["?after"]);
    assert_eq!(pointers("space=&limit=0"), ["?limit", "?space"]);
    let link = parse_query::<LinkRequest>("from=1").expect_err("it is wrong");
    assert_eq!(link.errors[0].pointer, "?to", "{}", link.detail);
}

#[test]
fn metadata_is_json_in_a_query() {
    let read =
        list("tagsAny=a&tagsAny=b&metadata=%7B%22k%22:%5B%22v%22%5D,%22n%22:%7B%22gte%22:2%7D%7D");
    let read = read.unwrap();
    assert_eq!(read.tags_any, ["a", "b"]);
    assert_eq!(serde_json::to_string(&read.metadata).unwrap(), r#"{"k":["v"],"n":{"gte":2}}"#);
    for (metadata, pointer, reason) in [
        ("%7B", "?metadata", "must be a JSON object"),
        ("7", "?metadata", "must be a JSON object, not a number"),
        ("%7B%22k%22:null%7D", "?metadata", "k: must be a string, a number, a boolean, an array"),
        ("source=wiki", "?metadata", "must be a JSON object"),
        ("[]", "?metadata", "must be a JSON object"),
        ("%7B%22k%22:1,%22k%22:2%7D", "?metadata", "duplicate key"),
        ("%7B%22k%22:%7B%22gt%22:2%7D%7D", "?metadata", "k/gt: unknown field; did you mean `gte`?"),
        ("%7B%22k%22:[]%7D", "?metadata/k", "has 0 values"),
    ] {
        let problem = list(&format!("metadata={metadata}")).expect_err(metadata);
        let found = (problem.status, problem.errors[0].pointer.as_str());
        assert_eq!(found, (422, pointer), "{metadata}: {}", problem.detail);
        assert!(problem.detail.contains(reason), "{metadata}: {}", problem.detail);
    }
}
