//! Times and their text.

use proptest::prelude::*;
use waypost_memory::Timestamp;

proptest! {
    #[test]
    fn a_time_reads_back_as_it_was_written(millis in -70_000_000_000_000_i64..260_000_000_000_000) {
        let time = Timestamp::from_millis(millis);
        let text = time.to_string();
        prop_assert_eq!(text.len(), "0000-00-00T00:00:00.000Z".len());
        prop_assert_eq!(Timestamp::parse(&text), Some(time));
    }

    #[test]
    fn any_text_is_a_time_or_none(text in ".*") {
        if let Some(time) = Timestamp::parse(&text) {
            prop_assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        }
    }
}

#[test]
fn times_are_read_as_rfc_3339_has_them() {
    let read = |text: &str| Timestamp::parse(text).map(|it| it.to_string());
    let same = |text: &str| assert_eq!(read(text).as_deref(), Some(text));
    same("1970-01-01T00:00:00.000Z");
    same("2024-02-29T23:59:59.999Z");
    same("0000-01-01T00:00:00.000Z");
    same("9999-12-31T23:59:59.999Z");
    let becomes =
        |text: &str, other: &str| assert_eq!(read(text).as_deref(), Some(other), "{text}");
    becomes("2026-11-21t12:00:00z", "2026-11-21T12:00:00.000Z");
    becomes("2026-11-21T12:00:00.5+05:30", "2026-11-21T06:30:00.500Z");
    becomes("2026-01-01T00:30:00.123456-01:00", "2026-01-01T01:30:00.123Z");
    becomes("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z");
    for wrong in [
        "",
        "2026-11-21",
        "2026-11-21T12:00:00",
        "2026-13-01T00:00:00Z",
        "2026-02-29T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T12:00:00.Z",
        "2026-11-21T12:00:00Zjunk",
        "2026-11-21T12:00:00+5:30",
        "9999-12-31T23:59:59-01:00",
        "２026-11-21T12:00:00Z",
    ] {
        assert_eq!(read(wrong), None, "{wrong}");
    }
}
