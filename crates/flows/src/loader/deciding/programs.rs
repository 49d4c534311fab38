//! Which arguments of a program decide what runs.

use super::Check;
use super::options::{MARKERS, RUNNERS, SHELLS, is_code, is_option, takes_next};
use super::words::Shown;
use crate::command::programs::{
    PREFIXES, Role, SCRIPT_BY_OPTION, SCRIPTS_READERS, base, role, unversioned,
};

impl Check<'_> {
    /// Checks the arguments of a program with a known name.
    pub(super) fn known(&mut self, name: &str, rest: &[Shown]) -> Result<(), String> {
        if name.contains('/') {
            self.look(name);
        }
        let base = base(name);
        let plain = unversioned(base);
        match name {
            "." | "source" => {
                for script in rest.iter().take(1) {
                    self.look(&script.text());
                }
                return self.each(rest.iter().take(2));
            }
            "cd" | "chdir" | "pushd" => {
                for folder in rest {
                    self.go(folder);
                }
                return Ok(());
            }
            "eval" => return self.run_code(&Shown::joined(rest)),
            "trap" => {
                let code = rest.iter().find(|it| !is_option(&it.text()));
                return code.map_or(Ok(()), |it| self.run_code(it));
            }
            "alias" => {
                let mut codes = rest.iter().filter_map(Shown::setting);
                return codes.try_for_each(|it| self.run_code(&it));
            }
            "hash" | "enable" => return self.each(rest.iter()),
            "complete" | "compgen" => return rest.iter().try_for_each(|it| self.run_code(it)),
            "let" => return rest.iter().try_for_each(|it| self.arithmetic(&it.text())),
            _ if MARKERS.contains(&name) => return self.mark(name, rest),
            "read" | "mapfile" | "readarray" | "getopts" => return self.read(name, rest),
            "printf" => return self.printf(rest),
            "command" if rest.first().is_some_and(|it| ["-v", "-V"].contains(&&*it.text())) => {
                return Ok(());
            }
            "command" | "builtin" | "exec" | "coproc" => return self.prefix(name, rest),
            "xargs" | "gxargs" => return self.xargs(rest),
            _ => {}
        }
        if SHELLS.contains(&base) {
            return self.shell(rest);
        }
        if PREFIXES.contains(&base) || RUNNERS.contains(&base) {
            return self.prefix(base, rest);
        }
        match role(name) {
            // `git -c alias.a='!code'`.
            Role::Git => {
                let mut codes = rest.iter().filter_map(Shown::setting).filter_map(|mut it| {
                    let is_code = it.text().starts_with('!');
                    is_code.then(|| it.pieces.remove(0))?;
                    Some(it)
                });
                codes.try_for_each(|it| self.run_code(&it))
            }
            Role::Find => self.find(rest),
            _ if SCRIPT_BY_OPTION.contains(&base) => self.script_by_option(rest),
            _ if SCRIPTS_READERS.contains(&base) => self.each(rest.iter()),
            Role::Interpreter => self.interpreter(plain, rest),
            _ => Ok(()),
        }
    }

    /// Each of these words decides.
    fn each<'a>(&mut self, mut words: impl Iterator<Item = &'a Shown>) -> Result<(), String> {
        words.try_for_each(|it| self.decided(it).map(drop))
    }

    /// The words with each value of the first one in its place; nothing if it is literal.
    fn unfolded(&mut self, words: &[Shown]) -> Result<Option<Vec<Vec<Shown>>>, String> {
        let Some((first, rest)) = words.split_first() else { return Ok(None) };
        let values = self.decided(first)?;
        if first.is_literal() {
            return Ok(None);
        }
        let is_split = first.is_split();
        let all = values.iter().map(|it| {
            let mut words = if is_split { Shown::split(it) } else { vec![Shown::exact(it)] };
            words.extend_from_slice(rest);
            words
        });
        Ok(Some(all.collect()))
    }

    /// Checks the arguments of a program that runs the program after its own arguments.
    fn prefix(&mut self, program: &str, rest: &[Shown]) -> Result<(), String> {
        let own = usize::from(
            ["timeout", "gtimeout", "flock", "chrt", "taskset", "gosu", "su-exec"]
                .contains(&program),
        );
        self.prefix_from(program, rest, own)
    }

    fn prefix_from(
        &mut self,
        program: &str,
        mut rest: &[Shown],
        mut own: usize,
    ) -> Result<(), String> {
        let is_env = ["env", "sudo", "doas"].contains(&program);
        while let Some((word, after)) = rest.split_first() {
            let text = word.text();
            if is_env && word.sets() && !is_option(&text) {
                self.set(program, word)?;
            } else if own > 0 && !word.is_split() && !is_option(&text) {
                // A word in quotes is one argument, whatever it is.
                own -= 1;
            } else if let Some(all) = self.unfolded(rest)? {
                self.depth += 1;
                self.spend(rest.iter().map(Shown::len).sum())?;
                all.iter().try_for_each(|it| self.prefix_from(program, it, own))?;
                self.depth -= 1;
                return Ok(());
            } else if is_option(&text) {
                if program == "flock" && ["-c", "--command"].contains(&text.as_str()) {
                    return after.first().map_or(Ok(()), |it| self.run_code(it));
                }
                rest = self.option(program, word, after)?;
                continue;
            } else if text != "-" {
                return self.simple(rest);
            }
            rest = after;
        }
        Ok(())
    }

    /// Checks an option of a program that runs another one, and returns the words after it.
    fn option<'a>(
        &mut self,
        program: &str,
        word: &Shown,
        after: &'a [Shown],
    ) -> Result<&'a [Shown], String> {
        let text = word.text();
        let is_short = !text.starts_with("--");
        if program == "env" && ((is_short && text.contains('S')) || text.starts_with("--s")) {
            return Err(format!(
                "{} of env splits a text into words by rules of its own; write the program and its arguments as words",
                word.quoted()
            ));
        }
        let skipped = usize::from(takes_next(program, &text)).min(after.len());
        if ["-C", "-D", "--chdir"].contains(&text.as_str()) {
            for folder in &after[..skipped] {
                self.go(folder);
            }
        }
        Ok(&after[skipped..])
    }

    fn xargs(&mut self, rest: &[Shown]) -> Result<(), String> {
        let texts: Vec<String> = rest.iter().map(Shown::text).collect();
        let given = texts.iter().enumerate().find_map(|(idx, it)| match it.strip_prefix("-I") {
            Some("") => texts.get(idx + 1).cloned(),
            other => other.map(str::to_owned),
        });
        let before = self.hole.replace(given.unwrap_or_else(|| "{}".to_owned()));
        let checked = self.prefix("xargs", rest);
        self.hole = before;
        checked
    }

    fn find(&mut self, rest: &[Shown]) -> Result<(), String> {
        const EXEC: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

        let is = |it: &Shown, wanted: &[&str]| {
            it.plain().is_some_and(|it| wanted.contains(&it.as_str()))
        };
        let before = self.hole.replace("{}".to_owned());
        for (idx, _) in rest.iter().enumerate().filter(|(_, it)| is(it, &EXEC)) {
            let words = &rest[idx + 1..];
            let end = words.iter().position(|it| is(it, &[";", "+"])).unwrap_or(words.len());
            self.simple(&words[..end])?;
        }
        self.hole = before;
        Ok(())
    }

    fn shell(&mut self, rest: &[Shown]) -> Result<(), String> {
        let mut is_code = false;
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            if is_code && !word.is_literal() {
                return self.run_code(word);
            }
            if let Some(all) = self.unfolded(words)? {
                let before = &rest[..rest.len() - words.len()];
                self.depth += 1;
                self.spend(rest.iter().map(Shown::len).sum())?;
                all.iter().try_for_each(|it| self.shell(&[before, it].concat()))?;
                self.depth -= 1;
                return Ok(());
            }
            words = after;
            let text = word.text();
            match text.as_str() {
                "-" | "--" => {}
                "--rcfile" | "--init-file" => {
                    self.each(words.iter().take(1))?;
                    words = words.get(1..).unwrap_or_default();
                }
                _ if text.starts_with("--") => {}
                _ if text.starts_with(['-', '+']) => {
                    is_code |= text.starts_with('-') && text.contains('c');
                    let has_next = usize::from(text.ends_with(['o', 'O'])).min(words.len());
                    words = &words[has_next..];
                }
                _ if is_code => return self.run_code(word),
                // The following words are the script's.
                _ => {
                    self.look(&text);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn interpreter(&mut self, program: &str, rest: &[Shown]) -> Result<(), String> {
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            if let Some(all) = self.unfolded(words)? {
                self.depth += 1;
                self.spend(words.iter().map(Shown::len).sum())?;
                all.iter().try_for_each(|it| self.interpreter(program, it))?;
                self.depth -= 1;
                return Ok(());
            }
            let text = word.text();
            if text == "-m" {
                return self.each(after.iter().take(1));
            }
            if !is_option(&text) {
                self.look(&text);
                return Ok(());
            }
            // Code in another language.
            if is_code(program, &text) {
                return Ok(());
            }
            let skipped = usize::from(takes_next(program, &text)).min(after.len());
            words = &after[skipped..];
        }
        Ok(())
    }

    /// Checks the files of `awk -f` and `sed -f`; their code is in another language.
    fn script_by_option(&mut self, rest: &[Shown]) -> Result<(), String> {
        for (idx, word) in rest.iter().enumerate() {
            let text = word.text();
            if text == "-f" || text == "--file" {
                self.each(rest.iter().skip(idx + 1).take(1))?;
            } else if text.starts_with("-f") || text.starts_with("--file=") {
                self.decided(word)?;
            }
        }
        Ok(())
    }

    fn mark(&mut self, name: &str, rest: &[Shown]) -> Result<(), String> {
        for word in rest {
            let text = word.text();
            if text.starts_with(['-', '+']) {
                self.decided(word)?;
                if text.contains('n') && !["export", "readonly"].contains(&name) {
                    return Err(format!(
                        "{name} {} makes a variable stand for another one; name the variable itself",
                        word.quoted()
                    ));
                }
            } else {
                self.set(name, word)?;
            }
        }
        Ok(())
    }

    fn read(&mut self, name: &str, rest: &[Shown]) -> Result<(), String> {
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            let text = word.text();
            words = after;
            if is_option(&text) {
                if name != "read" && text.ends_with('C') {
                    after.first().map_or(Ok(()), |it| self.run_code(it))?;
                }
                let skipped = usize::from(takes_next(name, &text)).min(after.len());
                words = &after[skipped..];
            } else {
                self.set(name, word)?;
                self.computed.extend(word.name());
            }
        }
        Ok(())
    }

    fn printf(&mut self, rest: &[Shown]) -> Result<(), String> {
        let Some(first) = rest.first() else { return Ok(()) };
        if first.begins_unknown() {
            let values = self.values_of(first).map_err(|what| {
                format!(
                    "{} is {what}, and printf would take an option from it, which can set a variable; write printf '%s' before it",
                    first.quoted()
                )
            })?;
            let exact = |it: &String| [&[Shown::exact(it)], &rest[1..]].concat();
            return values
                .iter()
                .filter(|_| !self.is_first)
                .map(exact)
                .collect::<Vec<_>>()
                .iter()
                .try_for_each(|it| self.printf(it));
        }
        let text = first.text();
        let named = match text.strip_prefix("-v") {
            Some("") => rest.get(1).cloned(),
            Some(_) => Some(Shown::exact(text.trim_start_matches("-v"))),
            None => None,
        };
        let Some(named) = named else { return Ok(()) };
        self.set("printf", &named)?;
        self.computed.extend(named.name());
        Ok(())
    }
}
