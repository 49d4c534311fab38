//! Resources: a memory, and the context of a task.

use percent_encoding::percent_decode_str;
use rmcp::model::{ErrorData, ResourceContents, ResourceTemplate};
use waypost_api::{Check, ContextRequest, Faults, Problem, Scope, TokenGrants, parse_id};

use super::asker::Asker;
use super::outcome::{Answer, Failure};
use super::text::{RESULT_TOKENS, RESULT_TOKENS_MAX};
use super::tools::{render_context, render_memories};

const MEMORY: &str = "waypost://memory/";
const CONTEXT: &str = "waypost://context/";

/// The kinds of resources that the token can read.
pub(super) fn templates(grants: &TokenGrants) -> Vec<ResourceTemplate> {
    let memory = ResourceTemplate::new(format!("{MEMORY}{{id}}"), "memory")
        .with_title("A memory")
        .with_description("A stored memory with its metadata and links");
    let context = ResourceTemplate::new(format!("{CONTEXT}{{task}}"), "context")
        .with_title("Context for a task")
        .with_description("What matters in the project for a task, in its own words");
    [(Scope::MemoryRead, memory), (Scope::ContextRead, context)]
        .into_iter()
        .filter(|(scope, _)| grants.allows(*scope))
        .map(|(_, template)| template.with_mime_type("text/markdown"))
        .collect()
}

/// The contents of a resource.
pub(super) async fn read(asker: &Asker, uri: &str) -> Result<ResourceContents, ErrorData> {
    let found = if let Some(id) = uri.strip_prefix(MEMORY) {
        let id = parse_id(id).map_err(|error| not_found(uri, &error.detail))?;
        asker.require(Scope::MemoryRead).map_err(|error| refused(uri, error.into()))?;
        let budget = usize::try_from(RESULT_TOKENS_MAX).unwrap_or(RESULT_TOKENS);
        render_memories(asker, vec![id], 0, budget).await
    } else if let Some(task) = uri.strip_prefix(CONTEXT) {
        let task = percent_decode_str(task).decode_utf8();
        let task = task.map_err(|_| not_found(uri, "the task is not UTF-8"))?;
        let asked = ContextRequest {
            query: Some(task.into_owned()),
            max_items: Some(12),
            max_tokens: Some(RESULT_TOKENS as u64),
            ..ContextRequest::default()
        };
        let mut faults = Faults::of_body();
        asked.check(&mut faults);
        let faults = faults.into_vec();
        if !faults.is_empty() {
            return Err(not_found(uri, &Problem::fields(faults).detail));
        }
        asker.require(Scope::ContextRead).map_err(|error| refused(uri, error.into()))?;
        render_context(asker, asked).await
    } else {
        let why = format!("resources are {MEMORY}ID and {CONTEXT}TASK");
        return Err(not_found(uri, &why));
    };
    let Answer { text, .. } = found.map_err(|error| refused(uri, error))?;
    Ok(ResourceContents::text(text, uri).with_mime_type("text/markdown"))
}

#[expect(clippy::needless_pass_by_value, reason = "it maps an error")]
fn refused(uri: &str, failure: Failure) -> ErrorData {
    let mut what = failure.what();
    if let Some(remedy) = failure.remedy() {
        what = format!("{what}; {remedy}");
    }
    if failure.is_not_found() {
        not_found(uri, &what)
    } else {
        ErrorData::internal_error(what, None)
    }
}

fn not_found(uri: &str, why: &str) -> ErrorData {
    let uri: String = uri.chars().take(200).collect();
    ErrorData::resource_not_found(why.to_owned(), Some(serde_json::json!({ "uri": uri })))
}
