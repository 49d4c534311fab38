//! Builtins and options of them that not every shell has.

use super::options::is_option;
use super::words::Shown;
use super::{Check, ReadBy};

/// What to write for most of them.
const IN_BASH: &str =
    "put the command into bash -c '…', or into a script whose first line names bash";

/// Builtins of bash only, and what to write instead.
const BUILTINS: &[(&str, &str)] = &[
    ("builtin", "write command NAME"),
    ("caller", IN_BASH),
    ("compgen", IN_BASH),
    ("complete", IN_BASH),
    ("declare", "write NAME=VALUE, or export NAME=VALUE"),
    ("dirs", "write ( cd FOLDER && … )"),
    ("disown", "write nohup before the command"),
    ("mapfile", "write while IFS= read -r line; do …; done < FILE"),
    ("popd", "write ( cd FOLDER && … )"),
    ("pushd", "write ( cd FOLDER && … )"),
    ("readarray", "write while IFS= read -r line; do …; done < FILE"),
    ("shopt", IN_BASH),
    ("source", "write . ./FILE"),
    ("typeset", "write NAME=VALUE, or export NAME=VALUE"),
];
/// Builtins, the letters of the options that every shell knows, and what to write instead of others.
const OPTIONS: &[(&str, &str, &str)] = &[
    ("exec", "", "write the program without the option"),
    ("export", "p", "write export NAME=VALUE"),
    ("printf", "", "write NAME=$(printf FORMAT …)"),
    ("read", "pr", "write IFS= read -r NAME"),
    ("readonly", "p", "write readonly NAME=VALUE"),
    ("type", "", "write command -v NAME"),
    ("wait", "", "write wait, or wait PID"),
];
/// Conditions of `trap` that are no signals.
const CONDITIONS: &[&str] = &["DEBUG", "ERR", "RETURN"];

impl Check<'_> {
    /// Whether any shell may read the words.
    fn is_portable(&self) -> bool {
        self.read_by == ReadBy::Any && !self.is_first
    }

    /// Checks that a command is not one that only bash has, unless bash reads it.
    pub(super) fn posix(&self, name: &str, rest: &[Shown]) -> Result<(), String> {
        if !self.is_portable() {
            return Ok(());
        }
        if let Some((_, instead)) = BUILTINS.iter().find(|(it, _)| *it == name) {
            return Err(format!("{name} is a builtin that not every shell knows; {instead}"));
        }
        if name == "trap"
            && let Some(it) = rest.iter().skip(1).find(|it| CONDITIONS.contains(&&*it.text()))
        {
            return Err(format!(
                "trap … {} is a condition that not every shell knows; write trap … EXIT, or {IN_BASH}",
                it.text()
            ));
        }
        let Some((_, letters, instead)) = OPTIONS.iter().find(|(it, ..)| *it == name) else {
            return Ok(());
        };
        let options = rest.iter().map(Shown::text);
        let mut options = options.take_while(|it| it != "--" && is_option(it));
        let other = options.find(|it| !it[1..].chars().all(|it| letters.contains(it)));
        other.map_or(Ok(()), |it| {
            Err(format!("{name} {it:.80} has an option that not every shell knows; {instead}"))
        })
    }

    /// Checks an option of `set`, or of a shell.
    pub(super) fn posix_setting(&self, name: &str) -> Result<(), String> {
        const OF_BASH: &[&str] = &["errtrace", "functrace", "pipefail", "posix", "privileged"];

        if !self.is_portable() || !OF_BASH.contains(&name) {
            return Ok(());
        }
        Err(format!(
            "{name} is an option that not every /bin/sh knows (dash does not); write bash -c 'set -o {name}; …', or put the command into a script whose first line names bash"
        ))
    }

    /// Checks the letters of an option of `set`.
    pub(super) fn posix_letters(&self, letters: &str) -> Result<(), String> {
        if !self.is_portable() || letters.chars().all(|it| "abefmnuvxC".contains(it)) {
            return Ok(());
        }
        Err(format!("set -{letters} has an option that not every shell knows; {IN_BASH}"))
    }
}
