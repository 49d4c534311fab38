//! What a query contains besides its words.

use globset::{Glob, GlobSet, GlobSetBuilder};
use waypost_ranking::Analyzer;

use super::commits::Commits;
use super::phrases::{About, commands, is_identifier, topics};
use crate::index::{ChunkFact, FileFact, name_key};
use crate::query::ITEMS_MAX;
use crate::{Error, Kind, Query, Result, Source, TaskType};

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
        let text = crate::text::head(&query.text, TEXT_BYTES_MAX);
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
        for token in text.split(|it: char| it.is_whitespace() || ",;\"'`<>(){}[]".contains(it)) {
            ask.read(token.trim_matches(|it: char| ".:!?*#@=&|-".contains(it)));
        }
        Ok(ask)
    }

    /// Lowers the weight of words that are in many commit subjects: `fix` and `support` say what to
    /// do, not where, and are rare enough in code to look significant.
    pub(crate) fn weigh(&mut self, commits: &Commits) {
        let terms = self.plain.terms().iter();
        let weighed = terms.map(|it| (it.term.clone(), it.weight * commits.weight(&it.term)));
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
        for part in token.split("::").flat_map(|it| it.split(['.', '#', '/'])) {
            if is_identifier(part) {
                self.names.push(name_key(part));
            }
        }
        if !is_path && lower.len() >= 3 && lower.chars().all(|it| it.is_alphanumeric() || it == '_')
        {
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
        let ends = |it: &String| {
            let rest = lower.len().checked_sub(it.len()).map(|at| lower.as_bytes().split_at(at));
            rest.is_some_and(|(rest, end)| {
                end.eq_ignore_ascii_case(it.as_bytes()) && (rest.is_empty() || rest.ends_with(b"/"))
            })
        };
        if self.paths.iter().any(ends) {
            return Named::Yes;
        }
        let name = lower.rsplit('/').next().unwrap_or_default();
        let stem = name.rsplit_once('.').map_or(name, |it| it.0);
        if self.commands.iter().any(|it| it.eq_ignore_ascii_case(stem)) {
            return Named::Yes;
        }
        if !self.stems.iter().any(|it| it.eq_ignore_ascii_case(stem)) {
            let is_topic = |part: &str| self.topics.iter().any(|it| it.eq_ignore_ascii_case(part));
            let is_below = !self.topics.is_empty()
                && (is_topic(stem) || lower.split('/').rev().skip(1).any(is_topic));
            return if is_below { Named::Perhaps } else { Named::No };
        }
        // `ChangelogReader` can only be a name, `server` is also a word.
        let own = path.rsplit('/').next().unwrap_or_default();
        let own = own.rsplit_once('.').map_or(own, |it| it.0);
        if is_identifier(own) { Named::Yes } else { Named::Perhaps }
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
        self.globs.as_ref().is_none_or(|it| it.is_match(path))
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
        kinds.iter().any(|it| self.wants_kind(*it)) && self.wants_path(&file.path)
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
            && extension.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit())
            && extension.starts_with(|it: char| it.is_ascii_lowercase())
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
    set.build().map(Some).map_err(|it| invalid(it.to_string()))
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
    let climbs = pattern.split('/').any(|it| it == "..");
    if pattern.starts_with('/') || climbs {
        return Err(format!("{pattern:?} leads out of the project; globs are relative to it"));
    }
    let pattern = pattern.trim_start_matches("./").trim_end_matches('/');
    let compiled = |it: &str| Glob::new(it).map_err(|it| it.to_string());
    Ok([compiled(pattern)?, compiled(&format!("{pattern}/**"))?])
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
}
