//! Splits a text into the tokenizer's input and what the tokenizer cannot handle: identifiers,
//! scripts with a stemmer of their own, and scripts without spaces.

use super::stems::Script;

/// An identifier with more parts is noise (encoded data): only the whole is kept.
const PARTS_MAX: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Document,
    Query,
}

#[derive(Debug, Default)]
pub(super) struct Scanned {
    /// For the tokenizer: the words, and identifiers whole and in parts.
    pub(super) words: String,
    /// Words of scripts that have a stemmer.
    pub(super) stemmed: Vec<(Script, String)>,
    /// Terms of scripts without spaces.
    pub(super) grams: Vec<String>,
}

pub(super) fn scan(text: &str, purpose: Purpose) -> Scanned {
    let mut scanned = Scanned::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let kind = Kind::of(first);
        // A word's letters may be written with their accents apart.
        let is_accent = |c| matches!((kind, c), (Kind::Stemmed(_), '\u{300}'..='\u{36F}'));
        let end = rest.find(|c| Kind::of(c) != kind && !is_accent(c)).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        rest = after;
        match kind {
            Kind::Space => scanned.words.push(' '),
            Kind::Spaceless => {
                scanned.words.push(' ');
                push_grams(run, purpose, &mut scanned.grams);
            }
            Kind::Stemmed(script) => {
                scanned.words.push(' ');
                scanned.stemmed.push((script, run.to_owned()));
            }
            Kind::Other => scan_chunk(run, &mut scanned),
        }
    }
    scanned
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Space,
    Spaceless,
    Stemmed(Script),
    Other,
}

impl Kind {
    fn of(c: char) -> Self {
        match c {
            _ if c.is_ascii() => {
                if c.is_ascii_whitespace() || c.is_ascii_control() {
                    Self::Space
                } else {
                    Self::Other
                }
            }
            // Thai, Lao, Burmese, Hangul letters, Khmer.
            '\u{E01}'..='\u{E7F}'
            | '\u{E80}'..='\u{EFF}'
            | '\u{1000}'..='\u{109F}'
            | '\u{1100}'..='\u{11FF}'
            | '\u{1780}'..='\u{17FF}'
            // Kana, Bopomofo, Hangul compatibility letters; without the katakana middle dot.
            | '\u{3005}'..='\u{3007}'
            | '\u{3041}'..='\u{30FA}'
            | '\u{30FC}'..='\u{318F}'
            | '\u{31A0}'..='\u{31BF}'
            | '\u{31F0}'..='\u{31FF}'
            | '\u{FF66}'..='\u{FF9F}'
            // Han, Hangul syllables.
            | '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{AC00}'..='\u{D7AF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFF}' => Self::Spaceless,
            _ if c.is_whitespace() => Self::Space,
            _ => Script::of(c).map_or(Self::Other, Self::Stemmed),
        }
    }
}

/// Whether a character belongs to a script without spaces.
pub(crate) fn is_spaceless(c: char) -> bool {
    Kind::of(c) == Kind::Spaceless
}

fn push_grams(run: &str, purpose: Purpose, grams: &mut Vec<String>) {
    let single = run.chars().nth(1).is_none();
    let mut last: Option<char> = None;
    for c in run.chars() {
        if single || purpose == Purpose::Document {
            grams.push(c.to_string());
        }
        if let Some(last) = last {
            grams.push([last, c].iter().collect());
        }
        last = Some(c);
    }
}

/// A run without spaces: words, identifiers and the punctuation between them.
fn scan_chunk(chunk: &str, scanned: &mut Scanned) {
    if is_plain(chunk.as_bytes()) {
        scanned.words.push_str(chunk);
    } else {
        split_chunk(chunk, scanned);
    }
}

/// Whether a run is one everyday word, possibly surrounded by punctuation: all ASCII, no capital
/// after the first letter, no digit. Most runs are, and need no splitting.
fn is_plain(chunk: &[u8]) -> bool {
    let Some(start) = chunk.iter().position(u8::is_ascii_alphabetic) else { return false };
    let (before, word) = chunk.split_at(start);
    let small = word.iter().skip(1).take_while(|word| word.is_ascii_lowercase()).count();
    let is_sign = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric();
    before.iter().all(is_sign) && word.iter().skip(1 + small).all(is_sign)
}

fn split_chunk(chunk: &str, scanned: &mut Scanned) {
    let mut rest = chunk;
    while !rest.is_empty() {
        let start = rest.find(char::is_alphanumeric).unwrap_or(rest.len());
        let (signs, after) = rest.split_at(start);
        scanned.words.push_str(signs);
        let end = identifier_end(after);
        let (word, after) = after.split_at(end);
        push_identifier_or_word(word, scanned);
        rest = after;
    }
}

/// The length of the longest prefix that is one word or one identifier.
fn identifier_end(text: &str) -> usize {
    let mut end = atom_end(text);
    let mut atom = text.get(..end).unwrap_or_default();
    loop {
        let after = text.get(end..).unwrap_or_default();
        let next = after.trim_start_matches('_');
        let underscores = after.len() - next.len();
        let (joint, dotted) = if underscores > 0 {
            (underscores, false)
        } else if after.starts_with("::") {
            (2, false)
        } else if after.starts_with('.') {
            (1, true)
        } else {
            return end;
        };
        let next = after.get(joint..).unwrap_or_default();
        let length = atom_end(next);
        let next = next.get(..length).unwrap_or_default();
        // A dot joins names (`foo.bar`) but neither initials (`U.S.`) nor numbers (`3.14`).
        let is_name =
            |atom: &str| atom.chars().nth(1).is_some() && atom.chars().any(char::is_alphabetic);
        if length == 0 || (dotted && !(is_name(atom) && is_name(next))) {
            return end;
        }
        end += joint + length;
        atom = next;
    }
}

/// The length of the run of letters and digits, with their accents and inner apostrophes.
fn atom_end(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let inside = c.is_alphanumeric()
            || matches!(c, '\u{300}'..='\u{36F}')
            || (at > 0
                && matches!(c, '\'' | '\u{2019}')
                && chars.peek().is_some_and(|(_, next)| next.is_alphabetic()));
        if !inside || (at > 0 && Kind::of(c) == Kind::Spaceless) {
            return at;
        }
    }
    text.len()
}

fn push_identifier_or_word(word: &str, scanned: &mut Scanned) {
    let atoms: Vec<&str> = word.split(['_', '.', ':']).filter(|atom| !atom.is_empty()).collect();
    let parts: Vec<&str> = atoms.iter().flat_map(|atom| humps(atom)).collect();
    if parts.len() < 2 {
        scanned.words.push_str(word);
        return;
    }
    // One separator for all joints: `foo.bar::baz` and `foo_bar_baz` name the same thing.
    scanned.words.push(' ');
    scanned.words.push_str(&atoms.join("_"));
    scanned.words.push(' ');
    if parts.len() > PARTS_MAX {
        return;
    }
    if atoms.len() > 1 {
        for atom in atoms.iter().filter(|atom| humps(atom).len() > 1) {
            scanned.words.push_str(atom);
            scanned.words.push(' ');
        }
    }
    for part in parts.iter().filter(|part| part.chars().nth(1).is_some()) {
        scanned.words.push_str(part);
        scanned.words.push(' ');
    }
}

/// The parts of a name: `parseHttpURL` is `parse`, `Http`, `URL`; `HTTPServer2` is `HTTP`,
/// `Server`, `2`. Anything that starts with a digit is not a name and stays whole.
fn humps(atom: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = atom.char_indices().collect();
    let is_name = chars.first().is_some_and(|(_, c)| c.is_alphabetic())
        && !chars.iter().any(|(_, c)| matches!(c, '\'' | '\u{2019}'));
    if !is_name {
        return vec![atom];
    }
    let mut parts = Vec::new();
    let mut start = 0;
    for at in 1..chars.len() {
        let (before, (place, here)) = (chars[at - 1].1, chars[at]);
        let next_is_lower = chars.get(at + 1).is_some_and(|(_, c)| c.is_lowercase());
        let boundary = (before.is_lowercase() && here.is_uppercase())
            || (before.is_uppercase() && here.is_uppercase() && next_is_lower && at > 0)
            || (before.is_numeric() != here.is_numeric());
        if boundary {
            parts.extend(atom.get(start..place));
            start = place;
        }
    }
    parts.extend(atom.get(start..));
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_plain_has_nothing_to_split(
            chunk in "[-_.:'(\"#,]{0,3}[a-zA-Zé]{0,2}[a-z]{0,4}[-_.:'’)?,]{0,3}[a-zA-Z0-9é]{0,1}[_.:]{0,1}",
        ) {
            if is_plain(chunk.as_bytes()) {
                let mut scanned = Scanned::default();
                split_chunk(&chunk, &mut scanned);
                prop_assert_eq!(scanned.words, chunk);
            }
        }
    }

    #[test]
    fn everyday_words_are_plain_and_names_are_not() {
        assert!(
            ["word", "Word,", "(a", "I", "\"quoted\"", "_it_"]
                .iter()
                .all(|it| is_plain(it.as_bytes()))
        );
        let others = ["don't", "fooBar", "URL", "a1", "a.b", "caf\u{e9}", "\u{e9}a", "--", "x_y"];
        assert!(!others.iter().any(|it| is_plain(it.as_bytes())));
    }
}
