//! Rust's `#[cfg(…)]`.

/// The deepest nesting of predicates.
const DEPTH_MAX: usize = 16;

/// Whether an attribute is a `#[cfg(…)]` that holds in tests alone.
pub(super) fn is_for_tests(attribute: &str) -> bool {
    let plain: String = attribute.chars().filter(|c| !c.is_whitespace()).collect();
    let predicate = plain.strip_prefix("#[cfg(").and_then(|rest| rest.strip_suffix(")]"));
    predicate.is_some_and(|predicate| implies_test(predicate.trim_end_matches(','), 0))
}

fn implies_test(predicate: &str, depth: usize) -> bool {
    let of = |name: &str| predicate.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    let implies = |text: &str| implies_test(text, depth + 1);
    match (of("all"), of("any")) {
        _ if depth > DEPTH_MAX => false,
        (Some(all), _) => parts(all).into_iter().any(implies),
        (_, Some(any)) => !any.is_empty() && parts(any).into_iter().all(implies),
        _ => predicate == "test",
    }
}

/// The predicates in a list, split at commas that are in no brackets.
fn parts(list: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_end = |c: char| {
        depth = match c {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
        c == ',' && depth == 0
    };
    list.split(is_end).filter(|part| !part.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::is_for_tests;

    #[test]
    fn only_a_predicate_that_implies_test_is_for_tests() {
        let yes = [
            "#[cfg(test)]",
            "#[cfg( test, )]",
            "#[cfg(all(test, unix))]",
            "#[cfg(any(all(unix, test), all(test, windows),))]",
        ];
        let no = [
            "#[cfg(not(test))]",
            "#[cfg(not(any(test)))]",
            "#[cfg(any(test, feature = \"testing\"))]",
            "#[cfg(all(not(test), unix))]",
            "#[cfg(any())]",
            "#[cfg(feature = \"test\")]",
            "#[cfg_attr(test, ignore)]",
            "#[test]",
            "#[cfg(",
        ];
        for attribute in yes {
            assert!(is_for_tests(attribute), "{attribute}");
        }
        for attribute in no {
            assert!(!is_for_tests(attribute), "{attribute}");
        }
    }
}
