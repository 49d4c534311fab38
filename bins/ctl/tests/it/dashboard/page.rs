//! The page in a browser.

use std::path::PathBuf;

use serde_json::json;

use crate::chrome::{Chrome, Tab};
use crate::service::Service;

/// Markup that would change the page's title if it were more than text.
pub(super) const HOSTILE: &str = "</script></style><img src=x onerror=\"document.title='executed'\"><svg onload=\"document.title='executed'\"></svg>";

/// The file that `ctl open` writes.
pub(super) fn opened(service: &Service, arguments: &[&str]) -> PathBuf {
    let all = [&["open", "--print"], arguments].concat();
    PathBuf::from(service.ctl(&all).done().trim())
}

/// A signed-in tab.
pub(super) fn signed_in(service: &Service, chrome: &mut Chrome) -> Tab {
    let tab = chrome.tab();
    let file = opened(service, &[]);
    chrome.go(&tab, &format!("file://{}", file.display()));
    chrome.until(&tab, "document.querySelector('#nav a[aria-current=page]')");
    tab
}

/// The page's text.
pub(super) fn text(chrome: &mut Chrome, tab: &Tab) -> String {
    chrome.value(tab, "document.querySelector('main').innerText").as_str().expect("text").to_owned()
}

/// Presses the last button with that text.
pub(super) fn press(chrome: &mut Chrome, tab: &Tab, name: &str) {
    let found = format!(
        "[...document.querySelectorAll('button')].filter(it => it.textContent === {}).at(-1)",
        json!(name)
    );
    chrome.until(tab, &found);
    chrome.value(tab, &format!("{found}.click()"));
}

/// Goes to a view and waits until it is complete.
#[track_caller]
pub(super) fn show(chrome: &mut Chrome, tab: &Tab, view: &str) {
    let hash = json!(format!("#/{view}"));
    // The same address again would change nothing.
    chrome.value(tab, &format!("if (location.hash === {hash}) dispatchEvent(new HashChangeEvent('hashchange')); else location.hash = {hash}"));
    complete(chrome, tab);
}

/// Waits until the view is complete.
#[track_caller]
pub(super) fn complete(chrome: &mut Chrome, tab: &Tab) {
    chrome
        .until(tab, "document.querySelector('main h1') && !document.querySelector('[aria-busy]')");
}

/// Presses a button that asks for a confirmation, and answers.
#[track_caller]
pub(super) fn confirmed(chrome: &mut Chrome, tab: &Tab, name: &str, answer: &str) {
    press(chrome, tab, name);
    chrome.until(tab, "document.querySelector('dialog[open]')");
    press(chrome, tab, answer);
    chrome.until(tab, "!document.querySelector('dialog')");
}

/// Sets the value of a control, as typing does.
pub(super) fn enter(chrome: &mut Chrome, tab: &Tab, control: &str, value: &str) {
    chrome.value(
        tab,
        &format!("document.querySelector({}).value = {}", json!(control), json!(value)),
    );
}
