//! 4-bit codes, and bounds on the difference between a score and its estimate from codes.
//!
//! A vector *x* of the index has for each component one of sixteen levels. With *u* its levels, the
//! scale *t* = x·u / u·u makes t·u the multiple of *u* nearest to *x*, so that the rest,
//! r = x − t·u, is orthogonal to *u*. The query *q* has length 1 and whole numbers *p* of 8 bits as
//! its codes; with their scale *s* and e = q − s·p,
//!
//! > x·q = t·s·u·p + t·u·e + r·q
//!
//! The first term is the *guess*, *g*: integers except for the two scales. The others are bounded
//! for all vectors:
//!
//! - t·u is a projection of *x* and no longer than it, at most L. By the Cauchy–Schwarz inequality
//!   |t·u·e| ≤ L·|e|.
//! - Only the part of *q* that is orthogonal to *u* counts in r·q. With *c* the cosine between *q*
//!   and *u*, |r·q| ≤ |r|·√(1 − c²). For any number *d* from 0 to below 1 the same inequality, for
//!   the unit vectors (c, √(1 − c²)) and (d, √(1 − d²)), gives c·d + √(1 − c²)·√(1 − d²) ≤ 1, hence
//!   √(1 − c²) ≤ (1 − c·d) / √(1 − d²): a line in *c*, tightest at c = d.
//! - The guess bounds *c*: t·u·q = c·|t·u|, and it is at least g − L·|e|. If it is not negative
//!   then c ≥ t·u·q / L ≥ g / L − |e|, so that
//!
//! > √(1 − c²) ≤ (1 + d·|e| − d·g / L) / √(1 − d²) = flat − slope·g
//!
//! - If t·u·q is negative then g < L·|e|, and for 0 ≤ g the right side is at least
//!   1 / √(1 − d²) ≥ 1. For g < 0 it is replaced by flat ≥ 1. So √(1 − c²) ≤ flat − slope·max(g, 0)
//!   in every case.
//!
//! Together |x·q − g| ≤ L·|e| + |r|·(flat − slope·max(g, 0)), plus rounding. *d* is free: the score
//! that a vector must reach is a good choice.

use crate::simd::{LEVELS, Limit, Probe, STEP_COMPONENTS};

/// L: no vector of an index is longer.
pub(super) const LENGTH_MAX: f32 = 1.01;

/// The scales tried for a vector's levels, as multiples of the best scale for normally distributed
/// components; the larger ones are for vectors with a few large components.
const SCALES: [f32; 5] = [1.0, 0.9, 1.1, 1.5, 2.0];

/// The highest level for a normal distribution with standard deviation 1 (Max 1960).
const LEVEL_HIGHEST: f32 = 2.733;

/// The lower bound of each level except the lowest, in units of the scale.
const STEPS: [f32; 15] = {
    let mut steps = [0.0; 15];
    let mut at = 0;
    while at < 15 {
        steps[at] = f32::midpoint(LEVELS[at] as f32, LEVELS[at + 1] as f32);
        at += 1;
    }
    steps
};

/// A vector's codes.
#[derive(Debug)]
pub(super) struct Codes {
    /// Four bits for each component.
    pub(super) levels: Vec<u8>,
    /// The value of one unit of the levels.
    pub(super) scale: f32,
    /// The distance between the vector and its decoded codes, rounded up.
    pub(super) error: f32,
}

impl Codes {
    /// The codes of a vector that is not all zeros.
    pub(super) fn new(vector: &[f32]) -> Self {
        let square: f32 = vector.iter().map(|vector| vector * vector).sum();
        let unit = (square / vector.len() as f32).sqrt() * LEVEL_HIGHEST / f32::from(LEVELS[15]);
        let mut best = (f32::NEG_INFINITY, Vec::new());
        for factor in SCALES {
            let levels = levels(vector, unit * factor);
            let (mut product, mut square) = (0.0, 0.0);
            for (component, &level) in vector.iter().zip(&levels) {
                let level = f32::from(LEVELS[usize::from(level)]);
                product += component * level;
                square += level * level;
            }
            // The squared length of the vector's projection on the levels.
            let along = product * product / square;
            if along > best.0 {
                best = (along, levels);
            }
        }
        let levels = best.1;
        let (mut product, mut square) = (0.0, 0.0);
        for (component, &level) in vector.iter().zip(&levels) {
            let level = f64::from(LEVELS[usize::from(level)]);
            product += f64::from(*component) * level;
            square += level * level;
        }
        let scale = (product / square) as f32;
        let rest = vector.iter().zip(&levels).map(|(component, &level)| {
            let meant = f64::from(scale) * f64::from(LEVELS[usize::from(level)]);
            (f64::from(*component) - meant).powi(2)
        });
        let error = (rest.sum::<f64>().sqrt() * 1.000_001) as f32;
        Self { levels, scale, error }
    }
}

/// The level nearest to each component: the number of steps that the component reaches.
fn levels(vector: &[f32], unit: f32) -> Vec<u8> {
    let inverse = 1.0 / unit;
    vector
        .iter()
        .map(|component| {
            let component = component * inverse;
            STEPS.iter().map(|step| u8::from(component >= *step)).sum()
        })
        .collect()
}

/// A query's codes, and the data for bounding scores.
#[derive(Debug)]
pub(super) struct QueryCodes {
    pub(super) probe: Probe,
    /// |e|, rounded up.
    error: f32,
    /// L·|e|, plus the rounding errors of scores and guesses.
    slack: f32,
}

impl QueryCodes {
    /// The codes of a query of length 1.
    pub(super) fn new(query: &[f32]) -> Self {
        let largest = query.iter().fold(0f32, |largest, it| largest.max(it.abs()));
        let scale = largest / 127.0;
        let codes: Vec<i8> = query.iter().map(|query| (query / scale).round() as i8).collect();
        let rest = query.iter().zip(&codes).map(|(component, code)| {
            (f64::from(*component) - f64::from(scale) * f64::from(*code)).powi(2)
        });
        let error = (rest.sum::<f64>().sqrt() * 1.000_001) as f32;
        // Sixteen lanes of products of up to 1 in all, each sum rounded to 24 bits; the guess and
        // its bounds are a few operations on numbers below 4; a scale has 24 bits, so the rest of a
        // vector is not quite orthogonal to its levels.
        let rounding = (query.len() as f32 / 16.0 + 64.0) * f32::EPSILON;
        let steps = query.len().div_ceil(STEP_COMPONENTS);
        let code = |at: usize| codes.get(at).copied().unwrap_or(0);
        let four = |at: usize| [code(at), code(at + 1), code(at + 2), code(at + 3)];
        let probe = (0..steps).map(|step| [four(4 * step), four(4 * (steps + step))]).collect();
        let slack = LENGTH_MAX * error + rounding;
        Self { probe: Probe::new(probe, scale), error, slack }
    }

    /// Admits vectors that may score at least `least`.
    pub(super) fn from(&self, least: f32) -> Limit {
        Limit { at: least - self.slack, ..self.limit(least) }
    }

    /// Admits vectors that may score at most `most`.
    pub(super) fn up_to(&self, most: f32) -> Limit {
        Limit { at: most + self.slack, ..self.limit(most) }
    }

    fn limit(&self, at: f32) -> Limit {
        // NaN and infinity are mapped into the range as well.
        let d = if at.is_finite() { at.clamp(0.0, 0.95) } else { 0.0 };
        let inverse = 1.0 / (1.0 - d * d).sqrt();
        Limit { at, flat: (1.0 + d * self.error) * inverse, slope: d * inverse / LENGTH_MAX }
    }
}
