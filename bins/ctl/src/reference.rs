//! `docs/ctl.md`, from the definition of the command line.

use clap::{Arg, Command, CommandFactory};
use waypost_cli::exit;

use crate::commands::Cli;

/// The reference of the command line, in Markdown.
pub fn reference() -> String {
    let mut text = String::from(
        "# `ctl`\n\nGenerated from the program; `UPDATE_EXPECT=1 cargo test -p waypost-ctl` rewrites it.\n",
    );
    let root = Cli::command();
    text += "\n## Global options\n\n";
    arguments(&root, &mut text, true);
    text += "\n## Exit status\n\n| status | meaning |\n|---|---|\n";
    for (code, meaning) in exit::TABLE {
        line(&mut text, format_args!("| {code} | {meaning} |"));
    }
    text += "\nErrors go to standard error: `error: ...`, its causes, and `hint: ...` with a remedy. If the service itself failed, the hint has the request id to look for in the service's log. With `--json`, standard error has one JSON object per line: errors as a problem of RFC 9457 (with `exitStatus`, `causes` and `hint`), notes and warnings as `{\"note\": ...}` or `{\"warning\": ...}`.\n";
    text += "\n`-` for a file or a text means standard input (for `export` and `backup`, standard output). With `--json`, the output is one JSON document; for `get` and `undelete` one per id, for `batch` one per line.\n";
    for command in root.get_subcommands() {
        describe(command, "ctl", &mut text);
    }
    text
}

fn describe(command: &Command, parent: &str, text: &mut String) {
    let path = format!("{parent} {}", command.get_name());
    // `context` and `mcp` also work without a subcommand.
    if !command.is_subcommand_required_set() {
        describe_command(command, &path, text);
    }
    for inner in command.get_subcommands() {
        describe(inner, &path, text);
    }
}

fn describe_command(command: &Command, path: &str, text: &mut String) {
    line(text, format_args!("\n## `{path}`\n"));
    let about = command
        .get_long_about()
        .or_else(|| command.get_about())
        .map(ToString::to_string)
        .unwrap_or_default();
    line(text, format_args!("{about}"));
    line(text, format_args!("\n```text\n{path}{}\n```\n", usage(command)));
    arguments(command, text, false);
    if let Some(example) = command.get_after_help() {
        let example = example.to_string();
        let lines = example.lines().skip(1).map(str::trim_start).collect::<Vec<_>>().join("\n");
        line(text, format_args!("\n```sh\n{lines}\n```"));
    }
}

fn usage(command: &Command) -> String {
    let mut usage = String::new();
    if command.get_arguments().any(|argument| {
        !argument.is_positional() && !argument.is_global_set() && argument.get_id() != "help"
    }) {
        usage += " [OPTIONS]";
    }
    for argument in command.get_positionals() {
        let name = value_name(argument);
        let many = if is_many(argument) { "..." } else { "" };
        let (open, close) = if argument.is_required_set() { ('<', '>') } else { ('[', ']') };
        usage.extend([" ".to_owned(), format!("{open}{name}{close}{many}")]);
    }
    usage
}

fn arguments(command: &Command, text: &mut String, global: bool) {
    let shown: Vec<_> = command
        .get_arguments()
        .filter(|argument| {
            argument.is_global_set() == global
                && !matches!(argument.get_id().as_str(), "help" | "version")
        })
        .collect();
    if shown.is_empty() {
        return;
    }
    *text += "| argument | meaning |\n|---|---|\n";
    for argument in shown {
        let short = argument.get_short().map_or(String::new(), |short| format!("-{short}, "));
        let name = match argument.get_long() {
            None => format!("<{}>", value_name(argument)),
            Some(long) if argument.get_action().takes_values() => {
                format!("{short}--{long} <{}>", value_name(argument))
            }
            Some(long) => format!("{short}--{long}"),
        };
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let values: Vec<_> = argument
            .get_possible_values()
            .iter()
            .map(|value| format!("`{}`", value.get_name()))
            .collect();
        let values = if argument.get_action().takes_values() && !values.is_empty() {
            format!(": {}", values.join(", "))
        } else {
            String::new()
        };
        line(text, format_args!("| `{name}` | {}{values} |", help.replace('|', "\\|")));
    }
}

fn value_name(argument: &Arg) -> String {
    match argument.get_value_names() {
        Some([name, ..]) => name.to_string(),
        _ => argument.get_id().as_str().to_uppercase(),
    }
}

fn is_many(argument: &Arg) -> bool {
    argument.get_num_args().is_some_and(|argument| argument.max_values() > 1)
        || matches!(argument.get_action(), clap::ArgAction::Append)
}

fn line(text: &mut String, words: std::fmt::Arguments<'_>) {
    text.extend([words.to_string().as_str(), "\n"]);
}
