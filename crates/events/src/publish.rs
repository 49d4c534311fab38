//! Publishing: first the log, then the index, then readers see the events.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use waypost_log::Record;
use waypost_log::group_commit::{Lead, Pending};
use waypost_time::Timestamp;

use crate::bus::{Bus, Writer};
use crate::codec::{EVENT_KIND, encode, version_of};
use crate::keys::Keyed;
use crate::{Draft, Error, Event, Published, Refused, Result};

/// Maximum number of drafts in a batch.
pub const BATCH_DRAFTS_MAX: usize = 10_000;
/// Maximum size of a batch, as stored bytes.
pub const BATCH_BYTES_MAX: usize = 64 << 20;
/// Maximum number of drafts that one leader publishes together, unless one batch has more …
const GROUP_DRAFTS_MAX: usize = 4096;
/// … and of bytes.
const GROUP_BYTES_MAX: usize = 8 << 20;

/// A checked draft, encoded as far as that needs no id.
#[derive(Debug)]
pub(crate) struct EncodedDraft {
    /// Its id is not known yet.
    event: Event,
    payload: Vec<u8>,
    keyed: Option<Keyed>,
}

/// The answers to a batch of drafts, in its order.
pub(crate) type Answers = Result<Vec<std::result::Result<Published, Refused>>>;

/// The decision about a draft.
#[derive(Debug, Clone, Copy)]
enum Verdict {
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

impl Bus {
    /// Publishes an event and returns when it is on disk and every reader can see it. Threads that
    /// publish at the same time share one sync. `now` is what the event's time will be;
    /// a time before 1970 is stored as 1970.
    ///
    /// # Errors
    /// [`Error::Invalid`] and [`Error::KeyReused`] are about the draft. After [`Error::Full`]
    /// nothing was written. After [`Error::Unavailable`] the event may or may not be there when
    /// the bus is opened again; with an idempotency key it is safe to publish it again.
    pub fn publish(&self, draft: Draft, now: Timestamp) -> Result<Published> {
        let ready = ready(draft, now)?;
        only(self.submit(vec![ready]))
    }

    /// Publishes events with consecutive ids; after a crash, all of them exist or none. An invalid
    /// draft is left out; the results are in the order of the drafts. Errors as for
    /// [`publish`](Self::publish), except that an error of one draft is its result.
    pub fn publish_batch(
        &self,
        drafts: Vec<Draft>,
        now: Timestamp,
    ) -> Result<Vec<std::result::Result<Published, Refused>>> {
        if drafts.len() > BATCH_DRAFTS_MAX {
            let reason = format!("must have at most {BATCH_DRAFTS_MAX} events");
            return Err(Error::invalid("batch", reason));
        }
        let checked: Vec<_> = drafts.into_iter().map(|it| ready(it, now)).collect();
        let mut all_ready = Vec::with_capacity(checked.len());
        let refusals: Vec<Option<Refused>> =
            checked.into_iter().map(|it| it.map(|it| all_ready.push(it)).err()).collect();
        if all_ready.iter().map(|it: &EncodedDraft| it.payload.len()).sum::<usize>()
            > BATCH_BYTES_MAX
        {
            let reason = format!("must have at most {BATCH_BYTES_MAX} bytes");
            return Err(Error::invalid("batch", reason));
        }
        if all_ready.is_empty() {
            return Ok(refusals.into_iter().flatten().map(Err).collect());
        }
        let mut answers = self.submit(all_ready)?.into_iter();
        refusals
            .into_iter()
            .map(|refused| match refused {
                Some(refused) => Ok(Err(refused)),
                None => answers.next().ok_or_else(lost),
            })
            .collect()
    }

    /// Queues a draft for the next leader; call [`write_queued`](Self::write_queued) afterwards, on
    /// any thread. The thread that publishes the draft calls `then` with what
    /// [`publish`](Self::publish) would return: it must be fast and must not publish.
    ///
    /// # Errors
    /// If the draft is invalid; `then` is not called.
    pub fn queue(
        &self,
        draft: Draft,
        now: Timestamp,
        then: Box<dyn FnOnce(Result<Published>) + Send>,
    ) -> Result<()> {
        let ready = ready(draft, now)?;
        self.queue.submit_later(vec![ready], |answers| then(only(answers)));
        Ok(())
    }

    /// Publishes the drafts that were queued before this call, and returns when all are answered.
    pub fn write_queued(&self) {
        // An empty batch is answered when everything before it has been.
        drop(self.submit(Vec::new()));
    }

    fn submit(&self, drafts: Vec<EncodedDraft>) -> Answers {
        let answers = self.queue.submit(drafts, &|lead| self.lead(lead));
        if self.to_settle.load(Ordering::Acquire) {
            // Other threads can publish meanwhile.
            self.settle();
        }
        answers.unwrap_or_else(|| Err(lost()))
    }

    /// Publishes a group of batches.
    fn lead(&self, lead: &Lead<'_, Vec<EncodedDraft>, Answers>) {
        let (mut drafts, mut bytes) = (0, 0);
        let group = lead.take(|next| {
            drafts += next.len();
            bytes += next.iter().map(|it| it.payload.len()).sum::<usize>();
            drafts <= GROUP_DRAFTS_MAX && bytes <= GROUP_BYTES_MAX
        });
        let mut writer = self.writer.lock();
        let mut verdicts = Vec::new();
        let mut records: Vec<(&EncodedDraft, Option<Keyed>)> = Vec::new();
        let mut keys_here: HashMap<u128, (usize, u64)> = HashMap::new();
        for ready in group.iter().flat_map(|it| &it.request) {
            let verdict = match ready.keyed {
                None => Verdict::New(records.len()),
                Some(Keyed { key, body }) => match (writer.keys.get(key), keys_here.get(&key)) {
                    (Some(it), _) if it.body == body => Verdict::Known { id: it.id, time: it.time },
                    (Some(it), _) => Verdict::Reused(it.id),
                    (None, Some((at, other))) if *other == body => Verdict::Again(*at),
                    (None, Some((at, _))) => Verdict::ReusedHere(*at),
                    (None, None) => {
                        keys_here.insert(key, (records.len(), body));
                        Verdict::New(records.len())
                    }
                },
            };
            if let Verdict::New(_) = verdict {
                records.push((ready, ready.keyed));
            }
            verdicts.push(verdict);
        }
        let first = self.append(&records);
        if let Ok(first) = first {
            self.index_new(first, &records, &mut writer);
        }
        let last = first.as_ref().map_or(0, |it| it + records.len() as u64 - 1);
        let is_news = !records.is_empty();
        drop(records);
        drop(writer);
        if first.is_ok() && is_news {
            self.live.show(last);
        }
        let mut verdicts = verdicts.into_iter();
        for Pending { request: drafts, reply } in group {
            let verdicts = verdicts.by_ref().take(drafts.len());
            reply.answer(match &first {
                Ok(first) => {
                    Ok(drafts.into_iter().zip(verdicts).map(|it| self.answer(it, *first)).collect())
                }
                // A draft that needed no write is answered even if the group could not be written.
                Err(error) => refusals(drafts, verdicts.collect(), self, error),
            });
        }
    }

    /// Appends new events and returns the id of the first one; without any, the next id.
    fn append(&self, records: &[(&EncodedDraft, Option<Keyed>)]) -> Result<u64> {
        if records.is_empty() {
            return Ok(self.live.last() + 1);
        }
        let records: Vec<Record<'_>> = records
            .iter()
            .map(|(ready, _)| Record {
                kind: EVENT_KIND,
                version: version_of(&ready.event),
                payload: &ready.payload,
            })
            .collect();
        let range = self.log.append_batch(&records).map_err(|it| self.log_error(&it))?;
        Ok(range.start)
    }

    fn index_new(
        &self,
        first: u64,
        records: &[(&EncodedDraft, Option<Keyed>)],
        writer: &mut Writer,
    ) {
        let mut index = self.index.write();
        for (id, (ready, keyed)) in (first..).zip(records) {
            if index.push(id, ready.event.kind.as_str(), ready.event.time) {
                self.to_settle.store(true, Ordering::Release);
            }
            writer.push(id, ready.event.time, *keyed);
        }
    }

    fn answer(
        &self,
        (ready, verdict): (EncodedDraft, Verdict),
        first: u64,
    ) -> std::result::Result<Published, Refused> {
        let new = |at: usize| first + at as u64;
        match verdict {
            Verdict::New(at) => {
                let event = Event { id: new(at), ..ready.event };
                Ok(Published { event, duplicate: false })
            }
            Verdict::Known { id, time } => Ok(self.duplicate(ready, id, Some(time))),
            Verdict::Again(at) => Ok(self.duplicate(ready, new(at), None)),
            Verdict::Reused(id) => Err(Refused::KeyReused { id }),
            Verdict::ReusedHere(at) => Err(Refused::KeyReused { id: new(at) }),
        }
    }

    /// The event that a draft is once more. Where retention has dropped it, its type and data are
    /// the draft's.
    fn duplicate(&self, ready: EncodedDraft, id: u64, time: Option<Timestamp>) -> Published {
        let event = if let Ok(Some(event)) = self.get(id) {
            event
        } else {
            let time = time.unwrap_or(ready.event.time);
            Event { id, time, ..ready.event }
        };
        Published { event, duplicate: true }
    }
}

/// The answers to a batch if nothing could be written: an error, unless the batch needed no write.
fn refusals(
    drafts: Vec<EncodedDraft>,
    verdicts: Vec<Verdict>,
    bus: &Bus,
    error: &Error,
) -> Answers {
    let needs_none = |it: &Verdict| matches!(it, Verdict::Known { .. } | Verdict::Reused(_));
    if !verdicts.iter().all(needs_none) {
        return Err(error.clone());
    }
    Ok(drafts.into_iter().zip(verdicts).map(|it| bus.answer(it, 0)).collect())
}

/// Checks a draft and does what can be done before its place is known.
fn ready(draft: Draft, now: Timestamp) -> std::result::Result<EncodedDraft, Refused> {
    draft.check()?;
    let Draft { kind, data, source, lineage, space, key } = draft;
    let keyed = key.as_ref().map(|key| Keyed::new(key, space.as_deref(), &kind, &data));
    let time = now.max(Timestamp::EPOCH);
    let event = Event { id: 0, kind, data, time, source, lineage, space };
    let payload = encode(&event, key.as_ref());
    Ok(EncodedDraft { event, payload, keyed })
}

/// The answer to a batch of one draft.
fn only(answers: Answers) -> Result<Published> {
    Ok(answers?.pop().ok_or_else(lost)??)
}

fn lost() -> Error {
    Error::Unavailable("the publishing thread stopped".to_owned())
}
