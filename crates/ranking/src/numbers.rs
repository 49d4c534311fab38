//! Maps keyed by numbers that this crate assigns consecutively: slots and terms. Nobody can choose
//! them to collide, so hashing takes one multiplication.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map keyed by slots, or by other consecutively assigned numbers: nobody can choose them to
/// collide, and hashing takes one multiplication.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// The hasher of a [`NumberMap`].
#[derive(Debug, Clone, Copy, Default)]
pub struct NumberHasher(u64);

/// 2^64 divided by the golden ratio: neighbouring numbers are mapped far apart.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        // The map uses the lowest and the highest bits; a product's lowest bits are poor.
        self.0.rotate_left(32)
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(byte.into());
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number)).wrapping_mul(FACTOR);
    }
}
