//! Attention (Vaswani et al., *Attention is all you need*, 2017).
#![expect(clippy::inline_always, reason = "compiled with the instructions of the caller")]

use crate::math;
use crate::product::{Out, PANEL, Rows, lines, multiply};
use crate::relative::Relative;
use crate::simd::{LANES, Simd, Task};

/// Tokens whose scores are held at once, so that they stay in the first-level cache.
const TERMS: usize = 48;

/// The attention of one text, ready to run.
pub(crate) struct Attention<'a> {
    /// The components of one head; a multiple of [`PANEL`].
    pub(crate) head: usize,
    pub(crate) relative: Option<&'a Relative>,
    /// Query, key and value of all heads, for each token.
    pub(crate) input: &'a [f32],
    /// The output of all heads, for each token.
    pub(crate) output: &'a mut [f32],
    /// The components of all heads.
    pub(crate) width: usize,
    pub(crate) scratch: &'a mut Scratch,
}

/// Memory that is reused from text to text.
#[derive(Default)]
pub(crate) struct Scratch {
    keys: Vec<f32>,
    values: Vec<f32>,
    scores: Vec<f32>,
    distances: Vec<f32>,
}

impl Task for Attention<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { head, relative, input, output, width, scratch } = self;
        let terms = output.len() / width;
        let keys = terms.next_multiple_of(PANEL);
        scratch.fit(terms, keys, head);
        // Scores of the padding keys of a panel: their share is 0.
        let masked = |key: usize| if key < terms { 0.0 } else { f32::NEG_INFINITY };
        let last: [f32; PANEL] = std::array::from_fn(|at| masked(keys - PANEL + at));
        let (last, zero) = (&lines(&last)[0], &[[0.0; LANES]; 2]);
        let scale = 1.0 / (head as f32).sqrt();
        let stride = 3 * width;
        for first in (0..width).step_by(head) {
            scratch.take(input, first, head, width);
            if let Some(relative) = relative {
                scratch.distances.clear();
                // The scores are not yet scaled.
                let distances = relative.of(first / head, terms).map(|of| of / scale);
                scratch.distances.extend(distances);
            }
            for from in (0..terms).step_by(TERMS) {
                let count = TERMS.min(terms - from);
                let queries = Rows { numbers: &input[from * stride + first..], stride, count };
                for (place, panel) in scratch.keys.chunks_exact(head * PANEL).enumerate() {
                    let ends = (place + 1) * PANEL == keys;
                    let numbers = &mut scratch.scores[place * PANEL..];
                    let mask = if ends { last } else { zero };
                    multiply(simd, queries, lines(panel), mask, &mut Out { numbers, stride: keys });
                }
                for (at, row) in scratch.scores.chunks_exact_mut(keys).take(count).enumerate() {
                    if relative.is_some() {
                        let distances = &scratch.distances[terms - 1 - from - at..];
                        row.iter_mut().zip(&distances[..terms]).for_each(|(it, by)| *it += by);
                    }
                    math::softmax(simd, row, scale);
                }
                let shares = Rows { numbers: &scratch.scores, stride: keys, count };
                for (place, panel) in scratch.values.chunks_exact(terms * PANEL).enumerate() {
                    let numbers = &mut output[from * width + first + place * PANEL..];
                    multiply(simd, shares, lines(panel), zero, &mut Out { numbers, stride: width });
                }
            }
        }
    }
}

impl Scratch {
    fn fit(&mut self, terms: usize, keys: usize, head: usize) {
        // Zeros in the padding keys of a panel.
        self.keys.clear();
        self.keys.resize(keys * head, 0.0);
        self.values.resize(terms * head, 0.0);
        self.scores.resize(TERMS.min(terms) * keys, 0.0);
    }

    /// Copies one head's keys and values into panels; the keys' tokens are the columns.
    #[inline(always)]
    fn take(&mut self, input: &[f32], first: usize, head: usize, width: usize) {
        let terms = self.values.len() / head;
        for (term, input) in input.chunks_exact(3 * width).enumerate() {
            let key = &input[width + first..][..head];
            let panel = &mut self.keys[term / PANEL * head * PANEL..][..head * PANEL];
            for (line, &number) in panel.chunks_exact_mut(PANEL).zip(key) {
                line[term % PANEL] = number;
            }
            let value = &input[2 * width + first..][..head];
            let panels = self.values.chunks_exact_mut(terms * PANEL);
            for (panel, value) in panels.zip(value.chunks_exact(PANEL)) {
                panel[term * PANEL..][..PANEL].copy_from_slice(value);
            }
        }
    }
}
