//! Tests wait for a condition, never for a time.

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
    ("crates/mesh/tests/it/processes.rs", 2, "a process that runs until it is killed"),
    ("crates/mesh/tests/it/routing.rs", 1, "a process that runs until it is killed"),
];

#[test]
fn tests_do_not_sleep() {
    let mut found: Vec<(String, usize)> = Vec::new();
    for path in tracked(".rs") {
        let path = path.display().to_string();
        let is_test =
            path.starts_with("tests/") || path.contains("/tests/") || path.ends_with("tests.rs");
        if !is_test || path == file!() {
            continue;
        }
        let text = read(path.as_ref());
        let pauses = PAUSES.iter().map(|it| text.matches(it).count()).sum();
        if pauses > 0 {
            found.push((path, pauses));
        }
    }
    let mut allowed: Vec<(String, usize)> =
        MAY_PAUSE.iter().map(|(path, count, _)| ((*path).to_owned(), *count)).collect();
    allowed.sort();
    found.sort();
    assert_eq!(found, allowed, "found on the left; `until` of tests/wait.rs waits for a condition");
}
