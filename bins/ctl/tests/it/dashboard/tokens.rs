//! Tokens in the dashboard, and links to it that are too late.

use std::time::SystemTime;

use serde_json::json;
use waypost_api::routes;

use super::page::{enter, opened, press, show, signed_in, text};
use crate::chrome::Chrome;
use crate::service::Service;
use crate::wait::until;

#[test]
fn a_person_creates_a_token_sees_it_once_and_revokes_it() {
    let service = Service::start();
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);
    show(&mut chrome, &tab, "status");
    chrome.until(&tab, "document.querySelector('form.edit')");

    // Without a scope it would permit nothing.
    press(&mut chrome, &tab, "Create token");
    chrome.until(&tab, "document.querySelector('#said.bad')?.textContent");
    assert_eq!(chrome.value(&tab, "document.querySelector('.secret')"), json!(null));

    chrome.value(&tab, "document.querySelector('input[value=\"memory:read\"]').click()");
    enter(&mut chrome, &tab, "input[placeholder='the editor']", "the <b>editor</b>");
    press(&mut chrome, &tab, "Create token");
    chrome.until(&tab, "document.querySelector('.secret')");
    let token = chrome.value(&tab, "document.querySelector('.secret').textContent");
    let token = token.as_str().expect("a token").to_owned();
    let with = |token: &str| {
        waypost_api::client::Client::new(service.url(), Some(token)).expect("an address")
    };
    assert_eq!(
        with(&token).call(&routes::CURRENT_TOKEN, ()).expect("grants").scopes,
        [waypost_api::Scope::MemoryRead]
    );
    with(&token).call(&routes::LIST_TOKENS, ()).expect_err("it may read memories only");

    let granted = json!({"origin": service.url(), "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    chrome.call(None, "Browser.grantPermissions", &granted);
    chrome.call(Some(&tab), "Emulation.setFocusEmulationEnabled", &json!({"enabled": true}));
    press(&mut chrome, &tab, "Copy");
    chrome.until(&tab, "document.querySelector('#said').textContent === 'Copied.'");
    assert_eq!(chrome.value(&tab, "navigator.clipboard.readText()"), token.as_str());

    // Once only: neither the list, nor the page after a reload, nor the store of the tab has it.
    press(&mut chrome, &tab, "Done");
    let id = token.split('_').nth(1).expect("an id");
    let row = format!(
        "[...document.querySelectorAll('tbody tr')].find(it => it.textContent.includes({}))",
        json!(id)
    );
    chrome.until(&tab, &format!("{row} && !document.querySelector('.secret')"));
    let listed = chrome.value(&tab, &format!("{row}.innerText"));
    let listed = listed.as_str().expect("text");
    for shown in ["valid", "memory:read", "the <b>editor</b>"] {
        assert!(listed.contains(shown), "{shown} is not in {listed}");
    }
    for reload in [false, true] {
        if reload {
            chrome.call(Some(&tab), "Page.reload", &json!({}));
            chrome.until(&tab, &row);
        }
        let everything = "document.documentElement.outerHTML + JSON.stringify(sessionStorage)";
        let everything = chrome.value(&tab, everything);
        assert!(!everything.as_str().expect("text").contains(&token), "reload: {reload}");
    }

    let revoke = format!(
        "[...{row}.querySelectorAll('button')].find(it => it.textContent === 'Revoke').click()"
    );
    chrome.value(&tab, &revoke);
    chrome.until(&tab, "document.querySelector('dialog[open]')");
    press(&mut chrome, &tab, "Cancel");
    with(&token).call(&routes::CURRENT_TOKEN, ()).expect("it is still valid");
    chrome.value(&tab, &revoke);
    chrome.until(&tab, "document.querySelector('dialog[open]')");
    chrome.value(&tab, "document.querySelector('dialog .danger').click()");
    chrome
        .until(&tab, "document.querySelector('main').textContent.includes('1 expired or revoked')");
    with(&token).call(&routes::CURRENT_TOKEN, ()).expect_err("it was revoked");

    // The token of this tab.
    let own = chrome.value(&tab, "sessionStorage.getItem('waypost.token')");
    let own = own.as_str().and_then(|text| text.split('_').nth(1)).expect("an id");
    let row = row.replace(id, own);
    chrome.value(&tab, &format!("[...{row}.querySelectorAll('button')].at(-1).click()"));
    chrome.until(
        &tab,
        "document.querySelector('dialog[open]')?.textContent.includes('This tab signs out.')",
    );
    chrome.value(&tab, "document.querySelector('dialog .danger').click()");
    chrome.until(&tab, "document.querySelector('.door')");
    assert_eq!(chrome.value(&tab, "sessionStorage.length"), 0);
    assert_eq!(chrome.complaints, Vec::<String>::new());
}

#[test]
fn a_person_signs_out_and_the_token_ends() {
    let service = Service::start();
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);
    let token = chrome.value(&tab, "sessionStorage.getItem('waypost.token')");
    let token = token.as_str().expect("a token");
    let client = waypost_api::client::Client::new(service.url(), Some(token)).expect("an address");
    client.call(&routes::CURRENT_TOKEN, ()).expect("it is valid");
    press(&mut chrome, &tab, "Sign out");
    chrome.until(&tab, "document.querySelector('.door')");
    client.call(&routes::CURRENT_TOKEN, ()).expect_err("it was revoked");
    assert_eq!(chrome.value(&tab, "sessionStorage.length"), 0);
    assert!(text(&mut chrome, &tab).contains("ctl open"));
}

/// The test waits as long as a code is valid, and does nothing meanwhile.
#[test]
fn a_link_that_is_opened_late_says_so() {
    let service = Service::start();
    let file = opened(&service, &[]);
    let created = SystemTime::now();
    // Half of it each: `until` gives up after a minute.
    for seconds in [30, 60] {
        until(|| {
            let passed = created.elapsed().unwrap_or_default();
            if passed.as_secs() >= seconds { Ok(()) } else { Err(format!("{passed:?}")) }
        });
    }
    let mut chrome = Chrome::start();
    let tab = chrome.tab();
    chrome.go(&tab, &format!("file://{}", file.display()));
    chrome.until(&tab, "document.querySelector('.problem')");
    let shown = text(&mut chrome, &tab);
    assert!(shown.contains("the code has expired") && shown.contains("ctl open"), "{shown}");
    assert_eq!(chrome.value(&tab, "sessionStorage.length + location.hash"), "0#/search");
    let tokens = service.client().call(&routes::LIST_TOKENS, ()).expect("a list");
    assert!(tokens.iter().all(|it| it.note.as_deref() != Some("the dashboard")), "{tokens:?}");
}
