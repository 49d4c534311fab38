//! Finds one secret, or enough of it, in a text.

use std::collections::HashMap;
use std::ops::Range;

/// The minimum length of a secret's beginning that is masked wherever it occurs.
const BEGINNING_MIN: usize = 4;
/// The minimum length of a part from the middle that is masked; half of the secret if that is more.
const PART_MIN: usize = 6;
/// The minimum length of a beginning that is masked where its letters are separated.
const SPELLED_MIN: usize = 3;
/// The number of bytes by which matches are looked up.
const GRAM: usize = 4;
/// How many places in the secret with the same bytes are tried.
const PLACES_MAX: usize = 8;
/// The maximum number of bytes between two growing beginnings.
const GAP_MAX: usize = 4;

/// One written form of a secret.
pub(super) struct Form {
    text: String,
    /// In ASCII lower case: a page may show it in capitals.
    lower: String,
    part_min: usize,
    /// The positions of each group of bytes in it.
    places: HashMap<[u8; GRAM], Vec<usize>>,
}

impl Form {
    pub(super) fn new(text: &str) -> Self {
        let lower = text.to_ascii_lowercase();
        let mut places: HashMap<[u8; GRAM], Vec<usize>> = HashMap::new();
        for (at, gram) in grams(&lower) {
            let of_gram = places.entry(gram).or_default();
            if lower.is_char_boundary(at) && of_gram.len() < PLACES_MAX {
                of_gram.push(at);
            }
        }
        let part_min = PART_MIN.max(text.chars().count().div_ceil(2));
        Self { text: text.to_owned(), lower, part_min, places }
    }

    /// Adds the ranges of a text that contain the secret, or enough of it; the text is also given
    /// in lower case.
    pub(super) fn find(&self, text: &str, lower: &str, found: &mut Vec<Range<usize>>) {
        let first = found.len();
        if self.text.chars().nth(BEGINNING_MIN - 1).is_some() {
            self.find_parts(lower, BEGINNING_MIN, found);
        } else {
            find_words(text, &self.text, found);
        }
        self.find_spelled(lower, found);
        self.find_steps(text, first, found);
    }

    fn find_parts(&self, lower: &str, beginning_min: usize, found: &mut Vec<Range<usize>>) {
        let mut skip_to = 0;
        for (at, gram) in grams(lower) {
            if at < skip_to || !lower.is_char_boundary(at) {
                continue;
            }
            let Some(places) = self.places.get(&gram) else { continue };
            let longest = places.iter().filter_map(|place| {
                let same = same(&lower[at..], &self.lower[*place..]);
                let least = if *place == 0 { beginning_min } else { self.part_min };
                (same.chars().count() >= least).then_some(same.len())
            });
            if let Some(length) = longest.max() {
                skip_to = at + length;
                found.push(at..skip_to);
            }
        }
    }

    /// Its letters, separated: `h u n t`.
    fn find_spelled(&self, lower: &str, found: &mut Vec<Range<usize>>) {
        let (mut run, mut starts, mut at) = (String::new(), Vec::new(), 0);
        let mut end = |run: &mut String, starts: &mut Vec<(usize, usize)>| {
            if run.chars().nth(SPELLED_MIN - 1).is_some() {
                let mut inner = Vec::new();
                self.find_parts(run, SPELLED_MIN, &mut inner);
                let begins = same(run, &self.lower);
                if inner.is_empty() && begins.chars().count() >= SPELLED_MIN {
                    inner.push(0..begins.len());
                }
                let place = |of: usize| starts.iter().rfind(|it| it.0 <= of).map(|it| it.1);
                for range in inner {
                    let last = run[..range.end].chars().next_back().map_or(0, char::len_utf8);
                    if let (Some(from), Some(to)) = (place(range.start), place(range.end - last)) {
                        found.push(from..to + last);
                    }
                }
            }
            run.clear();
            starts.clear();
        };
        for word in lower.split_inclusive(char::is_whitespace) {
            let letters = word.trim_end();
            let is_letter = letters.chars().nth(1).is_none();
            if !letters.is_empty() && is_letter {
                starts.push((run.len(), at));
                run.push_str(letters);
            } else if !letters.is_empty() {
                end(&mut run, &mut starts);
            }
            at += word.len();
        }
        end(&mut run, &mut starts);
    }

    /// Shorter beginnings, where there is evidence that they are some: they are between punctuation
    /// and not in a sentence, or next to the following letters of the same secret.
    fn find_steps(&self, text: &str, first: usize, found: &mut Vec<Range<usize>>) {
        let is_step = |word: &str, least: usize| {
            let letters = word.chars().count();
            (least..BEGINNING_MIN).contains(&letters) && self.text.starts_with(word)
        };
        for (at, _) in self.text.char_indices().skip(2).take(BEGINNING_MIN - 2) {
            let step = &self.text[..at];
            for (start, _) in text.match_indices(step) {
                let end = start + at;
                if begins_apart(&text[..start]) && ends_apart(&text[end..]) {
                    found.push(start..end);
                }
            }
        }
        let mut next = first;
        while let Some(range) = found.get(next).cloned() {
            next += 1;
            let before = text[..range.start].trim_end_matches(|it: char| !it.is_alphanumeric());
            let word = before.rsplit(|it: char| !it.is_alphanumeric()).next().unwrap_or_default();
            if range.start - before.len() <= GAP_MAX && is_step(word, 1) {
                found.push(before.len() - word.len()..before.len());
            }
        }
    }
}

/// The whole-word occurrences in a text.
fn find_words(text: &str, word: &str, found: &mut Vec<Range<usize>>) {
    let is_apart = |letter: Option<char>| letter.is_none_or(|it| !it.is_alphanumeric());
    for (at, _) in text.match_indices(word) {
        let end = at + word.len();
        if is_apart(text[..at].chars().next_back()) && is_apart(text[end..].chars().next()) {
            found.push(at..end);
        }
    }
}

/// Whether what follows is separated from what precedes it: in an address, after a colon, in
/// quotes.
fn begins_apart(before: &str) -> bool {
    let signs = ['\n', '=', ':', '/', '#', '"', '\'', '(', '[', '{', '.', '&', '?'];
    before.is_empty() || before.ends_with(signs) || before.ends_with(": ")
}

/// Whether what precedes is separated from what follows.
fn ends_apart(after: &str) -> bool {
    let signs = ['\n', '&', '"', '\'', '#', ')', ']', '}', '/', '!', '.', ',', ';', '?', '…'];
    after.is_empty() || after.starts_with(signs)
}

/// The common prefix of two texts.
fn same<'a>(one: &'a str, other: &str) -> &'a str {
    let bytes = one.bytes().zip(other.bytes()).take_while(|it| it.0 == it.1).count();
    // A partial character does not count.
    let end = (0..=bytes).rev().find(|it| one.is_char_boundary(*it)).unwrap_or_default();
    &one[..end]
}

/// All groups of bytes of a text, with their positions.
fn grams(text: &str) -> impl Iterator<Item = (usize, [u8; GRAM])> {
    let windows = text.as_bytes().windows(GRAM).enumerate();
    windows.filter_map(|(at, it)| Some((at, it.try_into().ok()?)))
}
