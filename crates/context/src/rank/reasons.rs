//! The reasons for a candidate.

use crate::Reason;

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
        shares.iter().take_while(|it| it.1 > sum * 0.1).map(|it| it.0).collect()
    }
}
