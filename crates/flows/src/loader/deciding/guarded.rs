//! Programs that run a program, or read settings, only if an option says so.

use super::Check;
use super::options::is_option;
use super::words::Shown;
use crate::command::programs::code_options;
use crate::loader::load::Load;

/// Programs an operand of which must not become an option, and the letters of their options with an
/// argument.
const GUARDED: &[(&str, &str)] = &[
    ("bsdtar", "bCfsTX"),
    ("gtar", "bCfgHKLNTVX"),
    ("rg", "ABCEMTdefgjmrt"),
    ("rsync", "BfMT"),
    ("scp", "ciJlPX"),
    ("sftp", "BbciJlPRsX"),
    ("sort", "kotST"),
    ("split", "abClnt"),
    ("ssh", "BbcDEeiJLlmOPpQRSWw"),
    ("tar", "bCfgHKLNTVX"),
    ("wget", "aABDIiloOPQRtTUwX"),
    ("zip", "bnPt"),
];

impl Check<'_> {
    /// Checks the options of a program that run a program or read settings: their arguments are
    /// known, and nothing else can become such an option.
    pub(super) fn guarded(&mut self, program: &str, rest: &[Shown]) -> Result<(), String> {
        let Some((code, longs)) = code_options(program) else { return Ok(()) };
        let arguments = GUARDED.iter().find(|(name, _)| *name == program).map(|(_, it)| *it);
        let is_guarded = arguments.is_some();
        let arguments = arguments.unwrap_or_default();
        let mut words = rest;
        if program.ends_with("tar")
            && let Some((first, after)) = rest.split_first()
            && !is_option(&first.text())
            && first.is_literal()
        {
            // Letters without a dash, whose arguments follow in their order.
            words = after;
            for letter in first.text().chars() {
                let Some((word, after)) = words.split_first() else { return Ok(()) };
                if code.contains(letter) {
                    self.runs(program, word)?;
                } else if arguments.contains(letter) {
                    self.single(program, word)?;
                } else {
                    continue;
                }
                words = after;
            }
        }
        while let Some((word, after)) = words.split_first() {
            let text = word.text();
            words = after;
            if text == "--" && word.is_literal() {
                return Ok(());
            }
            if !is_option(&text) {
                if is_guarded {
                    if word.may_split() {
                        self.single(program, word)?;
                    }
                    let instead = "write -- before it, after the options, or begin it with ./";
                    self.no_option(program, word, instead)?;
                }
                continue;
            }
            let name = text.trim_start_matches('-');
            let (name, is_set) = name.split_once('=').map_or((name, false), |(it, _)| (it, true));
            let is_long =
                |it: &&&str| name.len() > 1 && (it.starts_with(name) || name.starts_with(**it));
            let is_double = text.starts_with("--");
            let is_code = longs.iter().any(|it| is_long(&it));
            let is_exact = longs.contains(&name);
            if (is_double && is_code) || is_exact {
                if !is_set {
                    self.literal_option(program, word)?;
                }
                let value = if is_set { word.setting() } else { after.first().cloned() };
                value.map_or(Ok(()), |it| self.runs(program, &it))?;
                words = after.get(usize::from(!is_set)..).unwrap_or_default();
            } else if is_double {
                // The name is known: only its argument may be computed.
                if is_guarded && !is_set {
                    self.literal_option(program, word)?;
                } else if is_guarded {
                    self.single(program, word)?;
                }
            } else {
                words = self.letters(program, word, (code, arguments, is_guarded), after)?;
            }
        }
        Ok(())
    }

    /// Checks letters of options, and returns the words after their argument.
    fn letters<'a>(
        &mut self,
        program: &str,
        word: &Shown,
        (code, arguments, is_guarded): (&str, &str, bool),
        after: &'a [Shown],
    ) -> Result<&'a [Shown], String> {
        let text = word.text();
        let at = text.find(|it| code.contains(it) || arguments.contains(it));
        let (letter, value) = text.split_at(at.map_or(text.len(), |it| it + 1));
        let is_code = letter.ends_with(|it| code.contains(it));
        let is_next = at.is_some() && value.is_empty() && word.is_literal();
        if is_code || (is_guarded && at.is_none()) {
            self.literal_option(program, word)?;
        }
        let next = after.first().filter(|_| is_next);
        match next {
            Some(it) if is_code => self.runs(program, it)?,
            Some(it) => self.single(program, it)?,
            None if is_code => self.runs(program, &Shown::exact(value))?,
            None => {}
        }
        Ok(after.get(usize::from(next.is_some())..).unwrap_or_default())
    }

    /// Checks the argument of an option that names a program or a file of settings.
    fn runs(&mut self, program: &str, word: &Shown) -> Result<(), String> {
        self.single(program, word)?;
        let known = self.values_of(word).map_err(|what| (word.quoted(), what));
        let values = known.map_err(|(word, what)| {
            format!("{word} is a program or a file of settings for {program}, and contains {what}; write it literally, or put the command into a script of the project")
        })?;
        let parts =
            values.iter().flat_map(|it| it.split(|it: char| it.is_whitespace() || it == '='));
        let names = values.iter().cloned().chain(parts.map(str::to_owned)).collect();
        self.note(names, Load::File);
        Ok(())
    }

    /// Checks a program any of whose words may be a program or code.
    pub(super) fn all_known(&mut self, program: &str, rest: &[Shown]) -> Result<(), String> {
        for word in rest {
            self.single(program, word)?;
            self.decided(word)?;
            if ["runuser", "script", "su", "watch"].contains(&program) && !is_option(&word.text()) {
                self.run_code(word)?;
            }
        }
        Ok(())
    }
}
