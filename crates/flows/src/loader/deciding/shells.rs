//! Shells, and the names and texts that they run.

use super::words::Shown;
use super::{Check, INSTEAD, ReadBy};

/// The letters of options that change nothing about which commands a shell runs.
const LETTERS: &str = "abefhlmnprtuvxBCEP";
const LONG: &[&str] = &["--login", "--noprofile", "--norc", "--posix"];
/// What `set -o` and `sh -o` may name.
const SETTINGS: &[&str] = &[
    "allexport",
    "errexit",
    "errtrace",
    "functrace",
    "monitor",
    "noclobber",
    "noexec",
    "noglob",
    "nolog",
    "notify",
    "nounset",
    "pipefail",
    "posix",
    "privileged",
    "verbose",
    "xtrace",
];
/// What `shopt` may name.
const SHOPTS: &[&str] =
    &["dotglob", "failglob", "globstar", "inherit_errexit", "lastpipe", "nocaseglob", "nullglob"];

impl Check<'_> {
    /// Checks the arguments of a shell.
    pub(super) fn shell(&mut self, name: &str, rest: &[Shown]) -> Result<(), String> {
        let reader = if name == "bash" { ReadBy::Bash } else { ReadBy::Any };
        let before = std::mem::replace(&mut self.read_by, reader);
        let checked = self.shell_words(name, rest);
        self.read_by = before;
        checked
    }

    fn shell_words(&mut self, name: &str, rest: &[Shown]) -> Result<(), String> {
        let mut is_code = false;
        let mut has_options = true;
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            if is_code && (!has_options || !self.may_be_option(word)) {
                return self.run_code(word);
            }
            if let Some(all) = self.unfolded(words)? {
                let before = &rest[..rest.len() - words.len()];
                return self.nested(rest, &all, |check, it| {
                    check.shell_words(name, &[before, it].concat())
                });
            }
            words = after;
            let text = word.text();
            if !has_options || !text.starts_with(['-', '+']) {
                // The following words are the script's.
                return if is_code { self.run_code(word) } else { self.script(word) };
            }
            match text.as_str() {
                "-" | "--" => has_options = false,
                // The words are its arguments.
                "-s" if !is_code => return self.read_commands(name),
                _ if LONG.contains(&text.as_str()) && !is_other(name) => {}
                _ => {
                    let takes_next = shell_option(name, word)?;
                    is_code |= text.contains('c');
                    if takes_next {
                        if let Some(setting) = words.first() {
                            self.setting(setting, SETTINGS)?;
                        }
                        words = words.get(1..).unwrap_or_default();
                    }
                }
            }
        }
        if is_code { Ok(()) } else { self.read_commands(name) }
    }

    /// Whether a word after `-c` could be another option.
    fn may_be_option(&self, word: &Shown) -> bool {
        let begins = |it: &String| it.starts_with(['-', '+']);
        match self.values_of(word) {
            Ok(values) => values.iter().any(begins),
            Err(_) => false,
        }
    }

    fn setting(&mut self, word: &Shown, known: &[&str]) -> Result<(), String> {
        for name in self.decided(word)? {
            if !known.contains(&name.as_str()) && !self.is_first {
                return Err(format!(
                    "{} is no setting of a shell that a command may change; allowed are {}",
                    word.quoted(),
                    known.join(" ")
                ));
            }
            self.posix_setting(&name)?;
        }
        Ok(())
    }

    /// Checks `set`.
    pub(super) fn set_options(&mut self, rest: &[Shown]) -> Result<(), String> {
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            let text = word.text();
            if word.begins_unknown() && self.values_of(word).is_err() {
                return Err(format!(
                    "{} may be an option of set; write set -- before it",
                    word.quoted()
                ));
            }
            if text == "--" || text == "-" || !text.starts_with(['-', '+']) {
                return Ok(());
            }
            self.decided(word)?;
            let letters = &text[1..];
            let plain = letters.strip_suffix('o').unwrap_or(letters);
            if letters.is_empty() || !plain.chars().all(|it| LETTERS.contains(it)) {
                return Err(format!(
                    "{} sets options of the shell that a command may not change; {INSTEAD}",
                    word.quoted()
                ));
            }
            self.posix_letters(plain)?;
            words = after;
            if plain.len() < letters.len()
                && let Some((setting, after)) = words.split_first()
            {
                self.setting(setting, SETTINGS)?;
                words = after;
            }
        }
        Ok(())
    }

    /// Checks `shopt`.
    pub(super) fn shopt(&mut self, rest: &[Shown]) -> Result<(), String> {
        let is_of_set = rest.iter().any(|it| it.text().starts_with('-') && it.text().contains('o'));
        let known = if is_of_set { SETTINGS } else { SHOPTS };
        for word in rest {
            if word.text().starts_with('-') {
                self.decided(word)?;
            } else {
                self.setting(word, known)?;
            }
        }
        Ok(())
    }

    /// Checks each value of the first word of `rest`, in its place.
    pub(super) fn nested(
        &mut self,
        rest: &[Shown],
        all: &[Vec<Shown>],
        mut check: impl FnMut(&mut Self, &[Shown]) -> Result<(), String>,
    ) -> Result<(), String> {
        self.depth += 1;
        self.spend(rest.iter().map(Shown::len).sum())?;
        all.iter().try_for_each(|it| check(self, it))?;
        self.depth -= 1;
        Ok(())
    }
}

/// Whether the options of a shell are other ones.
fn is_other(name: &str) -> bool {
    ["csh", "fish", "tcsh"].contains(&name)
}

/// Checks letters that are options of a shell, and returns whether an argument follows.
fn shell_option(name: &str, word: &Shown) -> Result<bool, String> {
    let text = word.text();
    let letters = text.strip_prefix('-').unwrap_or_default();
    let plain = letters.strip_suffix('o').unwrap_or(letters);
    let is_known = |it: char| it == 'c' || LETTERS.contains(it);
    let is_fine = if is_other(name) {
        letters == "c"
    } else {
        !letters.is_empty() && plain.chars().all(is_known)
    };
    if !is_fine {
        return Err(format!(
            "{} is no known option of {name}, so what it runs is not known; known are -c, {}, -o NAME at the end of a word, and {}",
            word.quoted(),
            LETTERS.chars().map(|it| format!("-{it}")).collect::<Vec<_>>().join(" "),
            LONG.join(" ")
        ));
    }
    Ok(plain.len() < letters.len())
}
