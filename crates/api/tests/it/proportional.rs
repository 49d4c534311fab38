//! Reading a request takes time in proportion to it, whatever is in it.

use waypost_api::{AddRequest, ListRequest, parse_body, parse_query, repeated_key};

use crate::doubling::assert_proportional;

/// Numbered parts.
fn parts(part: &str, bytes: usize) -> String {
    (0..bytes / part.len()).map(|number| part.replace('#', &number.to_string())).collect()
}

#[test]
fn a_body_is_read_in_time_in_proportion_to_it() {
    for part in
        ["\"k#\":1,", "\"k#\":{},", "\"tags\":[\"a\"],", "\"content\":\"\\u00e9\",", "[", "\\\""]
    {
        let body = |bytes: usize| format!("{{{}\"content\":1e999}}", parts(part, bytes));
        assert_proportional(part, 1 << 14, body, |body| {
            (parse_body::<AddRequest>(body.as_bytes()).is_ok(), repeated_key(body.as_bytes()))
        });
        let text = |bytes: usize| format!("{{\"content\":[{}]}}", parts(part, bytes));
        assert_proportional(part, 1 << 14, text, |body| {
            parse_body::<AddRequest>(body.as_bytes()).is_ok()
        });
    }
}

#[test]
fn a_query_string_is_read_in_time_in_proportion_to_it() {
    for part in ["k#&", "tag=#&", "limit=1&", "a=%41&", "&", "="] {
        let query = |bytes: usize| parts(part, bytes);
        assert_proportional(part, 1 << 12, query, |query| {
            parse_query::<ListRequest>(query).is_ok()
        });
    }
}
