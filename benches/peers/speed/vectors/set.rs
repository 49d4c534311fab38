//! Sets of vectors that are searched.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use waypost_embedding::fetch;
use waypost_project::models_dir;

use super::cached::CachedModel;
use super::data::Collection;
use crate::rig::{Random, progress};

pub const DIMENSIONS: usize = 384;

/// A collection of the evaluation's data; an error says what is missing.
fn collection(name: &str) -> Result<Collection> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder =
        env::var_os("WAYPOST_EVAL").map_or_else(|| root.join("../shared/eval"), PathBuf::from);
    Collection::read(&folder.join(name))
}

/// The text of each document, with its title.
fn texts(collection: &Collection) -> impl Iterator<Item = String> {
    collection.documents.iter().map(|document| {
        if document.content.trim_start().starts_with(&document.title) {
            document.content.clone()
        } else {
            format!("{}\n{}", document.title, document.content)
        }
    })
}

/// The first turns of conversations, each with the speaker and the day.
pub fn turns(count: usize) -> Result<Vec<String>> {
    Ok(texts(&collection("locomo-dev")?).take(count).collect())
}

/// Where vectors come from.
pub enum Source {
    /// Mixtures of two texts' vectors and a little noise; queries are questions.
    Mixtures { texts: Vec<Vec<f32>>, questions: Vec<Vec<f32>> },
    /// Random directions: no vector is near another, the worst that there is for leaving any out.
    Directions,
}

impl Source {
    /// Mixtures of the vectors of the evaluation's texts; an error says what is missing.
    pub fn mixtures() -> Result<Self> {
        let collections: Vec<Collection> =
            ["locomo-dev", "cisi", "cacm"].into_iter().map(collection).collect::<Result<_>>()?;
        let models = models_dir(&|name| env::var_os(name)).context("no cache folder")?;
        let options = fetch::Options::default();
        let model = fetch::ensure(fetch::DEFAULT_MODEL, &models, &options, &mut |_| {})?;
        let model = CachedModel::load(&model, &models.with_file_name("quality"))?;
        progress(format_args!("vectors of the evaluation's texts"));
        let texts: Vec<String> = collections.iter().flat_map(texts).collect();
        let questions: Vec<String> =
            collections.iter().flat_map(|collection| &collection.questions).map(|questions| questions.text.clone()).collect();
        let embed = |texts: &[String]| -> Result<Vec<Vec<f32>>> {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let vectors: Result<Vec<_>> = texts.chunks(32).map(|chunk| model.embed(chunk)).collect();
            Ok(vectors?.concat())
        };
        Ok(Self::Mixtures { texts: embed(&texts)?, questions: embed(&questions)? })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Mixtures { .. } => "mixtures of real vectors",
            Self::Directions => "random directions",
        }
    }

    /// One after another, of length 1.
    pub fn vectors(&self, count: usize, random: &mut Random) -> Vec<f32> {
        let mut vectors = Vec::with_capacity(count * DIMENSIONS);
        for _ in 0..count {
            let from = vectors.len();
            match self {
                Self::Directions => vectors.extend((0..DIMENSIONS).map(|_| normal(random))),
                Self::Mixtures { texts, .. } => {
                    let [a, b] = [(); 2].map(|()| &texts[random.below(texts.len())]);
                    let share = (0.25 + 0.5 * random.unit()) as f32;
                    let mixed = a.iter().zip(b).map(|(a, b)| share * a + (1.0 - share) * b);
                    vectors.extend(mixed.map(|mixed| mixed + 0.02 * normal(random)));
                }
            }
            let vector = &mut vectors[from..];
            let length = vector.iter().map(|vector| vector * vector).sum::<f32>().sqrt();
            vector.iter_mut().for_each(|vector| *vector /= length);
        }
        vectors
    }

    pub fn queries(&self, count: usize, random: &mut Random) -> Vec<Vec<f32>> {
        match self {
            Self::Directions => {
                self.vectors(count, random).chunks(DIMENSIONS).map(<[f32]>::to_vec).collect()
            }
            Self::Mixtures { questions, .. } => {
                (0..count).map(|_| questions[random.below(questions.len())].clone()).collect()
            }
        }
    }
}

/// Near enough to a normally distributed number: the sum of four uniform ones.
fn normal(random: &mut Random) -> f32 {
    let bits = random.next();
    let sum: u64 = (0..4).map(|at| bits >> (16 * at) & 0xffff).sum();
    (sum as f32 / 65_536.0 - 2.0) * 3f32.sqrt()
}
