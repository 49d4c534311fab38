//! An estimate of the tokens of a text.

/// Thirds of a token, an upper estimate for usual text: a token of o200k has about four letters, a digit or a sign of
/// punctuation is often one by itself, and so is a character of other scripts.
fn thirds(c: char) -> usize {
    match c {
        'a'..='z' | 'A'..='Z' | ' ' => 1,
        '\0'..='\x7f' => 2,
        '\u{80}'..='\u{2fff}' => 3,
        '\u{3000}'..='\u{ffff}' => 4,
        _ => 9,
    }
}

/// The estimated number of tokens of a text, rounded up.
pub fn tokens(text: &str) -> usize {
    text.chars().map(thirds).sum::<usize>().div_ceil(3)
}

/// The longest start of a text that fits into that many tokens.
pub fn head(text: &str, tokens_max: usize) -> &str {
    let mut left = tokens_max.saturating_mul(3);
    for (at, c) in text.char_indices() {
        match left.checked_sub(thirds(c)) {
            Some(rest) => left = rest,
            None => return &text[..at],
        }
    }
    text
}
