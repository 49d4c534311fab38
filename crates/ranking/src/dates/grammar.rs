//! How words make up dates.

use jiff::civil::Date;

use super::calendar::{day, days_later, monday, months, months_later, nearest, of_day, on, year};
use super::words::{Name, Token, Unit, Word};
use super::{PERIODS_MAX, Period};

/// What a rule found: how many words it took, and what they may mean.
type Found = Option<(usize, [Option<Period>; 2])>;

pub(super) fn periods(tokens: &[Token], today: Option<i32>) -> Vec<Period> {
    let today = today.and_then(of_day);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() && found.len() < PERIODS_MAX {
        let here = Here {
            tokens: &tokens[at..],
            before: at.checked_sub(1).map(|difference| tokens[difference]),
            today,
        };
        let Some((count, those)) = here.any() else {
            at += 1;
            continue;
        };
        for period in those.into_iter().flatten() {
            if !found.contains(&period) && found.len() < PERIODS_MAX {
                found.push(period);
            }
        }
        at += count;
    }
    found
}

/// The words from one on.
struct Here<'a> {
    tokens: &'a [Token],
    before: Option<Token>,
    today: Option<Date>,
}

impl Here<'_> {
    fn word(&self, at: usize) -> Word {
        self.tokens.get(at).map_or(Word::Other, |token| token.word)
    }

    /// The character between a word and the next one.
    fn joint(&self, at: usize) -> char {
        self.tokens.get(at).map_or(' ', |token| token.joint)
    }

    /// A number of at most two digits.
    fn short(&self, at: usize) -> Option<i8> {
        match self.word(at) {
            Word::Number { value, digits: 1 | 2 } => i8::try_from(value).ok(),
            _ => None,
        }
    }

    /// A number of four digits that may be a year.
    fn year(&self, at: usize) -> Option<i16> {
        match self.word(at) {
            Word::Number { value: value @ 1000..=2999, digits: 4 } => i16::try_from(value).ok(),
            _ => None,
        }
    }

    /// The same for dates in digits alone.
    fn recent_year(&self, at: usize) -> Option<i16> {
        self.year(at).filter(|year| (1800..=2199).contains(year))
    }

    /// Whether no more numbers are joined to the first ones in the same way, as in an address or the
    /// number of a version.
    fn is_whole(&self, count: usize) -> bool {
        let joint = self.joint(0);
        let is_number = |word: Word| matches!(word, Word::Number { .. } | Word::Digits);
        let follows =
            self.before.is_some_and(|before| before.joint == joint && is_number(before.word));
        let continues = self.joint(count - 1) == joint && is_number(self.word(count));
        !follows && !continues
    }

    fn any(&self) -> Found {
        match self.word(0) {
            Word::Number { .. } => self
                .iso()
                .or_else(|| self.digits())
                .or_else(|| self.day_month())
                .or_else(|| self.ago()),
            Word::Month { number, name } => self.month(number, name),
            Word::Season(first) => self.season(first),
            Word::Last | Word::Next | Word::This => self.relative(),
            Word::Count(_) | Word::Few => self.ago(),
            Word::Unit(Unit::Day) => self.two_days_away(),
            Word::Weekday(weekday) => self.weekday(weekday),
            Word::Today => self.days(1, 0),
            Word::Yesterday => self.days(1, -1),
            Word::Tomorrow => self.days(1, 1),
            Word::In | Word::Of | Word::Part | Word::Unit(Unit::Year) => self.bare_year(),
            _ => None,
        }
    }

    /// `2023-05-08`, `2023/05/08`, `2023-05`.
    fn iso(&self) -> Found {
        let (year, month) = (self.year(0)?, self.short(1)?);
        let is_recent = self.recent_year(0).is_some();
        let joint = self.joint(0);
        let has_two_digits = |at| matches!(self.word(at), Word::Number { digits: 2, .. });
        if !matches!(joint, '-' | '/' | '.') {
            return None;
        }
        if let Some(day) = self.short(2).filter(|_| self.joint(1) == joint) {
            // `2024.1.2` is the number of a version.
            let is_date = (joint != '.' && is_recent) || (has_two_digits(1) && has_two_digits(2));
            return (is_date && self.is_whole(3)).then(|| (3, [on(year, month, day), None]));
        }
        let is_month = joint == '-' && is_recent && has_two_digits(1) && self.is_whole(2);
        is_month.then(|| (2, [months(year, month, 1), None]))
    }

    /// `8.5.2023`; `5/8/2023`, which is a day in May or in August.
    fn digits(&self) -> Found {
        let (one, two, year) = (self.short(0)?, self.short(1)?, self.recent_year(2)?);
        let joint = self.joint(0);
        if !matches!(joint, '-' | '/' | '.') || self.joint(1) != joint || !self.is_whole(3) {
            return None;
        }
        let day_first = on(year, two, one);
        let month_first = on(year, one, two).filter(|on| joint != '.' && Some(*on) != day_first);
        Some((3, [day_first, month_first]))
    }

    /// `8 May 2023`, `the 8th of May`.
    fn day_month(&self) -> Found {
        let day = self.short(0)?;
        let at = if self.word(1) == Word::Of { 2 } else { 1 };
        let Word::Month { number, name } = self.word(at) else { return None };
        match self.year(at + 1) {
            Some(year) => Some((at + 2, [on(year, number, day), None])),
            None if name == Name::Word => None,
            None => Some((at + 1, [self.nearest_year(|year| on(year, number, day)), None])),
        }
    }

    /// `May 8, 2023`, `May 8`, `May 2023`, `in May`.
    fn month(&self, number: i8, name: Name) -> Found {
        if let Some(day) = self.short(1).filter(|short| (1..=31).contains(short)) {
            return match self.year(2) {
                Some(year) => Some((3, [on(year, number, day), None])),
                None if name == Name::Word => None,
                None => Some((2, [self.nearest_year(|year| on(year, number, day)), None])),
            };
        }
        let at = if self.word(1) == Word::Of { 2 } else { 1 };
        if let Some(year) = self.year(at) {
            return Some((at + 1, [months(year, number, 1), None]));
        }
        let before = self.before.map(|before| before.word);
        let is_placed = matches!(before, Some(Word::In | Word::Of | Word::Part));
        let is_month = name == Name::Clear || (name == Name::Shared && is_placed);
        is_month.then(|| (1, [self.nearest_year(|year| months(year, number, 1)), None]))
    }

    /// `summer 2022`, `the winter of 2022`, which ends in 2023.
    fn season(&self, first: i8) -> Found {
        let at = if self.word(1) == Word::Of { 2 } else { 1 };
        Some((at + 1, [months(self.recent_year(at)?, first, 3), None]))
    }

    /// `in 2022`, `early 2022`.
    fn bare_year(&self) -> Found {
        let number = self.recent_year(1)?;
        // The month or the day of an ISO date follows.
        let is_whole = !matches!(self.joint(1), '-' | '/' | '.') || self.short(2).is_none();
        is_whole.then(|| (2, [year(number), None]))
    }

    /// `last week`, `next Friday`, `this summer`, `the past two months`.
    fn relative(&self) -> Found {
        let today = self.today?;
        let step = match self.word(0) {
            Word::Last => -1,
            Word::Next => 1,
            _ => 0,
        };
        let period = match self.word(1) {
            Word::Unit(unit) => calendar_unit(today, unit, step),
            Word::PartOfDay if step <= 0 => Some(Period::day(day(today) + step)),
            Word::Weekday(weekday) => Some(Period::day(match step {
                0 => monday(today) + i32::from(weekday),
                -1 => day(today) - days_since(today, weekday),
                _ => day(today) + days_until(today, weekday),
            })),
            Word::Month { name: Name::Word, .. } => return None,
            Word::Month { number, .. } => match step {
                0 => months(today.year(), number, 1),
                -1 => around(today, |year| months(year, number, 1))
                    .filter(|around| around.last() < day(today))
                    .last(),
                _ => around(today, |year| months(year, number, 1))
                    .find(|around| around.first() > day(today)),
            },
            Word::Season(first) => match step {
                0 => nearest(day(today), around(today, |year| months(year, first, 3))),
                -1 => around(today, |year| months(year, first, 3))
                    .filter(|around| around.last() < day(today))
                    .last(),
                _ => around(today, |year| months(year, first, 3))
                    .find(|around| around.first() > day(today)),
            },
            _ => return self.span(step),
        };
        Some((2, [Some(period?), None]))
    }

    /// `the last three weeks`: the days up to today, or from it on.
    fn span(&self, step: i32) -> Found {
        let today = self.today?;
        let (used, count) = self.count(1)?;
        let Word::Unit(unit) = self.word(1 + used) else { return None };
        let (_, most) = count;
        let other = units_later(today, unit, step * most)?;
        let (first, last) = (day(today).min(day(other)), day(today).max(day(other)));
        (step != 0).then(|| (2 + used, [Some(Period::new(first, last)), None]))
    }

    /// `two weeks ago`, `a few days ago`.
    fn ago(&self) -> Found {
        let today = self.today?;
        let (used, (least, most)) = self.count(0)?;
        let Word::Unit(unit) = self.word(used) else { return None };
        if self.word(used + 1) != Word::Ago {
            return None;
        }
        let at = |count: i32| calendar_unit(units_later(today, unit, -count)?, unit, 0);
        let (first, last) = (at(most)?.first(), at(least)?.last());
        Some((used + 2, [Some(Period::new(first, last)), None]))
    }

    /// How many words say a number from a word on, and from what to what it is: `3`, `two`, `a`,
    /// `a few`, `a couple of`.
    fn count(&self, at: usize) -> Option<(usize, (i32, i32))> {
        let exactly = |count: u32| {
            let count = i32::try_from(count).ok().filter(|number| *number > 0)?;
            Some((count, count))
        };
        let is_article = self.word(at) == Word::Count(1);
        let first =
            at + usize::from(is_article && matches!(self.word(at + 1), Word::Count(2) | Word::Few));
        let count = match self.word(first) {
            Word::Number { value, .. } => exactly(value)?,
            Word::Count(count) => exactly(count)?,
            Word::Few => (2, 6),
            _ => return None,
        };
        let end = first + 1 + usize::from(self.word(first + 1) == Word::Of);
        Some((end - at, count))
    }

    /// `the day before yesterday`, `the day after tomorrow`.
    fn two_days_away(&self) -> Found {
        match (self.word(1), self.word(2)) {
            (Word::Before, Word::Yesterday) => self.days(3, -2),
            (Word::After, Word::Tomorrow) => self.days(3, 2),
            _ => None,
        }
    }

    /// `on Friday`: the last one or the next one. A date after it says which.
    fn weekday(&self, weekday: i8) -> Found {
        let after = Here { tokens: &self.tokens[1..], before: None, today: self.today };
        if matches!(after.word(0), Word::Number { .. } | Word::Month { .. })
            && after.any().is_some()
        {
            return None;
        }
        let today = self.today?;
        let last = Period::day(day(today) - days_since(today, weekday));
        let next = Period::day(day(today) + days_until(today, weekday));
        Some((1, [Some(last), Some(next)]))
    }

    fn days(&self, words: usize, later: i32) -> Found {
        Some((words, [Some(Period::day(day(days_later(self.today?, later)?))), None]))
    }

    /// The period of the year in which it is nearest to today.
    fn nearest_year(&self, period: impl Fn(i16) -> Option<Period>) -> Option<Period> {
        let today = self.today?;
        nearest(day(today), around(today, period))
    }
}

/// The periods of the year before, of this year, and of the next.
fn around(today: Date, period: impl Fn(i16) -> Option<Period>) -> impl Iterator<Item = Period> {
    (-1..=1).filter_map(move |step| period(today.year() + step))
}

/// The calendar unit `step` units after the one that a date is in.
fn calendar_unit(date: Date, unit: Unit, step: i32) -> Option<Period> {
    match unit {
        // "The last day" and "the next day" refer to other days than today's neighbours.
        Unit::Day => (step == 0).then(|| Period::day(day(date))),
        Unit::Week => {
            let monday = monday(date) + 7 * step;
            Some(Period::new(monday, monday + 6))
        }
        Unit::Weekend => {
            let monday = monday(date) + 7 * step;
            Some(Period::new(monday + 5, monday + 6))
        }
        Unit::Month => {
            let date = months_later(date.first_of_month(), step)?;
            months(date.year(), date.month(), 1)
        }
        Unit::Year => year(date.year().checked_add(i16::try_from(step).ok()?)?),
    }
}

fn units_later(date: Date, unit: Unit, count: i32) -> Option<Date> {
    match unit {
        Unit::Day => days_later(date, count),
        Unit::Week | Unit::Weekend => days_later(date, count.checked_mul(7)?),
        Unit::Month => months_later(date, count),
        Unit::Year => months_later(date, count.checked_mul(12)?),
    }
}

/// How many days ago a weekday was, 1 to 7.
fn days_since(today: Date, weekday: i8) -> i32 {
    let days = (today.weekday().to_monday_zero_offset() - weekday).rem_euclid(7);
    if days == 0 { 7 } else { i32::from(days) }
}

/// In how many days a weekday is, 1 to 7.
fn days_until(today: Date, weekday: i8) -> i32 {
    let days = (weekday - today.weekday().to_monday_zero_offset()).rem_euclid(7);
    if days == 0 { 7 } else { i32::from(days) }
}
