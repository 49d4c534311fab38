//! Our own program in commands of other programs' files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Parser as _;
use clap::error::ErrorKind;
use waypost_recall::Harness;

use crate::cli::{self, Cli, Command, McpArgs};
use crate::failure::{Failure, Result};

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
        let exe = std::env::current_exe()
            .map_err(|it| Failure::from(it).while_doing("cannot determine the path of `ctl`"))?;
        let search = std::env::var_os("PATH").unwrap_or_default();
        Self::at(&exe, &search)
    }

    /// The program at a path, for that search path. A link in the search path outlives an update, which its target may
    /// not.
    fn at(exe: &Path, search: &OsStr) -> Result<Self> {
        let name = exe.file_name().unwrap_or(OsStr::new(NAME));
        let first = std::env::split_paths(search)
            .filter(|it| it.is_absolute())
            .map(|it| it.join(name))
            .find(|it| it.is_file());
        let is_this = |it: &PathBuf| it.canonicalize().ok() == exe.canonicalize().ok();
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
pub(super) fn is_own(command: &str) -> bool {
    let name = |it: &Path| it.file_name().map(OsStr::to_owned);
    let exe = std::env::current_exe().ok().and_then(|it| name(&it));
    let found = name(Path::new(command));
    found.is_some_and(|it| it == NAME || Some(it) == exe)
}

/// The words of a shell command, without quotes; none if it is more than one command with its arguments. Variables stay
/// as they are.
fn words(command: &str) -> Option<Vec<String>> {
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

/// A shell command that runs `ctl … hook EVENT …` and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookCommand {
    Plain,
    /// With variables that somebody has put before it: `A=1 ctl hook stop`.
    WithVariables,
}

impl HookCommand {
    /// What such a command is; none if it is not ours.
    pub(super) fn of(command: &str) -> Option<Self> {
        let words = words(command)?;
        let variables = words.iter().take_while(|it| is_assignment(it)).count();
        let (program, arguments) = words.get(variables..)?.split_first()?;
        let is_ours = is_own(program) && runs_hook(arguments);
        let kind = if variables == 0 { Self::Plain } else { Self::WithVariables };
        is_ours.then_some(kind)
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

fn runs_hook(arguments: &[String]) -> bool {
    let is_event = |it: clap::error::Result<Cli>| {
        it.map(|it| matches!(it.command, Command::Hook(cli::HookCommand::Event(_))))
    };
    match is_event(parsed(arguments)) {
        Ok(is_event) => is_event,
        // One without the harness fails, but is ours.
        Err(error) if error.kind() == ErrorKind::MissingRequiredArgument => {
            let harness = ["--harness", Harness::Claude.as_str()].map(str::to_owned);
            is_event(parsed(&[arguments, &harness].concat())).unwrap_or(false)
        }
        Err(_) => false,
    }
}

/// Whether the program serves the Model Context Protocol with these arguments.
pub(super) fn runs_mcp(arguments: &[String]) -> bool {
    let parsed = parsed(arguments).map(|it| it.command);
    matches!(parsed, Ok(Command::Mcp(McpArgs { command: None, .. })))
}

fn parsed(arguments: &[String]) -> clap::error::Result<Cli> {
    Cli::try_parse_from([NAME.to_owned()].iter().chain(arguments))
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
        let shown = |it: &Path| it.join("ctl").display().to_string();
        assert_eq!(at(&[&link, &two]), (shown(&link), "ctl".to_owned()));
        assert_eq!(at(&[&two, &link]), (shown(&one), shown(&one)));
        assert_eq!(at(&[]), (shown(&one), shown(&one)));
    }

    #[test]
    fn a_program_is_recognised_in_any_folder() {
        assert!(is_own("ctl") && is_own("/opt/x y/ctl") && is_own("../ctl"));
        assert!(!is_own("npx") && !is_own("kubectl") && !is_own("ctl-x") && !is_own(""));
    }

    #[test]
    fn a_command_is_ours_if_it_runs_a_hook_and_nothing_else() {
        for ours in [
            "ctl hook stop",
            "ctl hook stop --harness claude",
            "  ctl hook stop --harness claude\n",
            "ctl --project \"$CLAUDE_PROJECT_DIR\" hook pre-compact --foreground --harness codex",
            "ctl hook session-start --harness=cursor --json",
            "'/o l d/ctl' --project /x --url http://127.0.0.1:1 hook user-prompt --harness claude",
            r"/opt/my\ ctl/ctl hook stop",
            r#""/opt/my ctl/ctl" hook stop"#,
            "~/bin/ctl hook \\\n session-end --harness claude",
        ] {
            assert_eq!(HookCommand::of(ours), Some(HookCommand::Plain), "{ours}");
        }
        for with_variables in ["A=1 ctl hook session-start", "A='x y' _b2= ctl hook stop"] {
            let found = HookCommand::of(with_variables);
            assert_eq!(found, Some(HookCommand::WithVariables), "{with_variables}");
        }
        for foreign in [
            "ctl hook stop --harness claude; ./mine.sh",
            "ctl hook stop --harness claude && say done",
            "ctl hook stop --harness claude & say done",
            "ctl hook stop --harness claude | tee log",
            "ctl hook stop --harness claude > log",
            "ctl hook stop --harness claude\nsay done",
            "ctl hook stop --harness claude # mine",
            "ctl --project $(mine) hook stop --harness claude",
            "ctl --project \"`mine`\" hook stop --harness claude",
            "ctl --project $'mine' hook stop --harness claude",
            "(ctl hook stop)",
            "ctl hook stop 'unfinished",
            "ctl hook stop mine",
            "ctl hook stop --mine",
            "ctl hook mine",
            "ctl hook install --harness claude",
            "ctl search hook stop",
            "ctl add hook",
            "env A=1 ctl hook stop",
            "kubectl hook stop",
            "2=1 ctl hook stop",
            "A=1",
            "",
        ] {
            assert_eq!(HookCommand::of(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn arguments_serve_the_protocol_if_the_command_is_mcp() {
        let runs = |arguments: &[&str]| {
            runs_mcp(&arguments.iter().map(|&it| it.to_owned()).collect::<Vec<_>>())
        };
        for ours in [
            &["mcp"] as &[&str],
            &["mcp", "--exit-idle", "1h"],
            &["mcp", "--no-start"],
            &["--project", "X", "mcp"],
            &["mcp", "--project=${workspaceFolder}", "--json"],
        ] {
            assert!(runs(ours), "{ours:?}");
        }
        for foreign in [
            &[] as &[&str],
            &["search", "mcp"],
            &["hook", "mcp"],
            &["--project", "mcp"],
            &["mcp", "install", "--client", "zed"],
            &["mcp", "--mine"],
            &["mcp", "--help"],
        ] {
            assert!(!runs(foreign), "{foreign:?}");
        }
    }
}
