//! What MPNet's attention adds for the distance of two tokens.

/// Half of the distances have a bucket each, the rest share them in logarithmic steps, for tokens
/// before and for tokens behind (Colin Raffel et al., *Exploring the Limits of Transfer Learning
/// with a Unified Text-to-Text Transformer*, 2020, section 2.1; with 32 buckets up to a distance of
/// 128). The distances at which a bucket from the eighth on begins:
const STEPS: [usize; 8] = [8, 12, 16, 23, 32, 46, 64, 91];
/// The buckets of each direction.
const BUCKETS: usize = 16;

/// The numbers of all heads.
#[derive(Debug, Clone)]
pub struct Relative {
    /// For each bucket, a number for each head.
    table: Vec<f32>,
    heads: usize,
}

impl Relative {
    /// The buckets of both directions.
    pub const BUCKETS: usize = 2 * BUCKETS;

    /// `table` has, for each of the [`BUCKETS`](Self::BUCKETS), a number for each head.
    pub fn new(table: Vec<f32>, heads: usize) -> Self {
        Self { table, heads }
    }

    /// The numbers of one head in a text of `terms` tokens: at `terms - 1 + j - i` that for the
    /// token `j` as seen from the token `i`.
    pub fn of(&self, head: usize, terms: usize) -> impl Iterator<Item = f32> {
        let behind = (1..terms).rev().map(bucket);
        let ahead = (0..terms).map(|number| if number == 0 { 0 } else { BUCKETS + bucket(number) });
        behind.chain(ahead).map(move |bucket| self.table[bucket * self.heads + head])
    }
}

fn bucket(distance: usize) -> usize {
    match STEPS.iter().rposition(|&step| step <= distance) {
        Some(step) => STEPS[0] + step,
        None => distance,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `MPNetEncoder.relative_position_bucket` of transformers 5.23 returns them.
    #[test]
    fn distances_have_the_buckets_of_the_reference() {
        let table = (0..64).map(|number| number as f32).collect();
        let relative = Relative { table, heads: 2 };
        let numbers: Vec<f32> = relative.of(1, 300).collect();
        assert_eq!(numbers.len(), 599);
        for (distance, bucket) in [
            (-299, 15),
            (-91, 15),
            (-90, 14),
            (-64, 14),
            (-63, 13),
            (-46, 13),
            (-45, 12),
            (-32, 12),
            (-31, 11),
            (-23, 11),
            (-22, 10),
            (-16, 10),
            (-15, 9),
            (-12, 9),
            (-11, 8),
            (-8, 8),
            (-7, 7),
            (-1, 1),
            (0, 0),
            (1, 17),
            (7, 23),
            (8, 24),
            (12, 25),
            (16, 26),
            (23, 27),
            (32, 28),
            (46, 29),
            (63, 29),
            (64, 30),
            (90, 30),
            (91, 31),
            (299, 31),
        ] {
            let at = (299 + distance) as usize;
            assert_eq!(numbers[at], (2 * bucket + 1) as f32, "distance {distance}");
        }
    }
}
