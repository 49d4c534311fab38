//! Days that texts name.

use jiff::civil::{Date, date};
use proptest::prelude::*;
use waypost_ranking::{PERIODS_MAX, Period, periods};

/// A Thursday.
const TODAY: Date = date(2023, 6, 15);

fn day(date: Date) -> i32 {
    (date - Date::constant(1970, 1, 1)).get_days()
}

fn days(first: Date, last: Date) -> Period {
    Period::new(day(first), day(last))
}

fn on(year: i16, month: i8, of_month: i8) -> Period {
    Period::day(day(date(year, month, of_month)))
}

#[track_caller]
fn names(text: &str, expected: &[Period]) {
    let readable = |all: &[Period]| {
        let date = |day: i32| date(1970, 1, 1) + jiff::Span::new().days(day);
        all.iter()
            .map(|item| format!("{}..{}", date(item.first()), date(item.last())))
            .collect::<Vec<_>>()
    };
    let found = periods(text, Some(day(TODAY)));
    assert_eq!(readable(&found), readable(expected), "{text:?}");
}

#[test]
fn dates_with_a_year_need_no_today() {
    let may = on(2023, 5, 8);
    for text in [
        "8 May 2023",
        "8th May, 2023",
        "the 8th of May 2023",
        "May 8, 2023",
        "May 8th 2023",
        "on May 8,2023",
        "2023-05-08",
        "2023/05/08",
        "8.5.2023",
        "2023-05-08T13:56:00",
        "Monday, 8 May 2023",
        "Mon, May 8 2023",
        "8 may 2023",
        "may 8, 2023",
        "2023.05.08",
        "notes-2023-05-08.md",
        "2023-05-08: the first day",
    ] {
        assert_eq!(periods(text, None), [may], "{text:?}");
    }
    assert_eq!(periods("in May 2023", None), [days(date(2023, 5, 1), date(2023, 5, 31))]);
    assert_eq!(periods("2023-02", None), [days(date(2023, 2, 1), date(2023, 2, 28))]);
    assert_eq!(periods("back in 2019", None), [days(date(2019, 1, 1), date(2019, 12, 31))]);
    assert_eq!(periods("the summer of 2022", None), [days(date(2022, 6, 1), date(2022, 8, 31))]);
    assert_eq!(periods("Sept. 5, 2023", None), [on(2023, 9, 5)]);
    assert_eq!(periods("8.5.2023-9.5.2023", None), [may, on(2023, 5, 9)]);
    let year = days(date(2022, 1, 1), date(2022, 12, 31));
    assert_eq!(periods("prices fall in 2022", None), [year]);
    assert_eq!(periods("winter 2023", None), [days(date(2023, 12, 1), date(2024, 2, 29))]);
}

#[test]
fn relative_times_need_it() {
    for text in ["yesterday", "last week", "on Friday", "in May", "8 May", "two years ago"] {
        assert_eq!(periods(text, None), [], "{text:?}");
    }
}

#[test]
fn relative_times_are_resolved_against_it() {
    names("We met yesterday.", &[on(2023, 6, 14)]);
    names("Tonight!", &[on(2023, 6, 15)]);
    names("the day before yesterday", &[on(2023, 6, 13)]);
    names("last night", &[on(2023, 6, 14)]);
    names("this morning", &[on(2023, 6, 15)]);
    names("last week", &[days(date(2023, 6, 5), date(2023, 6, 11))]);
    names("this weekend", &[days(date(2023, 6, 17), date(2023, 6, 18))]);
    names("last weekend", &[days(date(2023, 6, 10), date(2023, 6, 11))]);
    names("next month", &[days(date(2023, 7, 1), date(2023, 7, 31))]);
    names("last year", &[days(date(2022, 1, 1), date(2022, 12, 31))]);
    names("last Friday", &[on(2023, 6, 9)]);
    names("last Thursday", &[on(2023, 6, 8)]);
    names("next Thursday", &[on(2023, 6, 22)]);
    names("last summer", &[days(date(2022, 6, 1), date(2022, 8, 31))]);
    names("last June", &[days(date(2022, 6, 1), date(2022, 6, 30))]);
    names("three days ago", &[on(2023, 6, 12)]);
    names("2 weeks ago", &[days(date(2023, 5, 29), date(2023, 6, 4))]);
    names("a few days ago", &[days(date(2023, 6, 9), date(2023, 6, 13))]);
    names("a couple of months ago", &[days(date(2023, 4, 1), date(2023, 4, 30))]);
    names("a year ago", &[days(date(2022, 1, 1), date(2022, 12, 31))]);
    names("two weekends ago", &[days(date(2023, 6, 3), date(2023, 6, 4))]);
    names("the past two months", &[days(date(2023, 4, 15), TODAY)]);
}

#[test]
fn a_date_without_a_year_is_the_nearest() {
    names("on 8 May", &[on(2023, 5, 8)]);
    names("December 24th", &[on(2022, 12, 24)]);
    names("in July", &[days(date(2023, 7, 1), date(2023, 7, 31))]);
}

#[test]
fn an_ambiguous_date_names_both_periods() {
    names("on 5/8/2023", &[on(2023, 8, 5), on(2023, 5, 8)]);
    names("on 25/8/2023", &[on(2023, 8, 25)]);
    names("see you on Friday", &[on(2023, 6, 9), on(2023, 6, 16)]);
}

#[test]
fn what_is_no_date_names_nothing() {
    for text in [
        "",
        "30 February 2023",
        "2023-13-01",
        "31.4.2023",
        "May I go?",
        "I may march on",
        "sign in may fail on 8 may",
        "this may be the last march",
        "The team sat in the sun for a second",
        "What did June say to April?",
        "It runs version 8. May I update it?",
        "the one that came last; week two is easier",
        "release 2024.1.2 and 2024.1",
        "in 2024.1.2",
        "1.2.3.2019",
        "10.0.2019.5",
        "5.1.2600",
        "6.1.2012.5000",
        "call 0-12-05-2019",
        "call +49 30 1234 2019",
        "in 5 minutes of work",
        "the rise and fall of 1066 kings",
        "port 2024",
        "in 4747 files",
        "version 1.2.3",
        "10.0.0.1",
        "the next day",
        "0 days ago",
        "99999999999999999999 years ago",
        "a day in the life",
        "5 people",
        "12/40/2023",
    ] {
        names(text, &[]);
    }
}

#[test]
fn far_times_are_clamped_or_dropped() {
    for today in [i32::MIN, -4_371_587, 0, 2_932_896, i32::MAX] {
        for text in [
            "yesterday",
            "next year",
            "last week",
            "9999 years ago",
            "in May",
            "on Monday",
            "last winter",
            "the next 9999 months",
        ] {
            assert!(periods(text, Some(today)).len() <= 2);
        }
    }
}

#[test]
fn a_text_names_a_bounded_number_of_periods() {
    let text: Vec<String> = (1..=28).map(|number| format!("{number} May 2023")).collect();
    assert_eq!(periods(&text.join(", "), None).len(), PERIODS_MAX);
}

proptest! {
    #[test]
    fn any_text_is_read(text in ".*", today in any::<i32>()) {
        periods(&text, Some(today));
    }

    #[test]
    fn any_words_are_read(
        words in prop::collection::vec(prop::sample::select(vec![
            "last", "next", "this", "week", "weekend", "year", "ago", "a", "few", "couple", "of",
            "May", "2023", "31", "2", "-", "/", ",", "Friday", "summer", "in", "day", "before",
            "yesterday", "past", "8th", "night", "9999",
        ]), 0..12),
        today in -4_400_000_i32..3_000_000,
    ) {
        for period in periods(&words.join(" "), Some(today)) {
            prop_assert!(period.first() <= period.last());
        }
    }

    #[test]
    fn a_written_date_is_read_back(day in -100_000_i32..100_000) {
        let date = date(1970, 1, 1) + jiff::Span::new().days(day);
        prop_assert_eq!(periods(&date.to_string(), None), [Period::day(day)]);
        let long = date.strftime("%d %B %Y").to_string();
        prop_assert_eq!(periods(&long, None), [Period::day(day)]);
    }
}
