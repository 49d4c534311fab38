//! The words of a text that dates consist of.

/// A word, as far as dates are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// Digits, perhaps with the suffix of an ordinal number, and how many digits there are.
    Number {
        value: u32,
        digits: u8,
    },
    /// Anything else that begins with a digit.
    Digits,
    /// A month from 1.
    Month {
        number: i8,
        name: Name,
    },
    /// A day of the week, 0 for Monday.
    Weekday(i8),
    /// A season by its first month on the northern hemisphere.
    Season(i8),
    Unit(Unit),
    /// "one" to "twelve", "a", "an".
    Count(u32),
    /// "a few", "several".
    Few,
    Last,
    Next,
    This,
    Ago,
    Before,
    After,
    Today,
    Yesterday,
    Tomorrow,
    /// "night", "morning", "evening": a part of a day.
    PartOfDay,
    /// A preposition that may stand before a year.
    In,
    Of,
    The,
    /// "early", "late", "mid".
    Part,
    Other,
}

/// What else the name of a month may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name {
    /// Nothing: "october".
    Clear,
    /// A name of something else, or a word at the start of a sentence: "June", "May", "Mar". A number
    /// or a preposition makes it a month.
    Shared,
    /// Another word: "may", "march". Only a year makes it a month.
    Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Day,
    Week,
    Weekend,
    Month,
    Year,
}

/// A word, and the character after it if there is just one before the next word; a space otherwise.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token {
    pub(super) word: Word,
    pub(super) joint: char,
}

/// Ordered by name.
const NAMES: &[(&str, Word)] = &[
    ("a", Word::Count(1)),
    ("after", Word::After),
    ("ago", Word::Ago),
    ("an", Word::Count(1)),
    ("apr", weak(4)),
    ("april", given(4)),
    ("around", Word::In),
    ("aug", weak(8)),
    ("august", given(8)),
    ("autumn", Word::Season(9)),
    ("before", Word::Before),
    ("by", Word::In),
    ("couple", Word::Count(2)),
    ("day", Word::Unit(Unit::Day)),
    ("days", Word::Unit(Unit::Day)),
    ("dec", weak(12)),
    ("december", month(12)),
    ("during", Word::In),
    ("early", Word::Part),
    ("eight", Word::Count(8)),
    ("eleven", Word::Count(11)),
    ("evening", Word::PartOfDay),
    ("fall", Word::Season(9)),
    ("feb", weak(2)),
    ("february", month(2)),
    ("few", Word::Few),
    ("five", Word::Count(5)),
    ("four", Word::Count(4)),
    ("friday", Word::Weekday(4)),
    ("in", Word::In),
    ("jan", weak(1)),
    ("january", month(1)),
    ("jul", weak(7)),
    ("july", month(7)),
    ("jun", weak(6)),
    ("june", given(6)),
    ("last", Word::Last),
    ("late", Word::Part),
    ("mar", weak(3)),
    ("march", weak(3)),
    ("may", weak(5)),
    ("mid", Word::Part),
    ("monday", Word::Weekday(0)),
    ("month", Word::Unit(Unit::Month)),
    ("months", Word::Unit(Unit::Month)),
    ("morning", Word::PartOfDay),
    ("next", Word::Next),
    ("night", Word::PartOfDay),
    ("nine", Word::Count(9)),
    ("nov", weak(11)),
    ("november", month(11)),
    ("oct", weak(10)),
    ("october", month(10)),
    ("of", Word::Of),
    ("on", Word::In),
    ("one", Word::Count(1)),
    ("past", Word::Last),
    ("previous", Word::Last),
    ("saturday", Word::Weekday(5)),
    ("sep", weak(9)),
    ("sept", weak(9)),
    ("september", month(9)),
    ("seven", Word::Count(7)),
    ("several", Word::Few),
    ("since", Word::In),
    ("six", Word::Count(6)),
    ("spring", Word::Season(3)),
    ("summer", Word::Season(6)),
    ("sunday", Word::Weekday(6)),
    ("ten", Word::Count(10)),
    ("the", Word::The),
    ("this", Word::This),
    ("three", Word::Count(3)),
    ("thursday", Word::Weekday(3)),
    ("today", Word::Today),
    ("tomorrow", Word::Tomorrow),
    ("tonight", Word::Today),
    ("tuesday", Word::Weekday(1)),
    ("twelve", Word::Count(12)),
    ("two", Word::Count(2)),
    ("until", Word::In),
    ("wednesday", Word::Weekday(2)),
    ("week", Word::Unit(Unit::Week)),
    ("weekend", Word::Unit(Unit::Weekend)),
    ("weekends", Word::Unit(Unit::Weekend)),
    ("weeks", Word::Unit(Unit::Week)),
    ("winter", Word::Season(12)),
    ("year", Word::Unit(Unit::Year)),
    ("years", Word::Unit(Unit::Year)),
    ("yesterday", Word::Yesterday),
];

const fn month(number: i8) -> Word {
    Word::Month { number, name: Name::Clear }
}

/// Also the name of a person.
const fn given(number: i8) -> Word {
    Word::Month { number, name: Name::Shared }
}

/// Also another word, unless it begins with a capital.
const fn weak(number: i8) -> Word {
    Word::Month { number, name: Name::Word }
}

/// The words of a text; none if no word of it can begin or end a date.
pub(super) fn of(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut names_time = false;
    let (mut end, mut before) = (0, "");
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        let start = word.as_ptr() as usize - text.as_ptr() as usize;
        let between = &text[end..start];
        let mut chars = between.chars();
        if let (Some(joint), None) = (chars.next(), chars.next()) {
            if let Some(last) = tokens.last_mut() {
                let last: &mut Token = last;
                last.joint = joint;
            }
        } else if ends_sentence(before, between) {
            tokens.push(Token { word: Word::Other, joint: ' ' });
        }
        (end, before) = (start + word.len(), word);
        let word = classify(word);
        names_time |= !matches!(
            word,
            Word::Other
                | Word::Digits
                | Word::Count(_)
                | Word::Few
                | Word::In
                | Word::Of
                | Word::The
                | Word::Part
                | Word::This
                | Word::Last
                | Word::Next
                | Word::Before
                | Word::After
        );
        tokens.push(Token { word, joint: ' ' });
    }
    if !names_time {
        tokens.clear();
    }
    tokens
}

/// Whether a sentence, or a part of one, ends between two words. A period after the abbreviation of a
/// month ends none: "Sept. 5".
fn ends_sentence(before: &str, between: &str) -> bool {
    let is_followed = |mark: char| {
        let mut after = between.split(mark).skip(1);
        after.any(|after| after.starts_with(char::is_whitespace))
    };
    let is_abbreviated = || {
        matches!(classify(before), Word::Month { .. })
            && before.len() <= 4
            && !["may", "june", "july"].iter().any(|it| before.eq_ignore_ascii_case(it))
    };
    between.contains(['!', '?', ';'])
        || between.contains("\n\n")
        || is_followed(':')
        || (is_followed('.') && !is_abbreviated())
}

fn classify(word: &str) -> Word {
    if word.as_bytes().first().is_some_and(u8::is_ascii_digit) {
        return number(word).unwrap_or(Word::Digits);
    }
    let mut lower = [0; 9];
    let Some(lower) = lower.get_mut(..word.len()) else { return Word::Other };
    lower.copy_from_slice(word.as_bytes());
    lower.make_ascii_lowercase();
    let found = NAMES.binary_search_by(|(name, _)| name.as_bytes().cmp(lower));
    match found.map(|at| NAMES[at].1) {
        Ok(Word::Month { number, name: Name::Word }) if word.starts_with(char::is_uppercase) => {
            Word::Month { number, name: Name::Shared }
        }
        Ok(word) => word,
        Err(_) => Word::Other,
    }
}

fn number(word: &str) -> Option<Word> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = word.split_at(digits);
    let is_ordinal = ["st", "nd", "rd", "th"].iter().any(|it| suffix.eq_ignore_ascii_case(it));
    // The day and the hour of `2023-05-08T13:56`.
    let is_before_time =
        matches!(suffix.as_bytes(), [b'T', hour @ ..] if hour.iter().all(u8::is_ascii_digit));
    if digits > 4 || !(suffix.is_empty() || is_ordinal || is_before_time) {
        return None;
    }
    Some(Word::Number { value: number.parse().ok()?, digits: digits as u8 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_for_binary_search() {
        assert!(NAMES.is_sorted_by_key(|(name, _)| name));
        assert!(NAMES.iter().all(|(name, _)| name.len() <= 9));
    }
}
