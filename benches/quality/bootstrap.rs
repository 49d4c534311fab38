//! Confidence intervals by the percentile bootstrap (Efron and Tibshirani, "An Introduction to the
//! Bootstrap", 1993): the questions are drawn again, with replacement.

/// How often the questions are drawn.
const RESAMPLES: usize = 2_000;

/// The interval that holds 95 % of a statistic's values over resampled questions.
///
/// `statistic` gets the places of the drawn questions, `0..questions`, as many as there are. The
/// draws are the same in every call with as many questions, so intervals are reproducible.
pub(crate) fn interval(questions: usize, mut statistic: impl FnMut(&[usize]) -> f64) -> (f64, f64) {
    let mut random = Random(questions as u64);
    let mut drawn = vec![0; questions];
    let mut values: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            drawn.fill_with(|| random.below(questions));
            statistic(&drawn)
        })
        .collect();
    values.sort_unstable_by(f64::total_cmp);
    let last = RESAMPLES - 1;
    (values[last * 25 / 1_000], values[last - last * 25 / 1_000])
}

/// The same for a mean over questions.
pub(crate) fn interval_of_mean(values: &[f64]) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    interval(values.len(), |drawn| drawn.iter().map(|at| values[*at]).sum::<f64>() / count)
}

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        it ^= it >> 31;
        // The upper half of the product: no modulo bias that matters for thousands of questions.
        ((u128::from(it) * end as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_an_interval_without_width() {
        assert_eq!(interval_of_mean(&[0.5; 40]), (0.5, 0.5));
    }

    #[test]
    fn the_interval_is_about_two_standard_errors_to_either_side() {
        // 100 values of 0 and 1: the standard error of their mean is 0.05.
        let values: Vec<f64> = (0..100).map(|at| f64::from(at % 2)).collect();
        let (low, high) = interval_of_mean(&values);
        assert!((0.38..=0.42).contains(&low) && (0.58..=0.62).contains(&high), "{low} to {high}");
    }
}
