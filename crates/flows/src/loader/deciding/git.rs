//! Git runs programs that its settings name.

use super::Check;
use super::words::Shown;

/// Options of git itself.
const FLAGS: &[&str] = &[
    "--bare",
    "--exec-path",
    "--glob-pathspecs",
    "--help",
    "--icase-pathspecs",
    "--literal-pathspecs",
    "--no-advice",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "--noglob-pathspecs",
    "--paginate",
    "--version",
    "-P",
    "-h",
    "-p",
    "-v",
];
/// Options of git itself with an argument, in the next word or after `=`.
const WITH_ARGUMENT: &[&str] = &["-C", "--git-dir", "--namespace", "--work-tree"];
/// Settings that name no program and no file of settings.
const SECTIONS: &[&str] =
    &["advice.", "author.", "color.", "column.", "committer.", "i18n.", "log.", "user."];
const SETTINGS: &[&str] = &[
    "commit.gpgsign",
    "core.abbrev",
    "core.quotepath",
    "diff.algorithm",
    "diff.context",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renames",
    "fetch.prune",
    "gc.auto",
    "http.extraheader",
    "init.defaultbranch",
    "merge.conflictstyle",
    "merge.ff",
    "protocol.version",
    "pull.ff",
    "pull.rebase",
    "push.default",
    "rebase.autostash",
    "tag.gpgsign",
];
/// Options of `git config` before the one that says what it does.
const OF_CONFIG: &[&str] = &[
    "--bool",
    "--global",
    "--includes",
    "--int",
    "--local",
    "--name-only",
    "--no-includes",
    "--null",
    "--path",
    "--show-origin",
    "--show-scope",
    "--system",
    "--worktree",
    "-z",
];
const OF_CONFIG_WITH_ARGUMENT: &[&str] = &["--blob", "--default", "--file", "--type", "-f"];
const READS: &[&str] = &[
    "--get",
    "--get-all",
    "--get-color",
    "--get-colorbool",
    "--get-regexp",
    "--get-urlmatch",
    "--list",
    "-l",
    "get",
    "list",
];

impl Check<'_> {
    pub(super) fn git(&mut self, rest: &[Shown]) -> Result<(), String> {
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            let Some(text) = self.literal(word) else {
                return Err(format!(
                    "{} is an option or the subcommand of git, and is computed; write it literally, and the argument of an option as a word of its own, in double quotes",
                    word.quoted()
                ));
            };
            let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
            match text.as_str() {
                "-c" => self.git_setting(after.first())?,
                "config" => return self.git_config(after),
                "clone" => return self.git_clone(after),
                it if WITH_ARGUMENT.contains(&it) => {
                    after.first().map_or(Ok(()), |it| self.single("git", it))?;
                }
                it if FLAGS.contains(&it) || (it != name && WITH_ARGUMENT.contains(&name)) => {}
                it if it.starts_with('-') => {
                    return Err(format!(
                        "{} is no known option of git, so which program it runs is not known; known are {} {} -c NAME=VALUE",
                        word.quoted(),
                        FLAGS.join(" "),
                        WITH_ARGUMENT.join(" "),
                    ));
                }
                _ => return self.guarded("git", after),
            }
            let takes_next = text == "-c" || WITH_ARGUMENT.contains(&text.as_str());
            words = after.get(usize::from(takes_next)..).unwrap_or_default();
        }
        Ok(())
    }

    /// A word that is the same for every event and every file.
    fn literal(&self, word: &Shown) -> Option<String> {
        let text = word.plain().filter(|_| self.values_of(word).is_ok());
        text.or_else(|| self.is_first.then(|| word.text()))
    }

    /// Checks that a setting names no program.
    fn git_setting(&self, word: Option<&Shown>) -> Result<(), String> {
        let Some(word) = word else { return Ok(()) };
        self.single("git", word)?;
        let name = word.name().unwrap_or_default().to_ascii_lowercase();
        let is_known =
            SETTINGS.contains(&name.as_str()) || SECTIONS.iter().any(|it| name.starts_with(it));
        if self.is_first || is_known {
            return Ok(());
        }
        Err(format!(
            "{} may be a setting of git that names a program; known are {}* {}: write the command itself, or put it into a script of the project",
            word.quoted(),
            SECTIONS.join("* "),
            SETTINGS.join(" ")
        ))
    }

    /// Checks that `git config` only reads, or sets a setting that names no program.
    fn git_config(&self, rest: &[Shown]) -> Result<(), String> {
        let mut words = rest;
        while let Some((word, after)) = words.split_first() {
            let text = self.literal(word).unwrap_or_default();
            let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
            words = match (name, after) {
                (it, _) if READS.contains(&it) => return Ok(()),
                (it, [argument, left @ ..])
                    if OF_CONFIG_WITH_ARGUMENT.contains(&it) && it == text =>
                {
                    self.single("git", argument)?;
                    left
                }
                (it, _) if OF_CONFIG.contains(&it) || OF_CONFIG_WITH_ARGUMENT.contains(&it) => {
                    after
                }
                (it, []) if !it.is_empty() && !it.starts_with('-') => return Ok(()),
                (it, [value]) if !it.starts_with('-') => {
                    self.single("git", value)?;
                    return self.git_setting(Some(word));
                }
                _ if self.is_first => return Ok(()),
                _ => {
                    return Err(format!(
                        "{} of git config is no known option, or decides what it sets; it may read (--get NAME, --list), or set one NAME VALUE: put anything else into a script of the project",
                        word.quoted()
                    ));
                }
            };
        }
        Ok(())
    }

    /// Checks the settings of `git clone -c`.
    fn git_clone(&self, rest: &[Shown]) -> Result<(), String> {
        for (idx, word) in rest.iter().enumerate() {
            let text = word.text();
            let is_long = text.len() > 4 && text.starts_with("--co");
            let is_short = !text.starts_with("--") && text.starts_with('-') && text.contains('c');
            if is_long && text.contains('=') {
                self.git_setting(word.setting().as_ref())?;
            } else if is_long || (is_short && text.ends_with('c')) {
                self.git_setting(rest.get(idx + 1))?;
            } else if is_short {
                self.git_setting(Some(word))?;
            }
        }
        Ok(())
    }
}
