//! The options of programs that run others, and of interpreters.

use super::tables::{INTERPRETERS, READERS, RUNNERS, Table};
use crate::command::programs::unversioned;

/// Interpreters whose code is a shell's.
const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "fish", "ksh", "lksh", "mksh", "oksh", "osh", "pdksh", "posh",
    "rbash", "rksh", "rzsh", "sh", "tcsh", "yash", "zsh",
];

/// Builtins that mark variables, and may set them.
pub(super) const MARKERS: &[&str] = &["declare", "export", "local", "readonly", "typeset"];

/// The known options of a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Options {
    /// Letters. After one with an argument is a `:`, after one whose argument can only be in the
    /// same word `::`, after one that digits may follow `#`.
    letters: &'static str,
    /// Long options. Those with an argument end with `=`, those that may have one with `?`.
    long: &'static [&'static str],
}

/// An option, or several letters in a word.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Seen<'a> {
    /// The letters without an argument.
    pub(super) flags: String,
    /// The option with an argument.
    pub(super) name: &'a str,
    /// Its argument, if that is in the same word.
    pub(super) value: Option<&'a str>,
    /// Whether its argument is the next word.
    pub(super) takes_next: bool,
}

impl Options {
    pub(super) const NONE: Self = Self { letters: "", long: &[] };

    /// The option in a word; nothing if it is not known.
    pub(super) fn read<'a>(&self, word: &'a str) -> Option<Seen<'a>> {
        let mut seen = Seen { flags: String::new(), name: "", value: None, takes_next: false };
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            let is = |end: &str| self.long.iter().any(|it| it.strip_suffix(end) == Some(name));
            let is_flag = self.long.contains(&name) && value.is_none();
            (seen.name, seen.value, seen.takes_next) = (name, value, is("=") && value.is_none());
            return (is_flag || is("=") || is("?")).then_some(seen);
        }
        let mut rest = word.strip_prefix('-')?;
        while let Some(letter) = rest.chars().next() {
            let at = self.letters.find(letter).filter(|_| letter.is_ascii_alphanumeric())?;
            let after = &self.letters[at + 1..];
            let (name, left) = rest.split_at(1);
            if after.starts_with(':') {
                let is_next = left.is_empty() && !after.starts_with("::");
                let value = Some(left).filter(|_| !is_next);
                return Some(Seen { name, value, takes_next: is_next, ..seen });
            }
            seen.flags.push(letter);
            rest = left;
            if after.starts_with('#') {
                rest = rest.trim_start_matches(|it: char| it.is_ascii_digit());
            }
        }
        Some(seen)
    }

    /// The known options, for a message.
    pub(super) fn listed(&self) -> String {
        let letters = self.letters.chars().filter(char::is_ascii_alphabetic);
        let letters = letters.map(|it| format!("-{it}"));
        let long = self.long.iter().map(|it| format!("--{}", it.trim_end_matches(['=', '?'])));
        let all: Vec<String> = letters.chain(long).collect();
        if all.is_empty() { "none".to_owned() } else { all.join(" ") }
    }

    fn of(tables: &[Table], program: &str) -> Option<Self> {
        let found = tables.iter().find(|(names, ..)| names.contains(&program));
        found.map(|(_, letters, long)| Self { letters, long })
    }

    /// The options of a program that runs the program after its own arguments; nothing if it is not
    /// such a program.
    pub(super) fn of_runner(program: &str) -> Option<Self> {
        Self::of(RUNNERS, program)
    }

    /// The options of an interpreter.
    pub(super) fn of_interpreter(program: &str) -> Self {
        Self::of(INTERPRETERS, program).unwrap_or(Self::NONE)
    }

    /// The options of a builtin that sets variables.
    pub(super) fn of_reader(program: &str) -> Self {
        Self::of(READERS, program).unwrap_or(Self::NONE)
    }
}

/// Whether a program is a shell, also with a version in its name.
pub(super) fn is_shell(base: &str) -> bool {
    SHELLS.contains(&base) || SHELLS.contains(&unversioned(base))
}

pub(super) fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// How many arguments of a program's own come before the program that it runs.
pub(super) fn own_arguments(program: &str) -> usize {
    let has_one = ["chrt", "flock", "gosu", "gtimeout", "su-exec", "taskset", "timeout"];
    usize::from(has_one.contains(&program))
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn options_are_read_as_programs_read_them() {
        let read = |program: &str, word: &'static str| {
            let options = Options::of_runner(program);
            let options = options.unwrap_or_else(|| Options::of_interpreter(program));
            let seen = options.read(word)?;
            Some((seen.flags, seen.name, seen.value, seen.takes_next))
        };
        let seen = |flags: &str, name, value, next| Some((flags.to_owned(), name, value, next));
        assert_eq!(read("env", "-iu"), seen("i", "u", None, true));
        assert_eq!(read("env", "-uA"), seen("", "u", Some("A"), false));
        assert_eq!(read("env", "--unset=A"), seen("", "unset", Some("A"), false));
        assert_eq!(read("env", "--uns"), None);
        assert_eq!(read("env", "--null=a"), None);
        assert_eq!(read("env", "-S"), None);
        assert_eq!(read("nice", "-10"), seen("1", "", None, false));
        assert_eq!(read("perl", "-lane"), seen("lan", "e", None, true));
        assert_eq!(read("perl", "-l012ne"), seen("ln", "e", None, true));
        assert_eq!(read("perl", "-ie"), seen("", "i", Some("e"), false));
        assert_eq!(read("python", "-Wignore"), seen("", "W", Some("ignore"), false));
        assert_eq!(read("sed", "-nf"), seen("n", "f", None, true));
        assert_eq!(read("guile", "-e"), None);
    }
}
