//! Maps by numbers that this crate hands out one after the other: slots and terms. Nobody can choose
//! them so that they collide, so hashing them takes one product.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by slots, or other numbers that are given out one after the other: nobody can choose them so
/// that they collide, and hashing one takes one product.
pub type NumberMap<K, V> = HashMap<K, V, BuildHasherDefault<NumberHasher>>;

/// The hasher of a [`NumberMap`].
#[derive(Debug, Clone, Copy, Default)]
pub struct NumberHasher(u64);

/// 2^64 divided by the golden ratio: neighbouring numbers land far apart.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        // The map takes the lowest bits and the highest; a product's lowest are poor.
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
