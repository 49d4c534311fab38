//! A limit on the brackets of a YAML text, checked before it is parsed.
//!
//! The YAML parser compares each token with every open `[` and `{`. Where a bracket is one, and not
//! part of a text, only a parser knows. This reader never finds fewer open brackets than there are:
//! a bracket counts as closed only by one on its line, and if that closes it in case it opens.

/// The most `[` and `{` that are open at once, each counted unless its line closes it. At this
/// depth, a file of the largest size takes half a second.
pub(crate) const OPEN_BRACKETS_MAX: usize = 1000;

/// The position, in lines and characters from 1, of a bracket beyond the limit.
pub(super) fn excess(text: &str) -> Option<(usize, usize)> {
    let mut open = 0;
    for (number, text) in text.lines().enumerate() {
        let mut line = Line { open, closable: 0, quoted: 0, place: Place::Begin };
        let mut last = ' ';
        let mut chars = text.chars().enumerate().peekable();
        while let Some((column, it)) = chars.next() {
            let next = chars.peek().map_or('\n', |(_, it)| *it);
            if line.step(last, it, next) {
                chars.next();
            }
            last = it;
            if line.total() > OPEN_BRACKETS_MAX {
                return Some((number + 1, column + 1));
            }
        }
        open = line.total();
    }
    None
}

/// Where a reader is, inside brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before a value.
    Begin,
    /// In a value without quotes.
    Plain,
    Quoted(char),
}

/// A line, up to a character.
struct Line {
    /// Brackets that nothing on this line can close any more.
    open: usize,
    /// Nested open brackets.
    closable: usize,
    /// Nested open brackets in a text in quotes: it may be the part between two such texts.
    quoted: usize,
    place: Place,
}

impl Line {
    fn total(&self) -> usize {
        self.open + self.closable + self.quoted
    }

    /// Reads a character. Whether the next one is read with it.
    fn step(&mut self, last: char, it: char, next: char) -> bool {
        let (opens, closes) = (matches!(it, '[' | '{'), matches!(it, ']' | '}'));
        let is_special = "\"'#&*!|>%@`?\\".contains(it);
        match self.place {
            Place::Quoted(quote) if it == quote => {
                if quote == '\'' && next == quote {
                    return true;
                }
                self.open += std::mem::take(&mut self.quoted);
                self.place = Place::Begin;
            }
            Place::Quoted('"') if it == '\\' && matches!(next, '"' | '\\') => return true,
            Place::Quoted(_) if opens => self.quoted += 1,
            Place::Quoted(_) if closes => self.quoted = self.quoted.saturating_sub(1),
            Place::Quoted(_) if is_special => self.open += std::mem::take(&mut self.quoted),
            Place::Quoted(_) => {}
            Place::Begin | Place::Plain if opens => {
                self.closable += 1;
                self.place = Place::Begin;
            }
            // Not in brackets: whatever it is, it closes none.
            Place::Begin | Place::Plain if self.closable == 0 => {}
            Place::Begin | Place::Plain if closes => {
                self.closable -= 1;
                self.place = Place::Begin;
            }
            Place::Begin | Place::Plain if it == ',' => self.place = Place::Begin,
            Place::Begin if it == ':' || is_blank(it) => {}
            Place::Begin if matches!(it, '"' | '\'') => self.place = Place::Quoted(it),
            // A comment, an anchor, a tag: whatever follows may not be what it looks like.
            Place::Begin if is_special || it == '\u{feff}' || (it == '-' && is_blank(next)) => {
                self.open += std::mem::take(&mut self.closable);
            }
            Place::Begin => self.place = Place::Plain,
            Place::Plain if it == ':' && (is_blank(next) || ",[]{}?".contains(next)) => {
                self.place = Place::Begin;
            }
            Place::Plain if it == '#' && is_blank(last) => {
                self.open += std::mem::take(&mut self.closable);
            }
            Place::Plain => {}
        }
        false
    }
}

/// Whether the YAML parser takes it for a blank or the end of a line.
fn is_blank(it: char) -> bool {
    matches!(it, ' ' | '\t' | '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::{OPEN_BRACKETS_MAX, excess};

    #[test]
    fn brackets_that_their_line_closes_do_not_count() {
        for line in [
            "- { type: command, command: \"echo {{data.x}} 'it''s [ok]'\", env: { A: 'b' } }",
            "  command: echo {{data.x}} && [ -n \"$x\" ] && [[ $y = 'a' ]]",
            "tags: [a, \"b]\", 'c''}', d: e, [f]] # fine",
            "exec: [jq, \".[] | {a: .b}\", \"a \\\" b\"]",
            "command: it's {a,b}",
        ] {
            assert_eq!(excess(&format!("{line}\n").repeat(10_000)), None, "{line}");
        }
    }

    #[test]
    fn brackets_that_may_be_open_count() {
        // In none of these does the line close the first bracket.
        for line in [
            "[",
            "[ # ]",
            "[ \"]",
            "[\"a]\", '",
            "\"[\": [[\"\"]",
            "\"a [\": [ \"]",
            "a [: [[ ]]",
            "[ &a ]",
            "[!a]",
            "[\u{2028}# ]",
            "[a\t# ]",
            "{\"\\[\": ",
        ] {
            let text = format!("{line}\n").repeat(OPEN_BRACKETS_MAX + 1);
            let found = excess(&text).unwrap_or_else(|| panic!("{line}"));
            assert!(found.0 <= OPEN_BRACKETS_MAX + 1, "{line}: {found:?}");
        }
        assert_eq!(excess(&"[".repeat(OPEN_BRACKETS_MAX)), None);
        assert_eq!(excess(&"[".repeat(OPEN_BRACKETS_MAX + 1)), Some((1, OPEN_BRACKETS_MAX + 1)));
    }
}
