//! Commands, their results and events as JSON: what programs send and receive, whatever the
//! transport.

mod request;

use serde_json::{Map, Value, json};

pub use self::request::{COMMANDS, request};
use crate::address::without_login;
use crate::command::Outcome;
use crate::engine::{Arrival, Done, Element, TabInfo};
use crate::frame::Scrolled;
use crate::summary::{dialog, download, summary};
use crate::{Event, Problem, Relay};

/// Executes a program's command, given by name and arguments.
///
/// # Errors
/// As [`request`] and [`Relay::handle`].
pub async fn handle(relay: &Relay, command: &str, arguments: Value) -> Result<Value, Problem> {
    relay.handle(request(command, arguments)?).await.map(|it| outcome(&it))
}

/// The result of a command.
#[must_use]
pub fn outcome(outcome: &Outcome) -> Value {
    match outcome {
        Outcome::Arrived { tab, arrival } => {
            let mut shown = arrived(arrival);
            shown["tab"] = tab.0.into();
            shown
        }
        Outcome::Read(it) => summary(it),
        Outcome::Acted(done) => acted(done).into(),
        Outcome::Held { waited, url } => {
            let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
            json!({ "waited": waited, "url": url.as_deref().map(without_login) })
        }
        Outcome::Screenshot { scale, data } => {
            json!({ "mediaType": "image/png", "scale": scale, "data": data })
        }
        Outcome::Tabs { tabs, current } => {
            let tabs: Vec<Value> = tabs.iter().map(tab).collect();
            json!({ "tabs": tabs, "current": current.map(|it| it.0) })
        }
    }
}

fn arrived(arrival: &Arrival) -> Value {
    let mut shown = json!({ "url": without_login(&arrival.url), "title": arrival.title });
    if let Some(status) = arrival.status {
        shown["status"] = status.into();
    }
    if arrival.loading {
        shown["loading"] = true.into();
    }
    shown
}

fn acted(done: &Done) -> Map<String, Value> {
    let some = |count: u64| (count > 0).then_some(Value::from(count));
    let list = |entries: Vec<Value>| (!entries.is_empty()).then_some(Value::from(entries));
    let mut shown = match done.scrolled.map(scrolled) {
        Some(Value::Object(members)) => members,
        _ => Map::new(),
    };
    let members = [
        ("element", done.element.as_ref().map(element)),
        ("chosen", done.chosen.as_deref().map(Value::from)),
        ("ref", done.reference.map(|it| it.to_string().into())),
        ("matches", done.reference.map(|_| done.matches.into())),
        ("closed", done.closed.then_some(true.into())),
        ("url", done.url.as_deref().map(|it| without_login(it).into())),
        ("navigated", done.url.as_ref().map(|_| done.navigated.into())),
        ("loading", done.loading.then_some(true.into())),
        ("dialogs", list(done.dialogs.iter().map(dialog).collect())),
        ("downloads", list(done.downloads.iter().map(download).collect())),
        ("popups", some(done.popups)),
        ("fileChoosers", some(done.file_choosers)),
    ];
    shown.extend(members.into_iter().filter_map(|(name, it)| Some((name.to_owned(), it?))));
    shown
}

fn element(element: &Element) -> Value {
    let mut shown = json!({ "tag": element.tag, "class": element.class, "text": element.text });
    if let Some(selector) = &element.selector {
        shown["selector"] = selector.as_str().into();
    }
    shown
}

/// A page reports whole pixels.
fn scrolled(at: Scrolled) -> Value {
    let [x, y, x_max, y_max] = [at.x, at.y, at.x_max, at.y_max].map(|it| it as i64);
    json!({ "x": x, "y": y, "xMax": x_max, "yMax": y_max })
}

fn tab(info: &TabInfo) -> Value {
    json!({
        "tab": info.tab.0,
        "url": without_login(&info.url),
        "title": info.title,
        "popup": info.popup,
        "crashed": info.crashed,
    })
}

/// An event.
#[must_use]
pub fn event(event: &Event) -> Value {
    match event {
        Event::HumanClick { element: it } => {
            json!({ "type": "human_click", "element": element(it) })
        }
        Event::HumanInput { element: it } => {
            json!({ "type": "human_input", "element": element(it) })
        }
        Event::Navigated { tab, url, by } => {
            json!({ "type": "navigated", "tab": tab.0, "url": without_login(url), "by": by.as_str() })
        }
        Event::AuthChanged { change } => {
            let signals: Vec<&str> = change.signals.iter().map(|it| it.as_str()).collect();
            json!({
                "type": "auth_changed",
                "state": change.state.as_str(),
                "origin": change.origin,
                "signals": signals,
            })
        }
        Event::Dialog { dialog: it } => json!({ "type": "dialog", "dialog": dialog(it) }),
        Event::Download { download: it } => {
            json!({ "type": "download", "download": download(it) })
        }
        Event::Control { holder } => json!({ "type": "control", "holder": holder.as_str() }),
    }
}
