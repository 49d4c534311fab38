//! Vectors of memories, computed once in the cluster for each text and model.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest, Sha256};
use waypost_cluster::Hub;
use waypost_journal::{Answering, EmbeddingModel, TextHash, VECTORS_MAX};
use waypost_memory::EmbedFn;

use crate::error::chain;
use crate::wake::Wake;

/// How long a text stays claimed by a machine that does not answer any more.
const LEASE: Duration = Duration::from_secs(30);
/// How long one exchange with the database takes at most: then the machine computes by itself.
const EXCHANGE: Duration = Duration::from_secs(2);

/// How long one wait for queries of other machines takes: a stop waits for it.
const WAIT: Duration = Duration::from_secs(1);

/// Vectors of one text each. An empty one comes later, from another machine.
type Vectors = Vec<Vec<f32>>;
/// Computes the vectors of texts on this machine.
type Compute<'a> = dyn Fn(&[&str]) -> Result<Vectors, String> + 'a;

/// The vector of a query that another machine has computed.
#[derive(Debug)]
pub(crate) struct PeerAnswer {
    /// The name of its model.
    pub(crate) name: String,
    pub(crate) fingerprint: String,
    pub(crate) vector: Vec<f32>,
}

/// The vectors that the machines of a cluster share.
#[derive(Debug, Clone)]
pub(crate) struct SharedVectors {
    hub: Arc<Hub>,
}

impl SharedVectors {
    pub(super) fn new(hub: &Arc<Hub>) -> Self {
        Self { hub: Arc::clone(hub) }
    }

    /// The vectors of texts: those that another machine has computed, and those that this one
    /// computes now, for all. A text that another machine computes gets an empty vector. Without the
    /// database, this machine computes all of them.
    pub(crate) fn embed(
        &self,
        model: &str,
        dimensions: usize,
        texts: &[&str],
        compute: &Compute<'_>,
    ) -> Result<Vectors, String> {
        let hashes: Vec<TextHash> = texts.iter().map(|text| Sha256::digest(text).into()).collect();
        let shared = match self.claim(model, dimensions, &hashes) {
            Ok(shared) => shared,
            Err(error) => {
                tracing::debug!(error, "the cluster's vectors cannot be reached");
                return compute(texts);
            }
        };
        let mut vectors = shared.vectors;
        let to_compute: BTreeMap<TextHash, &str> = hashes
            .iter()
            .copied()
            .zip(texts.iter().copied())
            .filter(|(hash, _)| !vectors.contains_key(hash) && !shared.others.contains(hash))
            .collect();
        if !to_compute.is_empty() {
            let texts: Vec<&str> = to_compute.values().copied().collect();
            let computed = compute(&texts)?;
            let new: Vec<(TextHash, Vec<f32>)> = to_compute.into_keys().zip(computed).collect();
            self.put(model, &new);
            vectors.extend(new);
        }
        Ok(hashes.iter().map(|hash| vectors.get(hash).cloned().unwrap_or_default()).collect())
    }

    /// The vectors that other machines have computed. The others come later.
    pub(crate) fn get(&self, model: &str, dimensions: usize, texts: &[&str]) -> Vectors {
        let hashes: Vec<TextHash> = texts.iter().map(|text| Sha256::digest(text).into()).collect();
        let until = self.hub.within(EXCHANGE);
        let mut vectors = BTreeMap::new();
        // Without the database, all of them come later.
        if let Ok(journal) = self.hub.journal(&until) {
            for some in hashes.chunks(VECTORS_MAX) {
                let found = journal.get_vectors(model.as_bytes(), some, &until).unwrap_or_default();
                let decoded =
                    found.iter().filter_map(|(hash, it)| Some((*hash, decode(it, dimensions)?)));
                vectors.extend(decoded);
            }
        }
        hashes.iter().map(|hash| vectors.get(hash).cloned().unwrap_or_default()).collect()
    }

    /// Asks other machines for the vector of a query, by the model with that fingerprint or by any.
    pub(crate) fn ask(
        &self,
        model: Option<&str>,
        text: &str,
        time: Duration,
    ) -> Result<Option<PeerAnswer>, String> {
        let until = self.hub.within(time);
        let journal = self.hub.journal(&until).map_err(|error| chain(&error))?;
        let asked = journal.ask(model.map(str::as_bytes), text, &until);
        let Some(answer) = asked.map_err(|error| chain(&error))? else { return Ok(None) };
        let fingerprint = String::from_utf8(answer.model.fingerprint);
        let fingerprint = fingerprint.map_err(|_| "the model's fingerprint is not UTF-8")?;
        let vector = decode(&answer.vector, answer.vector.len() / size_of::<f32>());
        let vector = vector.ok_or("another machine gave no vector")?;
        Ok(Some(PeerAnswer { name: answer.model.name, fingerprint, vector }))
    }

    /// Computes the vectors of queries for machines without a model, until the service stops.
    pub(crate) fn answer(&self, name: &str, fingerprint: &str, embed: &EmbedFn, wake: &Wake) {
        let name = name.chars().take(64).collect();
        let model = EmbeddingModel { name, fingerprint: fingerprint.as_bytes().to_vec() };
        let mut compute =
            |texts: &[&str]| Ok(embed(texts)?.iter().map(|vector| encode(vector)).collect());
        let mut answering = Answering::default();
        while !wake.is_stopping() {
            let until = self.hub.within(WAIT);
            let answered =
                self.hub.journal(&until).map_err(|error| chain(&error)).and_then(|journal| {
                    let answered = journal.answer(&mut answering, &model, &mut compute, &until);
                    answered.map_err(|error| chain(&error))
                });
            if let Err(error) = answered {
                tracing::debug!(error, "failed to answer the queries of other machines");
                wake.rest(EXCHANGE);
            }
        }
    }

    fn claim(&self, model: &str, dimensions: usize, hashes: &[TextHash]) -> Result<Shared, String> {
        let until = self.hub.within(EXCHANGE);
        let journal = self.hub.journal(&until).map_err(|error| chain(&error))?;
        let mut shared = Shared::default();
        let machine = self.hub.machine();
        for some in hashes.chunks(VECTORS_MAX) {
            let claimed = journal
                .claim_vectors(model.as_bytes(), some, machine, LEASE, &until)
                .map_err(|error| chain(&error))?;
            let decoded = claimed.have.iter().filter_map(|(hash, bytes)| {
                // Bytes that are no vector of this model are ignored: this machine computes it.
                decode(bytes, dimensions).map(|vector| (*hash, vector))
            });
            shared.vectors.extend(decoded);
            shared.others.extend(claimed.others);
        }
        Ok(shared)
    }

    /// Gives vectors to the other machines. Without the database, they compute them, too.
    fn put(&self, model: &str, vectors: &[(TextHash, Vec<f32>)]) {
        let until = self.hub.within(EXCHANGE);
        let put = self.hub.journal(&until).map_err(|error| chain(&error)).and_then(|journal| {
            for some in vectors.chunks(VECTORS_MAX) {
                let some: Vec<(TextHash, Vec<u8>)> =
                    some.iter().map(|(hash, it)| (*hash, encode(it))).collect();
                journal
                    .put_vectors(model.as_bytes(), &some, &until)
                    .map_err(|error| chain(&error))?;
            }
            Ok(())
        });
        if let Err(error) = put {
            tracing::debug!(error, "failed to share vectors with the cluster");
        }
    }
}

/// What became of some texts.
#[derive(Debug, Default)]
struct Shared {
    vectors: BTreeMap<TextHash, Vec<f32>>,
    /// The texts that other machines compute.
    others: BTreeSet<TextHash>,
}

/// 32-bit floats, little-endian.
fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|vector| vector.to_le_bytes()).collect()
}

fn decode(bytes: &[u8], dimensions: usize) -> Option<Vec<f32>> {
    let (values, rest) = bytes.as_chunks::<4>();
    let vector: Vec<f32> = values.iter().map(|value| f32::from_le_bytes(*value)).collect();
    let is_vector = rest.is_empty()
        && vector.len() == dimensions
        && vector.iter().all(|vector| vector.is_finite())
        && vector.iter().any(|vector| *vector != 0.0);
    is_vector.then_some(vector)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn only_a_vector_of_the_model_is_decoded() {
        let vector = vec![0.5, -1.25, f32::MIN_POSITIVE];
        assert_eq!(decode(&encode(&vector), 3), Some(vector.clone()));
        assert_eq!(decode(&encode(&vector), 4), None);
        assert_eq!(decode(&encode(&vector)[..11], 3), None);
        assert_eq!(decode(&encode(&[0.0, 0.0]), 2), None);
        assert_eq!(decode(&encode(&[1.0, f32::NAN]), 2), None);
    }
}
