//! How an engine is opened.

use std::sync::Arc;
use std::time::Duration;

use waypost_log::SharedJournal;

/// The engine's options.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Options {
    /// Distinguishes this project's runs from others', in idempotency keys: 1 to 16 letters and
    /// digits, preferably random. Used when the journal is new; later the journal's value applies.
    pub identity: String,
    /// The last event when the journal is new: flows start after it, unless they say otherwise.
    pub head: u64,
    /// The current last event, if known: a journal that has evaluated a later one is not opened,
    /// because that event was lost and its id would be assigned again.
    pub last_event: Option<u64>,
    /// The last record of the journal that is known from outside of the engine's folder, 0 for none: a
    /// journal that ends before it is damaged.
    pub reached: u64,
    /// Identifies this boot of the machine: processes of another boot no longer exist.
    pub boot: String,
    /// The most concurrent actions, over all flows.
    pub running_max: usize,
    /// The most ended runs in the history of each flow.
    pub runs_kept: usize,
    /// The most ended runs in the history over all flows: they are read when the engine is opened,
    /// a hundred thousand of them in about a second.
    pub runs_kept_max: usize,
    /// How long they are kept.
    pub kept: Duration,
    /// What decides the order of the records, if the engine is a replica: none by default. Opening
    /// does not use it.
    pub shared_journal: Option<Arc<dyn SharedJournal>>,
    /// The name of this machine among those that share the journal, which a replica needs: 1 to 64
    /// letters, digits, `-`, `_` and `.`. Two machines, or containers, must not have the same name.
    pub machine: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            identity: "waypost".to_owned(),
            head: 0,
            last_event: None,
            reached: 0,
            boot: String::new(),
            running_max: 64,
            runs_kept: 1000,
            runs_kept_max: 100_000,
            kept: Duration::from_secs(30 * 24 * 60 * 60),
            shared_journal: None,
            machine: None,
        }
    }
}

impl Options {
    /// The same with another identity of the project's runs.
    #[must_use]
    pub fn with_identity(self, identity: impl Into<String>) -> Self {
        Self { identity: identity.into(), ..self }
    }

    /// The same, starting after this event if the journal is new.
    #[must_use]
    pub fn with_head(self, head: u64) -> Self {
        Self { head, ..self }
    }

    /// The same with the current last event.
    #[must_use]
    pub fn with_last_event(self, last_event: u64) -> Self {
        Self { last_event: Some(last_event), ..self }
    }

    /// The same with the last record of the journal that is known from outside.
    #[must_use]
    pub fn with_reached(self, reached: u64) -> Self {
        Self { reached, ..self }
    }

    /// The same for this boot of the machine.
    #[must_use]
    pub fn with_boot(self, boot: impl Into<String>) -> Self {
        Self { boot: boot.into(), ..self }
    }

    /// The same with at most this many concurrent actions.
    #[must_use]
    pub fn with_running_max(self, running_max: usize) -> Self {
        Self { running_max, ..self }
    }

    /// The same with at most this many ended runs of each flow.
    #[must_use]
    pub fn with_runs_kept(self, runs_kept: usize) -> Self {
        Self { runs_kept, ..self }
    }

    /// The same with at most this many ended runs over all flows.
    #[must_use]
    pub fn with_runs_kept_max(self, runs_kept_max: usize) -> Self {
        Self { runs_kept_max, ..self }
    }

    /// The same, keeping ended runs this long.
    #[must_use]
    pub fn with_kept(self, kept: Duration) -> Self {
        Self { kept, ..self }
    }

    /// Makes the engine a replica of those that use the same shared journal. It needs a
    /// [machine](Self::with_machine), too.
    ///
    /// One machine decides; the others apply the same records and can take over
    /// ([`Engine::lead`](crate::Engine::lead)). Which one may decide is not determined here: the
    /// shared journal must refuse the appends of every other machine.
    ///
    /// | what replicas share | |
    /// |---|---|
    /// | runs, attempts, the evaluated events, pauses, replays, which flows are in force | by the records |
    /// | [`identity`](Self::identity), [`head`](Self::head) | those of the machine that decides first |
    /// | limits of the history | those of the machine that decides |
    /// | flow files, approvals, output of programs, compaction, [`reached`](Self::reached) | local |
    /// | [`last_event`](Self::last_event) | ignored: the events of a replica may lag behind its flows |
    #[must_use]
    pub fn with_shared_journal(self, journal: Arc<dyn SharedJournal>) -> Self {
        Self { shared_journal: Some(journal), ..self }
    }

    /// The same with the name of this machine.
    #[must_use]
    pub fn with_machine(self, machine: impl Into<String>) -> Self {
        Self { machine: Some(machine.into()), ..self }
    }
}
