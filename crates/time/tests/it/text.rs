//! Times and their text.

use proptest::prelude::*;
use waypost_time::Timestamp;

fn read(text: &str) -> Option<String> {
    text.parse().ok().map(|timestamp: Timestamp| timestamp.to_string())
}

proptest! {
    #[test]
    fn a_time_reads_back_as_it_was_written(millis in -70_000_000_000_000_i64..260_000_000_000_000) {
        let time = Timestamp::from_millis(millis);
        let text = time.to_string();
        prop_assert_eq!(text.len(), "0000-00-00T00:00:00.000Z".len());
        prop_assert_eq!(text.parse(), Ok(time));
    }

    #[test]
    fn any_text_is_a_time_or_none(text in ".*") {
        if let Ok(time) = text.parse::<Timestamp>() {
            prop_assert_eq!(time.to_string().parse(), Ok(time));
        }
    }
}

#[test]
fn every_number_of_milliseconds_can_be_written_and_what_was_written_can_be_read() {
    const DAY: i64 = 86_400_000;
    let (first, last) = (Timestamp::MIN.as_millis(), Timestamp::MAX.as_millis());
    for edge in [i64::MIN, first, 0, last, i64::MAX] {
        for by in [-DAY, -1_000, -999, -1, 0, 1, 999, 1_000, DAY] {
            let millis = edge.saturating_add(by);
            let time = Timestamp::from_millis(millis);
            assert_eq!(time.as_millis(), millis.clamp(first, last));
            assert_eq!(time.to_string().parse(), Ok(time));
        }
    }
}

#[test]
fn times_are_read_as_rfc_3339_has_them() {
    for same in [
        "0000-01-01T00:00:00.000Z",
        "1969-12-31T23:59:59.999Z",
        "1970-01-01T00:00:00.000Z",
        "2024-02-29T23:59:59.999Z",
        "9999-12-30T22:00:00.999Z",
        "9999-12-31T23:59:59.999Z",
    ] {
        assert_eq!(read(same).as_deref(), Some(same));
    }
    for (text, time) in [
        ("2026-11-21t12:00:00z", "2026-11-21T12:00:00.000Z"),
        ("2026-11-21T12:00:00.5+05:30", "2026-11-21T06:30:00.500Z"),
        ("2026-01-01T00:30:00.123456-01:00", "2026-01-01T01:30:00.123Z"),
        ("1960-01-01T00:30:00.123956-01:00", "1960-01-01T01:30:00.123Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"),
    ] {
        assert_eq!(read(text).as_deref(), Some(time), "{text}");
    }
    for wrong in [
        "",
        "2026-11-21",
        "2026-11-21T12:00:00",
        "2026-11-21T12:00:00.000",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T12:00:00.Z",
        "2026-11-21T12:00:00,5Z",
        "2026-11-21T12:00:00Zjunk",
        "2026-11-21T12:00:00Z[UTC]",
        "2026-11-21T12:00:00+5:30",
        "2026-11-21T12:00:00+05",
        "2026-11-21T12:00:00+0530",
        "２026-11-21T12:00:00Z",
    ] {
        assert_eq!(read(wrong), None, "{wrong}");
    }
}

#[test]
fn a_time_outside_the_range_is_told_the_range() {
    for beyond in [
        "0000-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "9999-12-31T23:59:59.999-00:01",
        "10000-01-01T00:00:00Z",
    ] {
        let error = beyond.parse::<Timestamp>().expect_err(beyond).to_string();
        assert!(error.contains("from 0000-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z"));
    }
}
