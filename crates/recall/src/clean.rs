//! What of a turn is recorded.

use crate::block::blocks;
use crate::limits::TURN_BYTES_MAX;

/// A turn as it is recorded: without text that recall injected, with secrets masked, of at most
/// [`TURN_BYTES_MAX`] bytes and without blank ends. `None` if nothing is left.
///
/// ```
/// use waypost_recall::clean;
///
/// assert_eq!(clean("use password: tr0ub4dor&3x ").as_deref(), Some("use password: [redacted:secret]"));
/// assert_eq!(clean(" \n"), None);
/// ```
pub fn clean(text: &str) -> Option<String> {
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for block in blocks(text) {
        kept.push_str(&text[from..block.start]);
        from = block.end;
    }
    kept.push_str(&text[from..]);
    // Secrets are masked before the text is cut: half a secret is not recognised.
    let (masked, _) = waypost_redact::redact(kept.trim(), false);
    let shown = start(&masked, TURN_BYTES_MAX).trim();
    (!shown.is_empty()).then(|| shown.to_owned())
}

/// The longest start of a text of at most that many bytes.
pub(crate) fn start(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
