//! Random numbers and hashes that depend on the seed alone.

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Above 0 and below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        unit(self.next())
    }

    /// The time until the next event of a Poisson process.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.unit().ln()
    }

    /// Mean 0, standard deviation 1 (Box and Muller, 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// A bijection of 64-bit numbers whose output bits depend on all input bits.
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A hash of two keys.
pub(crate) fn hash(a: u64, b: u64) -> u64 {
    mix(mix(a.wrapping_add(0x9e37_79b9_7f4a_7c15)) ^ b.wrapping_mul(0xd6e8_feb8_6659_fd93))
}

/// Above 0 and below 1.
pub(crate) fn unit(bits: u64) -> f64 {
    ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::{Random, hash, unit};

    #[test]
    fn a_seed_gives_one_sequence() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            (0..100).map(|_| random.unit()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn distributions_have_their_means() {
        let mut random = Random::new(7);
        let count = 100_000;
        let mean = |sum: f64| sum / f64::from(count);
        let exponential = mean((0..count).map(|_| random.exponential(3.0)).sum());
        let squares = mean((0..count).map(|_| random.normal().powi(2)).sum());
        assert!((exponential - 3.0).abs() < 0.05, "{exponential}");
        assert!((squares - 1.0).abs() < 0.02, "{squares}");
    }

    #[test]
    fn hashes_are_spread_evenly() {
        let mut counts = [0_u32; 16];
        for key in 0..16_000 {
            counts[(unit(hash(key, 1)) * 16.0) as usize] += 1;
        }
        assert!(counts.iter().all(|it| (850..1_150).contains(it)), "{counts:?}");
    }
}
