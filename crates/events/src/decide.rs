//! Decides for a group of batches which drafts are new events.

use std::collections::HashMap;

use waypost_log::AppendMax;
use waypost_log::group_commit::Pending;
use waypost_time::Timestamp;

use crate::keys::{Keyed, Window};
use crate::{Event, Published, Refused, Result};

/// A checked draft, encoded as far as that needs no id.
#[derive(Debug)]
pub(crate) struct EncodedDraft {
    /// Its id is not known yet.
    pub(crate) event: Event,
    pub(crate) payload: Vec<u8>,
    pub(crate) keyed: Option<Keyed>,
}

/// The answers to a batch of drafts, in its order.
pub(crate) type Answers = Result<Vec<std::result::Result<Published, Refused>>>;

pub(crate) type Batch = Pending<Vec<EncodedDraft>, Answers>;

/// The decisions about some batches.
pub(crate) struct Decided<'a> {
    /// One for each draft.
    pub(crate) verdicts: Vec<Verdict>,
    /// The new events, in order.
    pub(crate) new: Vec<&'a EncodedDraft>,
}

/// The decision about a draft.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Verdict {
    /// A new event, with this index among those of its group.
    New(usize),
    /// It is this event, which was there before.
    Known { id: u64, time: Timestamp },
    /// It is the so-manyth new event, which came before it in the same group.
    Again(usize),
    /// Its key belongs to another event.
    Reused(u64),
    /// Its key belongs to another event of the same group.
    ReusedHere(usize),
}

/// Decides about each draft, in order.
pub(crate) fn decide<'a>(batches: &'a [Batch], keys: &Window) -> Decided<'a> {
    let mut verdicts = Vec::new();
    let mut new: Vec<&EncodedDraft> = Vec::new();
    let mut keys_here: HashMap<u128, (usize, u64)> = HashMap::new();
    for ready in batches.iter().flat_map(|batch| &batch.request) {
        let verdict = match ready.keyed {
            None => Verdict::New(new.len()),
            Some(Keyed { key, body }) => match (keys.get(key), keys_here.get(&key)) {
                (Some(it), _) if it.body == body => Verdict::Known { id: it.id, time: it.time },
                (Some(it), _) => Verdict::Reused(it.id),
                (None, Some((at, other))) if *other == body => Verdict::Again(*at),
                (None, Some((at, _))) => Verdict::ReusedHere(*at),
                (None, None) => {
                    keys_here.insert(key, (new.len(), body));
                    Verdict::New(new.len())
                }
            },
        };
        if let Verdict::New(_) = verdict {
            new.push(ready);
        }
        verdicts.push(verdict);
    }
    Decided { verdicts, new }
}

/// The first batches that fit one append, at least one.
pub(crate) fn first_batches(batches: &[Batch], max: AppendMax) -> &[Batch] {
    let mut size = Size::default();
    let count = batches.iter().take_while(|batch| size.add(&batch.request, max)).count();
    &batches[..count.max(1)]
}

/// The size of some batches, as if all of their drafts were new.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Size {
    drafts: usize,
    bytes: usize,
}

impl Size {
    /// Adds a batch, and returns whether all of them are within the limits.
    pub(crate) fn add(&mut self, drafts: &[EncodedDraft], max: AppendMax) -> bool {
        self.drafts += drafts.len();
        self.bytes += drafts.iter().map(|draft| draft.payload.len()).sum::<usize>();
        self.drafts <= max.records && self.bytes <= max.bytes
    }
}
