//! How likely a file is relevant, by its path.

use super::classify::begins;
use super::{Language, Prior};

/// Whether a path is a test, archived, generated, or settings.
pub(super) fn prior(parents: &str, name: &str, stem: &str, path: &str) -> Prior {
    let any = |words: &[&str]| parents.split('/').any(|part| words.contains(&part));
    let test = any(&[
        "test",
        "tests",
        "testing",
        "testdata",
        "test_data",
        "test-data",
        "__tests__",
        "__mocks__",
        "mocks",
        "fixture",
        "fixtures",
        "__fixtures__",
        "e2e",
        "example",
        "examples",
        "sample",
        "samples",
        "demo",
        "demos",
        "bench",
        "benches",
        "benchmark",
        "benchmarks",
        "snapshots",
    ]) || path.rsplit('/').skip(1).any(is_test_folder)
        || is_test(name, stem, path);
    let archived = any(&[
        "archive",
        "archives",
        "archived",
        ".archive",
        "deprecated",
        "old",
        "obsolete",
        "attic",
        "legacy",
    ]);
    let generated = any(&["generated", "__generated__"])
        || [
            ".pb.go",
            "_pb2.py",
            "_pb2.pyi",
            "_pb2_grpc.py",
            ".g.dart",
            ".freezed.dart",
            ".gen.go",
            ".designer.cs",
        ]
        .iter()
        .any(|it| name.ends_with(it))
        || stem.ends_with(".generated")
        || stem.ends_with("_generated")
        || name.starts_with("zz_generated");
    Prior { test, archived, generated, settings: is_settings(parents, name, stem) }
}

/// Whether a file configures tools: it changes with them, and not with what the project does.
fn is_settings(parents: &str, name: &str, stem: &str) -> bool {
    Language::of(name).is_some_and(Language::is_settings)
        || [".gradle", ".gradle.kts"].iter().any(|it| name.ends_with(it))
        || is_packages(parents, name, stem)
}

/// Whether it lists packages for Python's tools: `requirements/dev.txt`.
pub(super) fn is_packages(parents: &str, name: &str, stem: &str) -> bool {
    let folder = parents.rsplit('/').next() == Some("requirements");
    name.strip_suffix(".txt").is_some() && (folder || begins(stem, "requirement"))
}

/// Whether a folder's name says that it has tests, or what only tests use: `unit-tests`, `intTest`,
/// `smoke-test`, `testFixtures`, `cargo-test-support`. `tokio-test` has neither: it is a product.
/// `part` has its original case.
fn is_test_folder(part: &str) -> bool {
    let is_joined = |end: &str| part.strip_suffix(end).is_some_and(|it| !it.is_empty());
    let is_last = ["-tests", "_tests", "Test", "Tests"].into_iter().any(is_joined);
    is_last || serves_tests(part)
}

/// Whether a name has the words of what only tests use. `name` has its original case.
fn serves_tests(name: &str) -> bool {
    let words = words(name);
    let joined = words.iter().any(|it| it.strip_prefix("test").is_some_and(is_help));
    joined
        || words.windows(2).any(|it| {
            let [first, second] = it else { return false };
            first == "test" && is_help(second) || is_sort(first) && second == "test"
        })
}

/// Whether a word after `test` says that something serves tests.
fn is_help(word: &str) -> bool {
    [
        "case",
        "cases",
        "common",
        "data",
        "fixture",
        "fixtures",
        "harness",
        "helper",
        "helpers",
        "kit",
        "lib",
        "resources",
        "suite",
        "support",
        "util",
        "utilities",
        "utils",
    ]
    .contains(&word)
}

/// Whether a word before `test` says which sort of test it is.
fn is_sort(word: &str) -> bool {
    ["acceptance", "e2e", "functional", "integration", "regression", "smoke", "system", "unit"]
        .contains(&word)
}

/// The words of a name in lower case: `testFixtures` and `test-fixtures` have two.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = '-';
    for c in name.chars() {
        let is_hump = c.is_uppercase() && before.is_lowercase();
        if c.is_alphanumeric() {
            if is_hump || !before.is_alphanumeric() {
                words.push(String::new());
            }
            if let Some(last) = words.last_mut() {
                last.extend(c.to_lowercase());
            }
        }
        before = c;
    }
    words
}

/// Whether a code file's name is that of a test. `path` has its original case: `LogTest` is one,
/// `latest` is not.
fn is_test(name: &str, stem: &str, path: &str) -> bool {
    let own = path.rsplit('/').next().unwrap_or(path);
    Language::of(name).is_some()
        && (serves_tests(own.rsplit_once('.').map_or(own, |it| it.0))
            || ["conftest", "tests", "test"].contains(&stem)
            || super::marks::unmarked(own).is_some())
}
