//! Makes text of pages harmless for terminals and readers.
//!
//! Pages choose their texts. Characters that control a terminal (C0, C1, DEL), that change the
//! writing direction or that are invisible (zero width, tags) are removed everywhere, before
//! anything else is done with a text.

/// The maximum number of combining marks on one letter.
const MARKS_MAX: usize = 4;

/// The text without harmful characters; tabs become spaces, and line and paragraph separators
/// become newlines. Linear in the length of the text.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut marks = 0;
    let mut previous = None;
    for letter in text.chars() {
        if is_mark(letter) {
            marks += 1;
        } else {
            marks = 0;
        }
        match letter {
            '\n' | '\u{2028}' | '\u{2029}' => cleaned.push('\n'),
            '\t' => cleaned.push(' '),
            // A joiner belongs between two pictographs and nowhere else.
            '\u{200D}' if previous.is_some_and(is_picture) => cleaned.push(letter),
            _ if letter.is_control() || is_unseen(letter) || marks > MARKS_MAX => {}
            _ => cleaned.push(letter),
        }
        // A modifier of a pictograph's colour or shape is part of it.
        if !matches!(letter, '\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}') {
            previous = Some(letter);
        }
    }
    cleaned
}

/// [`clean`], on one line.
#[must_use]
pub fn clean_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many letters [`clean`] removes because they are invisible: a hint that a text hides another
/// one.
#[must_use]
pub(crate) fn unseen(text: &str) -> usize {
    text.chars().filter(|c| is_unseen(*c)).count()
}

fn is_mark(letter: char) -> bool {
    matches!(letter,
        '\u{300}'..='\u{36F}' | '\u{483}'..='\u{489}' | '\u{1AB0}'..='\u{1AFF}'
        | '\u{1DC0}'..='\u{1DFF}' | '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}')
}

fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}'
        | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FEFF}' | '\u{FFA0}' | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}')
}

fn is_picture(letter: char) -> bool {
    matches!(letter, '\u{2190}'..='\u{2BFF}' | '\u{1F000}'..='\u{1FAFF}')
}

#[cfg(test)]
mod tests {
    use super::{clean, clean_line, unseen};

    #[test]
    fn control_and_invisible_characters_are_removed() {
        let cases = [
            ("\x1b]52;c;aGk=\x07x", "]52;c;aGk=x"),
            ("a\u{9b}31mb", "a31mb"),
            ("evil\u{202e}gpj.exe", "evilgpj.exe"),
            ("pass\u{200b}word\u{feff}", "password"),
            ("\u{e0041}\u{e0042}hi", "hi"),
            ("a\tb\u{2028}c\r\n", "a b\nc\n"),
            ("a\u{200d}b", "ab"),
            ("👩\u{200d}💻 👍🏽 ❤\u{fe0f}", "👩\u{200d}💻 👍🏽 ❤\u{fe0f}"),
            ("汉字 émoji", "汉字 émoji"),
        ];
        for (given, expected) in cases {
            assert_eq!(clean(given), expected, "{given:?}");
        }
        assert_eq!(
            clean(&format!("a{}", "\u{301}".repeat(50))),
            format!("a{}", "\u{301}".repeat(4))
        );
        assert_eq!(clean_line(" a \n\n b "), "a b");
        assert_eq!(unseen("a\u{200b}\u{202e}b"), 2);
    }
}
