//! Which arguments of a program decide what runs.

use super::builtins::test;
use super::options::{MARKERS, Options, is_option, is_shell};
use super::words::Shown;
use super::{Check, INSTEAD};
use crate::command::programs::{
    Role, SCRIPT_BY_OPTION, SCRIPTS_READERS, base, role, runs_words, unversioned,
};

/// Words before a command that the grammar may take for its name.
const RESERVED: &[&str] =
    &["!", "{", "}", "do", "done", "elif", "else", "fi", "if", "then", "until", "while"];

impl Check<'_> {
    /// Checks the arguments of a program with a known name.
    pub(super) fn known(&mut self, name: &str, rest: &[Shown]) -> Result<(), String> {
        if name.contains('/') {
            self.look(name);
        }
        self.posix(name, rest)?;
        let base = base(name);
        match name {
            "." | "source" => return self.sourced(rest),
            "cd" | "chdir" | "pushd" => {
                if !rest.iter().any(|it| !is_option(&it.text())) {
                    self.go(&Shown::new("~"));
                }
                for folder in rest {
                    self.go(folder);
                }
                return Ok(());
            }
            "eval" => {
                let is_end = rest.first().is_some_and(|it| it.text() == "--" && it.is_literal());
                return self.run_code(&Shown::joined(&rest[usize::from(is_end)..]));
            }
            "trap" => {
                let code = rest.iter().find(|it| !is_option(&it.text()));
                return code.map_or(Ok(()), |it| self.run_code(it));
            }
            "alias" | "bind" | "enable" | "fc" => {
                return Err(format!(
                    "{name} can make other words of what the command says; write each command where it runs"
                ));
            }
            "jobs" if rest.iter().any(|it| it.text().contains('x') || it.begins_unknown()) => {
                return Err(format!("jobs -x runs a program in a way of its own; {INSTEAD}"));
            }
            "hash" => return self.each(rest.iter()),
            "complete" | "compgen" => return rest.iter().try_for_each(|it| self.run_code(it)),
            "let" => {
                return Err("let evaluates the values of names as code; put the arithmetic into a script of the project".to_owned());
            }
            "set" => return self.set_options(rest),
            "shopt" => return self.shopt(rest),
            "test" | "[" => return test(rest),
            "unset" => return self.unset(rest),
            "wait" if rest.iter().any(|it| it.text().contains('p')) => return self.unset(rest),
            _ if MARKERS.contains(&name) => return self.mark(name, rest),
            "read" | "mapfile" | "readarray" | "getopts" => return self.read(name, rest),
            "printf" => return self.printf(rest),
            "command" if rest.first().is_some_and(|it| ["-v", "-V"].contains(&&*it.text())) => {
                return Ok(());
            }
            "coproc" => {
                rest.first().and_then(Shown::name).iter().for_each(|it| self.unknown(it));
                // `coproc NAME { command; }`.
                if rest.get(1).is_some_and(|it| it.text() == "{") {
                    self.simple(&rest[1..])?;
                }
            }
            "xargs" | "gxargs" => return self.xargs(rest),
            _ if RESERVED.contains(&name) => return self.simple(rest),
            _ => {}
        }
        if base == "ld.so" || (base.starts_with("ld-") && base.contains(".so")) {
            return Err(format!("{base} runs a program in a way of its own; {INSTEAD}"));
        }
        if is_shell(base) {
            return self.shell(unversioned(base), rest);
        }
        if runs_words(base) {
            return self.all_known(unversioned(base), rest);
        }
        match Options::of_runner(base) {
            Some(_) if base.ends_with("xargs") => return self.xargs(rest),
            Some(options) => return self.runner(base, options, rest),
            None => {}
        }
        if role(name) != Role::Interpreter {
            self.event_options(name, rest)?;
        }
        match role(name) {
            Role::Git => self.git(rest),
            Role::Find => self.find(rest),
            _ if SCRIPT_BY_OPTION.contains(&base) => self.script_by_option(base, rest),
            _ if SCRIPTS_READERS.contains(&base) => self.each(rest.iter()),
            Role::Interpreter => self.interpreter(unversioned(base), rest),
            _ => self.guarded(unversioned(base), rest),
        }
    }

    /// Checks the script of `.`.
    fn sourced(&mut self, rest: &[Shown]) -> Result<(), String> {
        let rest = match rest.split_first() {
            Some((first, after)) if first.text() == "--" => after,
            _ => rest,
        };
        match rest.first() {
            Some(word) if is_option(&word.text()) => Err(format!(
                "{} is no known option of .; write the path of the script",
                word.quoted()
            )),
            Some(word) => self.script(word),
            None => Ok(()),
        }
    }

    /// Each of these words decides.
    pub(super) fn each<'a>(
        &mut self,
        mut words: impl Iterator<Item = &'a Shown>,
    ) -> Result<(), String> {
        words.try_for_each(|it| self.decided(it).map(drop))
    }

    /// The words with each value of the first one in its place; nothing if it is literal.
    pub(super) fn unfolded(&mut self, words: &[Shown]) -> Result<Option<Vec<Vec<Shown>>>, String> {
        let Some((first, rest)) = words.split_first() else { return Ok(None) };
        let values = self.decided(first)?;
        if first.is_literal() {
            return Ok(None);
        }
        self.check_one(first, &values)?;
        let all = values.iter().map(|it| [&[Shown::exact(it)], rest].concat());
        Ok(Some(all.collect()))
    }
}
