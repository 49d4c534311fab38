//! Programs that run the program after their own arguments.

use super::Check;
use super::options::{Options, is_option, is_shell, own_arguments};
use super::words::Shown;
use crate::command::pieces::Piece;
use crate::command::programs::{Role, base, role};

/// Options of find that the next word belongs to, whatever it is.
const FIND_ARGUMENTS: &[&str] = &[
    "-amin",
    "-anewer",
    "-atime",
    "-cmin",
    "-cnewer",
    "-ctime",
    "-fstype",
    "-gid",
    "-group",
    "-ilname",
    "-iname",
    "-inum",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-links",
    "-lname",
    "-maxdepth",
    "-mindepth",
    "-mmin",
    "-mtime",
    "-name",
    "-newer",
    "-path",
    "-perm",
    "-printf",
    "-regex",
    "-samefile",
    "-size",
    "-type",
    "-uid",
    "-used",
    "-user",
    "-wholename",
    "-xtype",
];

impl Check<'_> {
    /// Checks the arguments of a program that runs the program after its own arguments.
    pub(super) fn runner(
        &mut self,
        program: &str,
        options: Options,
        rest: &[Shown],
    ) -> Result<(), String> {
        if ["sudo", "doas", "pkexec", "gosu", "su-exec"].contains(&program) {
            self.found.clears = true;
        }
        self.runner_from(program, options, rest, (own_arguments(program), true))
    }

    /// `own` are the arguments of its own to come, and whether options may.
    fn runner_from(
        &mut self,
        program: &str,
        options: Options,
        mut rest: &[Shown],
        (mut own, mut has_options): (usize, bool),
    ) -> Result<(), String> {
        let is_env = ["env", "genv", "sudo", "doas"].contains(&program);
        while let Some((word, after)) = rest.split_first() {
            let text = word.text();
            if is_env && word.sets() && !is_option(&text) {
                // The options of sudo may be between them.
                has_options &= program == "sudo";
                self.set(program, word)?;
            } else if own > 0 && !(has_options && is_option(&text)) {
                let instead = format!("write {program} -- {}", word.written());
                self.single(program, word)?;
                if has_options {
                    self.no_option(program, word, &instead)?;
                }
                (own, has_options) = (own - 1, false);
            } else if let Some(all) = self.unfolded(rest)? {
                return self.nested(rest, &all, |check, it| {
                    check.runner_from(program, options, it, (own, has_options))
                });
            } else if program == "flock" && own == 0 && ["-c", "--command"].contains(&&*text) {
                return after.first().map_or(Ok(()), |it| self.run_code(it));
            } else if text == "--" && has_options {
                has_options = false;
            } else if text == "-" && program == "env" && has_options {
                self.found.clears = true;
            } else if is_option(&text) && has_options {
                rest = self.option(program, options, word, after)?;
                continue;
            } else if program == "xargs" {
                return self.appended(rest);
            } else {
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
        options: Options,
        word: &Shown,
        after: &'a [Shown],
    ) -> Result<&'a [Shown], String> {
        let text = word.text();
        self.literal_option(program, word)?;
        let is_split = text.starts_with("--s") || (!text.starts_with("--") && text.contains('S'));
        if program == "env" && is_split {
            return Err(format!(
                "{} of env splits a text into words by rules of its own; write the program and its arguments as words",
                word.quoted()
            ));
        }
        let seen = options.read(&text).ok_or_else(|| {
            format!(
                "{} is no known option of {program}, so which program it runs is not known; known are, written in full: {}",
                word.quoted(),
                options.listed()
            )
        })?;
        let argument = match seen.value {
            Some(it) => Some(Shown::exact(it)),
            None if seen.takes_next => after.first().cloned(),
            None => None,
        };
        let is_env = ["env", "genv"].contains(&program);
        let clears = (is_env && (seen.flags.contains('i') || seen.name == "ignore-environment"))
            || (program == "exec" && seen.flags.contains('c'));
        self.found.clears |= clears;
        match (seen.name, argument) {
            ("C" | "D" | "w" | "wd" | "chdir", Some(it)) if program != "flock" => self.go(&it),
            ("u" | "unset", Some(it)) if is_env => match it.name() {
                Some(name) => self.unknown(&name),
                None if self.is_first => {}
                None => {
                    return Err(format!(
                        "{} is the name of a variable that env unsets, and has to be computed; write the name literally",
                        it.quoted()
                    ));
                }
            },
            ("I", Some(it)) => match it.plain() {
                Some(hole) => self.hole = Some(hole),
                None => return Err(format!("{} of xargs must be literal", it.quoted())),
            },
            ("c" | "command", Some(it)) if program == "flock" => self.run_code(&it)?,
            _ => {}
        }
        let (argument, left) = after.split_at(usize::from(seen.takes_next).min(after.len()));
        argument.iter().try_for_each(|it| self.single(program, it))?;
        Ok(left)
    }

    pub(super) fn xargs(&mut self, rest: &[Shown]) -> Result<(), String> {
        let hole = self.hole.clone();
        let input = std::mem::take(&mut self.input);
        let options = Options::of_runner("xargs").unwrap_or(Options::NONE);
        let checked = self.runner("xargs", options, rest);
        (self.hole, self.input) = (hole, input);
        checked
    }

    /// Checks the program of `xargs`, which gets words from the input.
    fn appended(&mut self, words: &[Shown]) -> Result<(), String> {
        self.simple(words)?;
        let Some((program, rest)) = words.split_first() else { return Ok(()) };
        let options = rest.iter().take_while(|it| is_option(&it.text())).count();
        let is_code = rest[..options].last().is_some_and(|it| it.text().ends_with('c'));
        // The added words are arguments of the text.
        let is_argument = is_code && rest.len() > options + 1;
        let may = |it: &String| {
            let is_other = role(it) == Role::Other && Options::of_runner(base(it)).is_none();
            (is_other && !["[", "test"].contains(&base(it)) && !is_shell(base(it)))
                || (is_shell(base(it)) && is_argument)
        };
        if self.is_first || self.values_of(program).is_ok_and(|all| all.iter().all(may)) {
            return Ok(());
        }
        Err(format!(
            "{} may run a program that the words from the input of xargs name; write xargs sh -c '… \"$@\"' _, or put the command into a script of the project",
            program.quoted()
        ))
    }

    /// Whether a computed word may be a part of the expression of find.
    fn may_be_primary(&self, word: &Shown) -> bool {
        if matches!(word.pieces.first(), Some(Piece::Value(..))) {
            return self.could_be_option(word);
        }
        let is_plain =
            |it: &String| it.starts_with(|it: char| it.is_alphanumeric() || "_./".contains(it));
        let values = if word.begins_unknown() { self.values_of(word) } else { Ok(Vec::new()) };
        word.begins_pattern() || !values.is_ok_and(|all| all.iter().all(is_plain))
    }

    /// Checks that each word of find that could be an option is literal.
    fn primaries(&self, rest: &[Shown]) -> Result<(), String> {
        let mut is_argument = false;
        for (idx, word) in rest.iter().enumerate() {
            let text = word.text();
            // Whatever the only folder becomes, the words after it are checked.
            let next = rest.get(1);
            if idx == 0
                && !is_option(&text)
                && next.is_none_or(|it| it.is_literal() && is_option(&it.text()))
            {
                continue;
            }
            if !is_argument && is_option(&text) {
                self.literal_option("find", word)?;
            } else if !is_argument && !self.is_first && self.may_be_primary(word) {
                return Err(format!(
                    "{} may be an option of find, which can run a program; write a literal beginning (\"./$NAME\"), or put the command into a script of the project",
                    word.quoted()
                ));
            }
            is_argument =
                !is_argument && FIND_ARGUMENTS.contains(&text.as_str()) && word.is_literal();
        }
        Ok(())
    }

    pub(super) fn find(&mut self, rest: &[Shown]) -> Result<(), String> {
        const EXEC: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];

        let is = |it: &Shown, wanted: &[&str]| {
            it.plain().is_some_and(|it| wanted.contains(&it.as_str()))
        };
        rest.iter().try_for_each(|it| self.single("find", it))?;
        self.primaries(rest)?;
        let before = self.hole.replace("{}".to_owned());
        for (idx, exec) in rest.iter().enumerate().filter(|(_, it)| is(it, &EXEC)) {
            let words = &rest[idx + 1..];
            let is_end = |at: &usize| {
                is(&words[*at], &[";"])
                    || (is(&words[*at], &["+"]) && *at > 0 && is(&words[*at - 1], &["{}"]))
            };
            let end = (0..words.len()).find(is_end).unwrap_or(words.len());
            let relative = self.relative.take();
            self.simple(&words[..end])?;
            if let Some(program) = self.relative.as_ref().filter(|_| exec.text().ends_with("dir")) {
                return Err(format!(
                    "{program:.80?} is looked for in each folder that find finds; write -exec, or name the program by its whole path"
                ));
            }
            self.relative = self.relative.take().or(relative);
        }
        self.hole = before;
        Ok(())
    }
}
