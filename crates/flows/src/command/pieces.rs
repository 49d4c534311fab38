//! A word of a shell's text, decoded as far as its text alone says what it becomes.

use std::iter::Peekable;
use std::str::Chars;

/// The first and the last character that represents a value of the event.
pub(crate) const FIRST_MARK: char = '\u{e000}';
pub(crate) const LAST_MARK: char = '\u{f8ff}';

/// Whether a character represents a value of the event.
pub(crate) fn is_mark(it: char) -> bool {
    (FIRST_MARK..=LAST_MARK).contains(&it)
}

/// A part of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A character, and whether it is quoted.
    Char(char, bool),
    /// The character that represents a value of the event, and whether it is quoted. It is never a
    /// literal: only `one of` says which values there are.
    Value(char, bool),
    /// A reference to a variable as it is written, and whether it is quoted.
    Variable(String, bool),
    /// What only the shell can compute, named for messages.
    Computed(&'static str),
}

impl Piece {
    /// A character that no shell changes.
    pub(crate) fn of(it: char, is_quoted: bool) -> Self {
        if is_mark(it) { Self::Value(it, is_quoted) } else { Self::Char(it, is_quoted) }
    }
}

/// The pieces of one word.
pub(crate) fn pieces(text: &str) -> Vec<Piece> {
    let mut reader = Reader { chars: text.chars().peekable(), pieces: Vec::new() };
    while let Some(it) = reader.chars.next() {
        reader.bare(it);
    }
    reader.pieces
}

/// Why a shell makes other words, or several, of the literal part of a word.
pub(crate) fn expands(pieces: &[Piece]) -> Option<&'static str> {
    let bare = |wanted: char| move |it: &Piece| *it == Piece::Char(wanted, false);
    let after = |wanted: char| pieces.iter().position(bare(wanted)).map(|at| &pieces[at + 1..]);
    if let Some(rest) = after('{')
        && let Some(end) = rest.iter().rposition(bare('}'))
        && (rest[..end].iter().any(bare(','))
            || rest[..end].windows(2).any(|it| it.iter().all(bare('.'))))
    {
        return Some("a brace expansion");
    }
    let is_set = after('[').is_some_and(|rest| rest.iter().any(bare(']')));
    if is_set || pieces.iter().any(|it| bare('*')(it) || bare('?')(it)) {
        return Some("a pattern");
    }
    let is_group =
        |it: &[Piece]| bare('(')(&it[1]) && ['@', '+', '!'].iter().any(|c| bare(*c)(&it[0]));
    if pieces.windows(2).any(is_group) {
        return Some("a pattern");
    }
    let is_user = pieces.get(1).is_some_and(|it| !matches!(it, Piece::Char('/', _)));
    (pieces.first() == Some(&Piece::Char('~', false)) && is_user)
        .then_some("another user's home, or a folder that the shell was in")
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    pieces: Vec<Piece>,
}

impl Reader<'_> {
    fn bare(&mut self, it: char) {
        match it {
            '\\' => match self.chars.next() {
                Some('\n') | None => {}
                Some(next) => self.pieces.push(Piece::of(next, true)),
            },
            '\'' => self.single(),
            '"' => self.double(),
            '`' => self.computed("a command substitution"),
            '<' | '>' if self.chars.peek() == Some(&'(') => {
                self.computed("a process substitution");
            }
            '$' => self.dollar(false),
            _ => self.pieces.push(Piece::of(it, false)),
        }
    }

    fn single(&mut self) {
        let inside = self.chars.by_ref().take_while(|it| *it != '\'');
        self.pieces.extend(inside.map(|it| Piece::of(it, true)));
    }

    fn double(&mut self) {
        while let Some(it) = self.chars.next() {
            match it {
                '"' => return,
                '\\' => match self.chars.next_if(|it| "$`\"\\\n".contains(*it)) {
                    Some('\n') => {}
                    next => self.pieces.push(Piece::of(next.unwrap_or(it), true)),
                },
                '`' => self.computed("a command substitution"),
                '$' => self.dollar(true),
                _ => self.pieces.push(Piece::of(it, true)),
            }
        }
        // Empty quotes are a word.
    }

    fn dollar(&mut self, is_quoted: bool) {
        match self.chars.peek().copied() {
            Some('\'') if !is_quoted => {
                self.chars.next();
                let mut inside = String::new();
                while let Some(it) = self.chars.next().filter(|it| *it != '\'') {
                    inside.push(it);
                    inside.extend((it == '\\').then(|| self.chars.next()).flatten());
                }
                let (decoded, is_exact) = decode(&inside);
                self.pieces.extend(decoded.chars().map(|it| Piece::of(it, true)));
                if !is_exact {
                    self.pieces.push(Piece::Computed("an escape that shells read differently"));
                }
            }
            Some('"') if !is_quoted => {}
            Some('(') => self.computed("a substitution"),
            Some('{') => {
                let mut depth = 0_usize;
                let mut text = "$".to_owned();
                for it in self.chars.by_ref() {
                    text.push(it);
                    match it {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
                self.pieces.push(Piece::Variable(text, is_quoted));
            }
            Some(it) if it.is_ascii_alphabetic() || it == '_' => {
                let mut text = "$".to_owned();
                let is_part = |it: &char| it.is_ascii_alphanumeric() || *it == '_';
                while let Some(it) = self.chars.next_if(is_part) {
                    text.push(it);
                }
                self.pieces.push(Piece::Variable(text, is_quoted));
            }
            Some(it) if it.is_ascii_digit() || "@*#?$!-".contains(it) => {
                self.chars.next();
                self.pieces.push(Piece::Variable(format!("${it}"), is_quoted));
            }
            _ => self.pieces.push(Piece::Char('$', is_quoted)),
        }
    }

    /// The rest of the word is not read: where a substitution ends depends on its code.
    fn computed(&mut self, what: &'static str) {
        self.pieces.push(Piece::Computed(what));
        self.chars.by_ref().for_each(drop);
    }
}

/// The text of `$'…'`, without the quotes.
pub(crate) fn ansi_c(text: &str) -> String {
    decode(text).0
}

/// The text of `$'…'`, and whether all shells read it in this way.
fn decode(text: &str) -> (String, bool) {
    let mut decoded = Vec::new();
    let mut is_exact = true;
    let mut chars = text.chars().peekable();
    let mut encoded = [0; 4];
    while let Some(it) = chars.next() {
        let Some(escape) = (it == '\\').then(|| chars.next()).flatten() else {
            decoded.extend_from_slice(it.encode_utf8(&mut encoded).as_bytes());
            continue;
        };
        let mut digits = |first: u32, radix: u32, max: usize| {
            let mut value = first;
            for number in 0..max {
                let Some(digit) = chars.peek().and_then(|it| it.to_digit(radix)) else {
                    is_exact &= number > 0 || radix == 8;
                    break;
                };
                value = (value * radix) | digit;
                chars.next();
            }
            value
        };
        let byte = match escape {
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '\\' | '\'' | '"' | '?' => escape as u32,
            '0'..='7' => digits(escape as u32 - '0' as u32, 8, 2) & 0xff,
            'x' => digits(0, 16, 2),
            'u' | 'U' => {
                let code = digits(0, 16, if escape == 'u' { 4 } else { 8 });
                is_exact &= char::from_u32(code).is_some_and(|it| it != '\0');
                let it = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                decoded.extend_from_slice(it.encode_utf8(&mut encoded).as_bytes());
                continue;
            }
            'c' => {
                is_exact = false;
                chars.next().map_or(0, |it| it as u32 & 0x1f)
            }
            other => {
                is_exact = false;
                decoded.push(b'\\');
                decoded.extend_from_slice(other.encode_utf8(&mut encoded).as_bytes());
                continue;
            }
        };
        // A shell's text ends here.
        if byte == 0 {
            is_exact = false;
            break;
        }
        decoded.push(byte as u8);
    }
    is_exact &= std::str::from_utf8(&decoded).is_ok();
    (String::from_utf8_lossy(&decoded).into_owned(), is_exact)
}

#[cfg(test)]
mod tests {
    use super::{Piece, ansi_c, expands, pieces};

    #[test]
    fn a_word_is_decoded_as_a_shell_does() {
        for (text, wanted) in [
            ("./x.s\\h", "./x.sh"),
            ("'./x'.\"sh\"", "./x.sh"),
            ("$'\\056/x.sh'", "./x.sh"),
            ("$'\\x2e/\\u0078.sh'", "./x.sh"),
            ("$'a\\'b'", "a'b"),
            ("$\"./x\".sh", "./x.sh"),
            ("\"a\\b\\$\"", "a\\b$"),
            ("P''ATH=.", "PATH=."),
            ("a\\\nb", "ab"),
        ] {
            let text: String = pieces(text)
                .into_iter()
                .map(|it| match it {
                    Piece::Char(it, _) => it,
                    other => panic!("{text}: {other:?}"),
                })
                .collect();
            assert_eq!(text, wanted);
        }
        for text in
            ["$'./\\x{65}vil.sh'", "$'\\xff'", "$'\\q'", "$'\\cA'", "$'a\\0b'", "$'\\u{65}'"]
        {
            assert!(matches!(pieces(text).last(), Some(Piece::Computed(_))), "{text}");
        }
        assert_eq!(ansi_c("a\\0b"), "a");
        assert_eq!(ansi_c("\\303\\244\\q"), "ä\\q");
    }

    #[test]
    fn what_becomes_other_words_is_found() {
        for (text, wanted) in [
            ("./{x,y}.sh", Some("a brace expansion")),
            ("./{x,'y'}.sh", Some("a brace expansion")),
            ("./x{1..2}", Some("a brace expansion")),
            ("./*.sh", Some("a pattern")),
            ("./[x].sh", Some("a pattern")),
            ("./x.s?", Some("a pattern")),
            ("~me/x", Some("another user's home, or a folder that the shell was in")),
            ("~+/x", Some("another user's home, or a folder that the shell was in")),
            ("~/x", None),
            ("~", None),
            ("./ev@(i|y)l.sh", Some("a pattern")),
            ("./!(a).sh", Some("a pattern")),
            ("./+'('a)", None),
            ("[", None),
            ("{}", None),
            ("'{a,b}'", None),
            ("a\\*b", None),
            ("a,b.sh", None),
        ] {
            assert_eq!(expands(&pieces(text)), wanted, "{text}");
        }
    }
}
