//! Reads a page: each frame separately, then merged.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Chromium;
use super::listen::Listening;
use super::world::World;
use crate::protocol::{ReadScope, Reference, TabId, stale};
use crate::summary::{ERRORS, Entry, Extract, Found, Room};
use crate::{Deadline, Problem};

/// The maximum number of frames that are read.
const FRAMES_MAX: usize = 32;
/// The maximum depth of nested frames.
const DEPTH_MAX: usize = 6;
/// Elements that are examined in a frame.
const NODES_MAX: u64 = 150_000;
/// Elements whose pointer style is queried: each query computes a style.
const POINTERS_MAX: u64 = 6_000;
/// The maximum time that our script works in a frame.
const WORK_MS: u64 = 400;
/// The time limit for finding the listeners in a frame.
const WORLD_TIME: Duration = Duration::from_millis(500);
/// The maximum number of messages of each kind that a page shows.
const MESSAGES_MAX: u64 = 20;
/// The maximum nesting depth of elements.
const NESTING_MAX: u64 = 400;

/// The lists of an extract that our scripts fill, by the names that these have there.
const LISTS: [&str; 5] = ["headings", "forms", "links", "tables", "controls"];

/// What our script finds in a frame, before it describes it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Survey {
    stale: bool,
    key: String,
    counts: HashMap<String, u64>,
    title: String,
    truncated: Option<String>,
    frames: Vec<Inner>,
    suspects: Vec<u64>,
    #[serde(skip)]
    listening: Listening,
}

/// What our script reports about a frame.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Read {
    stale: bool,
    lists: HashMap<String, Entries>,
    text: String,
    letters: u64,
    cut: bool,
    left: BTreeMap<String, u64>,
    truncated: Option<String>,
}

#[derive(Default, Deserialize)]
struct Entries {
    total: u64,
    kept: Vec<Found>,
    cut: bool,
}

#[derive(Deserialize)]
struct Inner {
    number: u64,
    selector: Option<String>,
}

/// The element that is read, and its document.
type Scope = Reference;

/// A page and its frames.
#[derive(Default)]
struct Page {
    frames: Vec<Surveyed>,
    /// The total counts, the title and the frames.
    counted: Extract,
}

/// A frame that can now be read.
struct Surveyed {
    next: Next,
    scope: Option<Scope>,
    /// Our script's key for its survey.
    key: String,
    /// What listens in it.
    listening: Listening,
}

/// A frame that is to be read.
struct Next {
    frame: String,
    /// The prefix of its selectors; `None` if there is no selector for it.
    hops: Option<String>,
    depth: usize,
}

impl Chromium {
    pub(crate) async fn read(
        &self,
        tab: TabId,
        reach: ReadScope,
        by: Deadline,
    ) -> Result<Extract, Problem> {
        let session = self.session(tab)?;
        self.call(Some(&session), "Page.bringToFront", json!({}), by).await?;
        let mut scope = None;
        let mut first = Next { frame: self.main_frame(tab)?, hops: Some(String::new()), depth: 0 };
        if let Some(target) = &reach.scope {
            let spot = self.locate(tab, target, by).await?;
            scope = Some(spot.reference());
            first.frame.clone_from(&spot.frame);
            first.hops = self.hops(tab, &spot.frame, by).await?;
        }
        let mut found = self.survey_page(tab, first, scope, &reach, by).await?;
        let mut room = Room::first(&reach, &found.counted);
        let mut extract = self.read_frames(tab, &found, &room, &reach, by).await?;
        if let Some(more) = room.more(&reach, &extract) {
            room = more;
            extract = self.read_frames(tab, &found, &room, &reach, by).await?;
        }
        extract.title = std::mem::take(&mut found.counted.title);
        extract.truncated = found.counted.truncated.take().or(extract.truncated);
        extract.frames = std::mem::take(&mut found.counted.frames);
        let state = self.shared.state.lock();
        let known = state.tab(tab)?;
        extract.url.clone_from(&known.url);
        extract.status = known.status_of_page();
        extract.loading = !known.is_loaded;
        let errors = known.errors.iter().map(|error| error.1.clone().into());
        extract.lists[ERRORS].entries.splice(0..0, errors);
        extract.lists[ERRORS].total = extract.lists[ERRORS].entries.len() as u64;
        extract.dialogs = known.dialogs.iter().cloned().collect();
        extract.downloads = known.downloads.iter().cloned().collect();
        Ok(extract)
    }

    /// Finds the content of a page and of the frames in it.
    async fn survey_page(
        &self,
        tab: TabId,
        first: Next,
        mut scope: Option<Scope>,
        reach: &ReadScope,
        by: Deadline,
    ) -> Result<Page, Problem> {
        let mut found = Page::default();
        let counted = &mut found.counted;
        let mut pending = vec![first];
        let mut frames = 0;
        while let Some(next) = pending.pop() {
            frames += 1;
            if frames > FRAMES_MAX {
                counted.truncated.get_or_insert_with(|| "frames".to_owned());
                break;
            }
            let scope = scope.take();
            let surveyed = self.survey_frame(tab, &next, scope, reach, by).await;
            let (survey, world) = match surveyed {
                Ok(surveyed) => surveyed,
                // A frame may disappear at any time; the page itself must be read.
                Err(_) if frames > 1 => continue,
                Err(problem) => return Err(problem),
            };
            let mut inside = Vec::new();
            for inner in survey.frames.iter().take(FRAMES_MAX) {
                let Some(frame) = self.frame_in(&world, inner.number, by).await? else { continue };
                let hops = next.hops.as_ref().zip(inner.selector.as_ref());
                let hops = hops.map(|(hops, own)| format!("{hops}{own} >>> "));
                if next.depth < DEPTH_MAX {
                    inside.push(Next { frame, hops, depth: next.depth + 1 });
                }
            }
            if frames > 1 {
                counted.frames.push(self.frame_info(tab, &next));
            } else {
                counted.title = survey.title;
            }
            pending.extend(inside.into_iter().rev());
            for (list, name) in counted.lists.iter_mut().zip(LISTS) {
                list.total += survey.counts.get(name).copied().unwrap_or_default();
            }
            counted.truncated = counted.truncated.take().or(survey.truncated);
            let Survey { key, listening, .. } = survey;
            found.frames.push(Surveyed { next, scope, key, listening });
        }
        Ok(found)
    }

    /// Surveys a frame, and again if it has closed shadow roots.
    async fn survey_frame(
        &self,
        tab: TabId,
        next: &Next,
        scope: Option<Scope>,
        reach: &ReadScope,
        by: Deadline,
    ) -> Result<(Survey, World), Problem> {
        // An unresponsive page is handled where it is queried.
        let listening = match self.world(tab, &next.frame, by.within(WORLD_TIME)).await {
            Ok(world) => self.listening(&world, by.within(WORLD_TIME)).await,
            Err(_) => Listening::default(),
        };
        let mut given = limits(scope, reach);
        given["listening"] = json!(listening);
        let given = json!([given]);
        let document = scope.map(|scope| scope.document);
        let mut rounds = 0;
        loop {
            rounds += 1;
            let asked = ("survey", given.clone());
            let (mut survey, world) =
                self.ask_of::<Survey>(tab, &next.frame, document, asked, by).await?;
            if let Some(scope) = scope.filter(|_| survey.stale) {
                return Err(stale(scope));
            }
            // Nested roots are discovered one after the other.
            if rounds > 3 || !self.adopt(&world, &survey.suspects, by).await? {
                survey.listening = listening;
                return Ok((survey, world));
            }
        }
    }

    /// Reads what was found, within the limits.
    async fn read_frames(
        &self,
        tab: TabId,
        found: &Page,
        room: &Room,
        reach: &ReadScope,
        by: Deadline,
    ) -> Result<Extract, Problem> {
        let mut extract = Extract::default();
        for (at, surveyed) in found.frames.iter().enumerate() {
            let Surveyed { next, scope, key, listening } = surveyed;
            let letters = extract.text.chars().count();
            let mut given = limits(*scope, reach);
            given["key"] = key.as_str().into();
            given["listening"] = json!(listening);
            given["characters"] = room.characters.saturating_sub(letters).into();
            given["most"] = json!({ "messages": MESSAGES_MAX, "invalid": MESSAGES_MAX });
            for (name, most) in LISTS.iter().zip(room.items) {
                given["most"][name] = most.into();
            }
            let document = scope.map(|scope| scope.document);
            let asked = ("read", json!([given]));
            match self.ask_of::<Read>(tab, &next.frame, document, asked, by).await {
                Ok((read, world)) => {
                    if let Some(scope) = scope.filter(|_| read.stale) {
                        return Err(stale(scope));
                    }
                    if at == 0 {
                        extract.document = world.document;
                    }
                    let present = self
                        .present((tab, &next.frame), &read, world.document, &reach.known, by)
                        .await;
                    extract.present.extend(present);
                    add(&mut extract, read, &world, next.hops.as_deref());
                }
                Err(_) if at > 0 => {}
                Err(problem) => return Err(problem),
            }
        }
        Ok(extract)
    }

    /// Those of the known elements of a frame that are visible, but not listed because a list was
    /// cut.
    async fn present(
        &self,
        (tab, frame): (TabId, &str),
        read: &Read,
        document: u64,
        known: &[Reference],
        by: Deadline,
    ) -> Vec<Reference> {
        let is_cut =
            LISTS[1..].iter().any(|name| read.lists.get(*name).is_some_and(|list| list.cut));
        let numbers: Vec<u64> = known
            .iter()
            .filter(|known| known.document == document)
            .map(|known| known.element)
            .collect();
        if !is_cut || numbers.is_empty() {
            return Vec::new();
        }
        let asked = ("present", json!([numbers]));
        let asked = self.ask_of::<Vec<u64>>(tab, frame, Some(document), asked, by).await;
        // Without an answer, none is known to be gone.
        let present = asked.map_or(numbers, |asked| asked.0);
        present.into_iter().map(|element| Reference { document, element }).collect()
    }

    /// The prefix of the selectors of a frame.
    pub(super) async fn hops(
        &self,
        tab: TabId,
        frame: &str,
        by: Deadline,
    ) -> Result<Option<String>, Problem> {
        let mut hops = String::new();
        let mut frame = frame.to_owned();
        while let Some((parent, number)) = self.owner(tab, &frame, by).await? {
            let (selector, _) =
                self.ask::<Option<String>>(tab, &parent, "selectorOf", json!([number]), by).await?;
            let Some(selector) = selector else { return Ok(None) };
            hops = format!("{selector} >>> {hops}");
            frame = parent;
        }
        Ok(Some(hops))
    }

    fn frame_info(&self, tab: TabId, next: &Next) -> Value {
        let state = self.shared.state.lock();
        let frames = state.tabs.get(&tab).map(|tab| &tab.frames);
        let url = frames.and_then(|frame| frame.get(&next.frame)).map(|it| it.url.as_str());
        let mut info = json!({ "url": url.unwrap_or_default() });
        if let Some(hops) = &next.hops {
            info["selector"] = hops.trim_end_matches(" >>> ").into();
        }
        info
    }
}

/// The limits of a reading.
fn limits(scope: Option<Scope>, reach: &ReadScope) -> Value {
    json!({
        "scope": scope.map(|it| it.element),
        "viewport": reach.viewport,
        "nodes": NODES_MAX,
        "pointers": POINTERS_MAX,
        "milliseconds": WORK_MS,
        "depth": NESTING_MAX,
    })
}

/// Adds the content of a frame.
fn add(extract: &mut Extract, mut read: Read, world: &World, hops: Option<&str>) {
    let mut entries = |name: &str| read.lists.remove(name).unwrap_or_default();
    for (list, name) in extract.lists.iter_mut().zip(LISTS) {
        let Entries { total, kept, cut } = entries(name);
        list.total += total;
        list.entries.extend(kept.into_iter().map(|kept| kept.entry(world.document, hops)));
        list.cut |= cut;
    }
    let errors = &mut extract.lists[ERRORS].entries;
    for message in ["messages", "invalid"].into_iter().flat_map(|name| entries(name).kept) {
        let error = message.entry(world.document, hops);
        let is_same = |entry: &Entry| entry.shown["text"] == error.shown["text"];
        if error.shown["text"] != "" && !errors.iter().any(is_same) {
            errors.push(error);
        }
    }
    if !extract.text.is_empty() && !read.text.is_empty() {
        extract.text.push('\n');
    }
    extract.text.push_str(&read.text);
    for (reason, count) in read.left {
        *extract.left.entry(reason).or_default() += count;
    }
    extract.letters += read.letters;
    extract.text_cut |= read.cut;
    extract.truncated = extract.truncated.take().or(read.truncated);
}
