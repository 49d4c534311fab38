//! YAML: the only module of this crate that knows how it is read.

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _};

use super::brackets::{self, OPEN_BRACKETS_MAX};
use super::invalid::InvalidFile;

/// The most lines that begin with `%`: the parser compares each with all before it.
pub(crate) const DIRECTIVES_MAX: usize = 100;

/// Reads a whole document. An error has its position.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, InvalidFile> {
    check(text)?;
    serde_yaml::from_str(text).map_err(|it| located(&it))
}

/// Rejects texts for which the parser takes too long.
fn check(text: &str) -> Result<(), InvalidFile> {
    if let Some((line, column)) = brackets::excess(text) {
        let message = format!(
            "more than {OPEN_BRACKETS_MAX} [ and {{ before this place are not closed on their lines; close them there, or write lists as lines with - and mappings as lines with key: value"
        );
        return Err(InvalidFile { line, column, message });
    }
    let mut directives = text.split(is_break).enumerate().filter(|(_, it)| it.starts_with('%'));
    if let Some((idx, _)) = directives.nth(DIRECTIVES_MAX) {
        let message = format!(
            "more than {DIRECTIVES_MAX} lines begin with %; flow files need no directives, so remove them"
        );
        return Err(InvalidFile { line: idx + 1, column: 1, message });
    }
    Ok(())
}

/// The characters that end a line in YAML.
fn is_break(it: char) -> bool {
    matches!(it, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The place in a document where `fails` does; its beginning if it does not fail.
pub(super) fn fault<'de>(
    text: &'de str,
    fails: impl DeserializeSeed<'de, Value = ()>,
    message: &str,
) -> InvalidFile {
    let failed = fails.deserialize(serde_yaml::Deserializer::from_str(text));
    located(&failed.err().unwrap_or_else(|| serde_yaml::Error::custom(message)))
}

/// `serde_yaml` puts the place at the end of its message.
fn located(error: &serde_yaml::Error) -> InvalidFile {
    let text = error.to_string();
    let Some(location) = error.location() else {
        return InvalidFile { line: 1, column: 1, message: text };
    };
    let place = format!(" at line {} column {}", location.line(), location.column());
    let message = text.replacen(&place, "", 1);
    InvalidFile { line: location.line(), column: location.column(), message }
}
