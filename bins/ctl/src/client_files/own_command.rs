//! Our own program in commands of other programs' files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use clap::error::ErrorKind;
use serde_json::{Value, json};
use waypost_cli::failure::{Failure, Result};
use waypost_cli::output::cut;
use waypost_recall::Harness;

use crate::commands::hook::HookCommand;
use crate::commands::mcp::McpArgs;
use crate::commands::{Cli, Command};

/// Longer entries are cut where they are shown.
const SHOWN_COLUMNS_MAX: usize = 2000;
/// The file name of the program, unless the user has renamed it.
const NAME: &str = "ctl";

/// How to run the program that runs now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// Its absolute path.
    pub(crate) path: String,
    /// `ctl`, if the search path of the shell leads to it; else its path.
    pub(crate) short: String,
}

impl Program {
    pub(crate) fn current() -> Result<Self> {
        let exe = std::env::current_exe().map_err(|error| {
            Failure::from(error).while_doing("cannot determine the path of `ctl`")
        })?;
        let search = std::env::var_os("PATH").unwrap_or_default();
        Self::at(&exe, &search)
    }

    /// The program at a path, for that search path. A link in the search path outlives an update, which its target may
    /// not.
    fn at(exe: &Path, search: &OsStr) -> Result<Self> {
        let name = exe.file_name().unwrap_or(OsStr::new(NAME));
        let first = std::env::split_paths(search)
            .filter(|path| path.is_absolute())
            .map(|path| path.join(name))
            .find(|path| path.is_file());
        let is_this = |path: &PathBuf| path.canonicalize().ok() == exe.canonicalize().ok();
        let found = first.filter(is_this);
        let path = text(found.as_deref().unwrap_or(exe))?;
        let short = match &found {
            Some(_) => text(Path::new(name))?,
            None => path.clone(),
        };
        Ok(Self { path, short })
    }
}

/// A path in a file of text.
pub(crate) fn text(path: &Path) -> Result<String> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| Failure::new(format!("the path {} is not UTF-8", path.display())))
}

/// Whether a command of that path is our program, whatever folder it is in.
fn is_own(command: &str) -> bool {
    let name = |path: &Path| path.file_name().map(OsStr::to_owned);
    let exe = std::env::current_exe().ok().and_then(|exe| name(&exe));
    let found = name(Path::new(command));
    found.is_some_and(|found| found == NAME || Some(found) == exe)
}

/// The words of a shell command, without quotes; none if it is more than one command with its arguments. Variables stay
/// as they are.
pub(super) fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = command.trim().chars().peekable();
    while let Some(c) = rest.next() {
        let substitutes = match quote {
            Some('\'') => false,
            Some(_) => c == '`' || c == '$' && rest.peek() == Some(&'('),
            None => c == '`' || c == '$' && matches!(rest.peek(), Some('(' | '\'' | '"')),
        };
        if substitutes {
            return None;
        }
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some('"'), '\\') => match rest.next()? {
                '\n' => {}
                c if "$`\"\\".contains(c) => word.get_or_insert_default().push(c),
                c => word.get_or_insert_default().extend(['\\', c]),
            },
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '\\') => match rest.next()? {
                '\n' => {}
                c => word.get_or_insert_default().push(c),
            },
            (None, ';' | '&' | '|' | '<' | '>' | '(' | ')' | '\n') => return None,
            (None, '#') if word.is_none() => return None,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// One of our commands that clients run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Own {
    Hook,
    Mcp,
}

/// An entry of a client's file that runs our command, or looks as if it did.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Whether it runs ours and nothing else.
    pub(super) is_alone: bool,
    /// What its command line has that `install` does not write, and its members.
    line: Vec<String>,
    members: Vec<String>,
}

impl Found {
    /// An entry with another command.
    pub(super) fn other() -> Self {
        Self { line: vec!["another command line".to_owned()], ..Self::default() }
    }

    /// Whether `install` of this or an earlier release wrote its command line.
    pub(super) fn has_our_line(&self) -> bool {
        self.line.is_empty()
    }

    /// Whether it wrote all of it.
    pub(super) fn is_ours(&self) -> bool {
        self.line.is_empty() && self.members.is_empty()
    }

    /// With the members of its entry that have other names, and a value.
    pub(super) fn with_members(mut self, entry: &Value, own: &[&str]) -> Self {
        let is_other = |(name, value): &(&String, &Value)| {
            let is_usual = *name == "type" && (*value == "stdio" || *value == "command");
            let is_empty = [json!(null), json!({}), json!([]), json!("")].contains(value);
            !own.contains(&name.as_str()) && !is_usual && !is_empty
        };
        let members = entry.as_object().into_iter().flatten().filter(is_other);
        self.members.extend(members.map(|(name, _)| name.clone()));
        self
    }

    /// For people: what is not ours, and the whole entry.
    pub(super) fn shown(&self, what: &str, entry: &Value) -> String {
        let additions = [self.line.as_slice(), &self.members].concat();
        cut(&format!("{what} has {}: {entry}", additions.join(", ")), SHOWN_COLUMNS_MAX)
    }
}

impl Own {
    /// What a command is; `None` if it does not run ours. `words` are its parts as far as they are known.
    pub(super) fn found(self, words: &[String], text: &str) -> Option<Found> {
        let count = words.iter().take_while(|word| is_assignment(word)).count();
        let (variables, words) = words.split_at(count);
        let arguments = words.split_first().filter(|(program, _)| is_own(program));
        let run = arguments.and_then(|(_, it)| Some((it, self.is_run_with(it)?)));
        let Some((arguments, is_ours)) = run else {
            return self.is_named_in(text).then(Found::other);
        };
        let names = variables.iter().filter_map(|variable| variable.split_once('='));
        let mut line: Vec<String> = names.map(|(name, _)| format!("the variable {name}")).collect();
        if !self.is_written_with(arguments) {
            line.push("other options".to_owned());
        }
        is_ours.then(|| Found { is_alone: true, line, members: Vec::new() })
    }

    /// Whether our program runs this with these arguments; `None` if they are not valid.
    fn is_run_with(self, arguments: &[String]) -> Option<bool> {
        let parsed = |more: &[String]| {
            Cli::try_parse_from([NAME.to_owned()].iter().chain(arguments).chain(more))
        };
        let cli = match parsed(&[]) {
            // A hook without the harness fails, but is ours.
            Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
                parsed(&["--harness", Harness::Claude.as_str()].map(str::to_owned))
            }
            cli => cli,
        };
        Some(match cli.ok()?.command {
            Command::Hook(HookCommand::Event(_)) => self == Self::Hook,
            Command::Mcp(McpArgs { command: None, .. }) => self == Self::Mcp,
            _ => false,
        })
    }

    /// Whether `install` writes these arguments.
    fn is_written_with(self, arguments: &[String]) -> bool {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut rest = arguments.as_slice();
        while let ["--trust-project", more @ ..]
        | ["--project" | "--url" | "--token-file" | "--ca", _, more @ ..] = rest
        {
            rest = more;
        }
        match self {
            Self::Hook => matches!(rest, ["hook", _, "--harness", _]),
            Self::Mcp => rest == ["mcp"],
        }
    }

    /// Whether a text has the names of our program and of this command as words, whatever is around them.
    fn is_named_in(self, text: &str) -> bool {
        let plain = text.replace(['"', '\'', '\\'], "");
        let is_of_word = |c: char| c.is_alphanumeric() || "._-".contains(c);
        let words: Vec<&str> = plain.split(|c| !is_of_word(c)).collect();
        let name = if self == Self::Hook { "hook" } else { "mcp" };
        words.contains(&name) && words.iter().any(|word| is_own(word))
    }
}

/// All texts in a value.
pub(super) fn texts(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(texts).collect::<Vec<_>>().join(" "),
        Value::Object(members) => members.values().map(texts).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests {
    use waypost_api::shell_word;

    use super::*;

    #[test]
    fn words_reverse_quoting() {
        for word in ["", "a", "/home/me/my notes", "it's", "a\"b\\c", "$HOME", "ü"] {
            let found = words(&format!("x {} y", shell_word(word))).expect("one command");
            assert_eq!(found, ["x", word, "y"]);
        }
        assert_eq!(
            words(r#" ctl  --project "$DIR/a b" mcp"#).expect("one command"),
            ["ctl", "--project", "$DIR/a b", "mcp"]
        );
        assert_eq!(shell_word("/usr/bin/ctl"), "/usr/bin/ctl");
    }

    #[test]
    fn the_program_has_a_short_name_only_where_the_search_path_leads_to_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, two) = (folder.path().join("one"), folder.path().join("two"));
        for it in [&one, &two] {
            std::fs::create_dir(it).expect("a folder");
            std::fs::write(it.join("ctl"), "").expect("a file");
        }
        let link = folder.path().join("bin");
        std::fs::create_dir(&link).expect("a folder");
        std::os::unix::fs::symlink(one.join("ctl"), link.join("ctl")).expect("a link");
        let at = |search: &[&Path]| {
            let search = std::env::join_paths(search).expect("a search path");
            let found = Program::at(&one.join("ctl"), &search).expect("a program");
            (found.path, found.short)
        };
        let shown = |path: &Path| path.join("ctl").display().to_string();
        assert_eq!(at(&[&link, &two]), (shown(&link), "ctl".to_owned()));
        assert_eq!(at(&[&two, &link]), (shown(&one), shown(&one)));
        assert_eq!(at(&[]), (shown(&one), shown(&one)));
    }

    #[test]
    fn a_program_is_recognised_in_any_folder() {
        assert!(is_own("ctl") && is_own("/opt/x y/ctl") && is_own("../ctl"));
        assert!(!is_own("npx") && !is_own("kubectl") && !is_own("ctl-x") && !is_own(""));
    }

    /// What a shell command has that `install` does not write; whether it runs a hook and nothing else.
    fn hook(command: &str) -> Option<(bool, String)> {
        let found = Own::Hook.found(&words(command).unwrap_or_default(), command);
        found.map(|found| (found.is_alone, found.line.join(", ")))
    }

    #[test]
    fn hooks_are_found_with_what_install_does_not_write() {
        for written in [
            "ctl hook stop --harness claude",
            "  ctl hook stop --harness claude\n",
            "ctl --project \"$CLAUDE_PROJECT_DIR\" hook pre-compact --harness codex",
            "'/o l d/ctl' --project /x --url http://127.0.0.1:1 hook user-prompt --harness claude",
            "ctl --trust-project --token-file /t --ca /c hook stop --harness cursor",
            r#""/opt/my ctl/ctl" hook \
             stop --harness claude"#,
        ] {
            assert_eq!(hook(written), Some((true, String::new())), "{written}");
        }
        for (changed, additions) in [
            ("ctl hook stop", "other options"),
            ("~/bin/ctl hook stop --foreground --harness codex", "other options"),
            ("ctl hook session-start --harness=cursor --json", "other options"),
            ("A=1 ctl hook stop --harness claude", "the variable A"),
            ("A='x y' _b2= /x/ctl hook stop", "the variable A, the variable _b2, other options"),
        ] {
            assert_eq!(hook(changed), Some((true, additions.to_owned())), "{changed}");
        }
        for other in [
            "ctl hook stop --harness claude; ./mine.sh",
            "ctl hook stop --harness claude && say done",
            "ctl hook stop --harness claude | tee log",
            "ctl hook stop --harness claude > log",
            "say done\nctl hook stop --harness claude",
            "ctl hook stop --harness claude # mine",
            "ctl --project $(mine) hook stop --harness claude",
            "ctl --project \"`mine`\" hook stop --harness claude",
            "(ctl hook stop)",
            "ctl hook stop 'unfinished",
            "ctl hook stop --mine",
            "ctl hook mine",
            "env A=1 ctl hook stop",
            "sh -c 'A=1 exec /opt/ctl hook stop'",
            "nice c\"t\"l 'ho'ok stop",
            "export A=1; . ./x; \\ctl hook stop",
        ] {
            let found = Some((false, "another command line".to_owned()));
            assert_eq!(hook(other), found, "{other}");
        }
        for foreign in [
            "ctl hook install --harness claude",
            "ctl search hook stop",
            "ctl add hook",
            "ctl mcp",
            "kubectl hook stop",
            "ctl-hook stop",
            "./hook.sh ctl",
            "A=1",
            "",
        ] {
            assert_eq!(hook(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn servers_are_found_with_what_install_does_not_write() {
        let found = |command: &[&str]| {
            let words: Vec<String> = command.iter().map(|&word| word.to_owned()).collect();
            let found = Own::Mcp.found(&words, &command.join(" "));
            found.map(|found| (found.is_alone, found.is_ours()))
        };
        for (command, expected) in [
            (&["ctl", "mcp"] as &[&str], Some((true, true))),
            (&["/a b/ctl", "--project", "${workspaceFolder}", "mcp"], Some((true, true))),
            (&["ctl", "--url", "https://a", "--ca", "/c", "mcp"], Some((true, true))),
            (&["ctl", "mcp", "--exit-idle", "1h"], Some((true, false))),
            (&["ctl", "mcp", "--project=X", "--json"], Some((true, false))),
            (&["ctl", "mcp", "--mine"], Some((false, false))),
            (&["sh", "-c", "A=1 ctl mcp"], Some((false, false))),
            (&["env", "A=1", "/x/ctl", "mcp"], Some((false, false))),
            (&["ctl", "mcp", "install", "--client", "zed"], None),
            (&["ctl", "search", "mcp"], None),
            (&["ctl"], None),
            (&["npx", "mcp"], None),
            (&[], None),
        ] {
            assert_eq!(found(command), expected, "{command:?}");
        }
    }
}
