//! The memories related to a candidate: neighbours in its session, linked memories, and memories
//! that update it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound;

use waypost_ranking::Slot;

use super::candidates::{Candidate, Candidates, Scored, Scoring};
use super::cycles::cycles;
use super::validity::out_of_force;
use crate::index::condition::Condition;
use crate::index::view::{Space, View};
use crate::index::visible_links::Sight;
use crate::limits::UPDATE_STEPS_MAX;
use crate::{Filter, LinkKind, MemoryId, SearchParams, Timestamp};

/// The share of its score that a memory keeps for each newer memory in its chain of updates.
const SUPERSEDED_SHARE: f64 = 0.75;
/// The maximum number of links of one kind that are followed: of updates the newest, of others those
/// with the lowest ids.
const LINKED_MAX: usize = 64;

/// The spaces that a search covers, the filter on their memories, and the links that it sees.
pub(super) struct Scope<'a> {
    view: &'a View,
    pub(super) spaces: Vec<&'a Space>,
    pub(super) sight: Sight<'a>,
    condition: Condition,
    /// The time at which memories must be in force, and those that are not because of links.
    in_force: Option<(Timestamp, BTreeSet<MemoryId>)>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(view: &'a View, filter: &'a Filter, valid_at: Option<Timestamp>) -> Self {
        let is_wanted = |name: &str| filter.space.as_ref().is_none_or(|space| space == name);
        let spaces = view.spaces.iter().filter(|(name, _)| is_wanted(name));
        let spaces: Vec<&Space> = spaces.map(|(_, space)| space).collect();
        let in_force = valid_at.map(|time| (time, out_of_force(view, &spaces, filter.now, time)));
        let sight = Sight::new(view, filter.space.as_deref(), filter.now);
        Self { view, spaces, sight, condition: Condition::new(filter, view), in_force }
    }

    /// Whether every memory of the spaces is in scope.
    pub(super) fn is_all(&self) -> bool {
        self.condition.is_any() && self.in_force.is_none()
    }

    /// Whether a memory of the spaces is in scope.
    pub(super) fn includes(&self, space: &Space, slot: Slot) -> bool {
        let Some(fact) = space.fact(slot).filter(|fact| self.condition.holds(fact)) else {
            return false;
        };
        let Some((time, others)) = &self.in_force else { return true };
        let id = space.slots.id(slot).and_then(MemoryId::new);
        fact.lifespan().holds_at(*time) && id.is_some_and(|id| !others.contains(&id))
    }

    /// The same for the slots of one space.
    pub(super) fn filter(&self, space: &Space) -> impl Fn(Slot) -> bool {
        move |slot| self.includes(space, slot)
    }

    /// The part and slot of a memory, if it is in scope.
    pub(super) fn place(&self, id: MemoryId) -> Option<(u32, Slot)> {
        let (_, space, slot) = self.view.place(id)?;
        let part = self.spaces.iter().position(|other| std::ptr::eq(*other, space))?;
        self.includes(space, slot).then_some((part as u32, slot))
    }
}

/// The number of neighbours on each side that contribute to a score.
const AROUND: usize = 2;

/// The neighbours of a memory in its session: those before it and those after it, nearest first.
fn around(space: &Space, slot: Slot, id: MemoryId) -> Option<[[Option<MemoryId>; AROUND]; 2]> {
    let fact = space.fact(slot)?;
    let members = space.sessions.get(&fact.session?)?;
    let at = (fact.created_at, id);
    let mut before = members.range(..at).rev().map(|(_, id)| *id);
    let after = members.range((Bound::Excluded(at), Bound::Unbounded));
    let mut after = after.map(|(_, id)| *id);
    Some([std::array::from_fn(|_| before.next()), std::array::from_fn(|_| after.next())])
}

/// The kinds of links that contribute to a score.
const LENDING: [LinkKind; 2] = [LinkKind::PartOf, LinkKind::RelatedTo];

/// The memories in scope whose score contributes to that of a memory over links, and the reverse.
fn linked(scope: &Scope<'_>, id: MemoryId) -> impl Iterator<Item = MemoryId> {
    let in_scope = move |kind| {
        let linked = scope.sight.linked_by(id, kind);
        linked.filter(move |linked| scope.place(*linked).is_some()).take(LINKED_MAX)
    };
    LENDING.into_iter().flat_map(in_scope)
}

/// Adds the memories to whose score a candidate contributes: neighbours in sessions, linked
/// memories, and memories that update a candidate.
pub(super) fn add_beside(scope: &Scope<'_>, scoring: &Scoring<'_>, candidates: &mut Candidates) {
    let mut beside = BTreeSet::new();
    for candidate in candidates.iter() {
        let space = scope.spaces[candidate.part as usize];
        let around = around(space, candidate.slot, candidate.id);
        beside.extend(around.into_iter().flatten().flatten().flatten());
        if !candidate.is_linked {
            continue;
        }
        beside.extend(linked(scope, candidate.id));
        let mut newest = candidate.id;
        for _ in 0..UPDATE_STEPS_MAX {
            let Some(updater) = scope.sight.superseded_by(newest) else { break };
            if !beside.insert(updater) {
                break;
            }
            newest = updater;
        }
    }
    let new = beside
        .into_iter()
        .filter(|id| candidates.get(*id).is_none())
        .filter_map(|id| Some(scoring.candidate(&Scored::not(id, scope.place(id)?), false)));
    let new: Vec<Candidate> = new.collect();
    candidates.add(new);
}

/// A candidate in a session and its neighbours there, as positions among the candidates.
pub(super) struct Neighbourhood {
    of: usize,
    /// Those before, nearest first, and those after.
    around: [[Option<usize>; AROUND]; 2],
}

pub(super) fn neighbourhoods(scope: &Scope<'_>, candidates: &Candidates) -> Vec<Neighbourhood> {
    let of_session = candidates.iter().enumerate().filter_map(|(of, candidate)| {
        let space = scope.spaces[candidate.part as usize];
        let around = around(space, candidate.slot, candidate.id)?;
        let place = |id: Option<MemoryId>| id.and_then(|id| candidates.place(id));
        Some(Neighbourhood { of, around: around.map(|side| side.map(place)) })
    });
    of_session.collect()
}

/// Sets each candidate's share of its neighbours' lexical scores. Semantic scores are not shared:
/// the vector of an answer is itself close to the question, but the words that the question shares
/// with a conversation often occur in the turn before or after the answer.
pub(super) fn share_in_sessions(
    neighbourhoods: &[Neighbourhood],
    scoring: &Scoring<'_>,
    candidates: &mut Candidates,
) {
    let params = scoring.bonuses.params;
    let weights: [f64; AROUND] = params.neighbour_weights;
    let words: Vec<(f64, bool)> = candidates
        .iter()
        .map(|candidate| (scoring.words(candidate.lexical), candidate.asks))
        .collect();
    let of = |place: Option<usize>| place.map_or((0.0, false), |place| words[place]);
    for Neighbourhood { of: place, around: [before, after] } in neighbourhoods {
        let lent = weights.iter().enumerate().fold(0.0, |sum, (step, weight)| {
            sum + weight * (of(before[step]).0 + of(after[step]).0)
        });
        let (nearest, asks) = of(before[0]);
        let answers = if asks { params.answer_weight * nearest } else { 0.0 };
        candidates.at_mut(*place).neighbours = lent + answers;
    }
}

pub(super) fn share_over_links(
    scope: &Scope<'_>,
    params: &SearchParams,
    candidates: &mut Candidates,
) {
    let lent: Vec<(MemoryId, f64)> = candidates
        .iter()
        .filter(|candidate| candidate.is_linked)
        .map(|candidate| {
            let lenders = linked(scope, candidate.id).filter_map(|linked| candidates.get(linked));
            let best = lenders.map(|lender| lender.base).fold(0.0, f64::max);
            (candidate.id, params.link_weight * best)
        })
        .collect();
    for (id, lent) in lent {
        if let Some(candidate) = candidates.get_mut(id) {
            candidate.links = lent;
        }
    }
}

/// Raises a memory that updates another to the score of that one, and ranks the other below it.
/// Returns the updates of which both memories are candidates, each as the older and the newer one,
/// without those that a cycle contains; the updates by the newest memories come first.
pub(super) fn demote_superseded(
    sight: Sight<'_>,
    candidates: &mut Candidates,
) -> Vec<(MemoryId, MemoryId)> {
    let linked = candidates.iter().filter(|candidate| candidate.is_linked);
    let updates = updates_of(sight, linked.map(|candidate| candidate.id).collect());
    let cycles = cycles(updates.iter().map(|(older, newer)| (*newer, *older)));
    let mut updated = updates;
    updated.retain(|(older, newer)| {
        // A cycle has no newest memory, so its members keep their scores.
        cycles[older] != cycles[newer]
            && candidates.get(*older).is_some()
            && candidates.get(*newer).is_some()
    });
    updated.sort_unstable_by_key(|(older, newer)| (cycles[newer], *older));
    let mut steps: BTreeMap<MemoryId, i32> = BTreeMap::new();
    for (older, newer) in &updated {
        let wanted = steps.get(newer).copied().unwrap_or(0) + 1;
        let steps = steps.entry(*older).or_default();
        *steps = wanted.max(*steps);
    }
    for (older, newer) in updated.iter().rev() {
        let least =
            candidates.get(*older).map_or(0.0, |candidate| candidate.total() + candidate.lifted);
        if let Some(candidate) = candidates.get_mut(*newer) {
            candidate.lifted = candidate.lifted.max(least - candidate.total());
        }
    }
    for (id, steps) in steps {
        if let Some(candidate) = candidates.get_mut(id) {
            candidate.superseded = SUPERSEDED_SHARE.powi(steps);
        }
    }
    updated
}

/// The updates of some memories, of those that update them, and so on, each as the older and the
/// newer memory: of each memory the newest [`LINKED_MAX`], in all at most as many for each of the
/// given memories.
fn updates_of(sight: Sight<'_>, memories: Vec<MemoryId>) -> Vec<(MemoryId, MemoryId)> {
    let updates_max = LINKED_MAX * memories.len();
    let mut seen: BTreeSet<MemoryId> = memories.iter().copied().collect();
    let mut queue = VecDeque::from(memories);
    let mut updates = Vec::new();
    while let Some(older) = queue.pop_front() {
        let count = LINKED_MAX.min(updates_max - updates.len());
        for newer in sight.updaters(older).rev().take(count) {
            updates.push((older, newer));
            if seen.insert(newer) {
                queue.push_back(newer);
            }
        }
    }
    updates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Link;
    use crate::index::graph::Graph;

    /// How many updates are followed from some memories, of these links from a newer memory to an older
    /// one.
    fn followed(links: impl Iterator<Item = (u64, u64)>, from: impl Iterator<Item = u64>) -> usize {
        let id = |number| MemoryId::new(number).expect("a number from 1");
        let kind = LinkKind::Updates;
        let links = links.map(|(newer, older)| Link {
            from: id(newer),
            to: id(older),
            kind,
            created_at: Timestamp::EPOCH,
            depth: None,
        });
        let mut view = View::default();
        view.graph = Graph::of(links.collect());
        updates_of(Sight::new(&view, None, None), from.map(id).collect()).len()
    }

    #[test]
    fn a_search_follows_updates_in_proportion_to_its_candidates() {
        for count in [60, 240] {
            let all = || 1..=count;
            let pairs = all().flat_map(|one| all().map(move |other| (one, other)));
            let in_every_direction = pairs.filter(|(one, other)| one != other);
            let each = LINKED_MAX.min(count as usize - 1);
            assert_eq!(followed(in_every_direction, all()), count as usize * each);
        }
        let chain = || (1..10_000).map(|older| (older + 1, older));
        assert_eq!(followed(chain(), std::iter::once(1)), LINKED_MAX);
        assert_eq!(followed(chain(), 1..=10_000), 9_999);
        let star = (2..10_000).map(|newer| (newer, 1));
        assert_eq!(followed(star, 1..10_000), LINKED_MAX);
    }
}
