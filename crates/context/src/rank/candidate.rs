//! One candidate, and the reasons for it.

use std::cmp::Ordering;
use std::sync::Arc;

use waypost_ranking::Slot;

use crate::index::Index;
use crate::{Kind, Reason};

/// A chunk that may become an item.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) what: What,
    pub(crate) kind: Kind,
    /// The tie-breaker.
    pub(crate) path: Arc<str>,
    pub(crate) line: u32,
    pub(crate) score: f32,
    /// The part of the score that is its own, and not its file's.
    pub(crate) own: f32,
    pub(crate) why: Reasons,
}

/// What a candidate refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// A chunk of a file, by their slots.
    Chunk(Slot, Slot),
    /// A commit, by its position in the history.
    Commit(u32),
}

impl Candidate {
    pub(super) fn of_chunk(
        index: &Index,
        slot: Slot,
        (score, own): (f32, f32),
        why: Reasons,
    ) -> Option<Self> {
        let chunk = index.chunk(slot)?;
        let path = index.file(chunk.file)?.path.clone();
        let what = What::Chunk(chunk.file, slot);
        Some(Self { what, kind: chunk.kind, path, line: chunk.line, score, own, why })
    }

    /// The order of answers: best first, then by source, path and line.
    pub(super) fn by_rank(a: &Self, b: &Self) -> Ordering {
        let place = |it: &Self| (it.kind.source(), it.line);
        b.score
            .total_cmp(&a.score)
            .then_with(|| place(a).0.cmp(&place(b).0))
            .then_with(|| a.path.cmp(&b.path))
            .then_with(|| place(a).1.cmp(&place(b).1))
    }
}

/// The reasons for a candidate. Most candidates never become items, so the list is built on
/// request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Reasons {
    One(Reason),
    /// The contribution of each of [`SIGNALS`].
    Shares([f32; SIGNALS.len()]),
}

const SIGNALS: [Reason; 7] = [
    Reason::Named,
    Reason::Words,
    Reason::Header,
    Reason::Path,
    Reason::Commits,
    Reason::Active,
    Reason::Meaning,
];

impl Reasons {
    /// Strongest first.
    pub(crate) fn list(&self) -> Vec<Reason> {
        let shares = match self {
            Self::One(reason) => return vec![*reason],
            Self::Shares(shares) => shares,
        };
        let sum: f32 = shares.iter().sum();
        let mut shares: Vec<(Reason, f32)> = SIGNALS.into_iter().zip(*shares).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        shares.iter().take_while(|share| share.1 > sum * 0.1).map(|share| share.0).collect()
    }
}
