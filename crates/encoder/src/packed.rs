//! The fast form of the network: packed weights, no padding, a few passes over memory.
//!
//! The tokens of several texts are consecutive rows of one matrix; only attention knows where a
//! text ends.
#![expect(clippy::inline_always, reason = "compiled with the instructions of the caller")]

use half::f16;

use crate::attention::{Attention, Scratch};
use crate::math::Norm;
use crate::product::Linear;
use crate::relative::Relative;
use crate::row::Row;
use crate::simd::{Kernel, LANES, Simd, Task};

/// The whole network.
#[derive(Debug)]
pub struct Packed {
    /// The instructions that it runs with.
    pub kernel: Kernel,
    /// A row for each word of the vocabulary.
    pub words: Vec<f16>,
    /// For each type of text a row for each position, plus the type's row.
    pub positions: Vec<f32>,
    /// The number of positions.
    pub length_max: usize,
    /// The normalisation of the first vectors.
    pub norm: Norm,
    /// The layers, from first to last.
    pub layers: Vec<Layer>,
    /// The components of one attention head.
    pub head: usize,
    /// What attention adds for the distance of two tokens, if anything.
    pub relative: Option<Relative>,
}

/// A layer.
#[derive(Debug)]
pub struct Layer {
    /// Query, key and value, side by side.
    pub attention: Linear,
    /// The step after attention.
    pub attended: Linear,
    /// The normalisation after attention.
    pub attended_norm: Norm,
    /// The first step of the feed-forward network.
    pub inner: Linear,
    /// Its second step.
    pub outer: Linear,
    /// The normalisation after it.
    pub outer_norm: Norm,
}

impl Packed {
    fn width(&self) -> usize {
        self.norm.bias.len()
    }

    /// The vectors of the tokens of all rows, concatenated.
    pub fn run(&self, rows: &[&Row]) -> Vec<f32> {
        let (width, kernel) = (self.width(), self.kernel);
        let count: usize = rows.iter().map(|row| row.len()).sum();
        let inner = self.layers.iter().map(|layer| layer.inner.width()).max().unwrap_or(0);
        let mut hidden = vec![0.0; count * width];
        let mut memory = vec![0.0; count * (width + inner.max(3 * width))];
        let (narrow, wide) = memory.split_at_mut(count * width);
        let mut scratch = Scratch::default();
        kernel.run(Embed { network: self, rows, output: &mut hidden });
        for layer in &self.layers {
            let input = &mut wide[..count * 3 * width];
            kernel.run(layer.attention.of(&hidden, input));
            let mut from = 0;
            for row in rows {
                let to = from + row.len();
                kernel.run(Attention {
                    head: self.head,
                    relative: self.relative.as_ref(),
                    input: &input[from * 3 * width..to * 3 * width],
                    output: &mut narrow[from * width..to * width],
                    width,
                    scratch: &mut scratch,
                });
                from = to;
            }
            let attended = &mut wide[..count * width];
            kernel.run(layer.attended.of(narrow, attended));
            kernel.run(Add { norm: &layer.attended_norm, rows: &mut hidden, added: attended });
            let inner = &mut wide[..count * layer.inner.width()];
            kernel.run(layer.inner.of(&hidden, inner).activated());
            kernel.run(layer.outer.of(inner, narrow));
            kernel.run(Add { norm: &layer.outer_norm, rows: &mut hidden, added: narrow });
        }
        hidden
    }
}

/// Computes the first vectors from the texts' words.
struct Embed<'a> {
    network: &'a Packed,
    rows: &'a [&'a Row],
    output: &'a mut [f32],
}

impl Task for Embed<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Packed { words, positions, length_max, norm, .. } = self.network;
        let width = self.network.width();
        let terms = self.rows.iter().flat_map(|row| {
            let places = row.types.iter().zip(&row.positions);
            row.words.iter().zip(places)
        });
        for ((&word, (&kind, &position)), output) in terms.zip(self.output.chunks_exact_mut(width))
        {
            let position = kind as usize * length_max + position as usize;
            let word = &words[word as usize * width..][..width];
            for (from, to) in
                word.as_chunks::<LANES>().0.iter().zip(output.as_chunks_mut::<LANES>().0)
            {
                simd.store(simd.load_halves(from), to);
            }
            norm.add(simd, output, &positions[position * width..][..width]);
        }
    }
}

/// Adds a step's output to its input, and normalises.
struct Add<'a> {
    norm: &'a Norm,
    rows: &'a mut [f32],
    added: &'a [f32],
}

impl Task for Add<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let width = self.norm.bias.len();
        let rows = self.rows.chunks_exact_mut(width);
        for (row, added) in rows.zip(self.added.chunks_exact(width)) {
            self.norm.add(simd, row, added);
        }
    }
}
