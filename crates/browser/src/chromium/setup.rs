//! What every page and frame gets before its scripts run.

use serde_json::{Value, json};

use super::pipe::Post;

/// The world of our scripts in each document.
pub(super) const WORLD: &str = "waypost";
/// How our scripts report the content of a secret field.
pub(super) const BINDING: &str = "waypostSecret";

/// Our scripts.
pub(super) const SCRIPT: &str = concat!(
    "(() => {\nif (globalThis.waypost) return;\n",
    include_str!("page/base.js"),
    include_str!("page/select.js"),
    include_str!("page/name.js"),
    include_str!("page/text.js"),
    include_str!("page/clickable.js"),
    include_str!("page/survey.js"),
    include_str!("page/read.js"),
    include_str!("page/act.js"),
    include_str!("page/look.js"),
    include_str!("frame/fit.js"),
    include_str!("frame/text.js"),
    include_str!("frame/field.js"),
    include_str!("frame/pseudo.js"),
    include_str!("frame/target.js"),
    include_str!("frame/picture.js"),
    include_str!("frame/draw.js"),
    include_str!("frame/find.js"),
    "})();\n",
);

/// The messages to a session of a page (with its view) or of a frame in a separate process, before
/// its first script runs.
pub(super) fn prepare(session: &str, view: Option<(u32, u32)>) -> Vec<Post> {
    let mut posts = Vec::new();
    let mut say = |method: &'static str, params: Value| {
        posts.push(Post { session: Some(session.to_owned()), method, params });
    };
    say("Runtime.enable", json!({}));
    say("Page.enable", json!({}));
    say("Network.enable", json!({ "maxPostDataSize": 0 }));
    say("Log.enable", json!({}));
    say("Inspector.enable", json!({}));
    say("Page.setLifecycleEventsEnabled", json!({ "enabled": true }));
    say("Runtime.addBinding", json!({ "name": BINDING, "executionContextName": WORLD }));
    say(
        "Page.addScriptToEvaluateOnNewDocument",
        json!({ "source": SCRIPT, "worldName": WORLD, "runImmediately": true }),
    );
    say("Page.setInterceptFileChooserDialog", json!({ "enabled": true }));
    let attach = json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true });
    say("Target.setAutoAttach", attach);
    if let Some(view) = view {
        say("Emulation.setFocusEmulationEnabled", json!({ "enabled": true }));
        say("Emulation.setDeviceMetricsOverride", metrics(view));
    }
    say("Runtime.runIfWaitingForDebugger", json!({}));
    posts
}

/// The size that a page is laid out for: width and height in CSS pixels.
pub(super) fn metrics((width, height): (u32, u32)) -> Value {
    json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false })
}
