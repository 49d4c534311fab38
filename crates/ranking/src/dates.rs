//! Days that a text names: dates, and relative times such as "last week", resolved against the day
//! on which it was written or asked. English, and dates in digits.
//!
//! No model and no list of phrases: a small grammar over words, after the rule-based taggers of the
//! field (Strötgen and Gertz, *HeidelTime*, 2010; Chang and Manning, *SUTime*, 2012). A day is a
//! day in UTC.

mod calendar;
mod grammar;
mod words;

/// The maximum number of periods of a text; later ones are ignored.
pub const PERIODS_MAX: usize = 8;

/// Some days in sequence, as days since 1970-01-01; both ends are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Period {
    first: i32,
    last: i32,
}

impl Period {
    /// The days from `first` to `last`.
    ///
    /// # Panics
    /// If `last` is before `first`.
    pub fn new(first: i32, last: i32) -> Self {
        assert!(first <= last, "a period ends before it begins");
        Self { first, last }
    }

    /// A single day.
    pub fn day(day: i32) -> Self {
        Self { first: day, last: day }
    }

    /// The first day.
    pub fn first(self) -> i32 {
        self.first
    }

    /// The last day.
    pub fn last(self) -> i32 {
        self.last
    }

    /// The share of this period's days that `other` includes, 0 to 1: the probability that an event
    /// on one of them, none more likely than another, is within `other`.
    ///
    /// ```
    /// use waypost_ranking::Period;
    ///
    /// let week = Period::new(10, 16);
    /// assert_eq!(Period::day(12).share_within(week), 1.0);
    /// assert_eq!(week.share_within(Period::day(12)), 1.0 / 7.0);
    /// assert_eq!(week.share_within(Period::day(17)), 0.0);
    /// ```
    pub fn share_within(self, other: Self) -> f32 {
        let days = |first: i32, last: i32| (i64::from(last) - i64::from(first) + 1).max(0) as f32;
        days(self.first.max(other.first), self.last.min(other.last)) / days(self.first, self.last)
    }
}

/// The periods that `text` names, in order, at most [`PERIODS_MAX`], each once. `today` is the day
/// on which it was written, in days since 1970-01-01; without it, only dates with a year count.
///
/// A date that does not exist is none. A date that can be read in two ways (`5/8/2023`, "on
/// Friday") names both periods. Takes time proportional to the text.
///
/// ```
/// use waypost_ranking::{Period, periods};
///
/// // A Monday.
/// let today = 20_780;
/// assert_eq!(periods("signed on 23 November 2026", None), [Period::day(today)]);
/// assert_eq!(periods("We moved last week.", Some(today)), [Period::new(20_773, 20_779)]);
/// assert_eq!(periods("on 30 February 2026", None), []);
/// ```
pub fn periods(text: &str, today: Option<i32>) -> Vec<Period> {
    let words = words::of(text);
    if words.is_empty() { Vec::new() } else { grammar::periods(&words, today) }
}
