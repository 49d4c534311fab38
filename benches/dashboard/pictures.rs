//! The pictures of the documentation: every view in both schemes, and on a narrow screen.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::chrome::{Chrome, Tab};
use crate::service::Service;
use crate::{demo, palette, progress};

/// The end of a file's name, the scheme, and the size.
const LOOKS: [(&str, &str, u32, u32); 3] =
    [("light", "light", 1100, 720), ("dark", "dark", 1100, 720), ("380", "light", 380, 760)];
/// That a view is complete.
const IS_COMPLETE: &str =
    "document.querySelector('main h1') && !document.querySelector('[aria-busy]')";
/// Opens what a selector finds first.
const OPEN: &str =
    "(selector) => { const it = document.querySelector(selector); if (it) it.open = true; }";

/// A view: its name, its address, what is done in it, and what it then shows.
struct View {
    name: &'static str,
    address: String,
    act: String,
    shows: &'static str,
}

fn views(memory: u64) -> Vec<View> {
    let view = |name, address: &str, act: String, shows| View {
        name,
        address: address.to_owned(),
        act,
        shows,
    };
    let open = |selector: &str| format!("({OPEN})({})", json!(selector));
    let task = "document.querySelector('textarea').value = 'Fix the login redirect'; document.querySelector('input[value=memory]').checked = true; document.querySelector('form.edit').requestSubmit()";
    vec![
        view(
            "search",
            "search?q=which+port+does+the+server+listen+on",
            open("details.why"),
            "details.why table",
        ),
        view(
            "memory",
            &format!("memory/{memory}"),
            open(".versions li:nth-child(2) details"),
            ".versions .diff",
        ),
        view(
            "recall",
            "recall?session=2026-11-23-login",
            open(".cards details"),
            ".cards details table",
        ),
        view("conflicts", "conflicts", open(".cards details"), ".pair"),
        view("context", "context", task.to_owned(), ".hits .hit"),
        view("events", "events", open(".events details"), ".events details .facts"),
        view("flows", "flows", String::new(), "table"),
        view("approve", "flows/file/deploy.yaml", String::new(), ".diff ins"),
        view("graph", &format!("graph/{memory}?depth=3"), String::new(), "canvas"),
        view("status", "status", String::new(), "form.edit"),
    ]
}

/// Takes all pictures into a folder.
pub(crate) fn take(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let temporary = tempfile::tempdir()?;
    let project = temporary.path().join("ledger");
    demo::create(&project)?;
    let state = temporary.path().join("state").display().to_string();
    let variables = [("XDG_STATE_HOME", state.as_str()), ("XDG_CONFIG_HOME", &state)];
    let service = Service::start(&project, &variables)?;
    let client = service.client()?;
    progress("filling the service");
    let memory = demo::fill(&client, &project)?;
    let mut chrome = Chrome::start();
    let tab = service.open(&mut chrome)?;
    chrome.call(Some(&tab), "Emulation.setScrollbarsHidden", &json!({"hidden": true}));
    let mut sum = 0;
    for (look, scheme, width, height) in LOOKS {
        let features = json!([
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]);
        chrome.call(Some(&tab), "Emulation.setEmulatedMedia", &json!({ "features": features }));
        let size =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        chrome.call(Some(&tab), "Emulation.setDeviceMetricsOverride", &size);
        for view in views(memory) {
            show(&mut chrome, &tab, &view);
            let shot = chrome.call(Some(&tab), "Page.captureScreenshot", &json!({"format": "png"}));
            let shot = STANDARD.decode(shot["data"].as_str().context("a picture")?)?;
            let picture = palette::reduced(&shot)?;
            let name = format!("{}-{look}.png", view.name);
            fs::write(folder.join(&name), &picture)?;
            sum += picture.len();
        }
    }
    progress(&format!("{sum} bytes of pictures"));
    anyhow::ensure!(chrome.complaints.is_empty(), "the page reported {:?}", chrome.complaints);
    Ok(())
}

fn show(chrome: &mut Chrome, tab: &Tab, view: &View) {
    // Another view first, so that the same one is made again.
    chrome.value(tab, "location.hash = '#/nothing'");
    chrome.until(tab, "document.querySelector('main h1')?.textContent === 'No such view'");
    chrome.value(tab, &format!("location.hash = {}", json!(format!("#/{}", view.address))));
    chrome.until(
        tab,
        &format!(
            "document.querySelector('main h1')?.textContent !== 'No such view' && {IS_COMPLETE}"
        ),
    );
    chrome.value(tab, &format!("{}; 0", view.act));
    let shows = json!(view.shows);
    chrome.until(tab, &format!("document.querySelector({shows}) && {IS_COMPLETE}"));
    // Neither a focus ring nor a message at the bottom; and the frame is drawn.
    let settle = "document.activeElement.blur(); document.getElementById('said').textContent = ''; scrollTo(0, 0); new Promise((done) => { requestAnimationFrame(() => requestAnimationFrame(() => done(0))); })";
    chrome.value(tab, settle);
}
