//! Times on the command line: `30d`, `2025-01-31`, `2025-01-31T09:30:00Z`.

use std::time::{Duration, SystemTime};

use waypost_time::Timestamp;

use crate::failure::{Failure, Result};

const DAY_SECONDS: u64 = 24 * 60 * 60;
const SHORT_MAX: Duration = Duration::from_secs(180);

/// Now.
pub(crate) fn now() -> Timestamp {
    SystemTime::now().into()
}

/// A time as it is written: RFC 3339, a day, or a span before now such as `7d`.
pub(crate) fn past(text: &str, now: Timestamp) -> Result<Timestamp> {
    point(text, |span| now.checked_sub(span))
}

/// A time as it is written: RFC 3339, a day, or a span from now such as `30d`.
pub(crate) fn ahead(text: &str, now: Timestamp) -> Result<Timestamp> {
    point(text, |span| now.checked_add(span))
}

/// The same, but only a time after now.
pub(crate) fn future(text: &str, now: Timestamp) -> Result<Timestamp> {
    let time = ahead(text, now)?;
    if time <= now {
        return Err(Failure::usage(format!(
            "{text} is in the past; pass a future time, such as `30d`"
        )));
    }
    Ok(time)
}

fn point(text: &str, from_now: impl Fn(Duration) -> Option<Timestamp>) -> Result<Timestamp> {
    let day = format!("{text}T00:00:00Z");
    let written = text.parse().or_else(|_| day.parse()).ok();
    let spanned = || span(text).and_then(from_now);
    written.or_else(spanned).ok_or_else(|| {
        Failure::usage(format!(
            "{text:?} is not a valid time; write `30d`, `12h`, `2w`, a day such as `2025-01-31` or `2025-01-31T09:30:00Z`"
        ))
    })
}

/// A time limit: a duration such as `10s`, up to 3 minutes.
pub(crate) fn short(text: &str) -> std::result::Result<Duration, String> {
    span(text)
        .filter(|it| (Duration::from_secs(1)..=SHORT_MAX).contains(it))
        .ok_or_else(|| "expected a time from 1s to 3m, such as `10s`".to_owned())
}

fn span(text: &str) -> Option<Duration> {
    let unit = text.chars().last()?;
    let count: u64 = text[..text.len() - unit.len_utf8()].parse().ok()?;
    let unit_seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => DAY_SECONDS,
        'w' => 7 * DAY_SECONDS,
        'y' => 365 * DAY_SECONDS,
        _ => return None,
    };
    // A century is enough, and stays inside what RFC 3339 can write.
    let seconds = count.checked_mul(unit_seconds).filter(|it| *it <= 36_500 * DAY_SECONDS);
    seconds.map(Duration::from_secs)
}
