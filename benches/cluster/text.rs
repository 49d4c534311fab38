//! Texts that memories could have.

/// Bytes of a text, about.
const BYTES: usize = 200;
/// Words of the language.
const WORDS: usize = 20_000;
const SYLLABLES: [&str; 32] = [
    "an", "be", "cor", "de", "el", "fi", "gra", "ho", "in", "ja", "ka", "lo", "mi", "ner", "or",
    "pa", "qui", "ra", "se", "ti", "un", "va", "we", "ex", "yo", "zen", "sta", "tor", "ing", "men",
    "ble", "tion",
];

/// A generator by Marsaglia (Xorshift RNGs, 2003).
#[derive(Debug, Clone)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A generator of other numbers.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next().wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 11) as usize % limit
    }

    /// Adds a word; a few words of the language are frequent, and most are rare.
    fn word(&mut self, text: &mut String) {
        let place = self.below(WORDS) as f64 / WORDS as f64;
        let mut rest = (place * place * place * WORDS as f64) as usize;
        loop {
            text.push_str(SYLLABLES[rest % SYLLABLES.len()]);
            rest /= SYLLABLES.len();
            if rest == 0 {
                return;
            }
        }
    }

    /// A text of about 200 bytes that is unlike all others.
    pub(crate) fn text(&mut self, text: &mut String) {
        let from = text.len();
        let unique = self.next();
        text.extend(["Note ", &unique.to_string(), "."]);
        while text.len() < from + BYTES {
            text.push(' ');
            self.word(text);
        }
    }

    /// Three words to search for.
    pub(crate) fn query(&mut self) -> String {
        let mut query = String::new();
        for at in 0..3 {
            if at > 0 {
                query.push(' ');
            }
            self.word(&mut query);
        }
        query
    }

    /// The body of a request that adds a memory.
    pub(crate) fn memory(&mut self) -> String {
        let mut body = String::with_capacity(BYTES + 64);
        body.push_str("{\"content\":\"");
        self.text(&mut body);
        body.push_str("\"}");
        body
    }
}
