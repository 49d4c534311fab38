//! A light stemmer for Hebrew.
//!
//! Particles (and, the, in, as, to, from, that) are written as prefixes, and are indistinguishable
//! from first letters of roots without a dictionary. Removing them from every word that stays long
//! enough joins `המגדלור` with `מגדלור` and, at times, two words that differ only in them.

/// A stem keeps this many letters.
const LETTERS_MIN: usize = 3;

const PREFIXES: [char; 7] = ['ו', 'ה', 'ב', 'כ', 'ל', 'מ', 'ש'];
/// Plural, feminine and construct endings, after final letters have become others; longest first.
const SUFFIXES: [&str; 6] = ["ימ", "ות", "ית", "ה", "ת", "י"];

pub(super) fn stem(word: &str) -> String {
    let letters = word.chars().filter(|c| !matches!(c, '\u{591}'..='\u{5C7}'));
    let word: String = letters.map(usual_form).collect();
    let mut stem = word.as_str();
    let is_long = |rest: &str| rest.chars().nth(LETTERS_MIN - 1).is_some();
    let ends = SUFFIXES.iter().find_map(|suffix| stem.strip_suffix(suffix));
    if let Some(rest) = ends.filter(|rest| is_long(rest)) {
        stem = rest;
    }
    while let Some(rest) = stem.strip_prefix(PREFIXES).filter(|rest| is_long(rest)) {
        stem = rest;
    }
    stem.to_owned()
}

/// Five letters look different at the end of a word.
fn usual_form(c: char) -> char {
    match c {
        'ך' => 'כ',
        'ם' => 'מ',
        'ן' => 'נ',
        'ף' => 'פ',
        'ץ' => 'צ',
        other => other,
    }
}
