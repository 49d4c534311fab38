//! Points in time on the command line: `30d`, `2025-01-31`, `2025-01-31T09:30:00Z`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use waypost_api::Time;

use crate::failure::{Failure, Result};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
const SHORT_MAX: Duration = Duration::from_secs(180);

/// Now.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A time as it is written: RFC 3339, a day, or a span before now such as `7d`.
pub(crate) fn past(text: &str, now: Time) -> Result<Time> {
    point(text, |ms| now.0.checked_sub(ms))
}

/// A time as it is written: RFC 3339, a day, or a span from now such as `30d`.
pub(crate) fn future(text: &str, now: Time) -> Result<Time> {
    let time = point(text, |ms| now.0.checked_add(ms))?;
    if time <= now {
        return Err(Failure::usage(format!(
            "{text} is in the past; pass a future time, such as `30d`"
        )));
    }
    Ok(time)
}

fn point(text: &str, from_now: impl Fn(i64) -> Option<i64>) -> Result<Time> {
    let day = format!("{text}T00:00:00Z");
    let written = text.parse().or_else(|_| day.parse()).ok();
    let spanned = || span_ms(text).and_then(from_now).map(Time);
    written.or_else(spanned).ok_or_else(|| {
        Failure::usage(format!(
            "{text:?} is not a valid time; write `30d`, `12h`, `2w`, a day such as `2025-01-31` or `2025-01-31T09:30:00Z`"
        ))
    })
}

/// How long to wait at most: a span such as `10s`, up to 3 minutes.
pub(crate) fn short(text: &str) -> std::result::Result<Duration, String> {
    let span = span_ms(text).and_then(|ms| u64::try_from(ms).ok()).map(Duration::from_millis);
    span.filter(|it| (Duration::from_secs(1)..=SHORT_MAX).contains(it))
        .ok_or_else(|| "expected a time from 1s to 3m, such as `10s`".to_owned())
}

fn span_ms(text: &str) -> Option<i64> {
    let unit = text.chars().last()?;
    let count: i64 =
        text[..text.len() - unit.len_utf8()].parse().ok().filter(|count| *count >= 0)?;
    let unit_ms = match unit {
        's' => 1_000,
        'm' => MINUTE_MS,
        'h' => 60 * MINUTE_MS,
        'd' => DAY_MS,
        'w' => 7 * DAY_MS,
        'y' => 365 * DAY_MS,
        _ => return None,
    };
    // A century is enough, and stays inside what RFC 3339 can write.
    count.checked_mul(unit_ms).filter(|ms| *ms <= 36_500 * DAY_MS)
}
