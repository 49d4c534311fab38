//! Words before the name of a program.

const PLUS: &str = "is an assignment with +=, a subscript, or a name that begins with a digit, which dash takes for a program; write NAME=VALUE";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    Assignment,
    Word,
}

/// Whether a word before a program is an assignment in every shell.
pub(super) fn read(written: &str) -> Result<Prefix, &'static str> {
    let end = written.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    let (name, after) = written.split_at(end.unwrap_or(written.len()));
    let is_digit = name.starts_with(|it: char| it.is_ascii_digit());
    let is_element = after.starts_with('[') && (after.contains("]=") || after.contains("]+="));
    match after {
        _ if name.is_empty() => Ok(Prefix::Word),
        _ if after.starts_with("+=") || is_element => Err(PLUS),
        _ if !after.starts_with('=') => Ok(Prefix::Word),
        _ if is_digit => Err(PLUS),
        _ => Ok(Prefix::Assignment),
    }
}
