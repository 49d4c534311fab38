//! Where in a simple command a value may occur: the rules shared by `command:` and `exec:`.

use super::programs::{
    BUILTINS, CALM_BUILTINS, FILTERS, NAMING_BUILTINS, PREFIXES, Role, SCRIPT_BY_OPTION,
    SCRIPTS_READERS, STDIN_READERS, base, is_code_option, names_interpreter, role, unversioned,
};
use super::word::{Part, Word};
use crate::declared::Class;

/// The position, in bytes of the source, and the error.
pub(crate) type Refused = (usize, String);

/// The alternatives, appended to every rejection of a text.
const INSTEAD: &str = "declare its type in trigger.data, or read it in a script of the project from standard input or \"$WAYPOST_EVENT_DATA_key\"";

pub(crate) fn refused<T>(at: usize, what: &str) -> Result<T, Refused> {
    Err((at, format!("a text {what}; {INSTEAD}")))
}

/// Checks a simple command: its name is the first word. Values at places that are not words of a
/// simple command are not checked.
pub(crate) fn check(words: &[Word]) -> Result<(), Refused> {
    let Some((name, _)) = words.split_first() else { return Ok(()) };
    if name.has(|it| it != Class::Choice) {
        let what = "the event's value would choose the program; name the program, or declare the value as one of [a, b] in trigger.data";
        return Err((name.at, what.to_owned()));
    }
    check_names(words)?;
    (1..words.len()).filter(|it| words[*it].has_text()).try_for_each(|it| check_text(words, it))
}

/// Whether a text may be the argument at `idx`.
fn check_text(words: &[Word], idx: usize) -> Result<(), Refused> {
    let at = words[idx].at;
    let Some(program) = words[0].literal() else {
        return refused(at, "cannot be passed to a program whose name comes from an expansion");
    };
    let before = &words[1..idx];
    if BUILTINS.contains(&base(&program)) {
        return check_builtin(base(&program), words, idx);
    }
    match role(&program) {
        Role::Interpreter
            if !follows_script(&program, before) || is_of_interpreter(&program, words, idx) =>
        {
            return refused(
                at,
                &format!(
                    "would be read as code by {program}; put the name of a script file before it"
                ),
            );
        }
        Role::Runner => {
            return refused(
                at,
                &format!("cannot be passed to {program}, which runs its arguments"),
            );
        }
        Role::Find if !is_searched_for(words, idx) => {
            return refused(
                at,
                "can be used with find only after -name, -iname, -path or -newer, without -exec",
            );
        }
        Role::Git => check_git(words, idx)?,
        Role::Forge if !forge_takes(&program, before) => {
            return refused(
                at,
                &format!(
                    "can be used with {program} only after a subcommand that runs no programs"
                ),
            );
        }
        Role::Jq if !is_jq_value(before) => {
            return refused(
                at,
                &format!("can be used with {program} only as --arg NAME VALUE: the rest is code"),
            );
        }
        Role::Tar if !is_member(words, idx) => {
            return refused(
                at,
                "can be used with tar only as the name of a file to pack or unpack: any other may be an archive on another machine, or a list with options",
            );
        }
        _ => {}
    }
    if role(&program) == Role::Interpreter {
        return Ok(());
    }
    if base(&program) == "ctl" {
        check_ctl(words, idx)?;
    }
    if role(&program) == Role::Tar && before.first().is_some_and(|it| has_letter(it, "IF")) {
        return refused(at, "cannot follow I or F in the first word of tar, which run a program");
    }
    if let Some(name) = before.iter().filter_map(Word::literal).find(|it| names_interpreter(it)) {
        return refused(at, &format!("cannot follow {name:?}, which could read it as code"));
    }
    let option = before.last().and_then(Word::literal);
    let own = words[idx].prefix();
    let own = own.split_once('=').map_or(own.as_str(), |(option, _)| option);
    let options = option.iter().map(String::as_str).chain([own]);
    if let Some(option) = options.into_iter().find(|it| is_code_option(&program, it)) {
        return refused(at, &format!("cannot be the value of {option}, which could run it"));
    }
    Ok(())
}

/// A text may neither approve anything, nor choose an event's type, nor add keys to it.
fn check_ctl(words: &[Word], idx: usize) -> Result<(), Refused> {
    let (at, before) = (words[idx].at, &words[1..idx]);
    let literals: Vec<String> = before.iter().filter_map(Word::literal).collect();
    let is_before = |wanted: &str| literals.iter().any(|it| it == wanted);
    if is_ctl_subcommand(before) {
        return refused(at, "cannot choose the subcommand of ctl");
    }
    if is_before("allow") {
        return refused(at, "cannot be passed to ctl allow, which approves programs");
    }
    if is_emit(before) && !is_set_value(words, idx) {
        return refused(
            at,
            "can be used with ctl emit only as --set key={{data.key}}: the type decides which flows run, and --data could add keys",
        );
    }
    Ok(())
}

/// Whether one of these words may be the subcommand `emit`: the first operand, or a word after an option, which may
/// take no argument.
fn is_emit(before: &[Word]) -> bool {
    let first = operand_places(before).next();
    (0..before.len()).any(|it| {
        let follows_option = it > 0 && before[it - 1].prefix().starts_with('-');
        before[it].literal().as_deref() == Some("emit") && (first == Some(it) || follows_option)
    })
}

/// Whether the word at `idx` is the value of a literal key, as in `--set key={{data.key}}`.
fn is_set_value(words: &[Word], idx: usize) -> bool {
    let own = words[idx].prefix();
    let pair = match words[idx - 1].literal().as_deref() {
        Some("--set") => Some(own.as_str()),
        _ => own.strip_prefix("--set="),
    };
    pair.is_some_and(|it| it.contains('='))
}

/// Whether the next word may be the subcommand of `ctl` or of one of its groups.
fn is_ctl_subcommand(before: &[Word]) -> bool {
    let group = operand_places(before).next();
    let is_group = |it: usize| {
        let name = before[it].literal();
        name.is_some_and(|it| {
            ["config", "events", "flows", "mesh", "model", "token"].contains(&it.as_str())
        })
    };
    group.is_none_or(|it| is_group(it) && operands(&before[it + 1..]) == 0)
}

/// Whether a word contains one of these letters, and starts with at most one dash.
fn has_letter(word: &Word, letters: &str) -> bool {
    !word.prefix().starts_with("--") && word.prefix().contains(|it| letters.contains(it))
}

/// Whether a literal script file comes first: the following words are the script's.
fn follows_script(program: &str, before: &[Word]) -> bool {
    let mut literals = before.iter().map(Word::literal);
    let is_file = |it: &str| {
        !it.is_empty()
            && !it.starts_with(['-', '+'])
            && !["/dev/", "/proc/"].iter().any(|special| it.starts_with(special))
            && !it.contains("{{")
    };
    if SCRIPT_BY_OPTION.contains(&base(program)) {
        let first = literals.next().flatten();
        let file = literals.next().flatten();
        return first.as_deref() == Some("-f") && file.is_some_and(|it| is_file(&it));
    }
    for word in literals {
        match word {
            Some(word) if is_plain_option(base(program), &word) => {}
            Some(word) => return is_file(&word),
            None => return false,
        }
    }
    false
}

/// Options of interpreters that take no argument and read no code: `sh -eu`, `python3 -u`.
fn is_plain_option(program: &str, word: &str) -> bool {
    let letters = word.strip_prefix('-').filter(|it| !it.is_empty());
    if program.ends_with("sh") {
        return letters.is_some_and(|it| it.bytes().all(|it| b"eux".contains(&it)));
    }
    match unversioned(program) {
        "python" | "pypy" => matches!(word, "-u" | "-B"),
        "perl" | "ruby" => word == "-w",
        _ => false,
    }
}

/// Whether a word after the script may still be one for the interpreter: another script, or an
/// option or its argument.
fn is_of_interpreter(program: &str, words: &[Word], idx: usize) -> bool {
    let follows_option = words[1..idx].last().and_then(Word::literal).is_some_and(|it| {
        // The script itself comes after -f.
        idx > 3 && it.starts_with('-') && it != "--"
    });
    SCRIPTS_READERS.contains(&base(program))
        || (SCRIPT_BY_OPTION.contains(&base(program))
            && (follows_option || words[idx].prefix().starts_with('-')))
}

fn check_builtin(program: &str, words: &[Word], idx: usize) -> Result<(), Refused> {
    let at = words[idx].at;
    match program {
        "echo" => Ok(()),
        "printf" => {
            // `--` may come first; `-v` would name a variable, which bash evaluates.
            let format = words[1..].iter().position(|it| it.literal().as_deref() != Some("--"));
            let literal = format.map(|it| &words[it + 1]).and_then(Word::literal);
            if literal.is_some_and(|it| !it.starts_with('-'))
                && format.is_some_and(|it| it + 1 < idx)
            {
                return Ok(());
            }
            refused(at, "can be used with printf only after a literal format")
        }
        "test" | "[" => {
            let arguments = &words[1..];
            let arguments = match (program, arguments.split_last()) {
                ("[", Some((last, rest))) if last.literal().as_deref() == Some("]") => rest,
                _ => arguments,
            };
            let is = |word: &Word, wanted: [&str; 2]| {
                word.literal().is_some_and(|it| wanted.contains(&it.as_str()))
            };
            match arguments {
                [_, operator, _] if is(operator, ["=", "!="]) => Ok(()),
                [operator, _] if is(operator, ["-n", "-z"]) => Ok(()),
                _ => refused(
                    at,
                    "can be compared only by =, !=, -n or -z, with one comparison in each [ ]",
                ),
            }
        }
        _ => refused(
            at,
            &format!(
                "cannot be passed to {program}; the only builtins that accept one are echo, printf and ["
            ),
        ),
    }
}

/// The number of words that are certainly operands.
fn operands(words: &[Word]) -> usize {
    operand_places(words).count()
}

/// The places of the words that are neither options nor directly after one, whose argument they
/// could be. An expansion without quotes may be no word.
fn operand_places(words: &[Word]) -> impl Iterator<Item = usize> {
    let is_option = |it: &Word| it.prefix().starts_with('-');
    let after_option = move |idx: usize| idx > 0 && is_option(&words[idx - 1]);
    (0..words.len())
        .filter(move |it| !is_option(&words[*it]) && !after_option(*it))
        .filter(|it| !words[*it].may_vanish())
}

/// Whether the word at `idx` is the name of a file in an archive of `tar`.
fn is_member(words: &[Word], idx: usize) -> bool {
    // Letters without a dash that take no argument; each other one takes one of the next words.
    const FLAGS: &str = "cdrtuxAajJmOpPSvwWzZ";
    let before = &words[1..idx];
    let Some(first) = before.first().and_then(Word::literal) else { return false };
    let named = first.chars().filter(|it| !first.starts_with('-') && !FLAGS.contains(*it)).count();
    let last = before.last().map(Word::prefix).unwrap_or_default();
    (first.starts_with('-') || operands(before) > named)
        && (!last.starts_with('-') || last == "--")
        && !words[idx].prefix().starts_with('-')
}

fn is_searched_for(words: &[Word], idx: usize) -> bool {
    const TESTS: [&str; 8] =
        ["-name", "-iname", "-path", "-ipath", "-newer", "-wholename", "-user", "-group"];
    let literals: Vec<Option<String>> = words.iter().map(Word::literal).collect();
    let runs = literals.iter().flatten().any(|it| {
        ["-exec", "-ok", "-fprint", "-fls", "-files0"].iter().any(|action| it.starts_with(action))
    });
    !runs && literals[idx - 1].as_deref().is_some_and(|it| TESTS.contains(&it))
}

/// Git subcommands that run neither programs nor hooks chosen by an argument.
const GIT: [&str; 37] = [
    "add",
    "blame",
    "branch",
    "cat-file",
    "check-ref-format",
    "checkout",
    "cherry-pick",
    "commit",
    "commit-tree",
    "describe",
    "diff",
    "fetch",
    "for-each-ref",
    "hash-object",
    "log",
    "ls-files",
    "ls-tree",
    "merge",
    "merge-base",
    "mv",
    "notes",
    "pull",
    "push",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "switch",
    "symbolic-ref",
    "tag",
    "update-ref",
];
/// Those whose first operand is a repository, which a text must not name: git runs the hooks of a
/// repository in a folder.
const GIT_REMOTE: [&str; 3] = ["fetch", "pull", "push"];
/// Their options that take no separate argument, by git 2.47. Any other may take the next word.
const GIT_REMOTE_FLAGS: [&str; 35] = [
    "--",
    "--all",
    "--append",
    "--atomic",
    "--autostash",
    "--delete",
    "--dry-run",
    "--ff-only",
    "--follow-tags",
    "--force",
    "--force-if-includes",
    "--force-with-lease",
    "--ipv4",
    "--ipv6",
    "--keep",
    "--mirror",
    "--no-edit",
    "--no-ff",
    "--no-rebase",
    "--no-tags",
    "--no-thin",
    "--no-verify",
    "--porcelain",
    "--progress",
    "--prune",
    "--prune-tags",
    "--quiet",
    "--rebase",
    "--set-upstream",
    "--squash",
    "--tags",
    "--thin",
    "--unshallow",
    "--update-shallow",
    "--verbose",
];
const GIT_REMOTE_LETTERS: &str = "46adfknpqtuv";

/// The position of git's subcommand, after git's own options.
fn git_subcommand(before: &[Word]) -> Option<(usize, String)> {
    let mut idx = 0;
    while let Some(word) = before.get(idx) {
        let text = word.literal()?;
        match text.as_str() {
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => idx += 2,
            "--no-pager" | "--bare" | "--literal-pathspecs" | "--no-optional-locks" => idx += 1,
            "-c" => {
                let setting = before.get(idx + 1)?.literal()?;
                if !setting.starts_with("user.") {
                    return None;
                }
                idx += 2;
            }
            it if it.starts_with("--git-dir=") || it.starts_with("--work-tree=") => idx += 1,
            it if it.starts_with('-') => return None,
            _ => return Some((idx, text)),
        }
    }
    None
}

fn check_git(words: &[Word], idx: usize) -> Result<(), Refused> {
    let (at, before) = (words[idx].at, &words[1..idx]);
    let found = git_subcommand(before).filter(|(_, it)| GIT.contains(&it.as_str()));
    let Some((place, subcommand)) = found else {
        return refused(at, "can be used only with git subcommands that run no programs");
    };
    // Options may also come after the text.
    let several = subcommand == "fetch" && words.iter().any(is_multiple);
    let is_remote = GIT_REMOTE.contains(&subcommand.as_str());
    if is_remote && (several || !names_repository(&before[place + 1..])) {
        let what = format!(
            "could name the repository of git {subcommand}, whose hooks would run; write the repository before it, without options between the two, as in git {subcommand} origin {{{{data.branch}}}}"
        );
        return refused(at, &what);
    }
    Ok(())
}

/// Whether `git fetch` may read it as `--multiple`, after which each operand is a repository.
fn is_multiple(word: &Word) -> bool {
    let prefix = word.prefix();
    prefix.starts_with("--m") || has_letter(word, "m") && prefix.starts_with('-')
}

/// Whether one of these words is certainly the repository: not an option, nor after one that may
/// take it as its argument.
fn names_repository(words: &[Word]) -> bool {
    let is_flag = |it: &str| {
        let letters = it.strip_prefix('-').filter(|it| !it.is_empty());
        GIT_REMOTE_FLAGS.contains(&it)
            || letters.is_some_and(|it| it.chars().all(|it| GIT_REMOTE_LETTERS.contains(it)))
    };
    let takes_next = |option: &Word| {
        let prefix = option.prefix();
        (prefix.is_empty() && option.literal().is_none())
            || (prefix.starts_with('-') && !prefix.contains('=') && !is_flag(&prefix))
    };
    (0..words.len()).any(|idx| {
        words[idx].literal().is_some_and(|it| !it.starts_with('-'))
            && (idx == 0 || !takes_next(&words[idx - 1]))
    })
}

fn forge_takes(program: &str, before: &[Word]) -> bool {
    let Some(first) = before.first().and_then(Word::literal) else { return false };
    if base(program) == "hub" {
        // Its other subcommands are those of git.
        return ["api", "compare", "gist", "issue", "pr", "pull-request", "release"]
            .contains(&first.as_str());
    }
    !first.starts_with('-')
        && !["alias", "extension", "extensions", "ext", "codespace", "cs", "config"]
            .contains(&first.as_str())
}

/// Whether the last two words are `--arg NAME`: data follows.
fn is_jq_value(before: &[Word]) -> bool {
    let literal = |back: usize| before.len().checked_sub(back).and_then(|it| before[it].literal());
    // The two words after one of these belong to it, even if the first is `--arg`.
    let takes_two = ["--arg", "--argfile", "--argjson", "--rawfile", "--slurpfile"];
    literal(2).is_some_and(|it| it == "--arg")
        && literal(3).is_none_or(|it| !takes_two.contains(&it.as_str()))
}

/// Checks that a program may be at the end of a pipe that carries a text.
pub(crate) fn check_piped(words: &[Word]) -> Result<(), Refused> {
    let at = words.first().map_or(0, |it| it.at);
    let Some(program) = words.first().and_then(Word::literal) else {
        return refused(at, "cannot be piped into a program whose name comes from an expansion");
    };
    let takes = match role(&program) {
        Role::Interpreter => follows_script(&program, &words[1..]),
        Role::Git => git_subcommand(&words[1..]).is_some_and(|(_, it)| {
            ["commit", "commit-tree", "hash-object", "notes", "stripspace", "tag"]
                .contains(&it.as_str())
        }),
        Role::Other | Role::Forge | Role::Jq => {
            let approves = base(&program) == "ctl"
                && words[1..].iter().filter_map(Word::literal).any(|it| it == "allow");
            !approves && (FILTERS.contains(&base(&program)) || is_of_project(&program))
        }
        Role::Runner | Role::Find | Role::Tar => false,
    };
    if takes {
        return Ok(());
    }
    refused(
        at,
        &format!(
            "cannot be piped into {program}, which could read it as code; pipe it into a script of the project (./scripts/NAME)"
        ),
    )
}

/// Whether the form of the path indicates a file of the project.
pub(crate) fn is_of_project(program: &str) -> bool {
    program.contains('/') && !program.starts_with(['/', '~'])
}

/// Checks a command in the same script as a text.
pub(crate) fn check_beside(words: &[Word]) -> Result<(), Refused> {
    let Some(first) = words.first() else { return Ok(()) };
    let Some(program) = first.literal() else {
        if first.has(|it| it == Class::Choice) {
            return Ok(());
        }
        return refused(
            first.at,
            "cannot be used in a command in which an expansion chooses a program",
        );
    };
    let literals = || words[1..].iter().map(Word::literal);
    let is_calm = match program.as_str() {
        "set" => literals().all(|it| {
            it.is_some_and(|it| {
                it == "pipefail"
                    || (it.starts_with('-') && it.bytes().all(|it| b"-euxfo".contains(&it)))
            })
        }),
        it => CALM_BUILTINS.contains(&it) || !BUILTINS.contains(&it),
    };
    if !is_calm {
        return refused(
            first.at,
            &format!(
                "cannot be used in a command with {program}, which can change the shell's behaviour"
            ),
        );
    }
    // Every program gets the event on its standard input.
    let reads_code = match role(&program) {
        Role::Interpreter => {
            !follows_script(&program, &words[1..]) && !has_inline_code(&program, &words[1..])
        }
        Role::Runner => {
            STDIN_READERS.contains(&base(&program))
                || literals().flatten().any(|it| names_interpreter(&it))
        }
        Role::Find | Role::Git | Role::Forge | Role::Jq | Role::Tar | Role::Other => false,
    };
    if reads_code {
        return refused(
            first.at,
            &format!(
                "cannot be used in a command with {program}, which could read the event from standard input as code"
            ),
        );
    }
    Ok(())
}

/// Whether the word at `idx` is data for an interpreter: an argument of its script, or a file that
/// `sed` or `awk` reads with a literal program.
pub(crate) fn is_data(words: &[Word], idx: usize) -> bool {
    let Some(program) = words.first().and_then(Word::literal) else { return false };
    if idx == 0 || role(&program) != Role::Interpreter {
        return false;
    }
    let name = unversioned(base(&program));
    let before = &words[1..idx];
    if SCRIPT_BY_OPTION.contains(&base(&program)) {
        let is_option = words[idx].prefix().starts_with('-');
        return !is_option && has_program(name, before);
    }
    let is_module = ["python", "pypy"].contains(&name)
        && before.len() > 1
        && before[0].literal().as_deref() == Some("-m");
    is_module || (follows_script(&program, before) && !is_of_interpreter(&program, words, idx))
}

/// Whether the literal program of `sed` or `awk`, or its file, is among these words.
fn has_program(name: &str, before: &[Word]) -> bool {
    let is_sed = name.ends_with("sed");
    let mut found = false;
    let mut words = before.iter().map(Word::literal);
    while let Some(word) = words.next() {
        let Some(word) = word else { return false };
        let letters = word.strip_prefix('-').filter(|it| !it.is_empty());
        match letters {
            // Its code, or a file of it.
            Some(it) if it == "f" || (it == "e" && is_sed) => {
                found |= words.next().flatten().is_some();
            }
            Some("F" | "v") if !is_sed => drop(words.next()),
            Some(it) if !is_sed && it.starts_with(['F', 'v']) => {}
            // The suffix of -i is no option.
            Some(it)
                if is_sed
                    && it
                        .split('i')
                        .next()
                        .is_some_and(|it| it.chars().all(|it| "nrEsuz".contains(it))) => {}
            Some("-sandbox") => {}
            Some(_) => return false,
            None => found = true,
        }
    }
    found
}

/// Whether an option gives an interpreter its code, so that it does not read standard input.
fn has_inline_code(program: &str, words: &[Word]) -> bool {
    let is_shell = base(program).ends_with("sh");
    let letters = match unversioned(base(program)) {
        _ if is_shell => "c",
        "python" | "pypy" => "cm",
        "node" | "nodejs" => "ep",
        "php" => "r",
        _ => "ceE",
    };
    // Before them only options that take no argument: in -Ie, the e is one.
    let gives_code = |it: String| match it.strip_prefix('-') {
        Some(short) if !short.starts_with('-') => short
            .trim_start_matches(|it| "abilnpsuwxBOSTW".contains(it) && !letters.contains(it))
            .starts_with(|it| letters.contains(it)),
        Some(long) => !is_shell && long.starts_with("-eval"),
        None => false,
    };
    SCRIPT_BY_OPTION.contains(&base(program))
        || words.iter().filter_map(Word::literal).any(gives_code)
}

/// The file that a command runs, if its path is given: the program or the script.
pub(crate) fn script_of(words: &[Word]) -> Option<String> {
    let program = words.first()?.literal()?;
    if role(&program) != Role::Interpreter {
        return program.contains('/').then_some(program);
    }
    let literals = words[1..].iter().filter_map(Word::literal);
    literals.into_iter().find(|it| !it.starts_with('-'))
}

/// Whether a command runs code that is not from a file that it names.
pub(crate) fn runs_code(words: &[Word]) -> bool {
    let Some(program) = words.first().and_then(Word::literal) else { return true };
    match role(&program) {
        Role::Interpreter => !follows_script(&program, &words[1..]),
        Role::Runner => true,
        Role::Find => words.iter().filter_map(Word::literal).any(|it| it.starts_with("-exec")),
        Role::Git | Role::Forge | Role::Jq | Role::Tar | Role::Other => false,
    }
}

/// Whether a command is known to write the files that it names, or to make them executable.
pub(crate) fn changes_files(words: &[Word]) -> bool {
    const CHANGING: [&str; 9] =
        ["chmod", "cp", "dd", "install", "ln", "mv", "sponge", "tee", "xxd"];
    let Some(program) = words.first().and_then(Word::literal) else { return false };
    let mut options = words[1..].iter().map(Word::prefix);
    match base(&program) {
        "uniq" => options.filter(|it| it == "-" || !it.starts_with('-')).count() > 1,
        "sort" => options.any(|it| {
            it.starts_with("--o")
                || (it.starts_with('-') && !it.starts_with("--") && it.contains('o'))
        }),
        "curl" | "wget" | "zstd" | "iconv" | "gpg" | "openssl" => options
            .any(|it| ["-o", "-O", "--o", "-out"].iter().any(|option| it.starts_with(option))),
        it => CHANGING.contains(&it),
    }
}

/// The names of the files that a command could write: all that it names.
pub(crate) fn named_files(words: &[Word]) -> Vec<String> {
    let mut names = Vec::new();
    for word in words.iter().skip(1).filter_map(Word::literal) {
        let value = word.split_once('=').map(|(_, it)| it);
        let short = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
        // Option letters and a name can be one word: -uow.sh.
        let short =
            short.into_iter().flat_map(|it| it.match_indices('o').map(|(at, _)| &it[at + 1..]));
        let all = std::iter::once(word.as_str()).chain(value).chain(short);
        let all = all.filter(|it| !it.is_empty());
        names.extend(all.filter_map(|it| it.rsplit('/').next().map(str::to_owned)));
    }
    names
}

/// The arguments that values may make start with `-`: each with its position and the numbers of the
/// values.
pub(crate) fn leads(words: &[Word]) -> Vec<(usize, Vec<usize>)> {
    let literals: Vec<Option<String>> = words.iter().map(Word::literal).collect();
    let program = literals.first().cloned().flatten().unwrap_or_default();
    let is = |idx: usize, wanted: &str| literals[idx].as_deref() == Some(wanted);
    let first_free = match base(&program) {
        // Nothing is an option there.
        "[" | "test" => words.len(),
        "printf" => 2 + usize::from(words.len() > 1 && is(1, "--")),
        // Words after its -- are tests all the same.
        "find" => words.len(),
        // After an option it may be the option's argument.
        _ => (1..words.len())
            .find(|it| is(*it, "--") && (*it == 1 || is_no_option(&words[*it - 1])))
            .unwrap_or(words.len()),
    };
    let is_free_from_start = matches!(base(&program), "[" | "test");
    let checked = if is_free_from_start { 1..1 } else { 1..first_free.min(words.len()) };
    checked.map(|it| (it, words[it].lead())).filter(|(_, lead)| !lead.is_empty()).collect()
}

/// Whether a word certainly does not start with `-`.
fn is_no_option(word: &Word) -> bool {
    let prefix = word.prefix();
    !prefix.starts_with('-') && (!prefix.is_empty() || word.literal().is_some())
}

/// A name that a publisher chooses (a slug, say) is one word of harmless characters. It must not
/// choose the program, though, nor a variable.
fn check_names(words: &[Word]) -> Result<(), Refused> {
    let Some(program) = words[0].literal() else { return Ok(()) };
    let is_value = |it: Class| matches!(it, Class::Name | Class::Number);
    for idx in (1..words.len()).filter(|it| words[*it].has(is_value)) {
        let is_name = words[idx].has(|it| it == Class::Name);
        if is_script(words, idx) || (is_name && chooses(&program, words, idx)) {
            // The checks of a variable are those of the options that are known to run a program.
            let may_be_variable = role(&program) == Role::Runner
                && !PREFIXES.contains(&base(&program))
                && operands(&words[1..idx]) > 0;
            let or = if may_be_variable {
                ", or write \"$WAYPOST_EVENT_DATA_key\" if it is only an argument"
            } else {
                ""
            };
            let what = format!(
                "after {program}, the event's value would choose the program; declare it as one of [a, b] in trigger.data{or}"
            );
            return Err((words[idx].at, what));
        }
    }
    Ok(())
}

/// Whether the value at `idx` is part of the path of an interpreter's script.
fn is_script(words: &[Word], idx: usize) -> bool {
    // The interpreter itself, or one that another program runs.
    let names = |it: &Word| it.literal().is_some_and(|it| role(&it) == Role::Interpreter);
    let Some(at) = words[..idx].iter().rposition(names) else { return false };
    let (program, before) = (words[at].literal().unwrap_or_default(), &words[at + 1..idx]);
    if SCRIPTS_READERS.contains(&base(&program)) {
        // The words after `gnuplot -c FILE` are the script's.
        let is_own = before.iter().any(|it| it.literal().as_deref() == Some("-c"));
        return !is_own && !words[idx].prefix().starts_with('-');
    }
    if SCRIPT_BY_OPTION.contains(&base(&program)) {
        let is_file = |it: String| it == "-f" || it == "--file";
        return words[idx].prefix().starts_with("-f")
            || before.last().and_then(Word::literal).is_some_and(is_file);
    }
    operands(before) == 0
        && !words[idx].prefix().starts_with('-')
        && !follows_script(&program, before)
        && !has_inline_code(&program, before)
}

/// Whether a name at `idx` determines what runs.
fn chooses(program: &str, words: &[Word], idx: usize) -> bool {
    let (before, word) = (&words[1..idx], &words[idx]);
    match role(program) {
        _ if NAMING_BUILTINS.contains(&program) => true,
        _ if program == "printf" => before.first().is_some_and(|it| it.prefix().starts_with("-v")),
        _ if base(program) == "ctl" => is_ctl_subcommand(before),
        Role::Interpreter => word.lead_is_name() && operands(before) == 0,
        Role::Runner => chooses_program(words, idx),
        Role::Git => git_subcommand(before).is_none(),
        Role::Forge => before.first().is_none_or(|it| it.prefix().starts_with('-')),
        Role::Find | Role::Jq | Role::Tar | Role::Other => before
            .last()
            .and_then(Word::literal)
            .is_some_and(|it| ["-exec", "-execdir", "-ok", "-okdir"].contains(&it.as_str())),
    }
}

/// Whether a word after a program that runs its arguments, or after another such one that it runs,
/// may be the name of the program to run.
fn chooses_program(words: &[Word], idx: usize) -> bool {
    let is_prefix = |it: &Word| it.literal().is_some_and(|it| PREFIXES.contains(&base(&it)));
    let at = words[..idx].iter().rposition(is_prefix).unwrap_or_default();
    let program = words[at].literal().unwrap_or_default();
    let before = &words[at + 1..idx];
    // The first operand of most is not the program: `timeout 5 ./x`.
    let (has_own, sets) = match base(&program) {
        "env" => (0, true),
        "doas" | "sudo" => (1, true),
        _ => (1, false),
    };
    let is_setting = |it: usize| sets && before[it].prefix().contains('=');
    operand_places(before).filter(|it| !is_setting(*it)).count() <= has_own
}

impl Word {
    fn lead_is_name(&self) -> bool {
        matches!(
            self.parts.iter().find(|it| !matches!(it, Part::Literal(text) if text.is_empty())),
            Some(Part::Value(..))
        )
    }
}
