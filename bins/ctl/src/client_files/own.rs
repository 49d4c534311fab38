//! Our own program in commands of other programs' files.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

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

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The words of a shell command, without quotes. Variables stay as they are.
pub(super) fn words(command: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut rest = command.chars();
    while let Some(c) = rest.next() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(rest.next()),
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reverse_quoting() {
        for word in ["", "a", "/home/me/my notes", "it's", "a\"b\\c", "$HOME", "ü"] {
            assert_eq!(words(&format!("x {} y", quoted(word))), ["x", word, "y"]);
        }
        assert_eq!(
            words(r#" ctl  --project "$DIR/a b" mcp"#),
            ["ctl", "--project", "$DIR/a b", "mcp"]
        );
        assert_eq!(quoted("/usr/bin/ctl"), "/usr/bin/ctl");
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
}
