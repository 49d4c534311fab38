//! What marks a code file as a test, by its name.

/// Words after `_`, `-` or `.` at the end of a name, the longest first.
const JOINED: &[&str] = &[
    "integration-tests",
    "integration_tests",
    "integration-test",
    "integration_test",
    "unit-tests",
    "unit_tests",
    "unit-test",
    "unit_test",
    "e2e-spec",
    "e2e-test",
    "browsertests",
    "browsertest",
    "unittests",
    "unittest",
    "gtests",
    "gtest",
    "tests",
    "test",
    "e2e",
];
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
    let joined = JOINED.iter().find_map(|it| before(stem, it, "_-."));
    let spec = || before(stem, SPEC, if is_script { "_-." } else { "_." });
    let of_scripts = || {
        let mut marks = OF_SCRIPTS.iter().filter(|_| is_script);
        marks.find_map(|it| before(stem, it, "."))
    };
    let camel = || CAMEL.iter().find_map(|it| stem.strip_suffix(it));
    let of_jvm = || {
        let rest = stem.strip_suffix(OF_JVM).filter(|_| is_jvm)?;
        // `LIMIT` is a word of its own.
        rest.ends_with(|c: char| c.is_lowercase() || c.is_ascii_digit()).then_some(rest)
    };
    let first = || {
        let rest = stem.get(..4).filter(|it| it.eq_ignore_ascii_case("test"))?;
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
    known.iter().any(|it| it.eq_ignore_ascii_case(extension))
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
