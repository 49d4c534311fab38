//! Untrusted text on a terminal: escapes everything that the terminal would interpret.

use std::sync::LazyLock;

use regex::Regex;
pub use waypost_api::visible_json;
pub use waypost_api::{Lines, visible};

/// One line of bytes, for content that is approved: everything except visible characters and inner
/// spaces is an escape, including bytes that are not UTF-8.
pub fn exact(line: &[u8]) -> String {
    let inner = line.trim_ascii_end().len();
    let mut shown = String::with_capacity(line.len() + 16);
    let mut at = 0;
    for chunk in line.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\0' => shown.push_str("\\x00"),
                '\r' | '\n' | '\t' => shown.extend(c.escape_default()),
                ' ' if at >= inner => shown.push_str("\\x20"),
                c if is_invisible(c) => shown.extend(c.escape_unicode()),
                c => shown.push(c),
            }
            at += c.len_utf8();
        }
        for byte in chunk.invalid() {
            shown.extend(["\\x".to_owned(), format!("{byte:02x}")]);
        }
        at += chunk.invalid().len();
    }
    shown
}

/// Whether a character is invisible. Among blanks, only the ASCII space counts as visible.
fn is_invisible(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    INVISIBLE.is_match(c.encode_utf8(&mut [0; 4]))
}

/// Controls, formats, unassigned and private characters; separators; characters that are invisible
/// by default. Then blanks in other categories (letters, marks, symbols): of Braille, music,
/// hieroglyphs, Khitan.
static INVISIBLE: LazyLock<Regex> = LazyLock::new(|| {
    let class = r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\x{2800}\x{1d159}\x{13430}-\x{1345f}\x{16fe4}]";
    Regex::new(class).expect("the class is valid")
});
