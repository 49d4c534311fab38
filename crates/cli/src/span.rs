//! Times on the command line: `30d`, `2025-01-31`, `2025-01-31T09:30:00Z`.

use std::time::{Duration, SystemTime};

use waypost_time::Timestamp;

use crate::failure::{Failure, Result};

const DAY_SECONDS: u64 = 24 * 60 * 60;
const SHORT_MAX: Duration = Duration::from_secs(180);

/// Now.
pub fn now() -> Timestamp {
    SystemTime::now().into()
}

/// A time as it is written: RFC 3339, a day, or a span before now such as `7d`. `option` is the
/// option that has it, for messages.
pub fn past(option: &str, text: &str, now: Timestamp) -> Result<Timestamp> {
    point(option, text, |span| now.checked_sub(span))
}

/// A time as it is written: RFC 3339, a day, or a span from now such as `30d`.
pub fn ahead(option: &str, text: &str, now: Timestamp) -> Result<Timestamp> {
    point(option, text, |span| now.checked_add(span))
}

/// The same, but only a time after now.
pub fn future(option: &str, text: &str, now: Timestamp) -> Result<Timestamp> {
    let time = ahead(option, text, now)?;
    if time <= now {
        return Err(invalid(option, text, "is in the past; pass a future time, such as `30d`"));
    }
    Ok(time)
}

fn point(
    option: &str,
    text: &str,
    from_now: impl Fn(Duration) -> Option<Timestamp>,
) -> Result<Timestamp> {
    let day = format!("{text}T00:00:00Z");
    let written = text.parse().or_else(|_| day.parse()).ok();
    let spanned = || span(text).and_then(from_now);
    written.or_else(spanned).ok_or_else(|| {
        let of_day = [text, &day].map(|it| it.parse::<Timestamp>().err());
        let [whole, day] = of_day.map(|day| day.map(|it| it.reason().to_owned()));
        let reason = if text.contains(['T', 't', ':']) { whole } else { day };
        // Only a text that begins as a date is wrong as one.
        let is_date = text.len() > 4 && text.bytes().take(4).all(|byte| byte.is_ascii_digit());
        let reason = reason.filter(|_| is_date).map_or(String::new(), |reason| format!(" ({reason})"));
        let why = format!(
            "is not a valid time{reason}; write a span of up to 100 years such as `30d`, `12h` or `2w`, a day such as `2025-01-31`, or `2025-01-31T09:30:00Z`"
        );
        invalid(option, text, &why)
    })
}

fn invalid(option: &str, text: &str, why: &str) -> Failure {
    const CHARS_MAX: usize = 60;
    let cut = if text.chars().nth(CHARS_MAX).is_some() { "..." } else { "" };
    let shown: String = text.chars().take(CHARS_MAX).collect();
    Failure::usage(format!("{option}: {shown:?}{cut} {why}"))
}

/// A time limit: a duration such as `10s`, up to 3 minutes.
pub fn short(text: &str) -> Result<Duration, String> {
    span(text)
        .filter(|span| (Duration::from_secs(1)..=SHORT_MAX).contains(span))
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
    let seconds =
        count.checked_mul(unit_seconds).filter(|product| *product <= 36_500 * DAY_SECONDS);
    seconds.map(Duration::from_secs)
}
