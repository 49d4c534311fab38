//! Reads request bodies and query strings: a value, or a problem with a status of the contract.

#![no_main]

use libfuzzer_sys::fuzz_target;
use waypost_api::{
    AddRequest, Check, IndexRequest, LinkRequest, LinksRequest, ListRequest, NewTokenRequest,
    PatchRequest, Problem, SearchRequest, parse_body, parse_id, parse_query,
};

fn check<T>(outcome: Result<T, Problem>) {
    if let Err(problem) = outcome {
        assert!(matches!(problem.status, 400 | 413 | 422), "{problem:?}");
    }
}

fn body<T: serde::de::DeserializeOwned + Check>(bytes: &[u8]) {
    check(parse_body::<T>(bytes));
}

fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    match kind % 9 {
        0 => body::<SearchRequest>(rest),
        1 => body::<AddRequest>(rest),
        2 => body::<PatchRequest>(rest),
        3 => body::<LinkRequest>(rest),
        4 => body::<IndexRequest>(rest),
        5 => body::<NewTokenRequest>(rest),
        6 => check(parse_query::<ListRequest>(&text)),
        7 => check(parse_query::<LinksRequest>(&text)),
        _ => check(parse_id(&text)),
    }
});
