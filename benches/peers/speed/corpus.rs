//! Made-up text whose words are as unevenly spread as those of a language.

use crate::rig::Random;

const WORDS: usize = 200_000;

/// Words by rank, rank `r` as frequent as 1 / (r + 2.7)^1.07 (Mandelbrot, "An informational
/// theory of the statistical structure of language", 1953).
pub struct Zipf {
    below: Vec<f64>,
}

impl Zipf {
    pub fn new() -> Self {
        let mut sum = 0.0;
        let mut below: Vec<f64> = (1..=WORDS)
            .map(|rank| {
                sum += (rank as f64 + 2.7).powf(-1.07);
                sum
            })
            .collect();
        for it in &mut below {
            *it /= sum;
        }
        Self { below }
    }

    /// The ranks of 30 to 60 words.
    pub fn document(&self, random: &mut Random) -> Vec<usize> {
        let length = 30 + random.below(31);
        (0..length).map(|_| self.rank(random)).collect()
    }

    /// The rank of one word.
    pub fn rank(&self, random: &mut Random) -> usize {
        let at = random.unit();
        self.below.partition_point(|below| *below < at).min(WORDS - 1)
    }
}

/// The text of some ranks. No word is an English stop word, none has an English ending.
pub fn text(ranks: &[usize]) -> String {
    ranks.iter().map(|rank| word(*rank)).collect::<Vec<_>>().join(" ")
}

fn word(rank: usize) -> String {
    const CONSONANTS: &[u8; 16] = b"bcdfghjklmnprtvz";
    const VOWELS: &[u8; 4] = b"aeou";
    // 200,003 is prime: neighbouring ranks get unlike words, and no two the same.
    let mut rest = rank * 7919 % 200_003;
    let mut word = String::from("x");
    loop {
        word.push(CONSONANTS[rest % 16].into());
        word.push(VOWELS[rest / 16 % 4].into());
        rest /= 64;
        if rest == 0 {
            break;
        }
    }
    word.push('k');
    word
}

/// The three kinds of questions that a document gives.
pub const KINDS: [&str; 3] =
    ["8 terms, some in most documents", "4 middling terms", "2 rare terms"];

/// A question of one of `KINDS`, made of a document's own words.
pub fn question(kind: usize, document: &[usize]) -> String {
    let (above, count) = [(0, 8), (100, 4), (2000, 2)][kind];
    let ranks: Vec<usize> =
        document.iter().copied().filter(|rank| *rank >= above).take(count).collect();
    text(&ranks)
}
