//! Draws the view: our scripts in the page and in its visible frames report what is there, and it
//! is painted here.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::json;

use super::Chromium;
use super::setup::metrics;
use super::world::World;
use crate::frame::{Op, Painter, Pane};
use crate::protocol::{Reference, TabId};
use crate::{
    Area, Color, Deadline, Focus, Frame, FrameTarget, Problem, ProblemKind, Scrolled, Seen,
    TargetKind, View, clean_line,
};

/// How long to watch the page for a change before reporting that there was none.
const HOLD_MS: u64 = 500;
/// The same when frames of other documents are visible: they are queried again each time.
const HOLD_INNER_MS: u64 = 120;
/// The maximum number of frames that are drawn, and their maximum depth.
const FRAMES_MAX: usize = 8;
const DEPTH_MAX: usize = 3;

/// A request to a document.
#[derive(Clone, Copy)]
struct Ask {
    /// The version that was seen last, or 0.
    since: u64,
    /// How long to wait for a newer version, in milliseconds.
    hold: u64,
    /// Return it even if it is unchanged.
    again: bool,
}

/// The response of our script.
#[derive(Deserialize)]
struct Answer {
    version: u64,
    /// A [`Drawn`], as JSON.
    drawn: String,
}

#[derive(Deserialize)]
struct Drawn {
    ops: Vec<Op>,
    /// The background colour of the page.
    back: u32,
    title: String,
    targets: Vec<Target>,
    caret: Option<(f64, f64)>,
    focus: Option<Focus>,
    /// The element whose inner page has the focus.
    inner: Option<u64>,
    scroll: Scrolled,
}

#[derive(Deserialize)]
struct Target {
    kind: TargetKind,
    number: u64,
    #[serde(default)]
    options: Vec<String>,
}

/// A page or a frame in it.
struct Part {
    drawn: Drawn,
    world: World,
    depth: usize,
    /// Maps an element to the part inside it.
    inner: HashMap<u64, usize>,
}

/// The focus, in view coordinates.
#[derive(Default)]
struct Attention {
    caret: Option<(f64, f64)>,
    focus: Option<Focus>,
}

impl Chromium {
    pub(crate) async fn frame(
        &self,
        tab: TabId,
        view: View,
        seen: Option<Seen>,
        by: Deadline,
    ) -> Result<Option<Frame>, Problem> {
        self.fit(tab, view, by).await?;
        let seen = seen.filter(|seen| seen.view == view);
        let has_inner = seen.is_some_and(|seen| seen.has_inner);
        let since = seen.map_or(0, |seen| seen.version);
        let hold = if has_inner { HOLD_INNER_MS } else { HOLD_MS };
        self.compose(tab, view, Ask { since, hold, again: has_inner }, by).await
    }

    /// The current view, whether or not it was seen.
    pub(super) async fn draw_now(
        &self,
        tab: TabId,
        seen: Seen,
        by: Deadline,
    ) -> Result<Option<Frame>, Problem> {
        let ask = Ask { since: seen.version, hold: 0, again: true };
        self.compose(tab, seen.view, ask, by).await
    }

    async fn compose(
        &self,
        tab: TabId,
        view: View,
        ask: Ask,
        by: Deadline,
    ) -> Result<Option<Frame>, Problem> {
        let frame = self.main_frame(tab)?;
        let Some((version, first)) = self.draw_part(tab, &frame, view, ask, by).await? else {
            return Ok(None);
        };
        let parts = self.draw_inner(tab, view, first, by).await?;
        let main = &parts[0].drawn;
        if let Some(tab) = self.shared.state.lock().tabs.get_mut(&tab) {
            // Chromium's title may still be that of the previous page.
            tab.title.clone_from(&main.title);
        }
        let mut painter =
            Painter::new(view, view.cell(), Color::over(main.back, Color(255, 255, 255)));
        let (width, height) = view.cell();
        let clip = Area {
            left: 0.0,
            top: 0.0,
            right: f64::from(view.columns()) * width,
            bottom: f64::from(view.rows()) * height,
        };
        let mut attention = Attention::default();
        self.paint(&mut painter, &parts, 0, (0.0, 0.0, clip), Some(&mut attention));
        let stamp = (version, parts.len() > 1);
        Ok(Some(painter.finish(stamp, attention.caret, attention.focus, main.scroll)))
    }

    /// Lays the page out for the view.
    async fn fit(&self, tab: TabId, view: View, by: Deadline) -> Result<(), Problem> {
        let pixels = view.pixels();
        if self.shared.state.lock().tab(tab)?.view == Some(pixels) {
            return Ok(());
        }
        let session = self.session(tab)?;
        self.call(Some(&session), "Page.bringToFront", json!({}), by).await?;
        let hidden = json!({ "hidden": true });
        self.call(Some(&session), "Emulation.setScrollbarsHidden", hidden, by).await?;
        self.call(Some(&session), "Emulation.setDeviceMetricsOverride", metrics(pixels), by)
            .await?;
        if let Some(tab) = self.shared.state.lock().tabs.get_mut(&tab) {
            tab.view = Some(pixels);
        }
        Ok(())
    }

    /// Queries one document. Returns nothing if it is unchanged.
    async fn draw_part(
        &self,
        tab: TabId,
        frame: &str,
        view: View,
        Ask { since, hold, again }: Ask,
        by: Deadline,
    ) -> Result<Option<(u64, Part)>, Problem> {
        let (width, height) = view.cell();
        let given = json!([{
            "cell": [width, height],
            "since": since,
            "hold": hold,
            "again": again,
            "pictures": view.pictures(),
        }]);
        let (answer, world) = self.ask::<Option<Answer>>(tab, frame, "frame", given, by).await?;
        let Some(Answer { version, drawn }) = answer else { return Ok(None) };
        let drawn = serde_json::from_str(&drawn).map_err(|error| {
            let detail = format!("cannot read what the page draws: {error}");
            Problem::new(ProblemKind::Unavailable, detail)
        })?;
        Ok(Some((version, Part { drawn, world, depth: 0, inner: HashMap::new() })))
    }

    /// The page and its visible frames; the page is first.
    async fn draw_inner(
        &self,
        tab: TabId,
        view: View,
        first: Part,
        by: Deadline,
    ) -> Result<Vec<Part>, Problem> {
        let mut parts = vec![first];
        let ask = Ask { since: 0, hold: 0, again: true };
        let mut at = 0;
        while at < parts.len() {
            let depth = parts[at].depth;
            let holds = |op: &Op| match op {
                Op::Inner(.., number) if depth < DEPTH_MAX => Some(*number),
                _ => None,
            };
            let inside: Vec<u64> = parts[at].drawn.ops.iter().filter_map(holds).collect();
            for number in inside {
                if parts.len() > FRAMES_MAX {
                    return Ok(parts);
                }
                // A frame may disappear at any time; its place then stays empty.
                let frame = self.frame_in(&parts[at].world, number, by).await;
                let Ok(Some(frame)) = frame else { continue };
                let part = self.draw_part(tab, &frame, view, ask, by).await;
                let Ok(Some((_, mut part))) = part else { continue };
                part.depth = depth + 1;
                let place = parts.len();
                parts[at].inner.insert(number, place);
                parts.push(part);
            }
            at += 1;
        }
        Ok(parts)
    }

    /// Paints a part with the parts inside it. `attention` is passed to the part that may have the
    /// focus.
    fn paint(
        &self,
        painter: &mut Painter,
        parts: &[Part],
        which: usize,
        (left, top, clip): (f64, f64, Area),
        mut attention: Option<&mut Attention>,
    ) {
        let Part { drawn, world, inner, .. } = &parts[which];
        let targets = painter.add_targets(drawn.targets.iter().map(|target| FrameTarget {
            kind: target.kind,
            reference: Reference { document: world.document, element: target.number },
            options: target.options.iter().map(|option| self.shown(option)).collect(),
            areas: Vec::new(),
        }));
        let pane = Pane { left, top, clip, targets, document: world.document };
        if let Some(attention) = attention.as_deref_mut() {
            attention.caret = drawn.caret.map(|(x, y)| (x + left, y + top));
            attention.focus = drawn.focus;
        }
        for op in &drawn.ops {
            match op {
                Op::Text(x, middle, color, how, text, from, to, target) => {
                    let text = self.mask(text);
                    let op = Op::Text(*x, *middle, *color, *how, text, *from, *to, *target);
                    painter.paint(&op, &pane);
                }
                Op::Picture(shown) => {
                    let alt = self.shown(&shown.alt);
                    painter.paint(&Op::Picture(shown.said(alt)), &pane);
                }
                Op::Inner(x, y, seen, number) => {
                    let Some(place) = inner.get(number) else { continue };
                    let seen = seen.moved(left, top).within(clip);
                    let has_it = drawn.inner == Some(*number);
                    let attention = attention.as_deref_mut().filter(|_| has_it);
                    self.paint(painter, parts, *place, (x + left, y + top, seen), attention);
                }
                op => painter.paint(op, &pane),
            }
        }
    }

    fn shown(&self, text: &str) -> String {
        clean_line(&self.mask(text))
    }
}
