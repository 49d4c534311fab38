//! The memories related to a candidate: neighbours in its session, linked memories, and memories
//! that update it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use waypost_ranking::Slot;

use super::candidates::{Candidate, Candidates, Scored, Scoring};
use super::force::out_of_force;
use crate::index::condition::Condition;
use crate::index::sight::Sight;
use crate::index::view::{Space, View};
use crate::limits::UPDATE_STEPS_MAX;
use crate::{Filter, LinkKind, MemoryId, SearchParams, Timestamp};

/// The share of its score that a memory keeps for each newer memory in its chain of updates.
const SUPERSEDED_SHARE: f64 = 0.75;
/// The maximum number of links of one kind that are followed, those with the lowest ids first.
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
        let is_wanted = |name: &str| filter.space.as_ref().is_none_or(|it| it == name);
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
        let Some(fact) = space.fact(slot).filter(|it| self.condition.holds(it)) else {
            return false;
        };
        let Some((time, others)) = &self.in_force else { return true };
        let id = space.slots.id(slot).and_then(MemoryId::new);
        fact.lifespan().holds_at(*time) && id.is_some_and(|it| !others.contains(&it))
    }

    /// The same for the slots of one space.
    pub(super) fn filter(&self, space: &Space) -> impl Fn(Slot) -> bool {
        move |slot| self.includes(space, slot)
    }

    /// The part and slot of a memory, if it is in scope.
    pub(super) fn place(&self, id: MemoryId) -> Option<(u32, Slot)> {
        let (_, space, slot) = self.view.place(id)?;
        let part = self.spaces.iter().position(|it| std::ptr::eq(*it, space))?;
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
        linked.filter(move |it| scope.place(*it).is_some()).take(LINKED_MAX)
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
        let place = |id: Option<MemoryId>| id.and_then(|it| candidates.place(it));
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
    let words: Vec<(f64, bool)> =
        candidates.iter().map(|it| (scoring.words(it.lexical), it.asks)).collect();
    let of = |place: Option<usize>| place.map_or((0.0, false), |it| words[it]);
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
            let lenders = linked(scope, candidate.id).filter_map(|it| candidates.get(it));
            let best = lenders.map(|it| it.base).fold(0.0, f64::max);
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
/// without those that a cycle contains.
pub(super) fn demote_superseded(
    sight: Sight<'_>,
    candidates: &mut Candidates,
) -> Vec<(MemoryId, MemoryId)> {
    let updated: Vec<(MemoryId, MemoryId)> = candidates
        .iter()
        .filter(|candidate| candidate.is_linked)
        .flat_map(|it| sight.updaters(it.id).map(|updater| (it.id, updater)))
        .filter(|(_, updater)| candidates.get(*updater).is_some())
        // A cycle has no newest memory, so its members keep their scores.
        .filter(|(id, updater)| !sight.updates_transitively(*id, *updater, UPDATE_STEPS_MAX))
        .collect();
    let mut steps: BTreeMap<MemoryId, u32> = BTreeMap::new();
    for _ in 0..UPDATE_STEPS_MAX {
        let mut is_settled = true;
        for (older, newer) in &updated {
            let wanted = steps.get(newer).copied().unwrap_or(0) + 1;
            let older_total = candidates.get(*older).map_or(0.0, |it| it.total() + it.lifted);
            if steps.get(older).copied().unwrap_or(0) < wanted {
                steps.insert(*older, wanted);
                is_settled = false;
            }
            if let Some(candidate) = candidates.get_mut(*newer) {
                let missing = older_total - candidate.total() - candidate.lifted;
                if missing > 0.0 {
                    candidate.lifted += missing;
                    is_settled = false;
                }
            }
        }
        if is_settled {
            break;
        }
    }
    for (id, steps) in steps {
        if let Some(candidate) = candidates.get_mut(id) {
            candidate.superseded = SUPERSEDED_SHARE.powi(steps.cast_signed());
        }
    }
    updated
}
