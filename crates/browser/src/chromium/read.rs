//! Reading a page: every frame by itself, and then as one.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use super::world::World;
use super::{Chromium, world};
use crate::engine::{Reach, Reference, TabId};
use crate::summary::{
    Control, Extract, Form, FrameInfo, Heading, Link, Listing, Message, PageError, Table,
};
use crate::{Deadline, Problem};

/// Frames that are read, however many there are.
const FRAMES_MAX: usize = 32;
/// Frames inside frames.
const DEPTH_MAX: usize = 6;
/// Elements that are looked at in a frame.
const NODES_MAX: u64 = 150_000;
/// Elements that are asked for their pointer: it costs a style each.
const POINTERS_MAX: u64 = 6_000;
/// How long our script works in a frame, at most.
const WORK_MS: u64 = 400;
/// Elements inside elements.
const NESTING_MAX: u64 = 400;

/// What our script says of a frame.
#[derive(Deserialize)]
struct Read {
    #[serde(default)]
    stale: bool,
    #[serde(default)]
    title: String,
    #[serde(default)]
    headings: Listing<Heading>,
    #[serde(default)]
    forms: Listing<Form>,
    #[serde(default)]
    links: Listing<Link>,
    #[serde(default)]
    tables: Listing<Table>,
    #[serde(default)]
    controls: Listing<Control>,
    #[serde(default)]
    messages: Listing<Message>,
    #[serde(default)]
    invalid: Listing<Message>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    left: BTreeMap<String, u64>,
    truncated: Option<String>,
    #[serde(default)]
    elements: u64,
    #[serde(default)]
    frames: Vec<Inner>,
    #[serde(default)]
    suspects: Vec<u64>,
}

#[derive(Deserialize)]
struct Inner {
    number: u64,
    selector: Option<String>,
}

/// A frame that is to be read.
struct Next {
    frame: String,
    /// What its selectors begin with; nothing if there is no selector for it.
    hops: Option<String>,
    depth: usize,
}

impl Chromium {
    pub(super) async fn read_page(
        &self,
        tab: TabId,
        reach: Reach,
        by: Deadline,
    ) -> Result<Extract, Problem> {
        let session = self.session(tab)?;
        self.command(&session, "Page.bringToFront", json!({}), by).await?;
        let mut extract = Extract::default();
        let mut scope = None;
        let mut first = Next { frame: self.main_frame(tab)?, hops: Some(String::new()), depth: 0 };
        if let Some(target) = &reach.scope {
            let spot = self.locate(tab, target, by).await?;
            scope = Some((spot.number, spot.world.document));
            first.frame.clone_from(&spot.frame);
            first.hops = self.hops(tab, &spot.frame, by).await?;
        }
        let mut pending = vec![first];
        let mut frames = 0;
        while let Some(next) = pending.pop() {
            frames += 1;
            if frames > FRAMES_MAX {
                extract.truncated.get_or_insert_with(|| "frames".to_owned());
                break;
            }
            let read = self.read_frame(tab, &next, scope.take(), &reach, by).await;
            let (read, world) = match read {
                Ok(read) => read,
                // A frame may go at any time; the page itself must be read.
                Err(_) if frames > 1 => continue,
                Err(problem) => return Err(problem),
            };
            let mut inside = Vec::new();
            for inner in read.frames.iter().take(FRAMES_MAX) {
                let Some(frame) = self.frame_in(&world, inner.number, by).await? else { continue };
                let hops = next.hops.as_ref().zip(inner.selector.as_ref());
                let hops = hops.map(|(hops, own)| format!("{hops}{own} >>> "));
                if next.depth < DEPTH_MAX {
                    inside.push(Next { frame, hops, depth: next.depth + 1 });
                }
            }
            if frames > 1 {
                extract.frames.push(self.frame_info(tab, &next));
            } else {
                extract.title.clone_from(&read.title);
            }
            pending.extend(inside.into_iter().rev());
            add(&mut extract, read, &world, next.hops.as_deref());
        }
        let state = self.shared.state.lock();
        let known = state.tabs.get(&tab).ok_or_else(|| world::no_tab(tab))?;
        extract.url.clone_from(&known.url);
        extract.status = known.status_of_page();
        extract.loading = !known.is_loaded;
        let shown = known.shown();
        extract.errors.splice(0..0, shown.errors);
        extract.dialogs = shown.dialogs;
        extract.downloads = shown.downloads;
        Ok(extract)
    }

    /// Reads a frame, and once more if closed shadow roots were found in it.
    async fn read_frame(
        &self,
        tab: TabId,
        next: &Next,
        scope: Option<(u64, u64)>,
        reach: &Reach,
        by: Deadline,
    ) -> Result<(Read, World), Problem> {
        let given = json!([{
            "scope": scope.map(|it| it.0),
            "viewport": reach.viewport,
            "items": reach.items_max,
            "characters": reach.characters_max,
            "nodes": NODES_MAX,
            "pointers": POINTERS_MAX,
            "milliseconds": WORK_MS,
            "depth": NESTING_MAX,
        }]);
        let document = scope.map(|it| it.1);
        let mut rounds = 0;
        loop {
            rounds += 1;
            let asked = ("read", given.clone());
            let (read, world) = self.ask_of::<Read>(tab, &next.frame, document, asked, by).await?;
            if read.stale {
                let (element, document) = scope.unwrap_or_default();
                return Err(super::locate::stale(Reference { document, element }));
            }
            // Roots inside of roots come to light one after the other.
            if rounds > 3 || !self.adopt(&world, &read.suspects, by).await? {
                return Ok((read, world));
            }
        }
    }

    /// What the selectors of a frame begin with.
    pub(super) async fn hops(
        &self,
        tab: TabId,
        frame: &str,
        by: Deadline,
    ) -> Result<Option<String>, Problem> {
        let mut hops = String::new();
        let mut frame = frame.to_owned();
        while let Some((parent, number)) = self.owner(tab, &frame, by).await? {
            let given = json!([[number]]);
            let (selectors, _) =
                self.ask::<Vec<Option<String>>>(tab, &parent, "selectorsOf", given, by).await?;
            let Some(Some(selector)) = selectors.into_iter().next() else { return Ok(None) };
            hops = format!("{selector} >>> {hops}");
            frame = parent;
        }
        Ok(Some(hops))
    }

    fn frame_info(&self, tab: TabId, next: &Next) -> FrameInfo {
        let state = self.shared.state.lock();
        let frames = state.tabs.get(&tab).map(|it| &it.frames);
        let url = frames.and_then(|it| it.get(&next.frame)).map(|it| it.url.clone());
        let selector = next.hops.as_ref().map(|it| it.trim_end_matches(" >>> ").to_owned());
        FrameInfo { url: url.unwrap_or_default(), selector }
    }
}

/// Adds what a frame holds.
fn add(extract: &mut Extract, read: Read, world: &World, hops: Option<&str>) {
    let mut new = Extract {
        headings: read.headings,
        forms: read.forms,
        links: read.links,
        tables: read.tables,
        controls: read.controls,
        ..Extract::default()
    };
    let mut messages: Vec<Message> = read.messages.kept;
    messages.extend(read.invalid.kept);
    for place in new.places_mut().chain(messages.iter_mut().map(|it| &mut it.place)) {
        place.reference = Reference { document: world.document, element: place.number }.to_string();
        place.selector = place.selector.take().zip(hops).map(|(own, hops)| format!("{hops}{own}"));
    }
    extract.headings.append(new.headings);
    extract.forms.append(new.forms);
    extract.links.append(new.links);
    extract.tables.append(new.tables);
    extract.controls.append(new.controls);
    for message in messages.into_iter().filter(|it| !it.text.is_empty()) {
        let error = PageError::of(message);
        if !extract.errors.iter().any(|it| it.text == error.text) {
            extract.errors.push(error);
        }
    }
    if !extract.text.is_empty() && !read.text.is_empty() {
        extract.text.push('\n');
    }
    extract.text.push_str(&read.text);
    for (reason, count) in read.left {
        *extract.left.entry(reason).or_default() += count;
    }
    extract.truncated = extract.truncated.take().or(read.truncated);
    extract.elements += read.elements;
}
