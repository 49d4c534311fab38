//! The results of calls, and why calls fail.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};
use waypost_api::{FieldError, Lines, Problem, ProblemKind, visible};

use crate::service::Unavailable;
use crate::text::{PAGE_NOTICE, fenced};

/// The result of a call: the same for models (text) and for programs.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) structured: Value,
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments are invalid.
    Arguments { errors: Vec<FieldError>, valid: Vec<String> },
    /// The service refused the request.
    Refused(Box<Problem>),
    /// No service responded.
    Unavailable(Unavailable),
}

impl From<Unavailable> for Failure {
    fn from(it: Unavailable) -> Self {
        Self::Unavailable(it)
    }
}

impl Failure {
    /// One invalid argument.
    pub(crate) fn argument(name: &str, message: impl Into<String>, valid: Vec<String>) -> Self {
        let error = FieldError { pointer: format!("/{name}"), message: message.into() };
        Self::Arguments { errors: vec![error], valid }
    }

    /// The same, with what happened before it failed.
    pub(crate) fn after(mut self, what: &str) -> Self {
        match &mut self {
            Self::Arguments { .. } => {}
            Self::Refused(problem) => problem.detail = format!("{what}: {}", problem.detail),
            Self::Unavailable(it) => it.what = format!("{what}: {}", it.what),
        }
        self
    }

    /// Whether what was asked for does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(problem) if problem.status == 404)
    }

    /// What is wrong.
    pub(crate) fn what(&self) -> String {
        let what = match self {
            Self::Arguments { errors, .. } => Problem::fields(errors.clone()).detail,
            Self::Refused(problem) => problem.detail.clone(),
            Self::Unavailable(it) => it.what.clone(),
        };
        visible(&what, Lines::Fold).into_owned()
    }

    /// What would be right.
    pub(crate) fn remedy(&self) -> Option<String> {
        match self {
            Self::Arguments { valid, .. } if valid.is_empty() => None,
            Self::Arguments { valid, .. } => Some(format!("valid arguments: {}", valid.join(", "))),
            Self::Refused(problem) => problem.known_kind().and_then(remedy).map(str::to_owned),
            Self::Unavailable(it) => {
                it.remedy.as_deref().map(|it| visible(it, Lines::Fold).into_owned())
            }
        }
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
    fn from(it: Answer) -> Self {
        let mut result = Self::success(vec![ContentBlock::text(it.text)]);
        result.structured_content = Some(it.structured);
        result
    }
}

impl From<Failure> for CallToolResult {
    fn from(it: Failure) -> Self {
        let (what, remedy) = (it.what(), it.remedy());
        let mut text = match &it {
            Failure::Refused(problem) if problem.browser_kind().is_some() => {
                format!("error of the browser. {PAGE_NOTICE}\n{}", fenced("error", &what))
            }
            _ => format!("error: {what}"),
        };
        let mut structured = json!({ "error": what });
        if let Failure::Arguments { errors, .. } = &it {
            structured["errors"] = json!(errors);
        }
        if let Failure::Refused(problem) = &it {
            structured["status"] = json!(problem.status);
        }
        if let Some(remedy) = remedy {
            text.push_str("\nremedy: ");
            text.push_str(&remedy);
            structured["remedy"] = json!(remedy);
        }
        let mut result = Self::error(vec![ContentBlock::text(text)]);
        result.structured_content = Some(structured);
        result
    }
}
