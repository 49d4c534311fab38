//! Interpreters of other languages than a shell's.

use super::Check;
use super::input::Input;
use super::options::{Options, is_option};
use super::words::Shown;

/// The options whose argument is code.
fn code_options(program: &str) -> &'static [&'static str] {
    match program {
        "python" | "pythonw" | "pypy" => &["c"],
        "node" | "nodejs" | "tsx" | "ts-node" => &["e", "eval", "p", "print"],
        "perl" => &["e", "E"],
        "php" => &["r", "B", "R", "E"],
        _ => &["e"],
    }
}

impl Check<'_> {
    pub(super) fn interpreter(&mut self, program: &str, rest: &[Shown]) -> Result<(), String> {
        let options = Options::of_interpreter(program);
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            if let Some(all) = self.unfolded(words)? {
                return self.nested(words, &all, |check, it| check.interpreter(program, it));
            }
            let text = word.text();
            if text == "-" {
                break;
            }
            if text == "--" {
                return after.first().map_or(Ok(()), |it| self.script(it));
            }
            if !is_option(&text) {
                return self.script(word);
            }
            self.literal_option(program, word)?;
            // With a value in the word, it takes no other one.
            let is_whole = text.starts_with("--") && text.contains('=');
            let Some(seen) = options.read(&text) else {
                if is_whole {
                    words = after;
                    continue;
                }
                // Any of the following words could be the script.
                return after.iter().try_for_each(|it| self.script(it));
            };
            if code_options(program).contains(&seen.name) {
                return Ok(());
            }
            let value = seen.value.map(Shown::exact);
            let value = value.or_else(|| after.first().filter(|_| seen.takes_next).cloned());
            let is_python = program.starts_with("py");
            match (seen.name, value) {
                ("m", Some(module)) if is_python => return self.script(&module),
                ("f", Some(script)) if program == "php" => return self.script(&script),
                ("C", Some(folder)) if program == "ruby" => self.go(&folder),
                _ => {}
            }
            let (argument, left) = after.split_at(usize::from(seen.takes_next).min(after.len()));
            argument.iter().try_for_each(|it| self.single(program, it))?;
            words = left;
        }
        self.not_appended(program)?;
        // Code in another language, but its file decides.
        let files = std::mem::take(&mut self.input);
        files.iter().try_for_each(|it| match it {
            Input::File(it) => self.decided(it).map(drop),
            Input::Text(_) | Input::Exact(_) | Input::Other => Ok(()),
        })
    }

    /// Checks the files of `awk -f` and `sed -f`; their code is in another language.
    pub(super) fn script_by_option(&mut self, program: &str, rest: &[Shown]) -> Result<(), String> {
        let options = Options::of_interpreter(program);
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            let text = word.text();
            words = after;
            if text == "--" {
                return Ok(());
            }
            if !is_option(&text) {
                let instead = "write -- before it, after the options, or begin it with ./";
                self.no_option(program, word, instead)?;
                if program.ends_with("awk") {
                    // The program, and then files.
                    return self.single(program, word);
                }
                continue;
            }
            self.literal_option(program, word)?;
            let Some(seen) = options.read(&text) else {
                // Any of the following words could be the script.
                return after.iter().try_for_each(|it| self.script(it));
            };
            let is_awk = program.ends_with("awk");
            let is_script = matches!(seen.name, "f" | "file")
                || (is_awk && matches!(seen.name, "i" | "include" | "l" | "load"));
            if !is_script {
                after
                    .iter()
                    .take(usize::from(seen.takes_next))
                    .try_for_each(|it| self.single(program, it))?;
            } else if seen.takes_next {
                match after.first() {
                    Some(it) => self.script(it)?,
                    None => self.not_appended(program)?,
                }
            } else {
                self.script(&Shown::exact(seen.value.unwrap_or_default()))?;
            }
            words = &after[usize::from(seen.takes_next).min(after.len())..];
        }
        Ok(())
    }
}
