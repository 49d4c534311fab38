//! Resolves a target to an element.

use serde::Deserialize;
use serde_json::json;

use super::Chromium;
use super::world::World;
use crate::protocol::{Reference, TabId, Target, stale};
use crate::{Deadline, Problem, ProblemKind, Selector};

/// An element that was found.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) frame: String,
    pub(super) world: World,
    pub(super) number: u64,
    /// How many elements the selector matches; this is the first visible one.
    pub(super) matches: u64,
}

impl Spot {
    pub(super) fn reference(&self) -> Reference {
        Reference { document: self.world.document, element: self.number }
    }
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    count: u64,
    number: Option<u64>,
    #[serde(default)]
    rest: usize,
    invalid: Option<String>,
    closed: Option<u64>,
    step: Option<String>,
}

impl Chromium {
    pub(super) async fn locate(
        &self,
        tab: TabId,
        target: &Target,
        by: Deadline,
    ) -> Result<Spot, Problem> {
        match target {
            Target::Ref(reference) => self.locate_reference(tab, *reference, by).await,
            Target::Selector(selector) => self.locate_selector(tab, selector, by).await,
        }
    }

    async fn locate_reference(
        &self,
        tab: TabId,
        reference: Reference,
        by: Deadline,
    ) -> Result<Spot, Problem> {
        let frame = {
            let state = self.shared.state.lock();
            let known = state.tab(tab)?;
            let mut frames = known.frames.iter();
            let has_it = |of: &super::state::Frame| {
                of.context.is_some_and(|context| context.1 == reference.document)
            };
            frames.find(|frame| has_it(frame.1)).map(|frame| frame.0.clone())
        };
        let frame = frame.ok_or_else(|| stale(reference))?;
        let asked = ("knows", json!([reference.element]));
        let document = Some(reference.document);
        let (is_there, world) = self.ask_of::<bool>(tab, &frame, document, asked, by).await?;
        if !is_there {
            return Err(stale(reference));
        }
        Ok(Spot { frame, world, number: reference.element, matches: 1 })
    }

    async fn locate_selector(
        &self,
        tab: TabId,
        selector: &Selector,
        by: Deadline,
    ) -> Result<Spot, Problem> {
        let mut frame = self.main_frame(tab)?;
        let mut steps = selector.steps();
        loop {
            let given = json!([steps]);
            let (found, world) = self.ask::<Found>(tab, &frame, "find", given, by).await?;
            let step = found.step.unwrap_or_default();
            if let Some(why) = found.invalid {
                let detail = format!("selector: `{step}` is not valid CSS: {why}");
                return Err(Problem::invalid(detail));
            }
            if let Some(host) = found.closed {
                if self.adopt(&world, &[host], by).await? {
                    continue;
                }
                let detail = format!("selector: `{step}` is neither a frame nor has a shadow root");
                return Err(Problem::new(ProblemKind::NotFound, detail));
            }
            let Some(number) = found.number else {
                let detail =
                    format!("selector: no element matches `{step}`; `read` lists the elements");
                return Err(Problem::new(ProblemKind::NotFound, detail));
            };
            if found.rest == 0 {
                return Ok(Spot { frame, world, number, matches: found.count });
            }
            let inside = self.frame_in(&world, number, by).await?;
            frame = inside.ok_or_else(|| {
                let detail = format!("selector: the frame `{step}` has no page");
                Problem::new(ProblemKind::NotFound, detail)
            })?;
            steps = &steps[steps.len() - found.rest..];
        }
    }

    pub(super) fn main_frame(&self, tab: TabId) -> Result<String, Problem> {
        let state = self.shared.state.lock();
        let known = state.tab(tab)?;
        if known.session.is_none() {
            return Err(super::crashed());
        }
        Ok(known.main.clone())
    }
}
