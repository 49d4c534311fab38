//! The results of calls, and why calls fail.

use rmcp::model::{CallToolResult, ContentBlock, JsonObject};
use serde_json::{Value, json};
use waypost_api::{FieldError, Lines, Problem, ProblemKind, visible};

use super::arguments;
use super::text::{PAGE_NOTICE, fenced};

/// The result of a call: the same for models (text) and for programs.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) structured: Value,
}

impl Answer {
    /// The same with what is missing from it, after the text.
    pub(super) fn with_notes(mut self, notes: &[String]) -> Self {
        if !notes.is_empty() {
            let note = notes.join(" ");
            self.text.push('\n');
            self.text.push_str(&note);
            self.structured["note"] = note.into();
        }
        self
    }
}

/// Why a call failed, and what would be right.
#[derive(Debug)]
pub(super) struct Failure {
    problem: Box<Problem>,
    remedy: Option<String>,
}

impl From<crate::http::failure::Failure> for Failure {
    fn from(failure: crate::http::failure::Failure) -> Self {
        let remedy = failure.problem.known_kind().and_then(remedy).map(str::to_owned);
        Self { problem: failure.problem, remedy }
    }
}

impl Failure {
    /// Invalid arguments.
    pub(super) fn arguments(errors: Vec<FieldError>, schema: &JsonObject) -> Self {
        let valid = arguments::valid(schema);
        let remedy = (!valid.is_empty()).then(|| format!("valid arguments: {}", valid.join(", ")));
        Self { problem: Box::new(Problem::fields(errors)), remedy }
    }

    /// One invalid argument.
    pub(super) fn argument(name: &str, message: impl Into<String>, schema: &JsonObject) -> Self {
        let error = FieldError { pointer: format!("/{name}"), message: message.into() };
        Self::arguments(vec![error], schema)
    }

    /// The same, with what happened before it failed.
    pub(super) fn after(mut self, what: &str) -> Self {
        self.problem.detail = format!("{what}: {}", self.problem.detail);
        self
    }

    /// Whether what was asked for does not exist.
    pub(super) fn is_not_found(&self) -> bool {
        self.problem.status == 404
    }

    /// What is wrong.
    pub(super) fn what(&self) -> String {
        visible(&self.problem.detail, Lines::Fold).into_owned()
    }

    /// What would be right.
    pub(super) fn remedy(&self) -> Option<&str> {
        self.remedy.as_deref()
    }
}

/// What to do about a problem, if its detail does not say so. Models pass it on to the user.
fn remedy(kind: ProblemKind) -> Option<&'static str> {
    Some(match kind {
        ProblemKind::TokenMissing | ProblemKind::TokenRefused => {
            "ask the user for a valid token; `ctl token create` creates one"
        }
        ProblemKind::ScopeMissing => {
            "ask the user for a token with that scope: `ctl token create --scope SCOPE`"
        }
        ProblemKind::SpaceBound => "omit `space`, or ask the user for a token for that space",
        ProblemKind::NoModel => "search again later, or ask the user to run `ctl model pull`",
        _ => return None,
    })
}

impl From<Answer> for CallToolResult {
    fn from(answer: Answer) -> Self {
        let mut result = Self::success(vec![ContentBlock::text(answer.text)]);
        result.structured_content = Some(answer.structured);
        result
    }
}

impl From<Failure> for CallToolResult {
    fn from(failure: Failure) -> Self {
        let what = failure.what();
        let Failure { problem, remedy } = failure;
        let mut text = if problem.browser_kind().is_some() {
            format!("error of the browser. {PAGE_NOTICE}\n{}", fenced("error", &what))
        } else {
            format!("error: {what}")
        };
        let mut structured = json!({ "error": what, "status": problem.status });
        if !problem.errors.is_empty() {
            structured["errors"] = json!(problem.errors);
        }
        if let Some(remedy) = remedy {
            text.push_str("\nremedy: ");
            text.push_str(&remedy);
            structured["remedy"] = remedy.into();
        }
        let mut result = Self::error(vec![ContentBlock::text(text)]);
        result.structured_content = Some(structured);
        result
    }
}
