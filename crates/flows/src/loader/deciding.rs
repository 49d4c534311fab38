//! Checks that a command says literally which programs it runs: a name that the shell computes could
//! be that of a file that nobody approved.

mod arithmetic;
mod builtins;
mod events;
mod git;
mod guarded;
mod input;
mod interpreters;
mod known;
mod nodes;
mod options;
mod posix;
mod programs;
mod runners;
mod scope;
mod shells;
mod tables;
mod words;

use std::hash::{DefaultHasher, Hash, Hasher};

use self::arithmetic::with_numbers;
use self::input::Input;
use self::options::is_shell;
pub(super) use self::scope::Given;
use self::scope::{Scope, Setters};
use self::words::Shown;
use super::marks::{Kind, Marks};
use super::split::with_folder;
use crate::command::pieces::is_mark;
use crate::command::programs::base;
use crate::command::subset::{self, Use};
use crate::command::tree::{TOO_NESTED, misread_comment, parsed};

/// How deeply texts that are commands may be nested, and programs that run others.
const DEPTH_MAX: usize = 16;
/// How often a command is read until everything that sets a variable is found.
const ROUNDS_MAX: usize = 4;
/// The most values that a word can have.
const VALUES_MAX: usize = 1000;
/// The bytes of words and texts that are read, whatever the length of the command, and for each of
/// its bytes.
const BYTES_MIN: usize = 64 << 10;
const BYTES_FACTOR: usize = 32;
/// Why a name does not say which file it is.
const DOLLAR: &str =
    "a name that contains $, which stands for a variable where files are looked for";
/// What to do about most errors.
const INSTEAD: &str = "name the program literally, or put the command into a script of the project";

/// Checks the text of a command. `given` are the variables that it gets; `marks` are the values of
/// the event in it.
pub(super) fn check_command(text: &str, given: &Given, marks: &Marks<'_>) -> Result<(), String> {
    check(given, marks, text.len(), |it| it.code(text))
}

/// Checks a program and its arguments, which no shell reads.
pub(super) fn check_words(
    words: &[String],
    given: &Given,
    marks: &Marks<'_>,
) -> Result<(), String> {
    let words: Vec<Shown> = words.iter().map(|it| Shown::exact(it)).collect();
    let bytes = words.iter().map(Shown::len).sum();
    check(given, marks, bytes, |it| {
        it.guard(&words);
        // Each text in it is one that a shell in it reads.
        it.texts = 1;
        it.read_by = ReadBy::Nothing;
        it.simple(&words)
    })
}

/// Reads a command until no more things are found that set variables: each can make a value unknown,
/// and none makes one known.
fn check(
    given: &Given,
    marks: &Marks<'_>,
    bytes: usize,
    read: impl Fn(&mut Check<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let mut setters = Setters::default();
    for round in 0..ROUNDS_MAX {
        let mut check = Check::new(given, marks, setters.clone(), bytes);
        check.is_first = round == 0;
        for (name, value) in &given.env {
            let checked = check.check_value(&Shown::exact(value));
            checked.map_err(|it| format!("the value of {name} in env: {it}"))?;
        }
        let result = read(&mut check).and_then(|()| check.folders());
        let before = setters.clone();
        setters.add(std::mem::take(&mut check.found));
        if round > 0 && (result.is_err() || setters == before) {
            return result.map_err(|it| marks.shown(&it));
        }
    }
    Err(format!("which variables the command sets is not known; {INSTEAD}"))
}

/// What reads the words of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadBy {
    /// They are those of `exec:`.
    Nothing,
    Any,
    Bash,
}

struct Check<'a> {
    given: &'a Given,
    marks: &'a Marks<'a>,
    /// Everything that sets variables, as the round before found it, and as this one does.
    setters: Setters,
    found: Setters,
    /// The values of variables at this place.
    scope: Scope,
    bytes: usize,
    depth: usize,
    /// How many texts this place is in.
    texts: usize,
    /// Whether only the things that set variables are looked for.
    is_first: bool,
    /// Whether a value that begins with `-` at the beginning of a word here stops the run.
    is_guarded: bool,
    read_by: ReadBy,
    /// What the program of the current simple command reads.
    input: Vec<Input>,
    /// The variables that the current `export` sets by assignments, which are read as such.
    exported: Vec<String>,
    /// What `find` and `xargs` replace with a name.
    hole: Option<String>,
    /// A folder that is computed, and why, and a program that is looked for in the current folder.
    away: Option<(String, &'static str)>,
    relative: Option<String>,
}

impl<'a> Check<'a> {
    fn new(given: &'a Given, marks: &'a Marks<'a>, setters: Setters, bytes: usize) -> Self {
        Self {
            given,
            marks,
            setters,
            found: Setters::default(),
            scope: Scope::default(),
            bytes: BYTES_MIN + BYTES_FACTOR * bytes,
            depth: 0,
            texts: 0,
            is_first: false,
            is_guarded: false,
            read_by: ReadBy::Any,
            input: Vec::new(),
            exported: Vec::new(),
            hole: None,
            away: None,
            relative: None,
        }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), String> {
        let left = self.bytes.checked_sub(bytes.max(1)).filter(|_| self.depth < DEPTH_MAX);
        self.bytes = left.ok_or_else(|| format!("the command {TOO_NESTED}"))?;
        Ok(())
    }

    /// Checks a text that a shell reads.
    fn code(&mut self, text: &str) -> Result<(), String> {
        self.spend(text.len())?;
        let has_values = self.texts > 0;
        let is_text = |it: &char| is_mark(*it) && matches!(self.marks.kind(*it), Kind::Text);
        if let Some(it) = text.chars().find(is_text).filter(|_| has_values) {
            return Err(format!(
                "{it} is in a text that a shell reads, and may be empty or contain anything; declare it as slug in trigger.data, or pass it as an argument: sh -c '… \"$1\"' _ {it}"
            ));
        }
        let text = with_numbers(&with_folder(text), self.marks);
        subset::check(&text, Use { has_values, is_bash: self.read_by == ReadBy::Bash }).map_err(
            |(at, what)| {
                format!("{} {what}", Shown::new(text.get(at..).unwrap_or_default()).quoted())
            },
        )?;
        let tree = parsed(&text).ok_or_else(|| format!("the command {TOO_NESTED}"))?;
        let root = tree.root_node();
        if root.has_error() {
            self.unread(&text)?;
        } else if let Some(at) = misread_comment(root, &text) {
            let start = text[..at].rfind('\n').map_or(0, |it| it + 1);
            return Err(format!(
                "{} has a # that a shell may read in another way; write a space before a comment, and quotes around any other #",
                Shown::new(text.get(start..).unwrap_or_default()).quoted()
            ));
        }
        if text.contains("@P}") {
            return Err(format!("${{NAME@P}} runs the commands in a value; {INSTEAD}"));
        }
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let inner = Scope { text: hasher.finish(), ..Scope::default() };
        let outer = std::mem::replace(&mut self.scope, inner);
        let input = std::mem::take(&mut self.input);
        self.depth += 1;
        self.texts += 1;
        let checked = self.nodes(root, &text);
        self.texts -= 1;
        self.depth -= 1;
        self.input = input;
        self.scope = outer;
        checked
    }

    /// Checks a text that the grammar does not understand: any of its words could decide, and where
    /// its quotes and comments are is not known.
    fn unread(&self, text: &str) -> Result<(), String> {
        let is_braced = || {
            let (_, inside) = text.split_once('{')?;
            let (inside, _) = inside.rsplit_once('}')?;
            Some(inside.contains(',') || inside.contains(".."))
        };
        let is_computed = text.contains("$(") || text.contains('`');
        let mut words = text.split_whitespace().map(Shown::new);
        let unknown = words.find(|it| !it.is_literal() || self.values_of(it).is_err());
        let is_end = |it: char| it.is_whitespace() || ";|&(){}<>".contains(it);
        let reads = text.split(is_end).map(|it| Shown::new(it).text()).find(|it| reads_code(it));
        let unknown = unknown.or_else(|| reads.map(|it| Shown::exact(&it)));
        if unknown.is_none() && !is_computed && is_braced() != Some(true) {
            return Ok(());
        }
        let shown = unknown.unwrap_or_else(|| Shown::new(text)).quoted();
        Err(format!(
            "{shown} is in a command that cannot be parsed, so which programs it runs is not known; put the command into a script of the project"
        ))
    }

    /// Notes which values the words of a command that is not in another one may begin with.
    fn guard(&mut self, words: &[Shown]) {
        // After a --, the run is not stopped.
        let has_end = words.iter().any(|it| it.text() == "--");
        self.is_guarded = self.texts <= 1 && !self.given.allows_dash && !has_end;
    }

    /// Notes a folder that the command goes to.
    fn go(&mut self, folder: &Shown) {
        match self.values_of(folder) {
            Err(what) => self.away(&folder.quoted(), what),
            Ok(values) if has_dollar(folder, &values) => self.away(&folder.quoted(), DOLLAR),
            Ok(_) => {}
        }
    }

    fn away(&mut self, folder: &str, what: &'static str) {
        self.away.get_or_insert_with(|| (folder.to_owned(), what));
    }

    /// Notes a program that is looked for in the current folder.
    fn look(&mut self, program: &str) {
        if !program.starts_with('/') {
            self.relative = Some(program.to_owned());
        }
    }

    /// Checks that it is known where programs are looked for.
    fn folders(&self) -> Result<(), String> {
        let (Some((folder, what)), Some(program)) = (&self.away, &self.relative) else {
            return Ok(());
        };
        let instead = if folder.contains("rev-parse") {
            "leave the cd out: an action starts in the project's folder, or in the one that cwd: names"
        } else {
            "write the folder literally, or put the command into a script of the project"
        };
        Err(format!(
            "{folder} is {what}, where it decides in which folder {program:.80?} is; {instead}"
        ))
    }

    /// Checks a simple command: its first word is the name of the program.
    fn simple(&mut self, words: &[Shown]) -> Result<(), String> {
        let Some((name, rest)) = words.split_first() else { return Ok(()) };
        self.depth += 1;
        self.spend(words.iter().map(Shown::len).sum())?;
        let values = self.file(name)?;
        self.check_one(name, &values)?;
        values.iter().try_for_each(|it| self.known(it, rest))?;
        self.depth -= 1;
        Ok(())
    }

    /// Checks a word that is the text of a command.
    fn run_code(&mut self, word: &Shown) -> Result<(), String> {
        let hole = self.hole.take();
        let values = self.codes_of(word).map_err(|what| {
            format!(
                "{} is a command in a text, and contains {what}; write the text literally, in single quotes, or put it into a script of the project",
                word.quoted()
            )
        });
        let inserted = hole.as_ref().filter(|it| word.written().contains(it.as_str()));
        let checked = match inserted {
            _ if self.mixes(word) && !self.is_first => Err(format!(
                "{} is a command in a text, and a variable in it has a value of several words; write the text literally, in single quotes",
                word.quoted()
            )),
            Some(hole) => Err(format!(
                "{} is a command in a text, and {hole} in it becomes a name, which the shell would read as code; give the name to the text as an argument: sh -c 'echo \"$1\"' _ {hole}",
                word.quoted()
            )),
            None => values.and_then(|all| all.iter().try_for_each(|it| self.code(it))),
        };
        self.hole = hole;
        checked
    }
}

/// Whether a name has a `$` that the search for files takes for a variable: in a literal word, it
/// also looks for the name as it is, except for `$(pwd)`.
fn has_dollar(word: &Shown, values: &[String]) -> bool {
    let wanted = if word.is_literal() { "$PWD" } else { "$" };
    values.iter().any(|it| it.contains(wanted))
}

/// Whether a program of this name runs commands that none of the command's words have to name.
fn reads_code(name: &str) -> bool {
    let others = [".", "alias", "eval", "fc", "source", "xargs"];
    others.contains(&name) || is_shell(base(name))
}
