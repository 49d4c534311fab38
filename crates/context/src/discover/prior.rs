//! How likely a file is relevant, by its path.

use super::classify::{begins, last_part};
use super::{Language, Prior};

/// Whether a path is a test, archived, generated, or settings.
pub(super) fn prior(parents: &str, name: &str, stem: &str, path: &str) -> Prior {
    let any = |words: &[&str]| parents.split('/').any(|part| words.contains(&part));
    let test =
        any(&[
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
        ]) || parents.split('/').any(|part| part.ends_with("-tests") || part.ends_with("_tests"))
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

/// Whether a code file's name is that of a test. `path` has its original case: `LogTest` is one,
/// `latest` is not.
fn is_test(name: &str, stem: &str, path: &str) -> bool {
    let code = Language::of(name).is_some();
    let cased = path.rsplit_once('.').map_or(path, |(it, _)| it);
    code && (stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.starts_with("test_")
        || ["test", "spec"].contains(&last_part(stem))
        || stem.ends_with("_spec")
        || ["conftest", "tests", "test"].contains(&stem)
        || ["Test", "Tests", "Spec"].iter().any(|it| cased.ends_with(it)))
}
