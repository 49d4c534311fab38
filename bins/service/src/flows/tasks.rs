//! What the service does for each task of an action, and what it says that it would do.

use std::sync::Arc;
use std::time::Instant;

use waypost_api as api;
use waypost_events::Bus;
use waypost_flows::{Attempt, Outcome, Program, Report, Task};
use waypost_memory::{Addition, Draft, RequestKey, Store};

use super::actions::failed;
use super::post::post;
use crate::clock::now;
use crate::error::chain;
use crate::events::wire_data;
use crate::memory::publisher::{About, Publisher};
use crate::model::EmbeddingModel;

/// What actions write to.
#[derive(Debug)]
pub(crate) struct Targets {
    pub(crate) store: Arc<Store>,
    pub(crate) events: Arc<Bus>,
    pub(crate) publisher: Arc<Publisher>,
    pub(crate) model: Arc<EmbeddingModel>,
}

impl Targets {
    /// Does what a task says; its caller knows how to run a program.
    pub(super) fn perform(
        &self,
        task: Task,
        attempt: &Attempt,
        run: impl FnOnce(&Program) -> Report,
    ) -> Report {
        let started = Instant::now();
        let mut report = match task {
            Task::Run(program) => return run(&program),
            Task::Publish { kind, data } => {
                match self.events.publish(attempt.draft(kind, data), now()) {
                    Ok(published) => done(format!("event {}", published.event.id)),
                    Err(error) => failed(chain(&error)),
                }
            }
            Task::AddMemory(it) => {
                let mut draft = Draft::new(it.content).with_tags(it.tags);
                draft.title = it.title;
                draft.kind = it.kind;
                draft.space = it.space;
                // After a kill, the action is carried out again.
                let key = RequestKey::new("flows", &attempt.idempotency_key, &[]);
                let note = self.publisher.note(&attempt.lineage, About::Memory);
                match self.store.add(Addition::from(draft).with_note(note).with_key(key), now()) {
                    Ok(added) => {
                        self.model.embed_soon();
                        done(format!("memory {}", added.memory().id))
                    }
                    Err(error) => failed(chain(&error)),
                }
            }
            Task::Post(it) => post(&it, now()),
        };
        report.took_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        report
    }
}

/// What a task would do.
pub(crate) fn planned(task: Task) -> api::PlannedAction {
    let mut planned = api::PlannedAction::default();
    match task {
        Task::Run(it) => {
            planned.program = Some(api::PlannedProgram {
                path: it.path.display().to_string(),
                arguments: it.arguments,
                variables: it.variables.into_iter().collect(),
                folder: it.folder.display().to_string(),
            });
        }
        Task::Publish { kind, data } => {
            let (kind, data) = (kind.to_string(), wire_data(&data));
            planned.event = Some(api::PublishRequest { kind, data });
        }
        Task::AddMemory(it) => {
            planned.memory = Some(api::AddRequest {
                content: it.content,
                title: it.title,
                kind: it.kind,
                tags: it.tags,
                space: it.space,
                ..api::AddRequest::default()
            });
        }
        Task::Post(it) => {
            let signed = it.secret.is_some();
            planned.post = Some(api::PlannedPost { url: it.url, body: it.body, signed });
        }
    }
    planned
}

fn done(detail: String) -> Report {
    Report::new(Outcome::Succeeded, detail)
}
