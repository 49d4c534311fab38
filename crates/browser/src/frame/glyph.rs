//! Letters and their widths in cells.

use unicode_width::UnicodeWidthChar;

use crate::clean;

/// The maximum size of a letter with its marks in bytes; further marks are dropped.
const LETTER_BYTES_MAX: usize = 16;

/// The letters of a text with their widths in cells, 1 or 2. Terminals disagree about the widths of
/// joined emoji; the first emoji stands for the whole sequence.
pub(crate) fn glyphs(text: &str) -> Vec<(String, u8)> {
    let mut glyphs: Vec<(String, u8)> = Vec::new();
    let mut is_joined = false;
    for letter in clean(text).chars() {
        if is_joined {
            is_joined = false;
            continue;
        }
        match letter {
            '\u{200D}' => is_joined = true,
            // Characters that turn a letter into an emoji, or colour one, change widths in some
            // terminals only.
            '\u{FE00}'..='\u{FE0F}' | '\u{1F3FB}'..='\u{1F3FF}' => {}
            // Private-use characters are icons of the page's own font.
            '\u{E000}'..='\u{F8FF}' | '\u{F0000}'.. => glyphs.push(("▪".to_owned(), 1)),
            '\n' => glyphs.push((" ".to_owned(), 1)),
            _ => match letter.width() {
                Some(width @ 1..) => {
                    glyphs.push((letter.to_string(), u8::try_from(width).unwrap_or(2)));
                }
                // A mark belongs to the preceding letter.
                _ => {
                    if let Some((text, _)) =
                        glyphs.last_mut().filter(|pair| pair.0.len() < LETTER_BYTES_MAX)
                    {
                        text.push(letter);
                    }
                }
            },
        }
    }
    glyphs
}

#[cfg(test)]
mod tests {
    use super::glyphs;

    #[test]
    fn letters_have_the_width_that_terminals_use() {
        let widths = |text: &str| glyphs(text).iter().map(|glyph| u32::from(glyph.1)).sum::<u32>();
        let shown = |text: &str| glyphs(text).into_iter().map(|glyph| glyph.0).collect::<String>();
        let cases = [
            ("plain", "plain", 5),
            ("e\u{301}te\u{301}", "e\u{301}te\u{301}", 3),
            ("汉字", "汉字", 4),
            ("👩\u{200d}💻!", "👩!", 3),
            ("👍🏽 ❤\u{fe0f}", "👍 ❤", 4),
            ("\u{e0b0}x", "▪x", 2),
            ("\u{301}", "", 0),
            ("a\x1b[31mb\u{9b}c\u{202e}d", "a[31mbcd", 8),
        ];
        for (given, expected, width) in cases {
            assert_eq!((shown(given).as_str(), widths(given)), (expected, width), "{given:?}");
        }
        // An unlimited number of marks would overflow into neighbouring rows.
        let marked = format!("z{}", "\u{336}".repeat(10_000));
        assert!(shown(&marked).len() <= 17 && widths(&marked) == 1);
    }
}
