//! The RFC 3339 form of a time.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime};

use crate::Timestamp;

const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The text is not an RFC 3339 time between the years 0 and 9999.
///
/// The message shows the text, up to 40 characters of it, and says why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be an RFC 3339 time such as 2025-01-31T09:30:00.000Z, not `{text}`: {reason}")]
#[non_exhaustive]
pub struct InvalidTimestamp {
    text: String,
    reason: String,
}

impl InvalidTimestamp {
    /// Why the text is no time.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    fn of(text: &str, reason: String) -> Self {
        const CHARS_MAX: usize = 40;
        let mut shown: String = text.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect();
        if text.chars().nth(CHARS_MAX).is_some() {
            shown.push_str("...");
        }
        Self { text: shown, reason }
    }
}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Reads an RFC 3339 time with any offset; digits beyond the millisecond are cut off.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        parse(text).map_err(|reason| InvalidTimestamp::of(text, reason))
    }
}

/// The time, or why the text is none.
fn parse(text: &str) -> Result<Timestamp, String> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        digits.iter().try_fold(0_i64, |sum, digit| {
            digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
        })
    };
    let is = |at: usize, any: &[u8]| bytes.get(at).is_some_and(|bytes| any.contains(bytes));
    let marks = is(4, b"-") && is(7, b"-") && is(10, b"Tt ") && is(13, b":") && is(16, b":");
    let parts = [(0, 4), (5, 7), (8, 10), (11, 13), (14, 16), (17, 19)];
    let [Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)] =
        parts.map(|(from, to)| number(from, to))
    else {
        return Err(misshapen(bytes.len() == 10 && is(4, b"-") && is(7, b"-")));
    };
    if !marks {
        return Err(misshapen(false));
    }
    if !(1..=12).contains(&month) {
        return Err(format!("the month is {month:02}; valid are 01 to 12"));
    }
    let date = |day| Date::new(year as i16, month as i8, day as i8);
    let days = date(1).map_or(0, |first| i64::from(first.days_in_month()));
    if !(1..=days).contains(&day) {
        return Err(format!(
            "the day is {day:02}; {year:04}-{month:02} has the days 01 to {days:02}"
        ));
    }
    for (what, value, last) in [("hour", hour, 23), ("minute", minute, 59), ("second", second, 60)]
    {
        if value > last {
            return Err(format!("the {what} is {value}; valid are 00 to {last}"));
        }
    }
    let mut at = 19;
    let mut millis = 0;
    if is(at, b".") {
        let digits = bytes[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 {
            return Err("the `.` after the seconds needs a digit after it".to_owned());
        }
        for place in 0..3 {
            let at = at + 1 + place;
            let digit = if place < digits { number(at, at + 1) } else { Some(0) };
            millis = millis * 10 + digit.unwrap_or(0);
        }
        at += 1 + digits;
    }
    let no_offset =
        || "the seconds must be followed by an offset, `Z` for UTC or such as `+01:00`".to_owned();
    let offset_minutes = match bytes.get(at) {
        Some(b'Z' | b'z') if bytes.len() == at + 1 => 0,
        Some(sign @ (b'+' | b'-')) if bytes.len() == at + 6 && is(at + 3, b":") => {
            let (hours, minutes) = number(at + 1, at + 3)
                .zip(number(at + 4, at + 6))
                .filter(|(hours, minutes)| *hours <= 23 && *minutes <= 59)
                .ok_or_else(|| "the offset must be from -23:59 to +23:59".to_owned())?;
            let offset = hours * 60 + minutes;
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return Err(no_offset()),
    };
    // A leap second is the last millisecond-less second of its minute here.
    let second = second.min(59);
    let date = date(day).map_err(|error| error.to_string())?;
    let seconds = date.duration_since(EPOCH.date()).as_secs() + hour * 3_600 + minute * 60 + second
        - offset_minutes * 60;
    let whole = seconds * 1_000 + millis;
    if (Timestamp::MIN.0..=Timestamp::MAX.0).contains(&whole) {
        Ok(Timestamp(whole))
    } else {
        Err(format!("in UTC, valid are times {RANGE}"))
    }
}

const RANGE: &str = "from 0000-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z";

/// Why a text that has not the form of a time is none.
fn misshapen(is_day: bool) -> String {
    if is_day {
        return "a day needs a time and an offset, such as `T00:00:00Z`".to_owned();
    }
    format!("expected YYYY-MM-DDThh:mm:ss and an offset, {RANGE}")
}

impl fmt::Display for Timestamp {
    /// Writes `2026-11-21T11:00:00.250Z`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = EPOCH.saturating_add(SignedDuration::from_millis(self.0));
        let (year, month, day) = (time.year(), time.month(), time.day());
        let (hour, minute, second) = (time.hour(), time.minute(), time.second());
        let millis = time.millisecond();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
    }
}
