//! A network, and how its token vectors become one vector of a text.
//!
//! There are four forms of networks. [`Packed`] is fast, and runs nearly every model of BERT's
//! form. candle's [`Bert`] and our [`General`] run the rest of them: other widths and activations,
//! weights that 16-bit floats do not represent, machines without vector instructions. [`Modern`] is
//! of another form.

use std::path::Path;

use candle_core::Tensor;
use candle_nn::VarBuilder;
use rayon::prelude::*;
use waypost_encoder::{Kernel, Packed, Row};

use super::batch::Batch;
use super::bert::Bert;
use super::general::General;
use super::guarded::engine;
use super::modern::Modern;
use super::pack::pack;
use super::plan;
use super::weights::Weights;
use crate::recipe::{Config, Family, Pooling, Recipe};
use crate::{Error, Result};

pub(super) struct Encoder {
    network: Network,
    pooling: Pooling,
    dimensions: usize,
    words: usize,
    length_max: usize,
    types: usize,
}

enum Network {
    Packed(Packed),
    Bert(Bert),
    General(General),
    Modern(Modern),
}

impl Encoder {
    pub(super) fn load(folder: &Path, weights: &Weights, recipe: &Recipe) -> Result<Self> {
        let config = &recipe.config;
        let network = Network::load(&weights.network, config).map_err(|error| {
            let error = engine(&error);
            Error::damaged(
                folder,
                format!("model.safetensors does not match config.json ({error})"),
            )
        })?;
        Ok(Self::new(network, config, recipe.pooling))
    }

    fn new(network: Network, config: &Config, pooling: Pooling) -> Self {
        Self {
            network,
            pooling,
            dimensions: config.hidden_size,
            words: config.vocab_size,
            length_max: config.length_max(),
            types: config.type_vocab_size.max(1),
        }
    }

    pub(super) fn set_kernel(&mut self, kernel: Kernel) {
        if let Network::Packed(network) = &mut self.network {
            network.kernel = kernel;
        }
    }

    /// The pooled vector of each row, in the rows' order, not yet of unit length. Rows have at
    /// least one token.
    pub(super) fn encode(&self, rows: &[Row]) -> std::result::Result<Vec<Vec<f32>>, String> {
        self.check(rows)?;
        let lengths: Vec<usize> = rows.iter().map(Row::len).collect();
        match &self.network {
            Network::Packed(network) => {
                let groups = plan::groups(&lengths);
                let run = |group: &std::ops::Range<usize>| {
                    let rows: Vec<&Row> = rows[group.clone()].iter().collect();
                    self.pool(&network.run(&rows), &rows)
                };
                let vectors: Vec<Vec<Vec<f32>>> = match groups.as_slice() {
                    [only] => vec![run(only)],
                    groups => groups.par_iter().map(run).collect(),
                };
                Ok(vectors.into_iter().flatten().collect())
            }
            Network::Bert(network) => {
                self.encode_padded(rows, &lengths, |batch| network.run(batch))
            }
            Network::General(network) => self.encode_padded(rows, &lengths, |it| network.run(it)),
            Network::Modern(network) => self.encode_padded(rows, &lengths, |it| network.run(it)),
        }
    }

    /// The same by candle's operations, over rows padded to one length.
    fn encode_padded(
        &self,
        rows: &[Row],
        lengths: &[usize],
        run: impl Fn(&Batch) -> candle_core::Result<Tensor>,
    ) -> std::result::Result<Vec<Vec<f32>>, String> {
        let width = self.dimensions;
        let mut vectors = vec![Vec::new(); rows.len()];
        for positions in plan::batches(lengths) {
            let some: Vec<&Row> = positions.iter().map(|&row| &rows[row]).collect();
            let hidden = Batch::new(&some).and_then(|batch| {
                let hidden = run(&batch)?.flatten_all()?.to_vec1::<f32>()?;
                let padded = hidden.chunks_exact((batch.length * width).max(1)).zip(&some);
                let tokens = padded.flat_map(|(hidden, row)| &hidden[..row.len() * width]);
                Ok(tokens.copied().collect::<Vec<f32>>())
            });
            let hidden = hidden.map_err(|error| engine(&error))?;
            for (row, vector) in positions.into_iter().zip(self.pool(&hidden, &some)) {
                vectors[row] = vector;
            }
        }
        Ok(vectors)
    }

    /// Checks what every network indexes by.
    fn check(&self, rows: &[Row]) -> std::result::Result<(), String> {
        let Self { words, length_max, types, .. } = self;
        for row in rows {
            if row.len() > *length_max {
                let length = row.len();
                return Err(format!("a text has {length} terms; it has {length_max} positions"));
            }
            if let Some(word) = row.words.iter().find(|&&word| word as usize >= *words) {
                return Err(format!("a text has the word {word}; it has {words} words"));
            }
            if let Some(kind) = row.types.iter().find(|&&kind| kind as usize >= *types) {
                return Err(format!("a text has the type {kind}; it has {types} types"));
            }
        }
        Ok(())
    }

    /// Pools the token vectors of each row into one vector.
    fn pool(&self, mut hidden: &[f32], rows: &[&Row]) -> Vec<Vec<f32>> {
        let mut vectors = Vec::with_capacity(rows.len());
        for row in rows {
            let (terms, rest) = hidden.split_at(row.len() * self.dimensions);
            hidden = rest;
            if self.pooling == Pooling::First {
                vectors.push(terms[..self.dimensions].to_vec());
                continue;
            }
            let mut sum = vec![0.0; self.dimensions];
            for term in terms.chunks_exact(self.dimensions) {
                for (sum, number) in sum.iter_mut().zip(term) {
                    *sum += number;
                }
            }
            let count = row.len() as f32;
            for number in &mut sum {
                *number /= count;
            }
            vectors.push(sum);
        }
        vectors
    }
}

impl Network {
    fn load(tensors: &VarBuilder<'_>, config: &Config) -> candle_core::Result<Self> {
        if config.family == Family::ModernBert {
            return Ok(Self::Modern(Modern::load(tensors, config)?));
        }
        if let Some(kernel) = Kernel::detect()
            && let Some(packed) = pack(tensors, config, kernel)?
        {
            return Ok(Self::Packed(packed));
        }
        // candle's network always has types.
        if config.family == Family::Bert && config.type_vocab_size > 0 {
            return Ok(Self::Bert(Bert::load(tensors, config)?));
        }
        Ok(Self::General(General::load(tensors, config)?))
    }
}

#[cfg(test)]
mod tests;
