//! Dates as written by people.

use std::time::Duration;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use waypost_time::Timestamp;

use crate::text::head;

/// The longest date in words.
const WORDS_BYTES_MAX: usize = 64;

/// A year: a date further in the future is a mistake.
const AHEAD_MAX: Duration = Duration::from_secs(366 * 86_400);

/// The first date in a text: `2026-01-31`, also with `/`, `_` or `.`,
/// `20260131`, `31 January 2026`, `Jan 31, 2026`; a time after an ISO date counts.
pub(super) fn find(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    for at in 0..bytes.len() {
        let starts = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        if !starts || !bytes[at].is_ascii_alphanumeric() {
            continue;
        }
        let found = if bytes[at].is_ascii_digit() {
            numeric(&text[at..]).or_else(|| day_first(&text[at..]))
        } else {
            month_first(&text[at..])
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

/// A date, unless it is too far in the future.
pub(super) fn plausible(date: Option<Timestamp>, now: Timestamp) -> Option<Timestamp> {
    date.filter(|date| *date <= now.saturating_add(AHEAD_MAX))
}

/// `2026-01-31T09:00:00+01:00` and shorter.
fn numeric(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let year = number(text, 0, 4)?;
    let (date, rest) = match *bytes.get(4)? {
        separator @ (b'-' | b'/' | b'_' | b'.') => {
            (bytes.get(7) == Some(&separator)).then_some(())?;
            (date(year, number(text, 5, 2)?, number(text, 8, 2)?)?, 10)
        }
        _ => (date(year, number(text, 4, 2)?, number(text, 6, 2)?)?, 8),
    };
    if bytes.get(rest).is_some_and(|bytes| bytes.is_ascii_digit()) {
        return None;
    }
    let (time, zone) = time(&text[rest..]).unwrap_or((Time::midnight(), Offset::UTC));
    timestamp(date.to_datetime(time), zone)
}

/// A time after a date: `T09:00`, ` 09:00:30`, with `Z` or `+01:00`.
fn time(text: &str) -> Option<(Time, Offset)> {
    let text = text.strip_prefix(['T', 't', ' '])?.trim_start();
    let hour = number(text, 0, 2)?;
    (text.as_bytes().get(2) == Some(&b':')).then_some(())?;
    let minute = number(text, 3, 2)?;
    let (second, mut rest) = match (text.as_bytes().get(5), number(text, 6, 2)) {
        (Some(b':'), Some(second)) => (second, text.get(8..)?),
        _ => (0, text.get(5..)?),
    };
    if let Some(fraction) = rest.strip_prefix('.') {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let time = Time::new(hour as i8, minute as i8, second as i8, 0).ok()?;
    Some((time, offset(rest).unwrap_or(Offset::UTC)))
}

fn offset(text: &str) -> Option<Offset> {
    let text = text.trim_start();
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let minutes = number(text, 4, 2).or_else(|| number(text, 3, 2)).unwrap_or(0);
    Offset::from_seconds(sign * (number(text, 1, 2)? * 3600 + minutes * 60)).ok()
}

/// `31 January 2026`, `31st of Jan. 2026`.
fn day_first(text: &str) -> Option<Timestamp> {
    let mut words = words(text);
    let day = words.next()?.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    let mut word = words.next()?;
    if word == "of" {
        word = words.next()?;
    }
    let month = month(word)?;
    timestamp(date(year(words.next()?)?, month, day)?.into(), Offset::UTC)
}

/// `January 31, 2026`.
fn month_first(text: &str) -> Option<Timestamp> {
    let mut words = words(text);
    let month = month(words.next()?)?;
    let day = words.next()?.trim_end_matches(|c: char| c.is_ascii_alphabetic()).parse().ok()?;
    timestamp(date(year(words.next()?)?, month, day)?.into(), Offset::UTC)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let text = head(text, WORDS_BYTES_MAX);
    text.split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()).take(4)
}

fn year(word: &str) -> Option<i32> {
    (word.len() == 4).then(|| word.parse().ok()).flatten()
}

fn month(word: &str) -> Option<i32> {
    const MONTHS: &str = "january february march april may june july august september october \
                          november december";
    let word = word.to_ascii_lowercase();
    let known = |month: &str| {
        word.len() >= 3 && month.starts_with(&word) || word == "sept" && month == "september"
    };
    MONTHS.split(' ').position(known).map(|at| at as i32 + 1)
}

/// The number in these digits; all of them must be present.
fn number(text: &str, at: usize, digits: usize) -> Option<i32> {
    let part = text.get(at..at + digits)?;
    part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok()).flatten()
}

fn date(year: i32, month: i32, day: i32) -> Option<Date> {
    (1970..=2200).contains(&year).then_some(())?;
    Date::new(year as i16, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

fn timestamp(at: DateTime, offset: Offset) -> Option<Timestamp> {
    let zoned = at.to_zoned(TimeZone::fixed(offset)).ok()?;
    Some(Timestamp::from_secs(zoned.timestamp().as_second()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_found_however_they_are_written() {
        let at = |seconds| Some(Timestamp::from_secs(seconds));
        let day = at(1_769_817_600);
        for text in [
            "2026-01-31",
            "2026/01/31",
            "2026_01_31-notes",
            "2026.01.31",
            "20260131",
            "[1.2.0] - 2026-01-31",
            "v1.2.0 (2026-01-31)",
            "31 January 2026",
            "31st of Jan. 2026",
            "January 31, 2026",
            "Jan 31 2026",
            "Saturday, 31 Jan 2026",
            "2026-01-31T01:00:00+01:00",
            "2026-01-31T00:00:00Z",
            "é 2026-01-31",
        ] {
            assert_eq!(find(text), day, "{text}");
        }
        assert_eq!(find("[2026-01-31 09:30] title"), at(1_769_817_600 + 34_200));
        assert_eq!(find("Sept 1, 2025"), find("2025-09-01"));
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "1.2.0",
            "2026-13-01",
            "2026-02-30",
            "20260131123",
            "a2026-01-31",
            "12345678901",
            "May be 3 things",
            "2026",
            "0001-store",
            "1969-12-31",
            "99999999",
            "May 5 things 2026",
        ] {
            assert_eq!(find(text), None, "{text}");
        }
        let at = Timestamp::from_secs;
        assert_eq!(plausible(Some(at(10)), at(9)), Some(at(10)));
        assert_eq!(plausible(Some(at(40_000_000)), at(9)), None);
    }
}
