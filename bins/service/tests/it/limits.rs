//! The limits of bodies.

use waypost_api::limits as wire;
use waypost_project::LimitSettings;

#[test]
fn the_documented_sizes_of_bodies_are_those_that_hold_by_default() {
    let limits = LimitSettings::default();
    assert_eq!(limits.body_bytes_max as u64, wire::BODY_BYTES_MAX);
    assert_eq!(limits.batch_bytes_max, wire::BATCH_BYTES_MAX);
}
