//! Flows: what to run when an event happens.
//!
//! A flow file defines in YAML which events a flow matches, by a pattern over their types and a
//! [`Condition`] over their data, and which actions it runs for each. [`parse`] reads one; for an
//! invalid file it reports what is invalid, where, and what would be valid.
//!
//! ```
//! let flows = waypost_flows::parse(r#"
//! flows:
//!   - name: auto-merge
//!     trigger:
//!       pattern: "eval:scored"
//!       condition: data.improved == "true"
//!     actions:
//!       - type: command
//!         command: gh pr merge {{data.pr_number}}
//! "#)?;
//! assert_eq!(flows[0].name.as_str(), "auto-merge");
//!
//! let error = waypost_flows::parse("flows:\n  - name: a b\n").unwrap_err();
//! assert_eq!((error.line, error.column), (2, 11));
//! # Ok::<(), waypost_flows::InvalidFile>(())
//! ```
//!
//! A command is code that the user has approved; a value of an event is data. In a [`Command`], a
//! value takes the place of `{{data.key}}` if it is plain: one word without shell syntax. With
//! another value, the run fails before its first action.
//!
//! # Running flows
//!
//! [`Engine`] decides, and the embedding program carries out the decisions. It belongs to one
//! thread, which passes it events ([`Engine::offer`]) and the results of actions
//! ([`Engine::ended`]), calls [`Engine::commit`], and hands on each [`Effect`]. [`run_program`]
//! runs programs on the caller's threads, one for each running program, at most
//! [`Options::running_max`]; the caller also publishes, posts and adds memories. A [`Stop`] may be
//! requested before its program starts: keep one for each attempt from the moment that the attempt
//! is returned.
//!
//! ```
//! use waypost_events::{Event, Lineage};
//! use waypost_flows::{
//!     Effect, End, Engine, FlowFile, FlowSet, GRACE, Options, Phase, Stop, ActionContext, Task,
//!     Timestamp, run_program,
//! };
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path();
//! let file = FlowFile::new("hello.yaml", r#"
//! flows:
//!   - name: greet
//!     trigger: { pattern: "greeting:*" }
//!     actions: [{ type: command, command: "test {{data.who}} = world" }]
//! "#)?;
//! let mut engine = Engine::open(&folder.join("flows"), Options::default(), Timestamp::EPOCH)?;
//! engine.install(FlowSet::new([&file]));
//!
//! let event = Event {
//!     id: 1,
//!     kind: "greeting:sent".parse()?,
//!     data: serde_json::from_str(r#"{"who": "world"}"#)?,
//!     time: Timestamp::EPOCH,
//!     source: "example".to_owned(),
//!     lineage: Lineage::default(),
//!     space: None,
//! };
//! engine.offer(&event, Timestamp::EPOCH);
//! let around = ActionContext {
//!     project: folder,
//!     programs: folder,
//!     inherited: &[("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
//!     url: "http://127.0.0.1:4747",
//!     token: "of this run",
//!     secret: &|_| None,
//!     grace: GRACE,
//! };
//! let mut effects = engine.commit()?;
//! while let Some(effect) = effects.pop() {
//!     match effect {
//!         Effect::Start(attempt) => {
//!             let report = match attempt.task(&around) {
//!                 Ok(Task::Run(program)) => {
//!                     let spawned = |leader| engine.spawned(&attempt.id, leader);
//!                     run_program(&program, "this boot", &Stop::new()?, spawned).report
//!                 }
//!                 Ok(other) => return Err(format!("{other:?} is not in the flow").into()),
//!                 Err(unready) => unready.into(),
//!             };
//!             engine.ended(&attempt.id, report, Timestamp::EPOCH);
//!         }
//!         Effect::Announce(notice) => assert_eq!(notice.kind.as_str(), "flow:succeeded"),
//!         other => return Err(format!("one event has no effect {other:?}").into()),
//!     }
//!     effects.extend(engine.commit()?);
//! }
//! let run = engine.run(&"greet.1".parse()?)?;
//! assert!(matches!(run.phase, Phase::Ended { end: End::Succeeded, .. }));
//! # Ok(())
//! # }
//! ```
//!
//! [`Loader`] reads the folder of flow files and determines which flows are in force, and
//! [`Loader::has_changed`] says when to reload. [`Engine::why`] and [`plan`] only explain, and run
//! nothing.

mod action;
mod command;
mod condition;
mod declared;
mod definition;
mod doctor;
mod effect;
mod encode;
mod engine;
mod explain;
mod journal;
mod loader;
mod machine;
mod options;
mod process;
mod record;
mod run;
mod scalar;
mod set;
mod span;
mod task;
mod template;
mod webhook;

pub use action::*;
pub use command::{Command, SCRIPT_BYTES_MAX, Shell};
pub use condition::{CONDITION_BYTES_MAX, Condition, Finding, InvalidCondition, Truth};
pub use declared::{CHOICES_MAX, DataType, DataTypes, TYPE_BYTES_MAX};
pub use definition::{
    Action, Concurrency, DataKey, Debounce, FILE_BYTES_MAX, FLOWS_MAX, Flow, FlowName, InvalidFile,
    Mode, OnInterrupt, ProjectPath, RateLimit, Retry, RetryOn, Start, Trigger, Variables, parse,
};
pub use doctor::{Checked, Repaired, check_log, check_versions, repair, verify};
pub use effect::{Attempt, Backfill, Effect, Notice, Orphan, RunEnd};
pub use engine::{Commit, Compaction, Engine, Error, Failure, Files, FlowStatus, Page};
pub use explain::{Plan, PlannedStep, Why, plan};
pub use loader::{
    Approvable, ApprovalError, Approvals, FILES_MAX, FileStatus, Loaded, Loader, Problem,
};
pub use machine::{DEPTH_MAX, INTERRUPTIONS_MAX, OPENINGS_MAX};
pub use options::Options;
pub use process::{
    Captured, DRAIN, Finished, GRACE, HEAD_BYTES_MAX, Leader, Program, Stop, TAIL_BYTES_MAX,
    end_orphans, run as run_program,
};
pub use run::{AttemptId, End, Outcome, Phase, Report, Run, RunId, Stage, Try};
pub use set::{ContentHash, FlowEntry, FlowFile, FlowSet};
pub use span::Span;
pub use task::{
    ActionContext, EVENT_PREFIX, INHERITED, RUN_VARIABLES, Unready, WORD_BYTES_MAX, WORDS_BYTES_MAX,
};
pub use template::{InvalidTemplate, Reference, Template};
pub(crate) use waypost_events::{Event, Lineage};
pub use waypost_time::Timestamp;
pub use webhook::{Post, may_reach};
