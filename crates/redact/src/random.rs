//! How random a text looks.

/// Whether a value looks random, or chosen to look so: letters and digits, or letters and
/// punctuation, of some variety. For values whose name or place indicates a secret.
pub(super) fn is_random(value: &str) -> bool {
    let has = |of: fn(&u8) -> bool| value.bytes().any(|byte| of(&byte));
    let letters = has(u8::is_ascii_alphabetic);
    let digits = has(u8::is_ascii_digit);
    let signs = value.bytes().any(|byte| b"!@#$%^&*+/=~?".contains(&byte));
    letters && (digits || signs) && entropy(value.as_bytes()) >= 2.75
}

/// Entropy in bits per byte, from byte frequencies (Claude Shannon: *A Mathematical Theory of
/// Communication*, 1948).
pub(super) fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let total = bytes.len() as f64;
    let share = |count: &u32| f64::from(*count) / total;
    counts.iter().filter(|count| **count > 0).map(|count| -share(count) * share(count).log2()).sum()
}

/// Whether all letters and digits are hexadecimal, as in hashes and UUIDs.
pub(super) fn is_hex(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-' || byte == b'_')
}

/// How often a letter follows a digit, or a digit a letter, per byte.
///
/// Names have digits at the ends of their words, if at all; random letters and digits alternate: a
/// share of .27 of a base62 text, .40 of a base36 text, .47 of a hexadecimal one.
pub(super) fn alternation(value: &str) -> f64 {
    let bytes = value.as_bytes();
    let class = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_alphabetic());
    let changes = bytes.windows(2).filter(|pair| {
        let (before, after) = (class(pair[0]), class(pair[1]));
        (before.0 && after.1) || (before.1 && after.0)
    });
    changes.count() as f64 / bytes.len().max(1) as f64
}

/// How often the class (lower case, upper case, digit) of neighbouring bytes differs: .6 in a
/// random base62 text, below .4 in names in camel case.
pub(super) fn unrest(value: &str) -> f64 {
    let kind = |byte: u8| match byte {
        b'a'..=b'z' => 0,
        b'A'..=b'Z' => 1,
        b'0'..=b'9' => 2,
        _ => 3,
    };
    let bytes = value.as_bytes();
    let changes = bytes.windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    changes as f64 / bytes.len().max(1) as f64
}

/// The share of the letters in runs of five consonants or more: two thirds of random letters,
/// hardly any of words. `y` counts as a vowel.
pub(super) fn consonants(value: &str) -> f64 {
    const RUN_MIN: usize = 5;
    let (mut letters, mut inside, mut length) = (0, 0, 0);
    for byte in value.bytes().chain([b' ']) {
        letters += usize::from(byte.is_ascii_alphabetic());
        let is_vowel = b"aeiouy".contains(&byte.to_ascii_lowercase());
        if byte.is_ascii_alphabetic() && !is_vowel {
            length += 1;
        } else {
            inside += if length >= RUN_MIN { length } else { 0 };
            length = 0;
        }
    }
    inside as f64 / letters.max(1) as f64
}

/// Whether letters, digits and cases follow each other as in random texts, and not as in names. The
/// bounds are about half of the values of random texts.
pub(super) fn is_jumbled(value: &str) -> bool {
    let alternation = alternation(value);
    alternation >= 0.15
        || consonants(value) >= 0.3
        || (alternation >= 0.04 && unrest(value) >= 0.42)
}
