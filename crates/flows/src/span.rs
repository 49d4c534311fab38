use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::scalar::from_text;

/// A duration as people write it: `500ms`, `30s`, `2m`, `1h30m`, `7d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

/// The longest: a year.
const SECONDS_MAX: u64 = 366 * 24 * 60 * 60;

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let invalid = || {
            format!(
                "{text:?} is not a valid duration; write 500ms, 30s, 2m, 1h30m or 7d, at most a year"
            )
        };
        let mut rest = text;
        let mut sum = Duration::ZERO;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(invalid)?;
            let (number, after) = rest.split_at(digits);
            let letters = after.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(after.len());
            let (unit, after) = after.split_at(letters);
            let number: u64 = number.parse().map_err(|_| invalid())?;
            let milliseconds = match unit {
                "ms" => 1,
                "s" => 1000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return Err(invalid()),
            };
            let part = number.checked_mul(milliseconds).ok_or_else(invalid)?;
            sum = sum.checked_add(Duration::from_millis(part)).ok_or_else(invalid)?;
            rest = after;
        }
        if sum.is_zero() || sum > Duration::from_secs(SECONDS_MAX) {
            return Err(invalid());
        }
        Ok(Self(sum))
    }
}

from_text!(Span: "a duration such as 30s");

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.as_millis();
        for (unit, milliseconds) in
            [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)]
        {
            if rest >= milliseconds {
                write!(f, "{}{unit}", rest / milliseconds)?;
                rest %= milliseconds;
            }
        }
        Ok(())
    }
}
