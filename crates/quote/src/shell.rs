//! Text as a word of a shell command.

use std::borrow::Cow;

/// The text as one word of a POSIX shell: in single quotes, unless no character of it needs any.
///
/// Control characters stay as they are. In a command that is only shown, escape them first with
/// [`visible`](crate::visible).
///
/// ```
/// use waypost_quote::shell_word;
/// assert_eq!(shell_word("/srv/notes"), "/srv/notes");
/// assert_eq!(shell_word("Bob's notes"), r"'Bob'\''s notes'");
/// ```
pub fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}
