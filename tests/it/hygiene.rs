//! Tests wait for a condition, never for a time, and never forever.

use crate::{read, tracked};

/// The calls that pause a thread or a task.
const PAUSES: [&str; 3] = ["sleep(", "sleep_until(", "park_timeout("];

/// The files of tests that may pause, how often, and why.
const MAY_PAUSE: &[(&str, usize, &str)] = &[
    ("tests/wait.rs", 1, "between two looks at what is waited for"),
    ("bins/browser/tests/it/world.rs", 1, "a page that takes longer than any test"),
    ("bins/service/tests/it/crash.rs", 1, "a kill at another moment each time"),
    ("crates/browser/tests/it/scope.rs", 1, "a page that takes longer than any command"),
    ("crates/browser/tests/it/server.rs", 1, "a page that never ends"),
    ("crates/mesh/tests/it/far.rs", 1, "a call that runs until it is ended"),
    (
        "crates/mesh/tests/it/hostile.rs",
        2,
        "calls that run until they are ended, and time to parse others",
    ),
    ("crates/mesh/tests/it/processes.rs", 2, "a process that runs until it is killed"),
];

/// The call that waits for a process without a limit, and for other things, too.
const WAIT: &str = ".wait()";

/// The files of tests that wait for other things, how often, and for what.
const MAY_WAIT: &[(&str, usize, &str)] = &[
    ("crates/log/tests/it/append.rs", 2, "other threads of the test"),
    ("crates/mesh/tests/it/calls.rs", 1, "other threads of the test"),
    ("crates/mesh/tests/it/far.rs", 1, "other threads of the test"),
];

#[test]
fn tests_do_not_sleep() {
    check(&PAUSES, MAY_PAUSE, "`until` of tests/wait.rs waits for a condition");
}

#[test]
fn tests_wait_for_no_process_without_a_limit() {
    check(&[WAIT], MAY_WAIT, "`end_of` of tests/child.rs waits for the end of a process");
}

/// Compares the calls in all tests with those that are allowed.
fn check(calls: &[&str], allowed: &[(&str, usize, &str)], remedy: &str) {
    let mut found: Vec<(String, usize)> = Vec::new();
    for path in tracked(".rs") {
        let path = path.display().to_string();
        let is_test =
            path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("tests.rs");
        if !is_test || path == file!() {
            continue;
        }
        let text = read(path.as_ref());
        let count = calls.iter().map(|call| text.matches(call).count()).sum();
        if count > 0 {
            found.push((path, count));
        }
    }
    let mut allowed: Vec<(String, usize)> =
        allowed.iter().map(|(path, count, _)| ((*path).to_owned(), *count)).collect();
    allowed.sort();
    found.sort();
    assert_eq!(found, allowed, "found on the left; {remedy}");
}
