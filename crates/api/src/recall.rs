//! Recall: what is given to an agent's session without being asked, and the log of it.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};
use waypost_time::Timestamp;

use crate::Vocabulary;
use crate::limits::{
    Check, Faults, ID_MAX, LIMIT_MAX, QUERY_CHARS_MAX, RECALL_PROMPT_BYTES_MAX,
    RECALL_SOURCE_CHARS_MAX, RECALL_TURN_BYTES_MAX, RECALL_TURNS_MAX, RECALL_WHY_LIMIT_MAX,
};
use crate::wire;

/// Body of `POST /api/recall/brief`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecallBriefRequest {
    /// The session, as the harness names it: up to 256 characters.
    pub session: String,
    /// The program that runs the session, such as `claude`: `[a-z0-9_-]{1,64}`.
    pub harness: String,
    /// Why the session starts, in the harness's words, such as `startup` or `resume`; `compact` after
    /// a compaction: then nothing counts as already injected.
    pub source: Option<String>,
    /// Only memories of this space; default: all spaces that the token can read.
    pub space: Option<String>,
}

impl Check for RecallBriefRequest {
    fn check(&self, faults: &mut Faults) {
        session(faults, &self.session, &self.harness, self.space.as_deref());
        if let Some(source) = &self.source {
            faults.chars("source", source, RECALL_SOURCE_CHARS_MAX);
        }
    }
}

/// Body of `POST /api/recall/prompt`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecallPromptRequest {
    /// The session.
    pub session: String,
    /// The program that runs the session.
    pub harness: String,
    /// What the user typed: up to 1 MiB. A long prompt is searched by its beginning and its end.
    pub prompt: String,
    /// Only memories of this space; default: all spaces that the token can read.
    pub space: Option<String>,
}

impl Check for RecallPromptRequest {
    fn check(&self, faults: &mut Faults) {
        session(faults, &self.session, &self.harness, self.space.as_deref());
        bytes(faults, "prompt", &self.prompt, RECALL_PROMPT_BYTES_MAX);
    }
}

/// Body of `POST /api/recall/compaction`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecallCompactionRequest {
    /// The session whose conversation the harness compacts.
    pub session: String,
    /// The program that runs the session.
    pub harness: String,
    /// The space of the session's memories; default: none.
    pub space: Option<String>,
}

impl Check for RecallCompactionRequest {
    fn check(&self, faults: &mut Faults) {
        session(faults, &self.session, &self.harness, self.space.as_deref());
    }
}

/// The response of `POST /api/recall/brief` and `POST /api/recall/prompt`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recalled {
    /// What to give to the model: at most 10,000 characters; empty if nothing is relevant. Stored text
    /// in it is between fences and marked as data.
    pub text: String,
    /// The memories in the text.
    pub used: Vec<RecallUsed>,
    /// The memories that were found and left out.
    pub withheld: Vec<RecallWithheld>,
    /// Why the text is empty; absent if it is not.
    pub reason: Option<RecallSilence>,
    /// The entry of the recall log.
    pub entry: u64,
}

/// A memory that was injected.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallUsed {
    /// The memory's id.
    pub id: u64,
    /// Its score, 0 to 1; absent if no search found it.
    pub score: Option<f64>,
    /// Why it was injected.
    pub part: RecallPart,
}

/// A memory that was found and not injected.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallWithheld {
    /// The memory's id.
    pub id: u64,
    /// Its score, 0 to 1; absent if no search found it.
    pub score: Option<f64>,
    /// Why it was left out.
    pub reason: RecallReason,
}

/// An entry of the recall log: what a session got at one moment. It has no texts.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallEntry {
    /// The id: positive, growing, never reused.
    pub id: u64,
    /// When it was.
    pub at: Timestamp,
    /// The session.
    pub session: String,
    /// The program that runs the session.
    pub harness: String,
    /// What happened in the session.
    pub moment: RecallMoment,
    /// The space that was searched; absent for all spaces.
    pub space: Option<String>,
    /// How likely the search found an answer, 0 to 1; absent if there was no search.
    pub answerable: Option<f64>,
    /// The least score of what is injected for a prompt; absent if there was no search.
    pub threshold: Option<f64>,
    /// The memories that were injected.
    pub used: Vec<RecallUsed>,
    /// The memories that were found and left out.
    pub withheld: Vec<RecallWithheld>,
    /// Why nothing was injected; absent if something was, and with `refused`.
    pub reason: Option<RecallSilence>,
    /// The turn that was not recorded, if that is the moment.
    pub refused: Option<RecallRefused>,
}

/// A turn that was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallRefused {
    /// Where the turn ends in the transcript, in bytes.
    pub before: u64,
    /// Why the service refused it.
    pub reason: RecallRefusal,
}

/// Query of `GET /api/recall`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecallListRequest {
    /// Only entries of this session.
    pub session: Option<String>,
    /// Only entries that injected or withheld this memory.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub memory: Option<u64>,
    /// Only entries of this space; default: all that the token can read.
    pub space: Option<String>,
    /// Maximum number of entries: 1 to 1000; default: 100.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub limit: Option<u64>,
    /// Only entries before this one: the last id of the previous page.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub before: Option<u64>,
}

impl Check for RecallListRequest {
    fn check(&self, faults: &mut Faults) {
        faults.session(self.session.as_deref());
        if let Some(memory) = self.memory {
            faults.id("memory", memory);
        }
        faults.space(self.space.as_deref());
        faults.range("limit", self.limit, LIMIT_MAX);
        if let Some(before) = self.before {
            faults.id_of("an entry of the recall log", "before", before);
        }
    }
}

/// Query of `GET /api/recall/sessions/{session}`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecallSessionRequest {
    /// The session's space. Default: the token's space; for a token of all spaces, the session of all
    /// spaces, or else the only one with that name.
    pub space: Option<String>,
}

impl Check for RecallSessionRequest {
    fn check(&self, faults: &mut Faults) {
        faults.space(self.space.as_deref());
    }
}

/// Body of `POST /api/recall/turns`. Without turns, from 0 to 0, it changes nothing, and the response
/// has the session's `offset`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecallTurnsRequest {
    /// The session.
    pub session: String,
    /// The program that runs the session.
    pub harness: String,
    /// The space of the memories; default: `default`.
    pub space: Option<String>,
    /// What was said, in order: up to 500 turns.
    pub turns: Vec<RecallTurn>,
    /// The position in the transcript, in bytes, from which the turns were read: at most the session's
    /// `offset`, and at most 2^53 - 1.
    #[serde(deserialize_with = "wire::whole")]
    pub from: u64,
    /// The position up to which they were read, which becomes the session's `offset`: `from` to
    /// 2^53 - 1.
    #[serde(deserialize_with = "wire::whole")]
    pub to: u64,
    /// Whether the transcript became shorter than the session's `offset`, so that it was read again
    /// from its beginning; default: false. Turns that were recorded before are not recorded again.
    #[serde(default, skip_serializing_if = "wire::is_false")]
    pub restart: bool,
    /// Why the service refused the turn between `from` and `to` before. With it, there are no turns:
    /// the turn is left out, and the recall log has an entry that says so.
    pub refused: Option<RecallRefusal>,
}

impl Check for RecallTurnsRequest {
    fn check(&self, faults: &mut Faults) {
        session(faults, &self.session, &self.harness, self.space.as_deref());
        faults.count("turns", self.turns.len(), RECALL_TURNS_MAX);
        for (idx, turn) in self.turns.iter().enumerate() {
            bytes(faults, &format!("turns/{idx}/text"), &turn.text, RECALL_TURN_BYTES_MAX);
        }
        faults.position("from", self.from);
        faults.position("to", self.to);
        if self.to < self.from && self.from <= ID_MAX {
            faults.add("to", format!("must be at least `from` ({}), not {}", self.from, self.to));
        }
        if self.refused.is_some() && !self.turns.is_empty() {
            faults.add("turns", "must be empty with `refused`".to_owned());
        }
    }
}

/// A prompt or an answer.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecallTurn {
    /// Who said it.
    pub role: RecallRole,
    /// What was said: up to 64 KiB. Secrets are masked, and text that recall injected is removed.
    pub text: String,
    /// When it was said; default: now.
    pub at: Option<Timestamp>,
}

/// The response of `POST /api/recall/turns`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallTurns {
    /// The ids of the new memories.
    pub recorded: Vec<u64>,
    /// The number of turns that were recorded before, or that had nothing to record.
    pub skipped: u64,
    /// The session's `offset` after the request.
    pub offset: u64,
}

/// What the recall log knows about a session.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallSession {
    /// The session.
    pub session: String,
    /// The program that runs it.
    pub harness: String,
    /// Its space; absent for a session of all spaces.
    pub space: Option<String>,
    /// The position in the transcript, in bytes, up to which turns were recorded.
    pub offset: u64,
    /// The memories that the session has, in ascending order: those that were injected since its
    /// beginning or its last compaction.
    pub injected: Vec<u64>,
    /// Whether the conversation was compacted and the next prompt gets the brief again.
    pub compacted: bool,
    /// When it was last seen.
    pub at: Timestamp,
}

/// Body of `POST /api/recall/why`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecallWhyRequest {
    /// The session.
    pub session: String,
    /// What the session should have known: 1 to 8192 characters.
    pub query: String,
    /// Only memories of this space; default: all spaces that the token can read.
    pub space: Option<String>,
    /// Maximum number of memories: 1 to 50; default: 10.
    #[serde(default, deserialize_with = "wire::optional_whole")]
    pub limit: Option<u64>,
}

impl Check for RecallWhyRequest {
    fn check(&self, faults: &mut Faults) {
        faults.session(Some(&self.session));
        if self.query.is_empty() {
            faults.add(
                "query",
                format!("must not be empty; the limit is {QUERY_CHARS_MAX} characters"),
            );
        }
        faults.chars("query", &self.query, QUERY_CHARS_MAX);
        faults.space(self.space.as_deref());
        faults.range("limit", self.limit, RECALL_WHY_LIMIT_MAX);
    }
}

/// The response of `POST /api/recall/why`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallWhy {
    /// How likely the memory answers the query now, 0 to 1.
    pub answerable: f64,
    /// The least score of what is injected for a prompt.
    pub threshold: f64,
    /// The number of times that the recall log says what the session got.
    pub entries: u64,
    /// What became of each memory that answers the query, best first.
    pub hits: Vec<RecallFound>,
}

/// A memory that answers a query, and what became of it in a session.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecallFound {
    /// The memory's id.
    pub id: u64,
    /// Its title.
    pub title: String,
    /// Its score for the query, 0 to 1.
    pub score: f64,
    /// What became of it.
    pub fate: RecallFate,
    /// The last entry of the recall log that names it.
    pub entry: Option<u64>,
    /// With `withheld`: why.
    pub reason: Option<RecallReason>,
    /// When that was: of an entry, of the creation of a later memory, of the end of one that is gone.
    pub at: Option<Timestamp>,
}

fn session(faults: &mut Faults, session: &str, harness: &str, space: Option<&str>) {
    faults.session(Some(session));
    faults.kind("harness", harness);
    faults.space(space);
}

fn bytes(faults: &mut Faults, field: &str, value: &str, max: usize) {
    if value.len() > max {
        faults.add(field, format!("has {} bytes; the limit is {max}", value.len()));
    }
}

/// What happened in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum RecallMoment {
    Start,
    Prompt,
    Compact,
    Refused,
}

impl Vocabulary for RecallMoment {
    const ALL: &'static [Self] = &[Self::Start, Self::Prompt, Self::Compact, Self::Refused];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Start => ("start", "The session started and got its brief"),
            Self::Prompt => ("prompt", "The user sent a prompt"),
            Self::Compact => ("compact", "The session got its brief again, after a compaction"),
            Self::Refused => ("refused", "A turn of the session was not recorded"),
        }
    }
}

/// Why a turn was not recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum RecallRefusal {
    Malformed,
    TooLarge,
    Invalid,
}

impl Vocabulary for RecallRefusal {
    const ALL: &'static [Self] = &[Self::Malformed, Self::TooLarge, Self::Invalid];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Malformed => ("malformed", "The service cannot read the request with it"),
            Self::TooLarge => ("tooLarge", "The request with it is too large for the service"),
            Self::Invalid => ("invalid", "A field of it is not valid"),
        }
    }
}

/// Why a memory was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum RecallPart {
    Pinned,
    Decision,
    Thread,
    Task,
    Answer,
}

impl Vocabulary for RecallPart {
    const ALL: &'static [Self] =
        &[Self::Pinned, Self::Decision, Self::Thread, Self::Task, Self::Answer];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Pinned => ("pinned", "It is pinned"),
            Self::Decision => ("decision", "It is a recent decision"),
            Self::Thread => ("thread", "An earlier session ended with it"),
            Self::Task => ("task", "It fits what was done last"),
            Self::Answer => ("answer", "It answers the prompt"),
        }
    }
}

/// Why a memory was not injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum RecallReason {
    BelowThreshold,
    AlreadyInjected,
    SameSession,
    Budget,
    Superseded,
}

impl Vocabulary for RecallReason {
    const ALL: &'static [Self] = &[
        Self::BelowThreshold,
        Self::AlreadyInjected,
        Self::SameSession,
        Self::Budget,
        Self::Superseded,
    ];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::BelowThreshold => ("belowThreshold", "Its score is below the threshold"),
            Self::AlreadyInjected => ("alreadyInjected", "The session already has it"),
            Self::SameSession => ("sameSession", "It was said in the session itself"),
            Self::Budget => ("budget", "The text had no space left for it"),
            Self::Superseded => ("superseded", "A newer memory updates it"),
        }
    }
}

/// Why nothing was injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum RecallSilence {
    ShortPrompt,
    NothingFound,
    NotAnswerable,
    AllWithheld,
}

impl Vocabulary for RecallSilence {
    const ALL: &'static [Self] =
        &[Self::ShortPrompt, Self::NothingFound, Self::NotAnswerable, Self::AllWithheld];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::ShortPrompt => ("shortPrompt", "The prompt has fewer than 20 characters"),
            Self::NothingFound => ("nothingFound", "No memory was found"),
            Self::NotAnswerable => {
                ("notAnswerable", "The memory probably has no answer to the prompt")
            }
            Self::AllWithheld => ("allWithheld", "Every memory that was found was left out"),
        }
    }
}

/// What became of a memory in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum RecallFate {
    Injected,
    Withheld,
    Later,
    Expired,
    Deleted,
    NotConsidered,
}

impl Vocabulary for RecallFate {
    const ALL: &'static [Self] = &[
        Self::Injected,
        Self::Withheld,
        Self::Later,
        Self::Expired,
        Self::Deleted,
        Self::NotConsidered,
    ];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::Injected => ("injected", "The session got it"),
            Self::Withheld => ("withheld", "It was found and left out"),
            Self::Later => ("later", "It was added after the session's last entry"),
            Self::Expired => ("expired", "It has expired since"),
            Self::Deleted => ("deleted", "It was deleted since"),
            Self::NotConsidered => ("notConsidered", "No prompt of the session found it"),
        }
    }
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "`describe` says what each means")]
pub enum RecallRole {
    User,
    Assistant,
}

impl Vocabulary for RecallRole {
    const ALL: &'static [Self] = &[Self::User, Self::Assistant];

    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Self::User => ("user", "The user's prompt"),
            Self::Assistant => ("assistant", "The model's answer"),
        }
    }
}
