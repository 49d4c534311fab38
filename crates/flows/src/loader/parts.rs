//! The parts of a word that may be paths of their own.

use std::collections::BTreeSet;

/// The longest path that the system follows.
pub(super) const PATH_BYTES_MAX: usize = 4096;
/// Between the paths of a list, and before one: `PYTHONPATH=lib:tools`, `--files=a,b`. Blanks and
/// `;` separate the words of a text.
pub(super) const SEPARATORS: [char; 3] = ['=', ':', ','];
/// After how many `=` of a word the rest is one path, with all separators in it.
const SETTINGS_MAX: usize = 4;

/// The word, and the parts of it that may be paths of their own: after `=`, between the separators
/// of a list, after a short option's letter, after `@`, and after `!`, with which a setting of git is
/// a command. None is longer than a path.
pub(super) fn parts(word: &str) -> BTreeSet<&str> {
    let values = word.match_indices('=').take(SETTINGS_MAX).map(|(at, _)| &word[at + 1..]);
    let lists = std::iter::once(word).chain(values);
    let parts = lists.flat_map(|it| {
        let parts = std::iter::once(it).chain(it.split(SEPARATORS));
        // The name of a file may contain the other separators.
        parts.chain(it.split(':')).chain(it.split(','))
    });
    let parts = parts.flat_map(|it| {
        let option = it.strip_prefix('-').filter(|it| !it.starts_with('-'));
        let letter = option.and_then(|it| it.chars().next());
        let after_letter = letter.map(|letter| &it[1 + letter.len_utf8()..]);
        [Some(it), after_letter, it.strip_prefix('@'), it.strip_prefix('!')]
    });
    parts.flatten().filter(|it| !it.is_empty() && is_path(it)).collect()
}

/// In characters: one that represents a value can have more bytes than the value.
fn is_path(text: &str) -> bool {
    text.len() <= PATH_BYTES_MAX
        || (text.len() <= 4 * PATH_BYTES_MAX && text.chars().count() <= PATH_BYTES_MAX)
}

/// What a shell puts in place of `~`, `~+`, `~-` and `~1` at the beginning of a path. Any other user's
/// home counts as this user's: it may be.
pub(super) fn at_home(part: &str, homes: &BTreeSet<String>) -> Vec<String> {
    let Some(rest) = part.strip_prefix('~') else { return Vec::new() };
    let (user, below) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match user.trim_end_matches(|it: char| it.is_ascii_digit()) {
        // Each folder that a word names is a current folder, and so is each that was one before.
        "+" | "-" => vec![format!(".{below}")],
        "" if !user.is_empty() => vec![format!(".{below}")],
        _ => homes.iter().map(|home| format!("{home}{below}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{at_home, parts};

    #[test]
    fn a_word_has_the_parts_that_may_be_paths() {
        for (word, wanted) in [
            ("tools/a.sh", &["tools/a.sh"][..]),
            ("--run=a:b", &["--run=a:b", "--run=a", "a:b", "a", "b"]),
            ("-ftools/a.sh", &["-ftools/a.sh", "tools/a.sh"]),
            ("OPT=-Ilab", &["OPT=-Ilab", "-Ilab", "lab"]),
            ("@a", &["@a", "a"]),
            ("f=@a;b", &["f=@a;b", "@a;b", "a;b"]),
            ("P=a,b:c=d:$P", &["P=a", "a", "a,b", "b", "c=d", "d", "$P", "a,b:c=d:$P"]),
            (":a::b,", &["a", "b", "b,"]),
            ("ä:ö", &["ä:ö", "ä", "ö"]),
        ] {
            let found = parts(word);
            assert!(wanted.iter().all(|it| found.contains(it)), "{word}: {found:?}");
        }
        let long = "x".repeat(5000);
        assert_eq!(parts(&format!("P={long}:lab")), BTreeSet::from(["P", "lab"]));
    }

    #[test]
    fn a_tilde_is_a_home_or_a_current_folder() {
        let homes = BTreeSet::from(["/home/a".to_owned(), "lab".to_owned()]);
        for (part, wanted) in [
            ("~", &["/home/a", "lab"][..]),
            ("~/x", &["/home/a/x", "lab/x"]),
            ("~me/x", &["/home/a/x", "lab/x"]),
            ("~+/x", &["./x"]),
            ("~-/x", &["./x"]),
            ("~0/x", &["./x"]),
            ("~+1/x", &["./x"]),
            ("a~/x", &[]),
        ] {
            assert_eq!(at_home(part, &homes), wanted, "{part}");
        }
    }
}
