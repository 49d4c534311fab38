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
/// The maximum number of characters between two letters of a secret that is spelled out: `", "10": "`.
const SEPARATOR_MAX: usize = 10;
/// How many places in the secret with the same bytes are tried.
const PLACES_MAX: usize = 8;
/// The maximum number of bytes of a line before a beginning that grows from line to line.
const LINE_MAX: usize = 128;
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
        self.find_separated(lower, found);
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

    /// Its beginning, in order, with anything but letters after each one or two of its characters:
    /// `H.u.n`, `0=H 1=u 2=n`, `Hu-nt-er`.
    fn find_separated(&self, lower: &str, found: &mut Vec<Range<usize>>) {
        let Some(first) = self.lower.chars().next() else { return };
        let least = SPELLED_MIN.min(self.lower.chars().count());
        let mut skip_to = 0;
        for (at, _) in lower.match_indices(first) {
            let before = lower[..at].chars().next_back();
            let is_inside = if first.is_numeric() { char::is_numeric } else { char::is_alphabetic };
            if at < skip_to || before.is_some_and(is_inside) {
                continue;
            }
            let (letters, length) = separated(&lower[at..], &self.lower);
            if letters >= least {
                skip_to = at + length;
                found.push(at..skip_to);
            }
        }
    }

    /// Parts of it, as words of one character each: `n t e r 2 x`.
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
                let place = |of: usize| starts.iter().rfind(|start| start.0 <= of).map(|at| at.1);
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
        for word in lower.split_inclusive(is_separator) {
            let letters = word.trim_end_matches(is_separator);
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
            let before = text[..range.start].trim_end_matches(|c: char| !c.is_alphanumeric());
            let word = before.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            if range.start - before.len() <= GAP_MAX && is_step(word, 1) {
                found.push(before.len() - word.len()..before.len());
            }
            if let Some((start, word)) =
                above(text, range.start).filter(|above| is_step(above.1, 1))
            {
                found.push(start..start + word.len());
            }
        }
    }
}

/// How many characters of a secret a text starts with, separated, and their length in bytes.
fn separated(text: &str, secret: &str) -> (usize, usize) {
    // Between digits alone, other digits are other numbers.
    let is_number = !secret.contains(char::is_alphabetic);
    let is_other = |c: char| c.is_alphabetic() || (is_number && c.is_numeric());
    let mut rest = text.char_indices().peekable();
    let (mut together, mut whole) = (0, (0, 0));
    for (number, wanted) in secret.chars().enumerate() {
        let mut gap = 0;
        while rest
            .next_if(|(_, it)| *it != wanted && !is_other(*it) && gap < SEPARATOR_MAX)
            .is_some()
        {
            gap += 1;
        }
        together = if gap > 0 { 1 } else { together + 1 };
        let Some((at, _)) = rest.next_if(|(_, it)| *it == wanted && together <= 2) else { break };
        if rest.peek().is_none_or(|(_, it)| !is_other(*it)) {
            whole = (number + 1, at + wanted.len_utf8());
        }
    }
    whole
}

/// The whole-word occurrences in a text.
fn find_words(text: &str, word: &str, found: &mut Vec<Range<usize>>) {
    let is_apart = |letter: Option<char>| letter.is_none_or(|letter| !letter.is_alphanumeric());
    for (at, _) in text.match_indices(word) {
        let end = at + word.len();
        if is_apart(text[..at].chars().next_back()) && is_apart(text[end..].chars().next()) {
            found.push(at..end);
        }
    }
}

/// The word above a position, after the same text: `typed hu` above `typed hun`; and where it
/// starts.
fn above(text: &str, at: usize) -> Option<(usize, &str)> {
    let from = |at: usize| {
        (at.saturating_sub(LINE_MAX)..=at).find(|number| text.is_char_boundary(*number))
    };
    let line = from(at)? + text[from(at)?..at].rfind('\n')? + 1;
    let first = from(line - 1)?;
    let start = text[first..line - 1].rfind('\n').map_or(first, |at| first + at + 1);
    let rest = text[start..line - 1].strip_prefix(&text[line..at])?;
    let word = rest.split(|c: char| !c.is_alphanumeric()).next()?;
    Some((start + (at - line), word))
}

/// Whether a character separates others, in a list or a table.
fn is_separator(it: char) -> bool {
    it.is_whitespace() || ",;|.-_/•\u{200b}".contains(it)
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
    let bytes = one.bytes().zip(other.bytes()).take_while(|pair| pair.0 == pair.1).count();
    // A partial character does not count.
    let end = (0..=bytes).rev().find(|number| one.is_char_boundary(*number)).unwrap_or_default();
    &one[..end]
}

/// All groups of bytes of a text, with their positions.
fn grams(text: &str) -> impl Iterator<Item = (usize, [u8; GRAM])> {
    let windows = text.as_bytes().windows(GRAM).enumerate();
    windows.filter_map(|(at, it)| Some((at, it.try_into().ok()?)))
}
