//! How the shell reads a command: which quotes are open where, and which program a word goes to.
//!
//! It follows POSIX's Shell Command Language, sections 2.2 and 2.3, as far as quoting goes. If it
//! were wrong about a place, a value could be split into words, but never run: it is only ever in a
//! variable.

use std::ops::Range;

/// Where a placeholder may stand, which decides how its variable is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Outside of quotes.
    Bare,
    /// Between double quotes or in a here-document: expanded, and not split.
    Expanding,
    SingleQuoted,
    Comment,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Double,
    Single,
    /// `$'…'`, which some shells know.
    Dollar,
    Backtick,
    /// `$(…)` or `(…)`.
    Paren,
    /// `$((…))` or `((…))`.
    Arithmetic,
    /// `${…}`.
    Brace,
    Comment,
}

/// A here-document whose text has not begun or not ended.
#[derive(Debug)]
struct Here {
    delimiter: String,
    /// The delimiter was quoted: nothing is expanded.
    literal: bool,
    /// Tabs before the delimiter are ignored.
    tabs: bool,
}

/// A simple command, as far as it has been read.
#[derive(Debug, Default)]
struct Words {
    /// Without quotes; a placeholder is empty.
    done: Vec<String>,
    current: Option<String>,
    /// A redirection's target comes next, which is no word of the command.
    redirected: bool,
}

pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    open: Vec<Open>,
    /// One for the command itself and one for each parenthesis or backtick that is open.
    words: Vec<Words>,
    waiting: Vec<Here>,
    here: Option<Here>,
}

type Refused = String;

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            open: Vec::new(),
            words: vec![Words::default()],
            waiting: Vec::new(),
            here: None,
        }
    }

    /// Reads up to a placeholder and over it.
    pub(super) fn placeholder(&mut self, span: Range<usize>) -> Result<Place, Refused> {
        self.read_to(span.start);
        self.at = span.end;
        let refused = |what: &str| {
            Err(format!(
                "a value cannot stand {what}, where it would be read as code; use exec, or \"$WAYPOST_DATA_key\" in a script of yours"
            ))
        };
        if let Some(here) = &self.here {
            return if here.literal {
                refused("in a here-document with a quoted delimiter, which expands nothing or")
            } else if self.open.is_empty() {
                Ok(Place::Expanding)
            } else {
                refused("in an expansion in a here-document")
            };
        }
        for open in &self.open {
            match open {
                Open::Backtick => return refused("between backticks"),
                Open::Arithmetic => return refused("in arithmetic"),
                Open::Brace => return refused("in ${…}"),
                Open::Dollar => return refused("in $'…'"),
                Open::Comment => return Ok(Place::Comment),
                Open::Double | Open::Single | Open::Paren => {}
            }
        }
        let place = match self.open.last() {
            Some(Open::Double) => Place::Expanding,
            Some(Open::Single) => Place::SingleQuoted,
            _ => Place::Bare,
        };
        if self.heredoc_delimiter_is_next() {
            return refused("as the delimiter of a here-document");
        }
        self.check_words()?;
        self.word_mut().current.get_or_insert_default();
        Ok(place)
    }

    /// Reads the rest.
    pub(super) fn finish(mut self) -> Result<(), (usize, Refused)> {
        self.read_to(self.text.len());
        let what = match self.open.iter().find(|it| **it != Open::Comment) {
            Some(Open::Single | Open::Dollar) => "a single quote is open at the end",
            Some(Open::Double) => "a double quote is open at the end",
            Some(Open::Backtick) => "a backtick is open at the end",
            Some(Open::Brace) => "${ is open at the end",
            // Patterns of `case` have a closing parenthesis alone: the shell judges those.
            _ => return Ok(()),
        };
        Err((self.text.len(), what.to_owned()))
    }

    fn word_mut(&mut self) -> &mut Words {
        if self.words.is_empty() {
            self.words.push(Words::default());
        }
        let last = self.words.len() - 1;
        &mut self.words[last]
    }

    fn heredoc_delimiter_is_next(&self) -> bool {
        let before = self.text[..self.at].trim_end_matches(|it| it != '<');
        let after_operator = &self.text[before.len()..self.at];
        before.ends_with("<<") && !before.ends_with("<<<") && !after_operator.contains(['\n', ' '])
    }

    /// Whether the program that would get the value reads it as code.
    fn check_words(&self) -> Result<(), Refused> {
        let Some(words) = self.words.last() else { return Ok(()) };
        if words.redirected {
            return Ok(());
        }
        let is_assignment = |word: &str| {
            word.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
            })
        };
        let mut program = words.done.iter().filter(|it| !is_assignment(it)).peekable();
        if program.peek().is_none() && !words.current.as_deref().is_some_and(is_assignment) {
            return Err(
                "the event's value would choose the program; name the program and give it the value as an argument"
                    .to_owned(),
            );
        }
        let last = words.done.last().map(String::as_str).unwrap_or_default();
        let names: Vec<&str> =
            words.done.iter().map(|it| it.rsplit('/').next().unwrap_or_default()).collect();
        let reads_code = names.iter().find(|it| {
            let interpreter = INTERPRETERS.iter().any(|name| {
                it.strip_prefix(name)
                    .is_some_and(|rest| rest.chars().all(|it| it.is_ascii_digit() || it == '.'))
            });
            READ_ALL.contains(*it) || (interpreter && is_code_option(last))
        });
        match reads_code {
            Some(program) => Err(format!(
                "{program} would read the value as code; use exec, or give it \"$WAYPOST_DATA_key\" where it is an argument"
            )),
            None => Ok(()),
        }
    }

    fn read_to(&mut self, end: usize) {
        while self.at < end {
            if self.here.is_some()
                && self.open.is_empty()
                && self.at_line_start()
                && self.here_ends()
            {
                continue;
            }
            let Some(it) = self.text[self.at..end].chars().next() else { break };
            self.step(it, end);
        }
    }

    fn at_line_start(&self) -> bool {
        self.text[..self.at].ends_with('\n')
    }

    /// Steps over the line that ends the here-document, if this is it.
    fn here_ends(&mut self) -> bool {
        let Some(here) = &self.here else { return false };
        let rest = &self.text[self.at..];
        let line = rest.split('\n').next().unwrap_or_default();
        let bare = if here.tabs { line.trim_start_matches('\t') } else { line };
        if bare != here.delimiter {
            return false;
        }
        self.at = (self.at + line.len() + 1).min(self.text.len());
        self.here = None;
        self.begin_here();
        true
    }

    fn begin_here(&mut self) {
        if self.here.is_none() && !self.waiting.is_empty() {
            self.here = Some(self.waiting.remove(0));
        }
    }

    fn step(&mut self, it: char, end: usize) {
        let rest = &self.text[self.at..];
        let len = it.len_utf8();
        let in_here = self.here.as_ref();
        if in_here.is_some_and(|here| here.literal) {
            self.at += len;
            return;
        }
        match self.open.last().copied() {
            Some(Open::Comment) => {
                if it == '\n' {
                    self.open.pop();
                } else {
                    self.at += len;
                }
                return;
            }
            Some(Open::Single) => {
                self.at += len;
                if it == '\'' {
                    self.open.pop();
                } else {
                    self.push(it);
                }
                return;
            }
            Some(Open::Dollar) if it == '\'' => {
                self.at += len;
                self.open.pop();
                return;
            }
            _ => {}
        }
        if it == '\\' {
            let next = rest[len..].chars().next();
            self.at = (self.at + len + next.map_or(0, char::len_utf8)).min(end);
            match next {
                Some('\n') | None => {}
                Some(next) => self.push(next),
            }
            return;
        }
        if let Some(open) = self.expansion(rest) {
            self.open.push(open);
            return;
        }
        let quoted = self.open.last() == Some(&Open::Double) || self.here.is_some();
        if quoted && !(it == '"' && self.here.is_none()) && !self.closes(it) {
            self.at += len;
            self.push(it);
            return;
        }
        self.bare(it, rest, len);
    }

    /// Steps over the beginning of an expansion, if there is one here.
    fn expansion(&mut self, rest: &str) -> Option<Open> {
        let (open, len) = if rest.starts_with("$((") {
            (Open::Arithmetic, 3)
        } else if rest.starts_with("$(") {
            (Open::Paren, 2)
        } else if rest.starts_with("${") {
            (Open::Brace, 2)
        } else if rest.starts_with('`') && !self.open.contains(&Open::Backtick) {
            (Open::Backtick, 1)
        } else {
            return None;
        };
        if matches!(open, Open::Paren | Open::Backtick) {
            self.word_mut().current.get_or_insert_default();
            self.words.push(Words::default());
        }
        self.at += len;
        Some(open)
    }

    /// Whether this character closes what was opened last, beside double quotes.
    fn closes(&self, it: char) -> bool {
        match self.open.last() {
            Some(Open::Backtick) => it == '`',
            Some(Open::Paren | Open::Arithmetic) => it == ')',
            Some(Open::Brace) => it == '}',
            _ => false,
        }
    }

    fn bare(&mut self, it: char, rest: &str, len: usize) {
        if self.closes(it) {
            let arithmetic = self.open.last() == Some(&Open::Arithmetic);
            self.at += if arithmetic && rest.starts_with("))") { 2 } else { len };
            if let Some(Open::Paren | Open::Backtick) = self.open.pop() {
                self.words.pop();
            }
            return;
        }
        let in_double = self.open.last() == Some(&Open::Double);
        match it {
            '"' if in_double => {
                self.open.pop();
                self.at += len;
            }
            '"' => {
                self.word_mut().current.get_or_insert_default();
                self.open.push(Open::Double);
                self.at += len;
            }
            '\'' => {
                let dollar = self.text[..self.at].ends_with('$');
                self.word_mut().current.get_or_insert_default();
                self.open.push(if dollar { Open::Dollar } else { Open::Single });
                self.at += len;
            }
            '#' if self.word_mut().current.is_none() && self.open.last() != Some(&Open::Brace) => {
                self.open.push(Open::Comment);
                self.at += len;
            }
            '(' => {
                let arithmetic = rest.starts_with("((");
                self.open.push(if arithmetic { Open::Arithmetic } else { Open::Paren });
                if !arithmetic {
                    self.words.push(Words::default());
                }
                self.at += if arithmetic { 2 } else { len };
            }
            '<' if rest.starts_with("<<") && !rest.starts_with("<<<") => self.here_document(rest),
            _ => {
                self.at += len;
                self.separate(it, rest);
            }
        }
    }

    fn separate(&mut self, it: char, rest: &str) {
        match it {
            ' ' | '\t' => self.end_word(),
            '\n' => {
                self.end_command();
                self.begin_here();
            }
            '<' | '>' => {
                // In `2>file` the number is no word either.
                self.word_mut().current = None;
                self.word_mut().redirected = true;
            }
            '&' if self.word_mut().redirected && self.word_mut().current.is_none() => {}
            '&' if rest.starts_with("&>") => {}
            ';' | '&' | '|' | ')' => self.end_command(),
            _ => self.push(it),
        }
    }

    fn push(&mut self, it: char) {
        if self.here.is_none() {
            self.word_mut().current.get_or_insert_default().push(it);
        }
    }

    fn end_word(&mut self) {
        let words = self.word_mut();
        let Some(word) = words.current.take() else { return };
        if words.redirected {
            words.redirected = false;
        } else if !(words.done.is_empty() && RESERVED.contains(&word.as_str())) {
            words.done.push(word);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        *self.word_mut() = Words::default();
    }

    /// Steps over `<<` and the delimiter.
    fn here_document(&mut self, rest: &str) {
        let mut after = &rest[2..];
        let tabs = after.starts_with('-');
        after = after.strip_prefix('-').unwrap_or(after).trim_start_matches([' ', '\t']);
        let ends = |it: char| it.is_whitespace() || matches!(it, ';' | '&' | '|' | '<' | '>' | ')');
        let word = &after[..after.find(ends).unwrap_or(after.len())];
        self.at += rest.len() - after.len() + word.len();
        let delimiter: String =
            word.chars().filter(|it| !matches!(it, '\'' | '"' | '\\')).collect();
        let literal = delimiter.len() != word.len();
        self.waiting.push(Here { delimiter, literal, tabs });
    }
}

/// Words after which a command begins, not arguments.
const RESERVED: [&str; 13] =
    ["if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "fi", "done", "esac"];

/// Programs that read any argument as code, or hand it to a shell.
const READ_ALL: [&str; 14] = [
    "eval", "ssh", "awk", "gawk", "mawk", "xargs", "watch", "su", "trap", "parallel", "source",
    ".", "crontab", "sed",
];

/// Programs that read the argument after an option as code.
const INTERPRETERS: [&str; 13] = [
    "sh", "bash", "dash", "zsh", "ksh", "fish", "python", "perl", "ruby", "node", "php", "lua",
    "env",
];

/// `-c`, `-lc`, `-e`, `-S`, `--eval` and the like.
fn is_code_option(word: &str) -> bool {
    let short = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
    matches!(word, "--eval" | "--print" | "--run" | "--command" | "--split-string")
        || short.is_some_and(|it| it.ends_with(['c', 'e', 'E', 'p', 'r', 'S']))
}
