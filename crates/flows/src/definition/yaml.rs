//! YAML: the only module of this crate that knows how it is read.

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _};

use super::invalid::InvalidFile;

/// Reads a whole document. An error has its position.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, InvalidFile> {
    serde_yaml::from_str(text).map_err(|it| located(&it))
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
