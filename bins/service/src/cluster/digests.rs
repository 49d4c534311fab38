//! Comparing the state of this machine with that of the leader.

use parking_lot::Mutex;
use waypost_log::Digest;
use waypost_memory::Store;

use crate::error::chain;

/// What the leader's digests have shown.
#[derive(Debug, Default)]
pub(super) struct Digests(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    /// The last digest that is in the journal.
    last: u64,
    /// Not compared yet: this machine has not applied the memories up to there.
    waiting: Vec<Digest>,
    /// The state was rebuilt, and no digest has agreed since.
    is_rebuilt: bool,
}

/// What to do after a comparison.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Agrees,
    Rebuild(u64),
    Stop(u64),
}

impl Digests {
    /// The digest to tell the others, if the store has one that is not in the journal.
    pub(super) fn next(&self, store: &Store) -> Option<Digest> {
        store.last_digest().filter(|digest| digest.position > self.0.lock().last)
    }

    /// Notes a digest of the leader.
    pub(super) fn note(&self, digest: Digest) {
        let mut seen = self.0.lock();
        seen.last = seen.last.max(digest.position);
        seen.waiting.push(digest);
    }

    /// Compares what has been applied since. If a digest differs, rebuilds the state; returns why
    /// this machine must stop if it still differs after that.
    pub(super) fn compare(&self, store: &Store) -> Option<String> {
        let verdict = self.0.lock().judge(store.position(), &|at| store.digest_at(at));
        match verdict {
            Verdict::Agrees => None,
            Verdict::Rebuild(position) => {
                tracing::error!(
                    position,
                    "the memories differ from those of the cluster's leader: setting the state aside and rebuilding it from the log"
                );
                match store.rebuild() {
                    Ok(()) => tracing::info!("rebuilt the state of the memories"),
                    Err(error) => {
                        tracing::error!(error = chain(&error), "failed to rebuild the state");
                    }
                }
                None
            }
            Verdict::Stop(position) => Some(format!(
                "the memories of this machine differ from those of the cluster's leader at record {position}, also after their state was rebuilt: move the data folder away and run `ctl cluster join`"
            )),
        }
    }
}

impl Seen {
    fn judge(&mut self, applied: u64, ours: &dyn Fn(u64) -> Option<Digest>) -> Verdict {
        let (due, waiting) =
            self.waiting.drain(..).partition(|waiting| waiting.position <= applied);
        self.waiting = waiting;
        let due: Vec<Digest> = due;
        // Without a digest of that position, nothing can be said.
        let known = due.iter().filter_map(|due| ours(due.position).map(|ours| (due, ours)));
        for (theirs, ours) in known {
            if *theirs == ours {
                self.is_rebuilt = false;
            } else if self.is_rebuilt {
                return Verdict::Stop(theirs.position);
            } else {
                self.is_rebuilt = true;
                return Verdict::Rebuild(theirs.position);
            }
        }
        Verdict::Agrees
    }
}

#[cfg(test)]
mod tests {
    use super::{Digest, Seen, Verdict};

    fn digest(position: u64, byte: u8) -> Digest {
        Digest { position, sha256: [byte; 32] }
    }

    fn judge(seen: &mut Seen, theirs: Digest, ours: Option<Digest>) -> Verdict {
        seen.waiting.push(theirs);
        seen.judge(theirs.position, &|_| ours)
    }

    #[test]
    fn a_replica_that_differs_rebuilds_and_one_that_still_differs_stops() {
        let mut seen = Seen::default();
        assert_eq!(judge(&mut seen, digest(1, 1), Some(digest(1, 1))), Verdict::Agrees);
        assert_eq!(judge(&mut seen, digest(2, 1), Some(digest(2, 2))), Verdict::Rebuild(2));
        assert_eq!(judge(&mut seen, digest(3, 1), None), Verdict::Agrees);
        assert_eq!(judge(&mut seen, digest(4, 1), Some(digest(4, 2))), Verdict::Stop(4));
    }

    #[test]
    fn a_digest_that_agrees_after_a_rebuild_ends_the_matter() {
        let mut seen = Seen::default();
        assert_eq!(judge(&mut seen, digest(1, 1), Some(digest(1, 2))), Verdict::Rebuild(1));
        assert_eq!(judge(&mut seen, digest(2, 1), Some(digest(2, 1))), Verdict::Agrees);
        assert_eq!(judge(&mut seen, digest(3, 1), Some(digest(3, 2))), Verdict::Rebuild(3));
    }

    #[test]
    fn a_digest_waits_until_the_machine_has_applied_its_position() {
        let mut seen = Seen::default();
        seen.waiting.push(digest(20, 1));
        assert_eq!(seen.judge(10, &|_| panic!("not yet")), Verdict::Agrees);
        assert_eq!(seen.judge(20, &|_| Some(digest(20, 2))), Verdict::Rebuild(20));
        assert!(seen.waiting.is_empty());
    }
}
