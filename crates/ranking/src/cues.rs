//! Cues in the wording of a text about its role in a conversation, besides its words.

/// Words that place a text in time. Month names that are everyday words (`may`, `march`) count only
/// with a capital letter.
const TIME_WORDS: &[&str] = &[
    "ago",
    "april",
    "august",
    "autumn",
    "date",
    "day",
    "days",
    "december",
    "evening",
    "fall",
    "february",
    "friday",
    "fridays",
    "hour",
    "hours",
    "january",
    "july",
    "june",
    "last",
    "midnight",
    "monday",
    "mondays",
    "month",
    "months",
    "morning",
    "next",
    "night",
    "noon",
    "november",
    "october",
    "recently",
    "saturday",
    "saturdays",
    "season",
    "september",
    "since",
    "spring",
    "summer",
    "sunday",
    "sundays",
    "thursday",
    "thursdays",
    "today",
    "tomorrow",
    "tonight",
    "tuesday",
    "tuesdays",
    "wednesday",
    "wednesdays",
    "week",
    "weekend",
    "weekends",
    "weeks",
    "winter",
    "year",
    "years",
    "yesterday",
];

/// Units and kinds of time that a question may ask for: "what day", "which year".
const TIME_UNITS: &[&str] =
    &["date", "day", "decade", "hour", "month", "season", "time", "week", "year"];

/// Words by which a question asks for the latest of several statements.
const LATEST_WORDS: &[&str] = &["current", "currently", "latest", "newest", "now", "nowadays"];

/// The same in several words.
const LATEST_PHRASES: &[&[&str]] = &[
    &["most", "recent"],
    &["most", "recently"],
    &["at", "present"],
    &["at", "the", "moment"],
    &["these", "days"],
];

/// Cues of a document: two bits, cheap enough to store for every document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cues {
    /// It ends with a question mark: it asks a question rather than giving information.
    pub asks: bool,
    /// It names a time: a year, a day, "yesterday", "last week".
    pub tells_time: bool,
}

impl Cues {
    /// Grows whenever the cues or the [periods](crate::periods) of a document change: stored ones of
    /// another version are to be computed again.
    pub const VERSION: u32 = 2;

    /// The cues of a document's content.
    ///
    /// ```
    /// use waypost_ranking::Cues;
    ///
    /// assert!(Cues::of("How was the trip?").asks);
    /// assert!(Cues::of("We went there last week.").tells_time);
    /// assert_eq!(Cues::of("It was fun."), Cues::default());
    /// ```
    pub fn of(content: &str) -> Self {
        let asks = content.trim_end().ends_with(['?', '？', '؟']);
        Self { asks, tells_time: words(content).any(names_time) }
    }

    /// The cues that a query asks for: a question about a time or a duration asks for a text that
    /// names one.
    ///
    /// ```
    /// use waypost_ranking::Cues;
    ///
    /// assert!(Cues::wanted_by("When did we move?").tells_time);
    /// assert!(Cues::wanted_by("in which year was it").tells_time);
    /// assert!(!Cues::wanted_by("Where did we go the day before?").tells_time);
    /// ```
    pub fn wanted_by(query: &str) -> Self {
        Self { asks: false, tells_time: asks_for_time(query) }
    }

    /// The cues as two bits.
    pub fn to_bits(self) -> u8 {
        u8::from(self.asks) | u8::from(self.tells_time) << 1
    }

    /// The cues from two bits; other bits are ignored.
    pub fn from_bits(bits: u8) -> Self {
        Self { asks: bits & 1 != 0, tells_time: bits & 2 != 0 }
    }
}

fn asks_for_time(query: &str) -> bool {
    let lower = query.to_lowercase();
    let mut before = "";
    for word in words(&lower) {
        let asked = match before {
            "how" => word == "long",
            "what" | "which" => TIME_UNITS.contains(&word),
            _ => word == "when",
        };
        if asked {
            return true;
        }
        before = word;
    }
    false
}

/// Whether a query asks for the latest of several statements: "where does she live now", "the current
/// port".
///
/// ```
/// use waypost_ranking::asks_for_latest;
///
/// assert!(asks_for_latest("What is the current port?"));
/// assert!(asks_for_latest("the most recent release"));
/// assert!(!asks_for_latest("Which ports did it have?"));
/// ```
pub fn asks_for_latest(query: &str) -> bool {
    let lower = query.to_lowercase();
    let words: Vec<&str> = words(&lower).collect();
    words.iter().any(|word| LATEST_WORDS.contains(word))
        || LATEST_PHRASES
            .iter()
            .any(|phrase| words.windows(phrase.len()).any(|window| window == *phrase))
}

/// How informative a document of `length` terms is, 0 to 1: texts below 30 terms (two or three
/// sentences) are less informative; beyond that length makes no difference.
///
/// BM25's length normalisation prefers the shorter of two texts with the same words. Among very
/// short texts that is wrong: "Wow, the beach!" names the beach but says nothing about it.
pub fn substance(length: u32) -> f32 {
    length.min(30) as f32 / 30.0
}

/// The words of a query that name something: those with a capital letter inside a sentence. In a
/// script without capital letters there are none.
///
/// ```
/// let names: Vec<&str> = waypost_ranking::names("Where did Ada's sister go? Should I ask Bob").collect();
/// assert_eq!(names, ["Ada's", "Bob"]);
/// ```
pub fn names(query: &str) -> impl Iterator<Item = &str> {
    let mut begins = true;
    query.split_whitespace().filter_map(move |token| {
        let begun = std::mem::replace(&mut begins, token.ends_with(['.', '!', '?', '…']));
        let word = token.trim_matches(|c: char| !c.is_alphanumeric());
        let is_i = matches!(word.split(['\'', '’']).next(), Some("I"));
        (!begun && !is_i && word.starts_with(char::is_uppercase)).then_some(word)
    })
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty())
}

fn names_time(word: &str) -> bool {
    if let "May" | "March" = word {
        return true;
    }
    let bytes = word.as_bytes();
    if let [b'1', b'8' | b'9', _, _] | [b'2', b'0', _, _] = bytes {
        return bytes.iter().all(u8::is_ascii_digit);
    }
    bytes.len() <= 10 && TIME_WORDS.binary_search(&word.to_lowercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_words_are_in_order_for_binary_search() {
        assert!(TIME_WORDS.is_sorted());
    }

    #[test]
    fn a_modal_verb_is_no_month() {
        assert!(!Cues::of("I may march on").tells_time);
        assert!(Cues::of("on 7 May").tells_time);
    }

    #[test]
    fn a_number_of_four_digits_is_a_year_only_within_reason() {
        assert!(Cues::of("built in 1987").tells_time);
        assert!(!Cues::of("port 4747").tells_time);
        assert!(!Cues::of("version 20b1").tells_time);
    }

    #[test]
    fn bits_round_trip() {
        for bits in 0..4 {
            assert_eq!(Cues::from_bits(bits).to_bits(), bits);
        }
    }

    #[test]
    fn a_text_without_words_has_no_cues() {
        assert_eq!(Cues::of(" … "), Cues::default());
        assert!(!asks_for_time(""));
    }
}
