//! Prefers newer memories, where the latest is asked for.
//!
//! Only the order of creation counts, and no clock: a scale in days would fit some stores and not
//! others, and a store may be searched long after its last memory.

use waypost_ranking::asks_for_latest;

use super::candidates::Candidates;
use super::expansion::ahead;
use super::related::Scope;
use crate::{SearchOptions, SearchParams, Timestamp};

/// The number of hits that are compared, if not more are requested.
const HITS_MIN: usize = 10;

/// Gives each of the candidates that are ahead a share of the weight, in proportion to the number of
/// different times of creation among them that are before its own; nothing unless the options or the
/// query ask for the latest.
pub(super) fn prefer_recent(
    scope: &Scope<'_>,
    query: &str,
    options: &SearchOptions,
    params: &SearchParams,
    candidates: &mut Candidates,
) {
    if !options.recency.unwrap_or_else(|| asks_for_latest(query)) {
        return;
    }
    let created =
        |part: u32, slot| scope.spaces[part as usize].fact(slot).map(|fact| fact.created_at);
    let ahead = ahead(candidates, options.limit.max(HITS_MIN));
    let ahead = ahead.into_iter().filter_map(|place| {
        let candidate = candidates.at(place);
        Some((created(candidate.part, candidate.slot)?, place))
    });
    let ahead: Vec<(Timestamp, usize)> = ahead.collect();
    let mut times: Vec<Timestamp> = ahead.iter().map(|(time, _)| *time).collect();
    times.sort_unstable();
    times.dedup();
    let last = times.len().saturating_sub(1).max(1);
    for (time, place) in ahead {
        let rank = times.partition_point(|other| *other < time);
        candidates.at_mut(place).recency = params.recency_weight * rank as f64 / last as f64;
    }
}
