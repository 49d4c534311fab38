//! What a test tests, by the names of files.

use waypost_ranking::{NumberMap, Slot};

use super::ask::{Ask, Named};
use super::candidate::{Candidate, What};
use crate::Source;
use crate::discover::unmarked;
use crate::index::Index;
use crate::text::{file_name, fnv, stem};

/// The score of a test, at most, as a share of that of what it tests.
const BELOW: f32 = 0.99;
/// Names that say nothing about what is tested.
const GENERAL: &[&str] = &["test", "tests", "spec", "mod", "main", "index", "__init__", "it"];

/// Lowers each test below the best file that it tests, unless the query asks for it.
pub(crate) fn below_tested(index: &Index, ask: &Ask<'_>, candidates: &mut [Candidate]) {
    let mut tests: Vec<usize> = Vec::new();
    let mut best: NumberMap<Slot, (&str, f32)> = NumberMap::default();
    for (at, it) in candidates.iter().enumerate() {
        let What::Chunk(slot, _) = it.what else { continue };
        let Some(file) = index.file(slot).filter(|file| file.kind.source() == Source::Code) else {
            continue;
        };
        if file.prior.test {
            tests.push(at);
        } else {
            let (_, score) = best.entry(slot).or_insert((&file.path, 0.0));
            *score = score.max(it.score);
        }
    }
    if tests.is_empty() {
        return;
    }
    let mut by_name: NumberMap<u64, f32> = NumberMap::default();
    for (path, score) in best.into_values() {
        let most = by_name.entry(key(stem(path))).or_default();
        *most = most.max(score);
    }
    for at in tests {
        let it = &mut candidates[at];
        let tested = tested(&it.path).and_then(|tested| by_name.get(&key(tested)));
        let Some(most) = tested.map(|score| score * BELOW).filter(|most| it.score > *most) else {
            continue;
        };
        if !ask.is_about(&it.path) && ask.names_file(&it.path) != Named::Yes {
            it.own *= most / it.score;
            it.score = most;
        }
    }
}

/// The stem of the file that a test tests: its own without what marks a test, or else that of the
/// nearest folder that says something.
fn tested(path: &str) -> Option<&str> {
    let own = unmarked(file_name(path)).unwrap_or_else(|| stem(path));
    let mut parts = std::iter::once(own).chain(path.rsplit('/').skip(1));
    parts.find(|part| {
        !part.is_empty() && !GENERAL.iter().any(|known| known.eq_ignore_ascii_case(part))
    })
}

/// A hash of a stem: the same for `LogReader` and `log_reader`.
fn key(stem: &str) -> u64 {
    fnv(stem.bytes().filter(|byte| !byte.is_ascii_punctuation()))
}

#[cfg(test)]
mod tests {
    use super::tested;

    #[test]
    fn a_test_names_what_it_tests() {
        let check = |path, expected| assert_eq!(tested(path), Some(expected), "{path}");
        check("tests/test_cart.py", "cart");
        check("src/test/java/a/LogReaderTests.java", "LogReader");
        check("src/log/tests.rs", "log");
        check("src/log/tests/mod.rs", "log");
        check("tests/it/history.rs", "history");
        check("web/page.spec.ts", "page");
        check("src/latest.rs", "latest");
        check("src/cart_unittest.cc", "cart");
        check("src/TestCart.java", "Cart");
        check("src/CartIT.java", "Cart");
        assert_eq!(tested("tests/mod.rs"), None);
    }
}
