//! Flows: what to do when something happens.
//!
//! A flow file says in YAML which events a flow wants, by a pattern over their types and a
//! [`Condition`] over what they say, and which actions it runs for each. [`parse`] reads one, and
//! says of a broken one what is wrong, where, and what would be right.
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
//! A value of an event never becomes code: in a [`Command`] each `{{data.key}}` is a reference to a
//! variable of the environment, and where no such reference is safe the file is refused.

mod command;
mod condition;
mod definition;
mod effect;
mod encode;
mod engine;
mod explain;
mod loader;
mod machine;
mod process;
mod record;
mod run;
mod scalar;
mod set;
mod span;
mod task;
mod template;
mod webhook;

pub use command::Command;
pub use condition::{CONDITION_BYTES_MAX, Condition, Facts, Finding, InvalidCondition, Truth};
pub use definition::{
    Action, Concurrency, DataKey, Debounce, EmitValue, FILE_BYTES_MAX, FLOWS_MAX, Flow, FlowName,
    Folder, InvalidFile, Kind, Mode, OnInterrupt, RateLimit, Retry, RetryOn, Start, Trigger,
    Values, Variables, parse,
};
pub use effect::{Attempt, Backfill, Effect, Notice, Orphan};
pub use engine::{Engine, Error, FlowStatus, RunFilter};
pub use explain::{Plan, PlannedStep, Why, plan};
pub use loader::{ApprovalError, FILES_MAX, FileStatus, Loaded, Loader, Problem, Watch};
pub use machine::{DEPTH_MAX, INTERRUPTIONS_MAX, OPENINGS_MAX, Options};
pub use process::{
    Captured, DRAIN, Finished, GRACE, HEAD_BYTES_MAX, Leader, Program, Stop, TAIL_BYTES_MAX,
    end_orphans, run as run_program,
};
pub use run::{AttemptId, End, Outcome, Phase, Report, Run, RunId, Try};
pub use set::{ContentHash, FlowEntry, FlowFile, FlowSet};
pub use span::{InvalidSpan, Span};
pub use task::{
    INHERITED, NewMemory, Surroundings, Task, Unready, WORD_BYTES_MAX, WORDS_BYTES_MAX,
};
pub use template::{InvalidTemplate, MissingKey, Reference, Template};
pub(crate) use waypost_events::{Event, Lineage};
pub use webhook::{Post, is_public};
