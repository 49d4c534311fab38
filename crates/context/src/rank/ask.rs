//! What a query contains besides its words, and what its form says: its topic, the commands in it,
//! and whether it asks for tests.

use globset::{Glob, GlobSet, GlobSetBuilder};
use waypost_ranking::Analyzer;

use super::commits::Commits;
use crate::index::{ChunkFact, FileFact, name_key};
use crate::query::ITEMS_MAX;
use crate::{Error, Kind, Query, Result, Source, TaskType, text};

/// Longer queries are cut: the rest would change nothing.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// A parsed query.
#[derive(Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) query: &'a Query,
    pub(crate) task: TaskType,
    /// Its words, weighted by how well each locates something.
    pub(crate) words: waypost_ranking::Query,
    /// Its words unweighted, for texts that use the language of requests.
    pub(crate) plain: waypost_ranking::Query,
    /// Keys of the identifiers that it names.
    names: Vec<u64>,
    /// Keys of plain words that may also be names.
    perhaps: Vec<u64>,
    /// Paths, or ends of paths, that it names, in lower case.
    paths: Vec<String>,
    /// Stems of files that it may name, in lower case.
    stems: Vec<String>,
    /// Stems that the commands in it imply: `cargo-test` of `cargo test`.
    commands: Vec<String>,
    /// Folders and stems of files that its beginning may name, in lower case.
    topics: Vec<String>,
    /// Which parts besides the product it is about.
    about: About,
    globs: Option<GlobSet>,
}

/// How certain it is that something is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    No,
    /// A plain word is the name of a file, or the topic that of a folder.
    Perhaps,
    Yes,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(query: &'a Query, analyzer: &Analyzer) -> Result<Self> {
        if !(1..=ITEMS_MAX).contains(&query.max_items) {
            let reason = format!("{} items requested; the limit is {ITEMS_MAX}", query.max_items);
            return Err(Error::Invalid { what: "max_items", reason });
        }
        let text = text::head(&query.text, TEXT_BYTES_MAX);
        let mut ask = Self {
            query,
            task: query.task,
            words: waypost_ranking::Query::default(),
            plain: analyzer.query(text),
            names: Vec::new(),
            perhaps: Vec::new(),
            paths: Vec::new(),
            stems: Vec::new(),
            commands: commands(text),
            topics: topics(text),
            about: About::new(text),
            globs: globs(&query.paths)?,
        };
        ask.words = ask.plain.clone();
        for token in text.split(|c: char| c.is_whitespace() || ",;\"'`<>(){}[]".contains(c)) {
            ask.read(token.trim_matches(|c: char| ".:!?*#@=&|-".contains(c)));
        }
        Ok(ask)
    }

    /// Lowers the weight of words that are in many commit subjects: `fix` and `support` say what to
    /// do, not where, and are rare enough in code to look significant.
    pub(crate) fn weigh(&mut self, commits: &Commits) {
        let terms = self.plain.terms().iter();
        let weighed =
            terms.map(|term| (term.term.clone(), term.weight * commits.weight(&term.term)));
        self.words = waypost_ranking::Query::new(weighed);
    }

    fn read(&mut self, token: &str) {
        if token.len() < 2 || token.len() > 256 {
            return;
        }
        let lower = token.to_lowercase();
        let is_path = token.contains('/') || has_extension(token);
        if is_path {
            self.paths.push(lower.trim_start_matches("./").to_owned());
        }
        for part in token.split("::").flat_map(|part| part.split(['.', '#', '/'])) {
            if is_identifier(part) {
                self.names.push(name_key(part));
            }
        }
        if !is_path && lower.len() >= 3 && lower.chars().all(|c| c.is_alphanumeric() || c == '_') {
            self.perhaps.push(name_key(&lower));
            self.stems.push(lower);
        }
    }

    /// Whether it is empty, and asks for what matters now.
    pub(crate) fn is_empty(&self) -> bool {
        self.query.text.trim().is_empty()
    }

    pub(crate) fn names_file(&self, path: &str) -> Named {
        if [&self.paths, &self.stems, &self.commands, &self.topics].iter().all(|it| it.is_empty()) {
            return Named::No;
        }
        let lower = if path.is_ascii() { None } else { Some(path.to_lowercase()) };
        // The query is in lower case.
        let lower = lower.as_deref().unwrap_or(path);
        let ends = |text: &String| {
            let rest = lower.len().checked_sub(text.len()).map(|at| lower.as_bytes().split_at(at));
            rest.is_some_and(|(rest, end)| {
                end.eq_ignore_ascii_case(text.as_bytes())
                    && (rest.is_empty() || rest.ends_with(b"/"))
            })
        };
        if self.paths.iter().any(ends) {
            return Named::Yes;
        }
        let stem = text::stem(lower);
        if self.commands.iter().any(|command| command.eq_ignore_ascii_case(stem)) {
            return Named::Yes;
        }
        if !self.stems.iter().any(|other| other.eq_ignore_ascii_case(stem)) {
            let is_topic =
                |part: &str| self.topics.iter().any(|topic| topic.eq_ignore_ascii_case(part));
            let is_below = !self.topics.is_empty()
                && (is_topic(stem) || lower.split('/').rev().skip(1).any(is_topic));
            return if is_below { Named::Perhaps } else { Named::No };
        }
        // `ChangelogReader` can only be a name, `server` is also a word.
        if is_identifier(text::stem(path)) { Named::Yes } else { Named::Perhaps }
    }

    /// Whether it contains names that only definitions have.
    pub(crate) fn names_definitions(&self) -> bool {
        !self.names.is_empty()
    }

    pub(crate) fn names_chunk(&self, chunk: &ChunkFact) -> Named {
        if self.names.contains(&chunk.name) {
            Named::Yes
        } else if chunk.kind.source() == Source::Code && self.perhaps.contains(&chunk.name) {
            Named::Perhaps
        } else {
            Named::No
        }
    }

    /// Whether it is about the sort of file that the path of a test, example or benchmark implies.
    pub(crate) fn is_about(&self, path: &str) -> bool {
        self.about.includes(path)
    }

    /// Whether the filters admit a file's path.
    pub(crate) fn wants_path(&self, path: &str) -> bool {
        self.globs.as_ref().is_none_or(|glob| glob.is_match(path))
    }

    pub(crate) fn wants_kind(&self, kind: Kind) -> bool {
        let Query { sources, kinds, .. } = self.query;
        (sources.is_empty() || sources.contains(&kind.source()))
            && (kinds.is_empty() || kinds.contains(&kind))
    }

    /// Whether the filters admit some chunk of a file.
    pub(crate) fn wants_file(&self, file: &FileFact) -> bool {
        let code = file.kind.source() == Source::Code;
        let kinds = if code { &Kind::ALL[12..] } else { std::slice::from_ref(&file.kind) };
        kinds.iter().any(|kind| self.wants_kind(*kind)) && self.wants_path(&file.path)
    }

    /// Whether there is no filter.
    pub(crate) fn wants_all(&self) -> bool {
        self.query.sources.is_empty() && self.query.kinds.is_empty() && self.globs.is_none()
    }
}

fn has_extension(token: &str) -> bool {
    token.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty()
            && (1..=8).contains(&extension.len())
            && extension.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            && extension.starts_with(|c: char| c.is_ascii_lowercase())
    })
}

fn globs(patterns: &[String]) -> Result<Option<GlobSet>> {
    if patterns.is_empty() {
        return Ok(None);
    }
    let invalid = |reason: String| Error::Invalid { what: "paths", reason };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        for glob in glob(pattern).map_err(invalid)? {
            set.add(glob);
        }
    }
    set.build().map(Some).map_err(|error| invalid(error.to_string()))
}

/// Checks a glob of [`Query::paths`](crate::Query::paths).
///
/// # Errors
/// What is wrong with it.
pub fn check_glob(pattern: &str) -> std::result::Result<(), String> {
    glob(pattern).map(drop)
}

/// A glob for the path itself, and one for everything below it.
fn glob(pattern: &str) -> std::result::Result<[Glob; 2], String> {
    let climbs = pattern.split('/').any(|part| part == "..");
    if pattern.starts_with('/') || climbs {
        return Err(format!("{pattern:?} leads out of the project; globs are relative to it"));
    }
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    let compiled = |text: &str| Glob::new(text).map_err(|error| error.to_string());
    Ok([compiled(pattern)?, compiled(&format!("{pattern}/**"))?])
}

/// What is longer than this and followed by a colon is a sentence.
const TOPIC_BYTES_MAX: usize = 40;
/// `git remote add` has as many words before its arguments.
const COMMAND_WORDS_MAX: usize = 3;

/// The words before a colon at the beginning, which say where: `memory: …`, `fix(server): …`.
fn topics(text: &str) -> Vec<String> {
    let head = text.trim_start().split_once(": ").map(|parts| parts.0.trim_end_matches('!'));
    let Some(head) = head.filter(|head| head.len() <= TOPIC_BYTES_MAX) else { return Vec::new() };
    let inner = head.split_once('(').and_then(|(_, it)| it.strip_suffix(')')).unwrap_or(head);
    let parts = inner.split(|c: char| c.is_whitespace() || "/.,".contains(c));
    parts.filter(|part| part.len() > 1).map(str::to_lowercase).collect()
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
fn commands(text: &str) -> Vec<String> {
    pieces(text).filter(is_command).flat_map(|piece| pages(piece.1)).collect()
}

/// The stems of the files that document a command: its first words up to an option, joined.
fn pages(command: &str) -> Vec<String> {
    let is_word = |text: &&str| text.starts_with(char::is_alphanumeric);
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
struct About([bool; ASIDES.len()]);

impl About {
    /// A command in backticks, such as `cargo test`, says what is run, and not what the query is
    /// about.
    fn new(text: &str) -> Self {
        let prose = pieces(text).filter(|piece| !is_command(piece));
        let words = prose.flat_map(|part| part.1.split(|c: char| !c.is_alphanumeric() && c != '_'));
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
    fn includes(self, path: &str) -> bool {
        if self == Self::default() {
            return false;
        }
        let has = |words: &[&str]| path.split('/').any(|part| words.contains(&part));
        // What is neither an example nor a benchmark is a test.
        let sort = ASIDES[1..].iter().position(|aside| has(aside)).map_or(0, |at| at + 1);
        self.0[sort]
    }
}

/// Whether a word has the form of a name: `snake_case`, `camelCase`, `HTTPServer`.
fn is_identifier(word: &str) -> bool {
    let joined = word.trim_matches('_').contains('_');
    let mut humps = word.chars().zip(word.chars().skip(1));
    joined || humps.any(|(a, b)| a.is_lowercase() && b.is_uppercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str, path: &str) -> Named {
        let query = Query::new(text);
        Ask::new(&query, &Analyzer::english()).expect("it can be").names_file(path)
    }

    #[test]
    fn a_file_is_named_by_path_name_or_stem() {
        assert_eq!(named("look at src/app.py.", "lib/src/app.py"), Named::Yes);
        assert_eq!(named("look at `app.py`", "lib/src/app.py"), Named::Yes);
        assert_eq!(named("look at app.py", "lib/src/my_app.py"), Named::No);
        assert_eq!(named("ChangelogReader is slow", "a/ChangelogReader.java"), Named::Yes);
        assert_eq!(named("the server stops", "src/server.c"), Named::Perhaps);
        assert_eq!(named("it stops", "src/server.c"), Named::No);
    }

    #[test]
    fn a_topic_may_be_a_folder_and_a_command_is_a_page() {
        assert_eq!(named("memory: refuse a link", "crates/memory/src/links.rs"), Named::Perhaps);
        assert_eq!(named("the memory: refuse", "crates/memory.rs"), Named::Perhaps);
        assert_eq!(named("refuse a link of memory", "crates/memory/src/links.rs"), Named::No);
        assert_eq!(named("why does `cargo test` fail", "doc/man/cargo-test.md"), Named::Yes);
        assert_eq!(named("why does cargo test fail", "doc/man/cargo-test.md"), Named::No);
    }

    #[test]
    fn names_are_told_from_words() {
        assert!(["snake_case", "camelCase", "HttpServer"].iter().all(|it| is_identifier(it)));
        assert!(!["word", "Word", "HTTP", "_word"].iter().any(|it| is_identifier(it)));
    }

    #[test]
    fn globs_stay_in_the_project() {
        for pattern in ["../x", "/etc/*", "a/../../b", "[z-"] {
            let query = Query { paths: vec![pattern.to_owned()], ..Query::default() };
            let error = Ask::new(&query, &Analyzer::english()).expect_err(pattern);
            assert!(error.to_string().starts_with("paths: "), "{error}");
        }
        let query = Query { paths: vec!["docs".into(), "src/**/*.rs".into()], ..Query::default() };
        let ask = Ask::new(&query, &Analyzer::english()).expect("they can be");
        let wanted = ["docs/a.md", "docs/b/c.md", "src/a.rs", "src/b/c.rs"];
        assert!(wanted.iter().all(|it| ask.wants_path(it)));
        assert!(!["a.md", "src/a.py"].iter().any(|it| ask.wants_path(it)));
    }

    #[test]
    fn the_number_of_items_is_bounded() {
        for max_items in [0, 201] {
            let query = Query { max_items, ..Query::default() };
            assert!(Ask::new(&query, &Analyzer::english()).is_err());
        }
    }

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
