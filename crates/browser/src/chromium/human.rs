//! What is under a pointer, and the evidence of a login.

use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use url::Url;

use super::Chromium;
use crate::protocol::{Condition, ElementState, Evidence, Hit, TabId, Target};
use crate::{Deadline, Problem, ProblemKind};

use super::act::Brief;

/// A page without traffic for this long is idle.
const QUIET: Duration = Duration::from_millis(500);
/// Frames that are checked for a login.
const FRAMES_MAX: usize = 8;
/// The depth of nested frames to which a pointer is followed.
const DEPTH_MAX: usize = 8;

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
struct Found {
    nothing: bool,
    frame: Option<u64>,
    x: Option<f64>,
    y: Option<f64>,
    element: Brief,
    secret: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is one thing that is seen or not")]
struct Seen {
    ready: bool,
    password_fields: u64,
    logout: bool,
    secret_focused: bool,
    secret_revealed: bool,
}

impl Chromium {
    pub(crate) async fn hit(
        &self,
        tab: TabId,
        place: Option<(f64, f64)>,
        by: Deadline,
    ) -> Result<Option<Hit>, Problem> {
        let mut frame = self.main_frame(tab)?;
        let mut place = place;
        let mut hops = String::new();
        for _ in 0..DEPTH_MAX {
            let (name, given) = match place {
                Some((x, y)) => ("hit", json!([x, y])),
                None => ("focused", json!([])),
            };
            let (found, world) = self.ask::<Found>(tab, &frame, name, given, by).await?;
            if found.nothing {
                return Ok(None);
            }
            let Some(number) = found.frame else {
                let mut element = found.element;
                element.selector.insert_str(0, &hops);
                return Ok(Some(Hit { element: element.into(), secret: found.secret }));
            };
            let (selector, _) =
                self.ask::<Option<String>>(tab, &frame, "selectorOf", json!([number]), by).await?;
            let Some(inside) = self.frame_in(&world, number, by).await? else { return Ok(None) };
            if let Some(selector) = selector {
                hops.extend([&selector, " >>> "]);
            }
            frame = inside;
            place = match (place, found.x.zip(found.y)) {
                (None, _) => None,
                (Some(_), Some(inner)) => Some(inner),
                // The content is unknown: no other place is used instead.
                (Some(_), None) => return Ok(None),
            };
        }
        Ok(None)
    }

    pub(crate) async fn evidence(&self, tab: TabId, by: Deadline) -> Result<Evidence, Problem> {
        let (frames, url, session, document) = {
            let state = self.shared.state.lock();
            let known = state.tab(tab)?;
            let session = known.session.clone().ok_or_else(super::crashed)?;
            let others = known.frames.keys().filter(|key| **key != known.main).take(FRAMES_MAX);
            let frames: Vec<String> = std::iter::once(&known.main).chain(others).cloned().collect();
            (frames, known.url.clone(), session, known.counts.commits)
        };
        let mut evidence = Evidence { ready: true, document, ..Evidence::default() };
        for (at, frame) in frames.iter().enumerate() {
            let seen = match self.ask::<Seen>(tab, frame, "evidence", json!([]), by).await {
                Ok((seen, _)) => seen,
                // A frame may disappear at any time; the page itself must respond.
                Err(_) if at > 0 => continue,
                Err(problem) => return Err(problem),
            };
            evidence.ready &= seen.ready;
            evidence.password_fields += seen.password_fields;
            evidence.logout |= seen.logout;
            evidence.secret_focused |= seen.secret_focused;
            evidence.secret_revealed |= seen.secret_revealed;
        }
        if let Ok(url) = Url::parse(&url) {
            evidence.origin = url.origin().ascii_serialization();
        }
        let params = json!({ "urls": [url] });
        let answer = self.call(Some(&session), "Network.getCookies", params, by).await?;
        let mut cookies: Vec<String> = Vec::new();
        for cookie in answer["cookies"].as_array().into_iter().flatten() {
            evidence.guarded_cookies += u64::from(cookie["httpOnly"] == true);
            let part = |name: &str| cookie[name].as_str().unwrap_or_default().to_owned();
            cookies.push([part("name"), part("domain"), part("path"), part("value")].join("\0"));
        }
        cookies.sort_unstable();
        evidence.cookies = self.key.digest(&cookies);
        Ok(evidence)
    }

    pub(crate) async fn holds(
        &self,
        tab: TabId,
        condition: &Condition,
        by: Deadline,
    ) -> Result<bool, Problem> {
        match condition {
            Condition::NetworkIdle => self.is_idle(tab, QUIET),
            Condition::Url(part) => {
                let state = self.shared.state.lock();
                let known = state.tab(tab)?;
                Ok(known.url.contains(part))
            }
            Condition::Text(text) => {
                let frames: Vec<String> = {
                    let state = self.shared.state.lock();
                    let known = state.tab(tab)?;
                    known.frames.keys().cloned().collect()
                };
                for frame in frames {
                    let asked = self.ask::<bool>(tab, &frame, "hasText", json!([text]), by).await;
                    if asked.is_ok_and(|asked| asked.0) {
                        return Ok(true);
                    }
                }
                self.session(tab).map(|_| false)
            }
            Condition::Element(selector, state) => {
                let found = self.locate(tab, &Target::Selector(selector.clone()), by).await;
                let spot = match found {
                    Err(problem) if problem.kind == ProblemKind::NotFound => {
                        return Ok(*state == ElementState::Hidden);
                    }
                    found => found?,
                };
                if *state == ElementState::Attached {
                    return Ok(true);
                }
                let given = json!([spot.number]);
                let (is_shown, _) = self.ask::<bool>(tab, &spot.frame, "shows", given, by).await?;
                Ok(is_shown == (*state == ElementState::Visible))
            }
        }
    }
}
