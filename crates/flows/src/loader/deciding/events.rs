//! Values of the event in options and variables that name programs.

use super::super::marks::Kind;
use super::Check;
use super::words::Shown;
use crate::EVENT_PREFIX;
use crate::command::literals::is_resolving;
use crate::command::pieces::{Piece, is_mark};
use crate::command::programs::{Role, base, is_code_option, role};
use crate::command::rules::is_of_project;

/// Programs, and their options whose argument is a program, or a file of settings that names one.
const OPTIONS: &[(&[&str], &[&str])] = &[
    (&["git"], &["-O", "-u", "-x", "--extcmd", "--template", "--open-files-in-pager"]),
    (&["make", "gmake"], &["-f", "-I", "--file", "--makefile", "--eval"]),
    (&["rsync"], &["--rsync-path"]),
    (&["scp", "sftp", "ssh"], &["-D", "-F", "-S", "-o"]),
];
/// Subcommands of git that run the next words, with the word before those.
const GIT_RUNS: &[[&str; 2]] = &[["bisect", "run"], ["submodule", "foreach"]];
/// Variables that name a program, or where one is looked for, beyond those that a literal value may
/// not set either.
const VARIABLES: &[&str] = &["CC", "CLASSPATH", "CXX", "HOME", "LD"];
/// Parts of the names of such variables.
const VARIABLE_PARTS: &[&str] = &[
    "ASKPASS",
    "COMMAND",
    "CONFIG",
    "EDITOR",
    "LESS",
    "OPTIONS",
    "OPTS",
    "PAGER",
    "RUSTFLAGS",
    "SSH",
    "WRAPPER",
];

impl Check<'_> {
    /// Whether a part of a word is a value of the event that could be the name of a program.
    pub(super) fn is_of_event(&self, word: &Shown) -> bool {
        let is_name =
            |it: char| is_mark(it) && matches!(self.marks.kind(it), Kind::Name { .. } | Kind::Text);
        let is_value = |it: &Piece| matches!(it, Piece::Value(mark, _) if is_name(*mark));
        if word.pieces.iter().any(is_value) {
            return true;
        }
        // What is in a substitution is in no piece.
        let mut names = word.written().match_indices('$').map(|(at, _)| {
            let after = word.written()[at + 1..].trim_start_matches('{');
            after.split(|it: char| !it.is_ascii_alphanumeric() && it != '_').next()
        });
        let is_of_event = |it: Option<&str>| {
            it.is_some_and(|it| it.starts_with(EVENT_PREFIX) || self.setters.of_event.contains(it))
        };
        !word.is_literal() && (word.written().contains(is_name) || names.any(is_of_event))
    }

    /// Notes a variable with a value of the event, which must not name a program.
    pub(super) fn event_variable(&mut self, name: &str, value: &Shown) -> Result<(), String> {
        if !self.is_of_event(value) {
            return Ok(());
        }
        self.found.of_event.insert(name.to_owned());
        let is_of_git = name.starts_with("GIT_")
            && !name.starts_with("GIT_AUTHOR_")
            && !name.starts_with("GIT_COMMITTER_");
        // How `read` splits a line names no program.
        let is_known = (name != "IFS" && is_resolving(name))
            || VARIABLES.contains(&name)
            || VARIABLE_PARTS.iter().any(|it| name.contains(it));
        if self.is_first || !(is_of_git || is_known) {
            return Ok(());
        }
        Err(format!(
            "{} is a value of the event in {name}, which may name a program or a file of settings; declare it as one of [a, b] in trigger.data, or write the value literally",
            value.quoted()
        ))
    }

    /// Checks that no value of the event is the argument of an option that names a program.
    pub(super) fn event_options(&self, name: &str, rest: &[Shown]) -> Result<(), String> {
        // What a script of the project does with its arguments is the script's.
        if self.is_first || is_of_project(name) {
            return Ok(());
        }
        let base = base(name);
        let own = OPTIONS.iter().find(|(names, _)| names.contains(&base));
        let own = own.map_or(&[][..], |(_, options)| options);
        let has = |wanted: &str| rest.iter().any(|it| it.text() == wanted);
        let runs = role(name) == Role::Git
            && GIT_RUNS.iter().any(|[subcommand, before]| has(subcommand) && has(before));
        for (idx, word) in rest.iter().enumerate().filter(|(_, it)| self.is_of_event(it)) {
            let text = word.text();
            let option = text.split_once('=').map_or(text.as_str(), |(option, _)| option);
            let before = idx.checked_sub(1).map(|it| rest[it].text()).unwrap_or_default();
            let names_program = |it: &str| own.contains(&it) || is_code_option(name, it);
            let found = [before.as_str(), option].into_iter().find(|it| names_program(it));
            let is_first_of_tar =
                role(name) == Role::Tar && idx == 1 && before.contains(['I', 'F']);
            if found.is_some() || runs || is_first_of_tar {
                return Err(format!(
                    "{} is a value of the event, and {base} {} may run it; declare it as one of [a, b] in trigger.data, or write the name literally",
                    word.quoted(),
                    found.unwrap_or_default()
                ));
            }
        }
        Ok(())
    }
}
