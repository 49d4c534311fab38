//! What the form of a query says: its topic, the commands in it, and whether it asks for tests.

/// What is longer than this and followed by a colon is a sentence.
const TOPIC_BYTES_MAX: usize = 40;
/// `git remote add` has as many words before its arguments.
const COMMAND_WORDS_MAX: usize = 3;

/// The words before a colon at the beginning, which say where: `memory: …`, `fix(server): …`.
pub(super) fn topics(text: &str) -> Vec<String> {
    let head = text.trim_start().split_once(": ").map(|it| it.0.trim_end_matches('!'));
    let Some(head) = head.filter(|it| it.len() <= TOPIC_BYTES_MAX) else { return Vec::new() };
    let inner = head.split_once('(').and_then(|(_, it)| it.strip_suffix(')')).unwrap_or(head);
    let parts = inner.split(|it: char| it.is_whitespace() || "/.,".contains(it));
    parts.filter(|it| it.len() > 1).map(str::to_lowercase).collect()
}

/// A text, cut at its backticks; each piece with whether it is between two of them.
fn pieces(text: &str) -> impl Iterator<Item = (bool, &str)> {
    let last = text.matches('`').count();
    text.split('`').enumerate().map(move |(at, it)| (at % 2 == 1 && at < last, it))
}

/// Whether a piece between backticks is a command, and not a name.
fn is_command(piece: &(bool, &str)) -> bool {
    piece.0 && piece.1.trim().contains(char::is_whitespace)
}

/// The stems of the files that document the commands in a text: `cargo-test` of `cargo test`.
pub(super) fn commands(text: &str) -> Vec<String> {
    pieces(text).filter(is_command).flat_map(|it| pages(it.1)).collect()
}

/// The stems of the files that document a command: its first words up to an option, joined.
fn pages(command: &str) -> Vec<String> {
    let is_word = |it: &&str| it.starts_with(char::is_alphanumeric);
    let words: Vec<&str> =
        command.split_whitespace().take_while(is_word).take(COMMAND_WORDS_MAX).collect();
    let joined = |count: usize| ["-", "_"].map(|it| words[..count].join(it));
    (2..=words.len()).flat_map(joined).collect()
}

/// The words of queries about tests, examples and benchmarks, which are also names of their folders.
const ASIDES: [&[&str]; 3] = [
    &["test", "tests", "testing", "tested", "fixture", "fixtures", "mock", "mocks"],
    &["example", "examples", "sample", "samples", "demo", "demos"],
    &["bench", "benches", "benchmark", "benchmarks", "benchmarking"],
];

/// Which of the sorts of [`ASIDES`] a query is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct About([bool; ASIDES.len()]);

impl About {
    /// A command in backticks, such as `cargo test`, says what is run, and not what the query is
    /// about.
    pub(super) fn new(text: &str) -> Self {
        let prose = pieces(text).filter(|it| !is_command(it));
        let words = prose.flat_map(|it| it.1.split(|it: char| !it.is_alphanumeric() && it != '_'));
        let mut about = Self::default();
        for word in words {
            let lower = word.to_lowercase();
            for (about, known) in about.0.iter_mut().zip(ASIDES) {
                *about |= known.contains(&lower.as_str());
            }
            // `test_login` and `TestLogin` are names of tests.
            about.0[0] |= is_identifier(word) && lower.starts_with("test");
        }
        about
    }

    /// Whether it is about the sort of file that the path of a test, example or benchmark implies.
    pub(super) fn includes(self, path: &str) -> bool {
        if self == Self::default() {
            return false;
        }
        let has = |words: &[&str]| path.split('/').any(|it| words.contains(&it));
        // What is neither an example nor a benchmark is a test.
        let sort = ASIDES[1..].iter().position(|it| has(it)).map_or(0, |it| it + 1);
        self.0[sort]
    }
}

/// Whether a word has the form of a name: `snake_case`, `camelCase`, `HTTPServer`.
pub(super) fn is_identifier(word: &str) -> bool {
    let joined = word.trim_matches('_').contains('_');
    let mut humps = word.chars().zip(word.chars().skip(1));
    joined || humps.any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_what_stands_before_a_colon_at_the_beginning() {
        let check = |text, expected: &[&str]| assert_eq!(topics(text), expected, "{text}");
        check("memory: refuse a link to itself", &["memory"]);
        check("fix(Server)!: keep the port", &["server"]);
        check("net/http, tls: close idle connections", &["net", "http", "tls"]);
        check("see std::mem or http://a.example", &[]);
        check("what the reader of this long sentence wants to know: nothing", &[]);
        check("no topic", &[]);
    }

    #[test]
    fn a_command_in_backticks_names_its_page() {
        assert_eq!(commands("why does `cargo test` build"), ["cargo-test", "cargo_test"]);
        assert_eq!(
            commands("`git remote add --fetch x y`"),
            ["git-remote", "git_remote", "git-remote-add", "git_remote_add"]
        );
        assert!(commands("`Store` and `add` don`t build tests").is_empty());
    }

    #[test]
    fn a_query_is_about_tests_if_its_prose_says_so() {
        let check = |text, path, expected| {
            assert_eq!(About::new(text).includes(path), expected, "{text} {path}");
        };
        check("the tests of the parser", "tests/parser.rs", true);
        check("why does `cargo test` fail", "tests/parser.rs", false);
        check("where is `test` defined", "tests/parser.rs", true);
        check("don`t break the tests", "tests/parser.rs", true);
        check("test_login fails", "tests/login.rs", true);
        check("the tests of the parser", "examples/parser.rs", false);
        check("an example of the parser", "examples/parser.rs", true);
        check("the latest attestation", "tests/parser.rs", false);
    }
}
