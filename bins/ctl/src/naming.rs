//! The names of request fields on the command line.

use clap::{Arg, ArgMatches, Command};
use waypost_api::{FieldError, Problem};

/// Fields whose option or argument has another name.
const OTHERWISE: [(&str, &[&str]); 9] = [
    ("tags", &["tag"]),
    ("metadata", &["meta"]),
    ("sources", &["source"]),
    ("paths", &["path"]),
    ("taskType", &["task"]),
    ("maxItems", &["max"]),
    ("scopes", &["scope"]),
    ("expiresAt", &["expires"]),
    ("type", &["name", "event", "kind"]),
];

/// Fields to which the message about another field refers.
const FIELDS: [&str; 12] = [
    "since",
    "until",
    "validFrom",
    "validUntil",
    "expiresAt",
    "asOf",
    "validAt",
    "from",
    "to",
    "into",
    "space",
    "id",
];

/// The subcommand in use.
pub(crate) fn given(root: Command, matches: &ArgMatches) -> Command {
    let (mut command, mut matches) = (root, matches);
    while let Some((name, inner)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else { break };
        (command, matches) = (found.clone(), inner);
    }
    command
}

/// The errors of the fields, with the names in the command's help; `None` if the problem is not
/// about fields.
pub(crate) fn renamed(problem: &Problem, command: &Command) -> Option<String> {
    let by_fields = Problem::fields(problem.errors.clone());
    if problem.errors.is_empty() || by_fields.detail != problem.detail {
        return None;
    }
    let named = |error: &FieldError| {
        let message = with_options(command, &error.message);
        match option_of(command, &error.pointer) {
            Some(option) => format!("{option}: {message}"),
            None => {
                Problem::fields(vec![FieldError { message, pointer: error.pointer.clone() }]).detail
            }
        }
    };
    Some(problem.errors.iter().map(named).collect::<Vec<_>>().join("; "))
}

/// A message with the names of the command's options for those of fields, which are in backticks.
fn with_options(command: &Command, message: &str) -> String {
    let parts = message.split('`').enumerate().map(|(at, part)| {
        let option = (at % 2 == 1 && FIELDS.contains(&part)).then(|| option_of(command, part));
        option.flatten().unwrap_or_else(|| part.to_owned())
    });
    parts.collect::<Vec<_>>().join("`")
}

fn option_of(command: &Command, pointer: &str) -> Option<String> {
    let pointer = pointer.trim_start_matches(['/', '?']);
    let mut parts = pointer.strip_prefix("set/").unwrap_or(pointer).split('/');
    let field = parts.next()?;
    let kebab = kebab(field);
    let otherwise = OTHERWISE
        .iter()
        .find(|otherwise| otherwise.0 == field)
        .map_or(&[][..], |otherwise| otherwise.1);
    let names = std::iter::once(kebab.as_str()).chain(otherwise.iter().copied());
    let mut found =
        names.filter_map(|name| command.get_arguments().find(|argument| is_called(argument, name)));
    let mut shown = shown(found.next()?);
    // An index in a list has no name on the command line; a key has.
    for key in parts.filter(|part| part.parse::<usize>().is_err()) {
        shown.push(' ');
        shown.push_str(key);
    }
    Some(shown)
}

fn is_called(argument: &Arg, name: &str) -> bool {
    match argument.get_long() {
        Some(long) => long == name,
        None => argument.is_positional() && argument.get_id().as_str() == name,
    }
}

fn shown(argument: &Arg) -> String {
    if let Some(long) = argument.get_long() {
        return format!("--{long}");
    }
    let names = argument.get_value_names().and_then(<[_]>::first);
    let name = names.map_or_else(|| argument.get_id().as_str(), |name| name.as_str());
    format!("<{}>", name.to_uppercase())
}

/// `min-score` for `minScore`.
fn kebab(field: &str) -> String {
    let mut name = String::new();
    for c in field.chars() {
        if c.is_ascii_uppercase() {
            name.push('-');
        }
        name.push(c.to_ascii_lowercase());
    }
    name
}
