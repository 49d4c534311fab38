//! Civil dates as days since 1970-01-01.

use jiff::civil::{Date, date};
use jiff::{Span, ToSpan as _, Unit as Of};

use super::Period;

const EPOCH: Date = date(1970, 1, 1);

/// The date of a day, unless it is outside of the years −9999 to 9999.
pub(super) fn of_day(day: i32) -> Option<Date> {
    EPOCH.checked_add(Span::new().try_days(day).ok()?).ok()
}

pub(super) fn day(date: Date) -> i32 {
    date.since((Of::Day, EPOCH)).map_or(0, |since| since.get_days())
}

/// The day with this number of a month, if it exists.
pub(super) fn on(year: i16, month: i8, day_of_month: i8) -> Option<Period> {
    Date::new(year, month, day_of_month).ok().map(|date| Period::day(day(date)))
}

/// Some months from a month on.
pub(super) fn months(year: i16, month: i8, count: i32) -> Option<Period> {
    let first = Date::new(year, month, 1).ok()?;
    let next = first.checked_add(count.months()).ok()?;
    Some(Period::new(day(first), day(next) - 1))
}

pub(super) fn year(year: i16) -> Option<Period> {
    months(year, 1, 12)
}

/// The date some units later, or earlier if `count` is negative.
pub(super) fn days_later(date: Date, count: i32) -> Option<Date> {
    date.checked_add(Span::new().try_days(count).ok()?).ok()
}

pub(super) fn months_later(date: Date, count: i32) -> Option<Date> {
    date.checked_add(Span::new().try_months(count).ok()?).ok()
}

/// The Monday of a date's week.
pub(super) fn monday(date: Date) -> i32 {
    day(date) - i32::from(date.weekday().to_monday_zero_offset())
}

/// The one of two or three candidates that is nearest to a day, the earlier one of two.
pub(super) fn nearest(to: i32, candidates: impl IntoIterator<Item = Period>) -> Option<Period> {
    let distance = |period: &Period| {
        let middle = i64::midpoint(period.first().into(), period.last().into());
        (middle - i64::from(to)).abs()
    };
    candidates.into_iter().min_by_key(distance)
}
