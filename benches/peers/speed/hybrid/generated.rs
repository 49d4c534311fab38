//! The texts, vectors and questions, the same in every run.

use crate::corpus::{self, KINDS, Zipf};
use crate::rig::Random;

pub const DIMENSIONS: usize = 384;
/// Directions that texts have in common, so that a vector has neighbours.
const TOPICS: usize = 4096;
/// How far a text is from its topic, which has a length of about 1.
const NOISE: f32 = 0.8;
/// Memories of which questions are made.
const ASKED: usize = 100;

/// What texts and vectors are made from.
pub struct Corpus {
    zipf: Zipf,
    topics: Vec<f32>,
}

/// A question for a memory.
pub struct Question {
    /// Which of `corpus::KINDS`.
    pub kind: usize,
    pub text: String,
    pub vector: Vec<f32>,
    /// The text of the memory that it was made of.
    pub memory: String,
}

impl Corpus {
    pub fn new() -> Self {
        let mut random = Random(7);
        let topics = (0..TOPICS * DIMENSIONS).map(|_| component(&mut random)).collect();
        Self { zipf: Zipf::new(), topics }
    }

    /// The vector of a memory.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        self.near(text, text)
    }

    /// A vector near the topic of one text, with the noise of another one.
    fn near(&self, topic: &str, noise: &str) -> Vec<f32> {
        let first = topic.split(' ').next().unwrap_or_default();
        let topic = (hash(first) % TOPICS as u64) as usize;
        let mut random = Random(hash(noise));
        self.topics[topic * DIMENSIONS..][..DIMENSIONS]
            .iter()
            .map(|topic| topic + NOISE * component(&mut random))
            .collect()
    }

    /// So many texts.
    pub fn texts(&self, memories: usize) -> Texts<'_> {
        Texts { corpus: self, random: Random(42), done: 0, memories }
    }
}

/// A cosine of two random directions is about 0 ± 0.05; one has a length of about 1.
fn component(random: &mut Random) -> f32 {
    (random.unit() as f32 * 2.0 - 1.0) * (3.0 / DIMENSIONS as f32).sqrt()
}

/// The texts that are still to come.
pub struct Texts<'a> {
    corpus: &'a Corpus,
    random: Random,
    done: usize,
    memories: usize,
}

impl Texts<'_> {
    /// Up to so many more texts, none at the end; adds the questions that are made of them.
    pub fn next_batch(
        &mut self,
        most: usize,
        questions: &mut Vec<Question>,
    ) -> Option<Vec<String>> {
        let texts: Vec<String> = (self.done..self.memories.min(self.done + most))
            .map(|at| {
                let ranks = self.corpus.zipf.document(&mut self.random);
                let text = corpus::text(&ranks);
                if at % (self.memories / ASKED) == 0 && at / (self.memories / ASKED) < ASKED {
                    questions.extend(self.corpus.questions(&ranks, &text));
                }
                text
            })
            .collect();
        self.done += texts.len();
        (!texts.is_empty()).then_some(texts)
    }
}

impl Corpus {
    /// A question of each kind, where the memory has such words.
    fn questions(&self, ranks: &[usize], memory: &str) -> impl Iterator<Item = Question> {
        (0..KINDS.len()).filter_map(move |kind| {
            let text = corpus::question(kind, ranks);
            let vector = self.near(memory, &text);
            let memory = memory.to_owned();
            (!text.is_empty()).then_some(Question { kind, text, vector, memory })
        })
    }
}

/// FNV-1a (Fowler, Noll, Vo), 64 bits.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}
