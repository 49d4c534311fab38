//! Adding, subtracting and converting.

use std::time::{Duration, UNIX_EPOCH};

use waypost_time::Timestamp;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn arithmetic_is_exact_to_the_millisecond_and_stays_in_the_range() {
    let at = Timestamp::from_millis;
    assert_eq!(at(-500).checked_add(SECOND), Some(at(500)));
    assert_eq!(at(500).checked_sub(SECOND), Some(at(-500)));
    assert_eq!(at(0).saturating_add(Duration::from_micros(1_999)), at(1));
    for span in [Duration::from_millis(1), Duration::MAX] {
        assert_eq!(Timestamp::MAX.checked_add(span), None);
        assert_eq!(Timestamp::MAX.saturating_add(span), Timestamp::MAX);
        assert_eq!(Timestamp::MIN.checked_sub(span), None);
        assert_eq!(Timestamp::MIN.saturating_sub(span), Timestamp::MIN);
    }
    assert_eq!(at(1_500).saturating_duration_since(at(-500)), 2 * SECOND);
    assert_eq!(at(-500).saturating_duration_since(at(1_500)), Duration::ZERO);
    let all = Timestamp::MAX.saturating_duration_since(Timestamp::MIN);
    assert_eq!(Timestamp::MIN.checked_add(all), Some(Timestamp::MAX));
}

#[test]
fn seconds_are_rounded_down_and_clamped() {
    assert_eq!(Timestamp::from_millis(-1).as_secs(), -1);
    assert_eq!(Timestamp::from_millis(1_999).as_secs(), 1);
    assert_eq!(Timestamp::from_secs(-1), Timestamp::from_millis(-1_000));
    assert_eq!(Timestamp::from_secs(i64::MAX), Timestamp::MAX);
    assert_eq!(Timestamp::from_secs(i64::MIN), Timestamp::MIN);
}

#[test]
fn a_system_time_is_converted_on_both_sides_of_1970() {
    assert_eq!(Timestamp::from(UNIX_EPOCH), Timestamp::EPOCH);
    assert_eq!(Timestamp::from(UNIX_EPOCH + SECOND), Timestamp::from_millis(1_000));
    assert_eq!(Timestamp::from(UNIX_EPOCH - SECOND), Timestamp::from_millis(-1_000));
}
