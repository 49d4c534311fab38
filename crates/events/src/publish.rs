//! Publishing: first the log, then the index, then readers see the events.

use std::sync::atomic::Ordering;

use parking_lot::MutexGuard;
use waypost_log::group_commit::{Lead, Pending};
use waypost_log::{AppendMax, Record, SharedError, Upstream};
use waypost_time::Timestamp;

use crate::bus::{Bus, Writer};
use crate::codec::{EVENT_KIND, encode, version_of};
use crate::decide::{Answers, Batch, Decided, EncodedDraft, Size, Verdict, decide, first_batches};
use crate::keys::Keyed;
use crate::{Draft, Error, Event, Published, Refused, Result};

/// Maximum number of drafts in a batch.
pub const BATCH_DRAFTS_MAX: usize = 10_000;
/// Maximum size of a batch, as stored bytes.
pub const BATCH_BYTES_MAX: usize = 64 << 20;
/// How much one leader publishes together, unless one batch has more.
const GROUP_MAX: AppendMax = AppendMax { records: 4096, bytes: 8 << 20 };

/// What became of the first batches of a group.
struct Written {
    batches: usize,
    /// One for each of their drafts; none on a replica after an error.
    verdicts: Vec<Verdict>,
    /// The id of the first new event.
    first: Result<u64>,
}

/// Why a replica did not publish.
enum NotAppended {
    /// Others have published since.
    Moved,
    Failed(Error),
}

impl Bus {
    /// Publishes an event and returns when it is on disk and every reader can see it. Threads that
    /// publish at the same time share one sync. `now` is what the event's time will be;
    /// a time before 1970 is stored as 1970.
    ///
    /// # Errors
    /// [`Error::Invalid`] and [`Error::KeyReused`] are about the draft. After [`Error::Full`]
    /// nothing was written. [`Error::SharedJournal`] is possible on a replica, and says whether the
    /// event may have been published. After [`Error::Unavailable`] the event may or may not be there when
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
        let checked: Vec<_> = drafts.into_iter().map(|draft| ready(draft, now)).collect();
        let mut all_ready = Vec::with_capacity(checked.len());
        let refusals: Vec<Option<Refused>> =
            checked.into_iter().map(|checked| checked.map(|it| all_ready.push(it)).err()).collect();
        if all_ready.iter().map(|draft: &EncodedDraft| draft.payload.len()).sum::<usize>()
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
        let max = self.upstream.as_ref().map_or(GROUP_MAX, group_max);
        let mut size = Size::default();
        let group = lead.take(|next| size.add(next, max));
        let mut writer = self.writer.lock();
        let mut written: Vec<Written> = Vec::with_capacity(1);
        let mut left = &group[..];
        while !left.is_empty() {
            let some = match &self.upstream {
                None => self.write(left, &mut writer),
                Some(upstream) => self.write_shared(upstream, left, &mut writer),
            };
            left = &left[some.batches..];
            written.push(some);
        }
        self.show(writer);
        let mut group = group.into_iter();
        for Written { batches, verdicts, first } in written {
            let mut verdicts = verdicts.into_iter();
            for Pending { request: drafts, reply } in group.by_ref().take(batches) {
                let verdicts = verdicts.by_ref().take(drafts.len());
                reply.answer(match &first {
                    Ok(first) => {
                        let decided = drafts.into_iter().zip(verdicts);
                        Ok(decided.map(|decided| self.answer(decided, *first)).collect())
                    }
                    Err(error) => self.refusals(drafts, verdicts.collect(), error),
                });
            }
        }
    }

    /// Decides about batches and appends the new events to the log.
    fn write(&self, batches: &[Batch], writer: &mut Writer) -> Written {
        let Decided { verdicts, new } = decide(batches, &writer.keys);
        let appended = if new.is_empty() {
            Ok(writer.applied + 1)
        } else {
            let range = self.log.append_batch(&records(&new));
            range.map(|range| range.start).map_err(|error| self.log_error(&error))
        };
        if let Ok(first) = appended {
            self.apply(first, new.iter().map(|new| (&new.event, new.keyed)), writer);
        }
        Written { batches: batches.len(), verdicts, first: appended }
    }

    /// Decides about the first batches, as many as one append takes, and appends the new events to
    /// the shared journal and to the log. If others have published, decides again on top of that.
    /// After an error, no batch is written.
    fn write_shared(&self, upstream: &Upstream, batches: &[Batch], writer: &mut Writer) -> Written {
        let mut held = None;
        loop {
            let some = first_batches(batches, group_max(upstream));
            let Decided { verdicts, new } = decide(some, &writer.keys);
            let error = match self.append_shared(upstream, &verdicts, &new, writer) {
                Ok(first) => {
                    self.apply(first, new.iter().map(|new| (&new.event, new.keyed)), writer);
                    return Written { batches: some.len(), verdicts, first: Ok(first) };
                }
                Err(NotAppended::Moved) => {
                    held.get_or_insert_with(|| upstream.hold());
                    match self.catch_up(upstream, writer) {
                        Ok(0) => {
                            let why = "it refused an append because of later events, and has none";
                            Error::SharedJournal(SharedError::Unavailable(why.to_owned()))
                        }
                        Ok(_) => continue,
                        Err(error) => error,
                    }
                }
                Err(NotAppended::Failed(error)) => error,
            };
            return Written { batches: batches.len(), verdicts: Vec::new(), first: Err(error) };
        }
    }

    /// Appends new events and returns the id of the first one; without any, the next id, if no other
    /// replica has published meanwhile.
    fn append_shared(
        &self,
        upstream: &Upstream,
        verdicts: &[Verdict],
        new: &[&EncodedDraft],
        writer: &Writer,
    ) -> std::result::Result<u64, NotAppended> {
        let next = writer.applied + 1;
        if verdicts.is_empty() {
            return Ok(next);
        }
        match upstream.append(&self.log, writer.applied, &records(new)) {
            Ok(()) => Ok(next),
            Err(waypost_log::Refused::Moved) => Err(NotAppended::Moved),
            Err(refused @ waypost_log::Refused::Behind(_)) => {
                let why = match self.refused(&refused) {
                    Error::Full => "the disk is full".to_owned(),
                    other => other.to_string(),
                };
                let why = format!(
                    "this machine failed to copy what it has appended ({why}), and tries again"
                );
                Err(NotAppended::Failed(Error::SharedJournal(SharedError::Unknown(why))))
            }
            Err(refused) => Err(NotAppended::Failed(self.refused(&refused))),
        }
    }

    /// Takes events that the log has into the index and the keys. The first one is `first`.
    pub(crate) fn apply<'a>(
        &self,
        first: u64,
        events: impl Iterator<Item = (&'a Event, Option<Keyed>)>,
        writer: &mut Writer,
    ) {
        let mut index = self.index.write();
        for (id, (event, keyed)) in (first..).zip(events) {
            if index.push(id, event.kind.as_str(), event.time) {
                self.to_settle.store(true, Ordering::Release);
            }
            writer.push(id, event.time, keyed);
        }
    }

    /// Shows readers what was applied, without the writer's lock.
    pub(crate) fn show(&self, writer: MutexGuard<'_, Writer>) {
        let applied = writer.applied;
        self.key_count.store(writer.keys.len(), Ordering::Relaxed);
        drop(writer);
        self.live.show(applied);
    }

    /// The answers to a batch if its group could not be written: an error, unless the batch needed no
    /// write. On a replica, even a batch without new events is an error: others may have published
    /// what its answer depends on.
    fn refusals(
        &self,
        drafts: Vec<EncodedDraft>,
        verdicts: Vec<Verdict>,
        error: &Error,
    ) -> Answers {
        let needs_none =
            |verdict: &Verdict| matches!(verdict, Verdict::Known { .. } | Verdict::Reused(_));
        let is_unconfirmed = self.upstream.is_some() && !drafts.is_empty();
        if is_unconfirmed || !verdicts.iter().all(needs_none) {
            return Err(error.clone());
        }
        Ok(drafts.into_iter().zip(verdicts).map(|it| self.answer(it, 0)).collect())
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

fn records<'a>(new: &[&'a EncodedDraft]) -> Vec<Record<'a>> {
    let record = |draft: &&'a EncodedDraft| Record {
        kind: EVENT_KIND,
        version: version_of(&draft.event),
        payload: &draft.payload,
    };
    new.iter().map(record).collect()
}

/// How much a replica publishes together.
fn group_max(upstream: &Upstream) -> AppendMax {
    let AppendMax { records, bytes } = upstream.append_max();
    AppendMax { records: records.min(GROUP_MAX.records), bytes: bytes.min(GROUP_MAX.bytes) }
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
