//! Programs that run others, and which of their options have an argument.

use crate::command::programs::is_code_option;

/// Interpreters whose code is a shell's.
pub(super) const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "fish", "ksh", "lksh", "mksh", "oksh", "osh", "pdksh", "posh",
    "rbash", "rksh", "rzsh", "sh", "tcsh", "yash", "zsh",
];

/// Other programs that run the program after their own options.
pub(super) const RUNNERS: &[&str] = &[
    "busybox",
    "chronic",
    "dumb-init",
    "eatmydata",
    "fakeroot",
    "gosu",
    "gtime",
    "gtimeout",
    "linux32",
    "linux64",
    "pkexec",
    "proxychains",
    "su-exec",
    "tini",
    "torsocks",
    "toybox",
    "tsocks",
    "unbuffer",
];

/// Builtins that mark variables, and may set them.
pub(super) const MARKERS: &[&str] = &["declare", "export", "local", "readonly", "typeset"];

/// The letters of the options of a program that have an argument.
fn letters(program: &str) -> &'static str {
    match program {
        "env" => "uCS",
        "exec" => "a",
        "sudo" => "ugpCDhrTtRU",
        "doas" => "uC",
        "nice" => "n",
        "timeout" | "gtimeout" => "sk",
        "xargs" => "IndPsLEa",
        "ionice" => "cnpPu",
        "chrt" => "TPDp",
        "flock" => "wEc",
        "stdbuf" => "ioe",
        "time" => "fo",
        "unshare" => "SGRw",
        "perl" => "I",
        "ruby" => "ICrE",
        "python" | "pypy" => "WX",
        "node" | "nodejs" | "tsx" | "ts-node" => "rC",
        "php" => "dcztS",
        "lua" | "luajit" => "l",
        "read" => "dinNptu",
        "mapfile" | "readarray" => "dnOsucC",
        _ => "",
    }
}

/// Long options that have an argument in the next word.
const LONG: &[&str] = &[
    "--adjustment",
    "--arg-file",
    "--chdir",
    "--class",
    "--classdata",
    "--conditions",
    "--delimiter",
    "--env-file",
    "--format",
    "--group",
    "--import",
    "--init-file",
    "--input-type",
    "--kill-after",
    "--loader",
    "--max-args",
    "--max-procs",
    "--output",
    "--rcfile",
    "--require",
    "--signal",
    "--timeout",
    "--unset",
    "--user",
];

/// Whether the next word is the argument of this option.
pub(super) fn takes_next(program: &str, option: &str) -> bool {
    if option.starts_with("--") {
        return LONG.contains(&option);
    }
    let letters = letters(program);
    // After the first such letter, the rest of the word is the argument.
    let at = option.find(|it| letters.contains(it));
    at.is_some_and(|at| at + 1 == option.len())
}

pub(super) fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-')
}

/// Whether the next word, or the rest of this one, is code.
pub(super) fn is_code(program: &str, option: &str) -> bool {
    let is_cluster = !option.starts_with("--") && option.ends_with(['c', 'e', 'E']);
    is_cluster
        || is_code_option(program, option)
        || matches!((program, option), ("php", "-r") | ("node" | "nodejs", "-p"))
}
