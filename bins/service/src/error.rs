//! Errors as log lines and startup messages show them.

/// What to do about a damaged store; appended to the error that found the damage.
pub(crate) const REPAIR: &str =
    "; `ctl doctor` says what is damaged, and `ctl doctor --repair` keeps the rest";

/// The error and its causes on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
