//! Settings of git, some of which are commands.

use super::words::Shown;
use super::{Check, INSTEAD};

/// Options of git itself with an argument in the next word.
const WITH_ARGUMENT: &[&str] =
    &["-C", "--exec-path", "--git-dir", "--namespace", "--super-prefix", "--work-tree"];
/// Options of `git config` with an argument in the next word.
const OF_CONFIG: &[&str] =
    &["--blob", "--comment", "--default", "--file", "--type", "--value", "-f"];

impl Check<'_> {
    pub(super) fn git(&mut self, rest: &[Shown]) -> Result<(), String> {
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            let text = word.text();
            words = after;
            if text == "-c" {
                if let Some(setting) = after.first() {
                    self.single("git", setting)?;
                    self.git_setting(setting, setting.setting().as_ref())?;
                }
                words = after.get(1..).unwrap_or_default();
            } else if WITH_ARGUMENT.contains(&text.as_str()) {
                after.first().map_or(Ok(()), |it| self.single("git", it))?;
                words = after.get(1..).unwrap_or_default();
            } else if text.starts_with("--config-env") {
                return Err(format!(
                    "{} sets a setting of git to a value that is not known; write -c NAME=VALUE",
                    word.quoted()
                ));
            } else if !text.starts_with('-') {
                let is_computed = self.values_of(word).is_err();
                return match text.as_str() {
                    "config" => self.git_config(after),
                    _ if is_computed || !word.is_literal() => {
                        self.decided(word).map(drop)?;
                        self.git_config(after)
                    }
                    _ => after.iter().try_for_each(|it| self.git_command(it)),
                };
            } else {
                self.decided(word)?;
            }
        }
        self.not_appended("git")
    }

    /// `git clone -c NAME=!code`.
    fn git_command(&mut self, word: &Shown) -> Result<(), String> {
        let Some(mut value) = word.setting() else { return Ok(()) };
        if !value.text().starts_with('!') || word.text().starts_with("--") {
            return Ok(());
        }
        value.pieces.remove(0);
        self.run_code(&value)
    }

    fn git_config(&mut self, rest: &[Shown]) -> Result<(), String> {
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            words = after;
            let text = word.text();
            if OF_CONFIG.contains(&text.as_str()) {
                words = after.get(1..).unwrap_or_default();
            } else if word.begins_unknown() || text.contains('.') {
                self.git_setting(word, after.first())?;
                words = after.get(1..).unwrap_or_default();
            }
        }
        Ok(())
    }

    /// Checks the name of a setting, up to `=`, and its value.
    fn git_setting(&mut self, name: &Shown, value: Option<&Shown>) -> Result<(), String> {
        let literal = name.name().ok_or_else(|| {
            format!("{} is the name of a setting of git, and has to be computed; write the name literally", name.quoted())
        });
        let literal = match literal {
            Err(_) if self.is_first => return Ok(()),
            literal => literal?.to_ascii_lowercase(),
        };
        let is_command = literal.starts_with("alias.")
            || [".helper", ".update"].iter().any(|it| literal.ends_with(it));
        let Some(value) = value else { return Ok(()) };
        if is_command {
            let values = self.values_of(value).map_err(|what| {
                format!("{} is {what}, where git may run it; {INSTEAD}", value.quoted())
            })?;
            for it in values {
                if let Some(code) = it.strip_prefix('!') {
                    self.code(code)?;
                }
            }
            return Ok(());
        }
        if !value.text().starts_with('!') {
            return Ok(());
        }
        let mut code = value.clone();
        code.pieces.remove(0);
        self.run_code(&code)
    }
}
