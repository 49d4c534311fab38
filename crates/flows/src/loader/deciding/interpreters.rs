//! Interpreters of other languages than a shell's.

use super::Check;
use super::input::Input;
use super::options::{Options, is_option};
use super::words::Shown;
use crate::loader::load::Load;

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

/// Whether the argument of an option is a script, too.
fn loads(program: &str, option: &str) -> bool {
    match program {
        "node" | "nodejs" | "tsx" | "ts-node" => {
            ["r", "require", "import", "loader", "experimental-loader"].contains(&option)
        }
        "perl" => ["M", "m"].contains(&option),
        "ruby" => option == "r",
        "lua" | "luajit" => option == "l",
        // Settings can name scripts.
        "php" => ["c", "d", "z"].contains(&option),
        _ => false,
    }
}

impl Check<'_> {
    pub(super) fn interpreter(&mut self, program: &str, rest: &[Shown]) -> Result<(), String> {
        let options = Options::of_interpreter(program);
        let mut words = rest;
        let mut is_code = false;
        while let Some((word, after)) = words.split_first() {
            if is_code {
                let instead = "write -- before it, or begin it with ./";
                self.no_option(program, word, instead)?;
            } else if let Some(all) = self.unfolded(words)? {
                return self.nested(words, &all, |check, it| check.interpreter(program, it));
            }
            let text = word.text();
            if text == "-" {
                break;
            }
            if text == "--" {
                return match after.first() {
                    Some(it) if !is_code => self.loaded(it),
                    _ => Ok(()),
                };
            }
            if !is_option(&text) {
                return if is_code { Ok(()) } else { self.loaded(word) };
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
                return after.iter().try_for_each(|it| self.loaded(it));
            };
            let value = seen.value.map(Shown::exact);
            let value = value.or_else(|| after.first().filter(|_| seen.takes_next).cloned());
            let is_python = program.starts_with("py");
            match (seen.name, value) {
                (name, Some(code)) if code_options(program).contains(&name) => {
                    self.literal_code(program, &code)?;
                    // Lua runs a script after it.
                    is_code = !program.starts_with("lua");
                    if is_python {
                        return Ok(());
                    }
                }
                ("m", Some(module)) if is_python => {
                    let names = self.decided(&module)?;
                    self.note(names, Load::Module);
                    return self.script(&module);
                }
                ("f", Some(script)) if program == "php" => return self.loaded(&script),
                ("C", Some(folder)) if program == "ruby" => self.go(&folder),
                // The names of modules, not of folders.
                ("l" | "M" | "m", Some(module)) if loads(program, seen.name) => {
                    self.script(&module)?;
                }
                (name, Some(script)) if loads(program, name) => self.loaded(&script)?,
                _ => {}
            }
            let (argument, left) = after.split_at(usize::from(seen.takes_next).min(after.len()));
            argument.iter().try_for_each(|it| self.single(program, it))?;
            words = left;
        }
        if is_code {
            return Ok(());
        }
        // Code in another language, but its file decides.
        let files = std::mem::take(&mut self.input);
        files.iter().try_for_each(|it| match it {
            Input::File(it) => self.decided(it).map(drop),
            Input::Text(_) | Input::Exact(_) | Input::Other => Ok(()),
        })
    }

    /// Checks the name of a script, which must not be a folder.
    fn loaded(&mut self, word: &Shown) -> Result<(), String> {
        self.script(word)?;
        let names = self.decided(word)?;
        self.note(names, Load::Script);
        Ok(())
    }

    pub(super) fn note(&self, names: Vec<String>, load: impl Fn(String) -> Load) {
        if !self.is_first {
            self.given.loads.borrow_mut().extend(names.into_iter().map(load));
        }
    }

    /// Checks that code in another language is known.
    fn literal_code(&self, program: &str, code: &Shown) -> Result<(), String> {
        self.single(program, code)?;
        self.foreign_codes_of(code).map(drop).map_err(|what| {
            let instead = if program.ends_with("sed") {
                "write --sandbox before it (GNU sed)"
            } else {
                "write the code in single quotes, and read the value from an argument or from the environment"
            };
            format!("{} is code of {program}, and contains {what}; {instead}", code.quoted())
        })
    }

    /// Checks the files of `awk -f` and `sed -f`; their code is in another language.
    pub(super) fn script_by_option(&mut self, program: &str, rest: &[Shown]) -> Result<(), String> {
        let options = Options::of_interpreter(program);
        let mut words = rest;
        let (mut is_code, mut is_sandbox) = (false, false);
        while let Some((word, after)) = words.split_first() {
            let text = word.text();
            words = after;
            if text == "--" {
                let code = after.first().filter(|_| !is_code && !is_sandbox);
                return code.map_or(Ok(()), |it| self.literal_code(program, it));
            }
            if !is_option(&text) {
                let instead = "write -- before it, after the options, or begin it with ./";
                self.no_option(program, word, instead)?;
                if program.ends_with("awk") {
                    // The program, and then files.
                    return if is_code { Ok(()) } else { self.literal_code(program, word) };
                }
                if !is_code && !is_sandbox {
                    self.literal_code(program, word)?;
                }
                is_code = true;
                continue;
            }
            self.literal_option(program, word)?;
            let Some(seen) = options.read(&text) else {
                // Any of the following words could be the script.
                return after.iter().try_for_each(|it| self.script(it));
            };
            let is_awk = program.ends_with("awk");
            is_sandbox |= text == "--sandbox";
            let is_script = matches!(seen.name, "f" | "file")
                || (is_awk && matches!(seen.name, "i" | "include" | "l" | "load"));
            let names = if is_awk { ["e", "source"] } else { ["e", "expression"] };
            if names.contains(&seen.name) {
                is_code = true;
                let code = seen.value.map(Shown::exact);
                let code = code.or_else(|| after.first().cloned());
                let code = code.filter(|_| !is_sandbox);
                code.map_or(Ok(()), |it| self.literal_code(program, &it))?;
            }
            is_code |= is_script;
            if !is_script {
                after
                    .iter()
                    .take(usize::from(seen.takes_next))
                    .try_for_each(|it| self.single(program, it))?;
            } else if seen.takes_next {
                after.first().map_or(Ok(()), |it| self.script(it))?;
            } else {
                self.script(&Shown::exact(seen.value.unwrap_or_default()))?;
            }
            words = &after[usize::from(seen.takes_next).min(after.len())..];
        }
        Ok(())
    }
}
