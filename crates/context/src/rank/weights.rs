//! The weights of ranking.

use waypost_ranking::Bm25;

use crate::{Kind, Source, TaskType};

/// The factor for items that inform a task without being its subject.
const NEAR: f32 = 0.9;
/// The factor for all others.
const AWAY: f32 = 0.75;
/// The factor for code in planning, which is about what to do, and not how it is done.
const FAR: f32 = 0.6;

/// The weights of a score. Each signal is between 0 and 1.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Weights {
    /// The words of the whole file.
    pub body: f32,
    /// The words of the chunk.
    pub chunk: f32,
    /// The words of the definition, including its body.
    pub inside: f32,
    /// How well the name of the definition matches the query; within a file, relative to the best
    /// name there.
    pub name: f32,
    /// The words of the path.
    pub path: f32,
    /// How often and how recently the file was changed.
    pub frecency: f32,
    /// The commits whose messages are nearest to the query, in proportion to the share of the query
    /// that the nearest contains.
    pub commits: f32,
    /// The similarity of the chunk's vector.
    pub meaning: f32,
    /// Added if the query names the file or its path.
    pub named: f32,
    /// Added if the query names the definition.
    pub defined: f32,
    /// The share of that which is added for a plain word that is the name of a file or definition.
    pub perhaps: f32,
    /// The parameters of BM25.
    pub bm25: Bm25,
    /// The factor for the file's part of the score from its second item on, once more for each
    /// item.
    pub same_file: f32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            body: 1.0,
            chunk: 0.5,
            inside: 0.75,
            name: 0.5,
            path: 0.5,
            frecency: 0.25,
            commits: 2.0,
            meaning: 0.6,
            named: 1.5,
            defined: 0.5,
            perhaps: 0.25,
            bm25: Bm25::default(),
            same_file: 0.8,
        }
    }
}

impl TaskType {
    /// The factor for items of a kind: [`NEAR`] for what informs the task, [`AWAY`] for the rest.
    /// Nothing is excluded: a wrong task costs little.
    pub(crate) fn weight(self, kind: Kind) -> f32 {
        use Kind as K;
        let (home, near): (&[Kind], &[Kind]) = match self {
            Self::General => return 1.0,
            Self::Code if kind.source() == Source::Code => return 1.0,
            Self::Strategy if kind.source() == Source::Code => return FAR,
            Self::Code => (&[K::Instructions], &[K::Decision, K::Spec]),
            Self::Spec => (
                &[K::Decision, K::Spec, K::Guide, K::Readme, K::Note],
                &[K::Instructions, K::Strategy, K::Daily, K::Worklog],
            ),
            Self::Content => (
                &[K::Content, K::Guide, K::Readme, K::Note],
                &[K::Instructions, K::Strategy, K::Daily, K::Worklog, K::Changelog, K::Commit],
            ),
            // All that is not code informs planning.
            Self::Strategy => (&[K::Strategy, K::Decision, K::Daily, K::Worklog], Kind::ALL),
        };
        if home.contains(&kind) {
            1.0
        } else if near.contains(&kind) {
            NEAR
        } else {
            AWAY
        }
    }

    /// The days after which a journal entry's age-dependent part is halved.
    pub(crate) fn half_life_days(self) -> f32 {
        match self {
            Self::Code => 14.0,
            Self::Spec => 60.0,
            Self::Content | Self::General => 30.0,
            Self::Strategy => 45.0,
        }
    }

    /// The least share of an answer for each source, if it has something that comes near the best.
    pub(crate) fn floors(self) -> &'static [(Source, f32)] {
        match self {
            Self::Code => &[(Source::Code, 0.5), (Source::Knowledge, 0.15)],
            Self::Spec => &[(Source::Knowledge, 0.5), (Source::Code, 0.15)],
            Self::Content => &[(Source::Knowledge, 0.6)],
            Self::Strategy => &[(Source::Knowledge, 0.45), (Source::Journal, 0.25)],
            Self::General => &[],
        }
    }
}
