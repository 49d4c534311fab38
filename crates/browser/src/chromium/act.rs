//! Clicking, typing, choosing, pressing and scrolling.

use std::time::Duration;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use super::locate::Spot;
use super::{Chromium, Shared};
use crate::protocol::{Action, DialogAnswer, Done, Element, TabId, Target, stale};
use crate::{Deadline, Key, Problem, ProblemKind};

/// The pause between attempts to click a covered element: what covers it may be disappearing.
const REST: Duration = Duration::from_millis(60);
/// Attempts to click a covered element.
const TRIES: usize = 4;
/// Texts up to this length are typed key by key; longer ones are inserted at once.
const KEYS_MAX: usize = 128;

/// Our scripts' verdict on an element: ready, or what is wrong with it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Judged {
    stale: bool,
    /// What is wrong, with the element that `subject` describes.
    wrong: Option<String>,
    subject: Brief,
    element: Option<Brief>,
    /// The text is in the field.
    done: bool,
    filled: bool,
    x: Option<f64>,
    y: Option<f64>,
    chosen: Option<Vec<String>>,
    missing: Option<String>,
    options: Option<Vec<String>>,
}

/// An element as our scripts describe it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Brief {
    tag: String,
    id: String,
    class: String,
    text: String,
    pub(super) selector: String,
}

impl From<Brief> for Element {
    fn from(Brief { tag, class, text, selector, .. }: Brief) -> Self {
        Self { tag, class, text, selector: Some(selector) }
    }
}

impl Brief {
    /// `<div id="banner" class="cookies">`, with the start of its text.
    fn shown(&self) -> String {
        let Self { tag, id, class, text, .. } = self;
        let mut shown = format!("<{tag}");
        for (name, value) in [("id", id), ("class", class)] {
            if !value.is_empty() {
                shown.extend([" ", name, "=\"", value, "\""]);
            }
        }
        shown.push('>');
        if !text.is_empty() {
            shown.extend([" \"", text, "\""]);
        }
        shown
    }
}

/// Whether a text was found.
#[derive(Deserialize)]
struct Sought {
    found: bool,
}

/// How dialogs of a tab are answered until this is dropped: whatever happens to the click, the
/// answer does not apply to later dialogs.
struct Answering<'a> {
    shared: &'a Shared,
    tab: TabId,
}

impl<'a> Answering<'a> {
    fn begin(shared: &'a Shared, tab: TabId, answer: DialogAnswer) -> Self {
        let answering = Self { shared, tab };
        answering.set(answer);
        answering
    }

    fn set(&self, answer: DialogAnswer) {
        if let Some(tab) = self.shared.state.lock().tabs.get_mut(&self.tab) {
            tab.answer = answer;
        }
    }
}

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.set(DialogAnswer::default());
    }
}

impl Judged {
    /// The place that our scripts gave. A partial place counts as none: only the intended place is
    /// clicked.
    fn place(&self) -> Result<(f64, f64), Problem> {
        let known = |value: &f64| value.is_finite();
        match (self.x.filter(known), self.y.filter(known)) {
            (Some(x), Some(y)) => Ok((x, y)),
            _ => Err(Problem::new(ProblemKind::Hidden, "the element has no position on the page")),
        }
    }

    /// Returns what is wrong, if anything is.
    fn check(&self, spot: &Spot) -> Result<(), Problem> {
        if self.stale {
            return Err(stale(spot.reference()));
        }
        if let Some(options) = &self.options {
            let missing = self.missing.as_deref().unwrap_or("more than one");
            let options = options.join(", ");
            let what =
                format!("value: the list has no option {missing:?}; its options are {options}");
            return Err(Problem::new(ProblemKind::NotFound, what));
        }
        let Some(wrong) = &self.wrong else { return Ok(()) };
        let it = self.subject.shown();
        let (kind, what) = match wrong.as_str() {
            "disabled" => (ProblemKind::Disabled, format!("{it} is disabled")),
            "readOnly" => (ProblemKind::Disabled, format!("{it} is read-only")),
            "unfocused" => (ProblemKind::Disabled, format!("{it} cannot be focused")),
            "unfit" => {
                let uses = "use `type` for text fields, `select` for lists, `click` for the rest";
                (ProblemKind::Invalid, format!("{it} does not support this action; {uses}"))
            }
            "refused" => {
                let forms = "a date is 2026-01-31, a time 23:59, a colour #ff0000";
                (ProblemKind::Invalid, format!("text: {it} does not accept it; {forms}"))
            }
            "covered" => {
                let target = self.element.as_ref().map(Brief::shown);
                let target = target.unwrap_or_else(|| "the frame".to_owned());
                let selector = &self.subject.selector;
                (ProblemKind::Covered, format!("{target} is covered by {it} `{selector}`"))
            }
            _ => {
                let what = format!("{it} is not visible; it may be in a menu that is closed");
                (ProblemKind::Hidden, what)
            }
        };
        Err(Problem::new(kind, what))
    }
}

impl Chromium {
    pub(crate) async fn act(
        &self,
        tab: TabId,
        target: Option<Target>,
        action: Action,
        by: Deadline,
    ) -> Result<Done, Problem> {
        let session = self.session(tab)?;
        self.call(Some(&session), "Page.bringToFront", json!({}), by).await?;
        let before = self.shared.state.lock().tab(tab)?.counts;
        let spot = match &target {
            Some(target) => Some(self.locate(tab, target, by).await?),
            None => None,
        };
        let aim = || spot.as_ref().ok_or_else(|| Problem::invalid("selector: required"));
        let mut done = Done::default();
        match action {
            Action::Click(answer) => {
                let (place, element) = self.place_of(tab, aim()?, by).await?;
                done.element = Some(element.into());
                let answering = Answering::begin(&self.shared, tab, answer);
                self.click_at(&session, place, by).await?;
                drop(answering);
            }
            Action::Type { text, append, submit } => {
                let element = self.type_into(tab, &session, aim()?, (&text, append), by).await?;
                done.element = Some(element.into());
                if submit {
                    self.press(&session, &"Enter".parse()?, by).await?;
                }
            }
            Action::Select(values) => {
                let spot = aim()?;
                let given = json!([spot.number, values]);
                let judged = self.judge(tab, spot, "choose", given, by).await?;
                done.chosen = judged.chosen;
            }
            Action::Press(key) => {
                if let Some(spot) = &spot {
                    self.judge(tab, spot, "focus", json!([spot.number]), by).await?;
                }
                self.press(&session, &key, by).await?;
            }
            Action::Scroll { direction, share } => {
                let frame = self.main_frame(tab)?;
                let given = json!([direction, share]);
                let (scrolled, _) = self.ask(tab, &frame, "scroll", given, by).await?;
                return Ok(Done { scrolled, ..Done::default() });
            }
            Action::Find { text, backwards } => {
                let frame = self.main_frame(tab)?;
                let given = json!([text, backwards]);
                let (sought, _) = self.ask::<Sought>(tab, &frame, "seek", given, by).await?;
                return Ok(Done { found: sought.found, ..Done::default() });
            }
            Action::Unfocus => {
                let frame = self.main_frame(tab)?;
                self.ask::<IgnoredAny>(tab, &frame, "unfocus", json!([]), by).await?;
                return Ok(Done::default());
            }
            Action::ScrollTo => {
                let spot = aim()?;
                let asked = ("scrollTo", json!([spot.number]));
                let document = Some(spot.world.document);
                let asked = self.ask_of(tab, &spot.frame, document, asked, by).await?;
                let scrolled: Option<Map<String, Value>> = asked.0;
                let scrolled = scrolled.ok_or_else(|| stale(spot.reference()))?;
                return Ok(Done { scrolled, ..Done::default() });
            }
            Action::ClickAt { x, y } => self.click_at(&session, (x, y), by).await?,
            Action::Insert(text) => {
                self.call(Some(&session), "Input.insertText", json!({ "text": text }), by).await?;
            }
        }
        done.reference = spot.as_ref().map(|spot| spot.reference().to_string());
        done.matches = spot.map(|spot| spot.matches);
        self.settle(tab, before, done, by).await
    }

    async fn judge(
        &self,
        tab: TabId,
        spot: &Spot,
        function: &str,
        given: Value,
        by: Deadline,
    ) -> Result<Judged, Problem> {
        let document = Some(spot.world.document);
        let asked = self.ask_of::<Judged>(tab, &spot.frame, document, (function, given), by).await;
        let (judged, _) = asked?;
        judged.check(spot)?;
        Ok(judged)
    }

    /// Where in the page's viewport an element can be clicked.
    async fn place_of(
        &self,
        tab: TabId,
        spot: &Spot,
        by: Deadline,
    ) -> Result<((f64, f64), Brief), Problem> {
        let mut tries = 0;
        loop {
            tries += 1;
            let found = self.try_place(tab, spot, by).await;
            match found {
                Err(problem) if problem.kind == ProblemKind::Covered && tries < TRIES => {
                    Self::check_time(by)?;
                    tokio::time::sleep(REST).await;
                }
                other => return other,
            }
        }
    }

    async fn try_place(
        &self,
        tab: TabId,
        spot: &Spot,
        by: Deadline,
    ) -> Result<((f64, f64), Brief), Problem> {
        let judged = self.judge(tab, spot, "point", json!([spot.number]), by).await?;
        let mut place = judged.place()?;
        let mut frame = spot.frame.clone();
        while let Some((parent, number)) = self.owner(tab, &frame, by).await? {
            let given = json!([number, place.0, place.1]);
            let (mut outer, _) = self.ask::<Judged>(tab, &parent, "through", given, by).await?;
            outer.element.clone_from(&judged.element);
            outer.check(spot)?;
            place = outer.place()?;
            frame = parent;
        }
        Ok((place, judged.element.unwrap_or_default()))
    }

    /// The frame around a frame, and the number of the element in it that contains the inner one.
    pub(super) async fn owner(
        &self,
        tab: TabId,
        frame: &str,
        by: Deadline,
    ) -> Result<Option<(String, u64)>, Problem> {
        let parent = {
            let state = self.shared.state.lock();
            let frames = state.tabs.get(&tab).map(|tab| &tab.frames);
            frames.and_then(|other| other.get(frame)).and_then(|it| it.parent.clone())
        };
        let Some(parent) = parent else { return Ok(None) };
        let (_, world) = self.ask::<bool>(tab, &parent, "knows", json!([0]), by).await?;
        let params = json!({ "frameId": frame });
        let owner = self.call(Some(&world.session), "DOM.getFrameOwner", params, by).await?;
        let params = json!({
            "backendNodeId": owner["backendNodeId"],
            "executionContextId": world.context,
        });
        let node = self.call(Some(&world.session), "DOM.resolveNode", params, by).await?;
        let params = json!({
            "functionDeclaration": "function () { return waypost.numberOf(this); }",
            "objectId": node["object"]["objectId"],
            "returnByValue": true,
        });
        let number = self.call(Some(&world.session), "Runtime.callFunctionOn", params, by).await?;
        // Without it, the content of the frame would be taken for the page itself.
        let number = number["result"]["value"].as_u64().ok_or_else(|| {
            Problem::new(ProblemKind::Hidden, "the element's frame no longer exists")
        })?;
        Ok(Some((parent, number)))
    }

    async fn click_at(
        &self,
        session: &str,
        place: (f64, f64),
        by: Deadline,
    ) -> Result<(), Problem> {
        let (x, y) = place;
        for (kind, buttons, clicks) in
            [("mouseMoved", 0, 0), ("mousePressed", 1, 1), ("mouseReleased", 0, 1)]
        {
            let button = if clicks == 0 { "none" } else { "left" };
            let params = json!({
                "type": kind, "x": x, "y": y, "button": button, "buttons": buttons,
                "clickCount": clicks,
            });
            self.call(Some(session), "Input.dispatchMouseEvent", params, by).await?;
        }
        Ok(())
    }

    async fn type_into(
        &self,
        tab: TabId,
        session: &str,
        spot: &Spot,
        (text, append): (&str, bool),
        by: Deadline,
    ) -> Result<Brief, Problem> {
        let given = json!([spot.number, text, append]);
        let judged = self.judge(tab, spot, "prepare", given, by).await?;
        let element = judged.element.unwrap_or_default();
        if judged.done {
            return Ok(element);
        }
        if text.is_empty() && judged.filled && !append {
            self.press(session, &"Delete".parse()?, by).await?;
        } else if text.len() <= KEYS_MAX
            && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        {
            for letter in text.chars() {
                self.press(session, &Key::of(letter), by).await?;
            }
        } else {
            self.call(Some(session), "Input.insertText", json!({ "text": text }), by).await?;
        }
        Ok(element)
    }

    async fn press(&self, session: &str, key: &Key, by: Deadline) -> Result<(), Problem> {
        let down = if key.text.is_some() { "keyDown" } else { "rawKeyDown" };
        for kind in [down, "keyUp"] {
            let mut params = json!({
                "type": kind, "key": key.name, "code": key.code, "modifiers": key.modifiers,
                "windowsVirtualKeyCode": key.number, "nativeVirtualKeyCode": key.number,
            });
            if let Some(text) = key.text.as_deref().filter(|_| kind == "keyDown") {
                params["text"] = text.into();
            }
            self.call(Some(session), "Input.dispatchKeyEvent", params, by).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Judged;
    use crate::ProblemKind;

    fn judged(answer: Value) -> Judged {
        serde_json::from_value(answer).expect("an answer of our scripts")
    }

    #[test]
    fn a_position_without_a_coordinate_is_invalid() {
        assert_eq!(judged(json!({ "x": 3.5, "y": 0 })).place(), Ok((3.5, 0.0)));
        // An invalid number becomes null in transit.
        for answer in
            [json!({ "x": null, "y": 3 }), json!({ "x": 3 }), json!({ "y": 3 }), json!({})]
        {
            let problem = judged(answer).place().expect_err("no place");
            assert_eq!(problem.kind, ProblemKind::Hidden);
        }
    }
}
