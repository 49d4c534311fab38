//! Builtins that set variables.

use super::Check;
use super::options::{MARKERS, Options, is_option};
use super::scope::is_identifier;
use super::words::Shown;
use crate::command::literals::is_resolving;
use crate::command::subset::{Operand, check_operands};

impl Check<'_> {
    /// Checks a word that sets a variable, or names one.
    pub(super) fn set(&mut self, program: &str, word: &Shown) -> Result<(), String> {
        let Some(name) = word.name() else {
            if self.is_first {
                return Ok(());
            }
            return Err(format!(
                "{} is the name of a variable that {program} sets, and has to be computed; write the name literally",
                word.quoted()
            ));
        };
        let name = name.strip_suffix('+').unwrap_or(&name);
        if ["env", "genv", "sudo", "doas"].contains(&program) {
            self.single(program, word)?;
        }
        let is_marker = MARKERS.contains(&program);
        if is_resolving(name) && (word.sets() || !is_marker) {
            return Err(format!(
                "{} sets {name}, which changes the programs that it runs; do not set it, and name each program by its path",
                word.quoted()
            ));
        }
        if is_marker {
            check_identifier(program, name, word)?;
        }
        // Marking a variable for programs does not change it.
        let is_assigned = program == "export" && self.exported.iter().any(|it| it == name);
        if (word.sets() || program != "export") && !is_assigned {
            self.unknown(name);
        }
        let Some(value) = word.setting() else { return Ok(()) };
        self.event_variable(name, &value)?;
        self.check_value(&value)
    }

    /// Checks a word that names a variable.
    pub(super) fn variable_name(&mut self, program: &str, word: &Shown) -> Result<(), String> {
        let Some(name) = word.name() else { return self.set(program, word) };
        check_identifier(program, &name, word)
    }

    /// Checks `export`, `declare` and the like.
    pub(super) fn mark(&mut self, program: &str, rest: &[Shown]) -> Result<(), String> {
        for word in rest {
            let text = word.text();
            if text.starts_with(['-', '+']) {
                self.decided(word)?;
                if text.contains('n') && !["export", "readonly"].contains(&program) {
                    return Err(format!(
                        "{program} {} makes a variable stand for another one; name the variable itself",
                        word.quoted()
                    ));
                }
                if text.contains('i') {
                    return Err(format!(
                        "{program} {} evaluates values as code; put the arithmetic into a script of the project",
                        word.quoted()
                    ));
                }
            } else {
                self.set(program, word)?;
            }
        }
        Ok(())
    }

    /// Checks `read`, `mapfile` and `getopts`.
    pub(super) fn read(&mut self, program: &str, rest: &[Shown]) -> Result<(), String> {
        let options = Options::of_reader(program);
        let mut words = rest;
        if program == "getopts" {
            let is_end = rest.first().is_some_and(|it| it.text() == "--");
            words = rest.get(1 + usize::from(is_end)..).unwrap_or_default();
            return words.first().map_or(Ok(()), |it| self.read_into(program, it));
        }
        while let Some((word, after)) = words.split_first() {
            let text = word.text();
            words = after;
            if text == "--" || !is_option(&text) {
                if text != "--" {
                    self.read_into(program, word)?;
                }
                continue;
            }
            let seen = options.read(&text).ok_or_else(|| {
                format!(
                    "{} is no known option of {program}; known are {}",
                    word.quoted(),
                    options.listed()
                )
            })?;
            if (program, seen.name) == ("read", "a") {
                let value = seen.value.map(Shown::exact);
                let array = value.or_else(|| after.first().cloned());
                array.map_or(Ok(()), |it| self.read_into(program, &it))?;
            }
            let (argument, left) = after.split_at(usize::from(seen.takes_next).min(after.len()));
            argument.iter().try_for_each(|it| self.single(program, it))?;
            words = left;
        }
        Ok(())
    }

    fn read_into(&mut self, program: &str, word: &Shown) -> Result<(), String> {
        if word.name().is_some() {
            self.variable_name(program, word)?;
        }
        self.set(program, word)
    }

    pub(super) fn unset(&mut self, rest: &[Shown]) -> Result<(), String> {
        for word in rest.iter().filter(|it| !is_option(&it.text())) {
            self.variable_name("unset", word)?;
            word.name().iter().for_each(|it| self.unknown(it));
        }
        Ok(())
    }

    pub(super) fn printf(&mut self, rest: &[Shown]) -> Result<(), String> {
        let Some(first) = rest.first() else { return Ok(()) };
        if first.begins_unknown() {
            let values = self.values_of(first).map_err(|what| {
                format!(
                    "{} is {what}, and printf would take an option from it, which can set a variable; write printf '%s' before it",
                    first.quoted()
                )
            })?;
            for it in values.iter().filter(|_| !self.is_first).collect::<Vec<_>>() {
                self.printf(&[&[Shown::exact(it)], &rest[1..]].concat())?;
            }
            return Ok(());
        }
        let text = first.text();
        match text.strip_prefix("-v") {
            Some("") => rest.get(1).map_or(Ok(()), |it| self.read_into("printf", it)),
            Some(name) => self.read_into("printf", &Shown::exact(name)),
            None => Ok(()),
        }
    }
}

/// Checks the words of `test` and `[`.
pub(super) fn test(rest: &[Shown]) -> Result<(), String> {
    let operand = |it: &Shown| match it.plain() {
        _ if it.may_split() => Operand::Bare,
        Some(text) => Operand::Literal(text),
        None => Operand::Computed,
    };
    let operands: Vec<Operand> = rest.iter().map(operand).collect();
    let end = [Operand::Literal("]".to_owned())];
    let words: Vec<&str> = rest.iter().map(Shown::written).collect();
    check_operands(operands.strip_suffix(&end).unwrap_or(&operands))
        .map_err(|what| format!("{:.80?} {what}", words.join(" ")))
}

fn check_identifier(program: &str, name: &str, word: &Shown) -> Result<(), String> {
    if is_identifier(name) {
        return Ok(());
    }
    Err(format!(
        "{} is no plain name of a variable, and {program} may evaluate it; write a name of letters, digits and _",
        word.quoted()
    ))
}
