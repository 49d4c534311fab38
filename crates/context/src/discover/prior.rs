//! How likely a file is relevant, by its path, and what marks it as a test.

use super::classify::begins;
use super::{Language, Prior, is_one_of};
use crate::text;

/// Folders of tests, and of what else is not the product.
const TESTS: &str = "test tests testing testdata test_data test-data __tests__ __mocks__ mocks \
                     fixture fixtures __fixtures__ e2e example examples sample samples demo demos \
                     bench benches benchmark benchmarks snapshots";
const ARCHIVED: &str = "archive archives archived .archive deprecated old obsolete attic legacy";
/// Ends of the names of generated files.
const GENERATED: &str =
    ".pb.go _pb2.py _pb2.pyi _pb2_grpc.py .g.dart .freezed.dart .gen.go .designer.cs";
/// Words after `test` that say that something serves tests.
const HELP: &str = "case cases common data fixture fixtures harness helper helpers kit lib \
                    resources suite support util utilities utils";
/// Words before `test` that say which sort of test it is.
const SORTS: &str = "acceptance e2e functional integration regression smoke system unit";

/// Whether a path is a test, archived, generated, or settings.
pub(super) fn prior(parents: &str, name: &str, stem: &str, path: &str) -> Prior {
    let any = |words: &str| parents.split('/').any(|part| is_one_of(part, words));
    let test =
        any(TESTS) || path.rsplit('/').skip(1).any(is_test_folder) || is_test(name, stem, path);
    let generated = any("generated __generated__")
        || GENERATED.split(' ').any(|part| name.ends_with(part))
        || stem.ends_with(".generated")
        || stem.ends_with("_generated")
        || name.starts_with("zz_generated");
    let settings = is_settings(parents, name, stem);
    Prior { test, archived: any(ARCHIVED), generated, settings }
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
    let is_joined = |end: &str| part.strip_suffix(end).is_some_and(|rest| !rest.is_empty());
    let is_last = ["-tests", "_tests", "Test", "Tests"].into_iter().any(is_joined);
    is_last || serves_tests(part)
}

/// Whether a name has the words of what only tests use. `name` has its original case.
fn serves_tests(name: &str) -> bool {
    let words = words(name);
    let joined = words
        .iter()
        .any(|word| word.strip_prefix("test").is_some_and(|rest| is_one_of(rest, HELP)));
    joined
        || words.windows(2).any(|it| {
            let [first, second] = it else { return false };
            first == "test" && is_one_of(second, HELP)
                || is_one_of(first, SORTS) && second == "test"
        })
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
    Language::of(name).is_some()
        && (serves_tests(text::stem(path))
            || ["conftest", "tests", "test"].contains(&stem)
            || unmarked(text::file_name(path)).is_some())
}

/// Words after `_`, `-` or `.` at the end of a name, the longest first.
const JOINED: &str = "integration-tests integration_tests integration-test integration_test \
                      unit-tests unit_tests unit-test unit_test e2e-spec e2e-test browsertests \
                      browsertest unittests unittest gtests gtest tests test e2e";
/// The same, but not after `-` except in JavaScript: `job-spec.go` specifies a job.
const SPEC: &str = "spec";
/// The same, only after `.` in JavaScript: Cypress, and tests of types.
const OF_SCRIPTS: &[&str] = &["test-d", "spec-d", "cy"];
/// Endings of names in camel case, the longest first.
const CAMEL: &[&str] =
    &["IntegrationTests", "IntegrationTest", "TestCase", "ITCase", "Tests", "Test", "Spec"];
/// Ends the name of an integration test, as Maven's failsafe plugin finds it.
const OF_JVM: &str = "IT";

/// The name of what a test tests, if a file's name marks it as a test: `cart` for `cart_test.go`.
/// `name` has its extension and its original case: `CartTest.java` is marked, `Contest.java` is not.
pub(crate) fn unmarked(name: &str) -> Option<&str> {
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    let is_script = is_any(extension, &["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts"]);
    let is_jvm = is_any(extension, &["java", "kt", "kts", "scala", "groovy"]);
    let joined = JOINED.split(' ').find_map(|part| before(stem, part, "_-."));
    let spec = || before(stem, SPEC, if is_script { "_-." } else { "_." });
    let of_scripts = || {
        let mut marks = OF_SCRIPTS.iter().filter(|_| is_script);
        marks.find_map(|mark| before(stem, mark, "."))
    };
    let camel = || CAMEL.iter().find_map(|camel| stem.strip_suffix(camel));
    let of_jvm = || {
        let rest = stem.strip_suffix(OF_JVM).filter(|_| is_jvm)?;
        // `LIMIT` is a word of its own.
        rest.ends_with(|c: char| c.is_lowercase() || c.is_ascii_digit()).then_some(rest)
    };
    let first = || {
        let rest = stem.get(..4).filter(|stem| stem.eq_ignore_ascii_case("test"))?;
        let rest = &stem[rest.len()..];
        rest.strip_prefix(['_', '-']).or_else(|| {
            // `Testament` is another word.
            let is_camel = stem.starts_with("Test") && rest.starts_with(char::is_uppercase);
            is_camel.then_some(rest)
        })
    };
    joined.or_else(spec).or_else(of_scripts).or_else(camel).or_else(of_jvm).or_else(first)
}

/// What is before a separator and a word at the end of a stem, in any case.
fn before<'a>(stem: &'a str, word: &str, separators: &str) -> Option<&'a str> {
    let at = stem.len().checked_sub(word.len())?;
    let end = stem.get(at..)?;
    let rest = stem.get(..at).filter(|_| end.eq_ignore_ascii_case(word))?;
    rest.strip_suffix(|c| separators.contains(c))
}

fn is_any(extension: &str, known: &[&str]) -> bool {
    known.iter().any(|known| known.eq_ignore_ascii_case(extension))
}

#[cfg(test)]
mod tests {
    use super::unmarked;

    #[test]
    fn a_test_is_marked_in_the_ways_of_each_language() {
        for name in [
            "cart_test.go",
            "cart_tests.rs",
            "cart_unittest.cc",
            "cart_unittests.cc",
            "cart_browsertest.cc",
            "cart_gtest.h",
            "cart_integration_test.go",
            "cart-test.js",
            "cart-test.c",
            "cart.test.ts",
            "cart.spec.ts",
            "cart-spec.js",
            "cart_spec.rb",
            "cart.e2e.ts",
            "cart.e2e-spec.ts",
            "cart.cy.ts",
            "cart.test-d.ts",
            "test_cart.py",
            "test-cart.js",
        ] {
            assert_eq!(unmarked(name), Some("cart"), "{name}");
        }
        for name in [
            "TestCart.java",
            "CartTest.java",
            "CartTests.cs",
            "CartIT.java",
            "CartITCase.java",
            "CartSpec.scala",
            "CartIntegrationTest.kt",
        ] {
            assert_eq!(unmarked(name), Some("Cart"), "{name}");
        }
    }

    #[test]
    fn another_word_marks_nothing() {
        for name in [
            "cart.rs",
            "Contest.java",
            "Testament.java",
            "Testable.java",
            "attest.rs",
            "latest.js",
            "greatest.py",
            "testing.py",
            "LIMIT.java",
            "CartIT.rs",
            "job-spec.go",
            "messages.cy.po",
            "ünï.rs",
        ] {
            assert_eq!(unmarked(name), None, "{name}");
        }
    }
}
