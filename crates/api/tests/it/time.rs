//! Times on the wire.

use waypost_api::Time;

fn read(text: &str) -> Option<String> {
    text.parse().ok().map(|it: Time| it.to_string())
}

#[test]
fn every_number_of_milliseconds_can_be_written_and_what_was_written_can_be_read() {
    const DAY: i64 = 86_400_000;
    let (first, last, jiff_last) = (-62_167_219_200_000, 253_402_300_799_999, 253_402_207_200_000);
    let edges = [i64::MIN, first, 0, jiff_last, last, i64::MAX];
    let around = [-DAY, -1_000, -999, -1, 0, 1, 999, 1_000, DAY];
    for edge in edges {
        for time in around.map(|it| Time(edge.saturating_add(it))) {
            let kept = Time(time.0.clamp(first, last));
            let text = serde_json::to_string(&time).expect("it is written");
            assert_eq!(serde_json::from_str::<Time>(&text).ok(), Some(kept), "{text}");
        }
    }
}

#[test]
fn times_are_read_from_the_first_to_the_last_and_not_beyond() {
    for same in [
        "0000-01-01T00:00:00.000Z",
        "1969-12-31T23:59:59.999Z",
        "2024-02-29T23:59:59.999Z",
        "9999-12-30T22:00:00.999Z",
        "9999-12-31T23:59:59.999Z",
    ] {
        assert_eq!(read(same).as_deref(), Some(same));
    }
    for (text, time) in [
        ("2026-11-21t12:00:00z", "2026-11-21T12:00:00.000Z"),
        ("2026-11-21T12:00:00.5+05:30", "2026-11-21T06:30:00.500Z"),
        ("1960-01-01T00:30:00.123956-01:00", "1960-01-01T01:30:00.123Z"),
        ("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.000Z"),
    ] {
        assert_eq!(read(text).as_deref(), Some(time), "{text}");
    }
    for beyond in [
        "0000-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59.999-00:01",
        "10000-01-01T00:00:00Z",
        "2026-11-21T12:00:00.000",
        "2026-11-21T24:00:00Z",
        "2026-11-21T12:00:00Z[UTC]",
    ] {
        let error = beyond.parse::<Time>().expect_err(beyond).to_string();
        assert!(error.contains("from 0000-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z"));
    }
}
