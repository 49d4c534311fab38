//! `ctl open`, and the dashboard in a real browser.

mod flows;
mod hostile;
mod live;
mod page;
mod pairs;
mod taken;
mod tokens;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use waypost_api::routes;
use waypost_service::Approval;

use self::page::{HOSTILE, opened, press, signed_in, text};
use crate::chrome::Chrome;
use crate::ctl;
use crate::service::Service;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it exists").permissions().mode() & 0o777
}

#[test]
fn open_writes_a_file_for_this_user_only_that_leads_to_the_page() {
    let service = Service::start();
    let file = opened(&service, &[]);
    assert_eq!(mode(&file), 0o600);
    assert!(file.starts_with(service.folder().canonicalize().expect("a folder")), "{file:?}");
    let first = fs::read_to_string(&file).expect("a file");
    assert!(first.contains(&format!("url={}/#code=", service.url())), "{first}");
    assert_ne!(fs::read_to_string(opened(&service, &[])).expect("a file"), first);

    let runtime = tempfile::tempdir().expect("a folder");
    let mut command = service.ctl_command(&["open", "--print"]);
    command.env("XDG_RUNTIME_DIR", runtime.path());
    let file = PathBuf::from(ctl::ran(command.output().expect("it runs")).done().trim());
    assert!(file.starts_with(runtime.path().join("waypost")), "{file:?}");
    assert_eq!((mode(&file), mode(file.parent().expect("a folder"))), (0o600, 0o700));

    let shown = service.ctl(&["--json", "open"]).json();
    let url = shown["url"].as_str().expect("an address");
    let named = fs::read_to_string(shown["file"].as_str().expect("a path")).expect("a file");
    assert!(named.contains(url), "{named}");
}

#[test]
fn open_replaces_a_link_in_its_place_and_needs_an_administrator() {
    let service = Service::start();
    let file = opened(&service, &[]);
    let other = service.folder().join("other");
    fs::write(&other, "kept").expect("a file");
    fs::remove_file(&file).expect("it exists");
    std::os::unix::fs::symlink(&other, &file).expect("a link");
    assert_eq!(opened(&service, &[]), file);
    assert!(!file.is_symlink());
    assert_eq!(fs::read_to_string(&other).expect("a file"), "kept");

    let token = service.ctl(&["token", "create", "--scope", "memory:read"]).done();
    let token_file = service.folder().join("reader");
    fs::write(&token_file, token).expect("a file");
    let path = token_file.display().to_string();
    let refused = service.ctl(&["--token-file", &path, "open", "--print"]);
    assert_eq!(refused.code, 4, "{refused:?}");
    assert!(refused.err.contains("admin"), "{refused:?}");
    let refused = service.ctl(&["open", "--space", "team"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn open_says_what_to_do_without_a_program_that_opens_files() {
    let service = Service::start();
    let mut command = service.ctl_command(&["open"]);
    command.env("DISPLAY", ":99").env("PATH", service.folder());
    let ran = ctl::ran(command.output().expect("it runs"));
    assert!(
        ran.err.contains("within 60 seconds") || ran.err.contains("within 59 seconds"),
        "{ran:?}"
    );
    assert!(Path::new(ran.done().trim()).exists());
}

#[test]
fn a_browser_signs_in_by_the_file_and_shows_hostile_memories_as_text() {
    let service = Service::start();
    let client = service.client();
    let hostile = waypost_api::AddRequest {
        title: Some(format!("needle {HOSTILE}")),
        content: format!("needle {HOSTILE}"),
        tags: vec![HOSTILE.chars().take(60).collect()],
        space: Some("<b>space</b>".to_owned()),
        session: Some("<i>session</i>".to_owned()),
        metadata: [("<u>key</u>".to_owned(), waypost_api::Scalar::String(HOSTILE.to_owned()))]
            .into(),
        ..waypost_api::AddRequest::default()
    };
    let id = client
        .store(&routes::ADD_MEMORY, &hostile)
        .expect("it is added")
        .into_inner()
        .memory
        .id
        .get();
    let other = service.add("needle, and nothing else");
    let link =
        waypost_api::LinkRequest { from: id, to: other, kind: waypost_api::LinkKind::RelatedTo };
    client.store(&routes::ADD_LINK, &link).expect("it is linked");
    service
        .ctl(&["emit", "build:done", "--data", &format!("by={}", HOSTILE.replace(',', ""))])
        .done();

    let prompt = waypost_api::RecallPromptRequest {
        session: "<i>session</i>".to_owned(),
        harness: "test".to_owned(),
        prompt: "What is known about the needle and nothing else?".to_owned(),
        ..waypost_api::RecallPromptRequest::default()
    };
    client.call(&routes::RECALL_FOR_PROMPT, &prompt).expect("it is recalled");

    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);
    assert_eq!(chrome.value(&tab, "location.hash"), "#/search", "the code does not stay");
    assert_eq!(chrome.value(&tab, "document.cookie + localStorage.length"), "0");
    assert_eq!(chrome.value(&tab, "sessionStorage.getItem('waypost.token').slice(0, 3)"), "wp_");

    // By keyboard only: `/` leads to the search, Enter starts it.
    for key in ["/", "n", "e", "e", "d", "l", "e", "\r"] {
        let press =
            json!({"type": "keyDown", "text": key, "key": if key == "\r" { "Enter" } else { key }});
        chrome.call(Some(&tab), "Input.dispatchKeyEvent", &press);
    }
    chrome.until(&tab, "document.querySelectorAll('.score').length === 2");
    let shown = text(&mut chrome, &tab);
    assert!(shown.contains(&format!("needle {HOSTILE}")), "{shown}");
    assert!(shown.contains("Why this score"), "{shown}");

    let views = ["search", "conflicts", "context", "events", "flows", "status", "recall"];
    let pages = views.map(|view| format!("#/{view}"));
    let of_memory = [
        format!("#/memory/{id}"),
        format!("#/graph/{id}"),
        format!("#/nothing/{}", "%3Cimg%20src=x%3E"),
    ];
    for page in pages.iter().chain(&of_memory) {
        chrome.value(&tab, &format!("location.hash = {}", json!(page)));
        chrome.until(
            &tab,
            "document.querySelector('main h1') && !document.querySelector('[aria-busy]')",
        );
        let markup =
            "document.querySelectorAll('main img, main svg, main script, main style').length";
        assert_eq!(chrome.value(&tab, markup), 0, "{page}");
        assert_ne!(chrome.value(&tab, "document.title"), "executed", "{page}");
    }
    chrome
        .value(&tab, "location.hash = '#/recall?session=' + encodeURIComponent('<i>session</i>')");
    chrome.until(&tab, "document.querySelector('.cards .card')?.textContent.includes('A prompt')");
    chrome.value(&tab, "document.querySelector('input[name=query]').value = 'needle'");
    press(&mut chrome, &tab, "Explain");
    chrome.until(&tab, "document.querySelector('table')?.textContent.includes('needle')");
    let shown = text(&mut chrome, &tab);
    assert!(shown.contains(&format!("#{other}")) && shown.contains("<i>session</i>"), "{shown}");

    chrome.value(&tab, &format!("location.hash = '#/memory/{id}'"));
    chrome.until(&tab, "document.querySelector('pre.content')");
    let shown = text(&mut chrome, &tab);
    for verbatim in [HOSTILE, "<b>space</b>", "<i>session</i>", "<u>key</u>"] {
        assert!(shown.contains(verbatim), "{verbatim} is not in {shown}");
    }
    assert_eq!(chrome.complaints, Vec::<String>::new());
}

#[test]
fn a_person_edits_restores_deletes_and_settles_memories() {
    let service = Service::start();
    let client = service.client();
    let older =
        service.add("The staging database is refreshed from production every Monday at 03:00.");
    let newer =
        service.add("The staging database is refreshed from production every Tuesday at 03:00.");
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);

    chrome.value(&tab, &format!("location.hash = '#/memory/{newer}'"));
    chrome.until(&tab, "document.querySelector('main h1')?.textContent.includes('Tuesday')");
    press(&mut chrome, &tab, "Edit");
    chrome.until(&tab, "document.querySelector('form.edit')");
    chrome.value(&tab, "document.querySelector('form.edit textarea').value += '\\nTom knows why.'");
    press(&mut chrome, &tab, "Save");
    chrome.until(
        &tab,
        "document.querySelector('pre.content')?.textContent.endsWith('Tom knows why.')",
    );
    assert!(
        client
            .call(&routes::GET_MEMORY.at(newer), ())
            .expect("it exists")
            .content
            .ends_with("\nTom knows why.")
    );
    press(&mut chrome, &tab, "Pin");
    press(&mut chrome, &tab, "Unpin");
    chrome.until(&tab, "document.querySelectorAll('.versions > li').length === 4");

    chrome.value(&tab, "[...document.querySelectorAll('.versions details')].at(-1).open = true");
    press(&mut chrome, &tab, "Restore this version");
    chrome.until(&tab, "document.querySelectorAll('.versions > li').length === 5");
    assert!(
        client
            .call(&routes::GET_MEMORY.at(newer), ())
            .expect("it exists")
            .content
            .ends_with("at 03:00.")
    );

    press(&mut chrome, &tab, "Delete");
    chrome.until(&tab, "document.querySelector('dialog[open]')");
    press(&mut chrome, &tab, "Cancel");
    client.call(&routes::GET_MEMORY.at(newer), ()).expect("it still exists");
    press(&mut chrome, &tab, "Delete");
    chrome.until(&tab, "document.querySelector('dialog[open]')");
    press(&mut chrome, &tab, "Delete");
    chrome.until(&tab, "document.querySelector('.banner')?.textContent.includes('is deleted')");
    client.call(&routes::GET_MEMORY.at(newer), ()).expect_err("it is deleted");
    press(&mut chrome, &tab, "Restore");
    chrome.until(&tab, "document.querySelector('pre.content')");

    chrome.value(&tab, "location.hash = '#/conflicts'");
    chrome.until(&tab, "document.querySelectorAll('.pair').length === 1");
    press(&mut chrome, &tab, "Newer supersedes older");
    let settled = format!("#{newer} supersedes #{older}.");
    chrome.until(
        &tab,
        &format!("document.querySelector('.card').textContent === {}", json!(settled)),
    );
    assert_eq!(
        client.call(&routes::GET_MEMORY.at(older), ()).expect("it exists").superseded_by,
        waypost_api::MemoryId::new(newer)
    );
    assert_eq!(chrome.complaints, Vec::<String>::new());
}

#[test]
fn markup_and_code_from_text_are_impossible_in_the_page() {
    let service = Service::start();
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);
    for attempt in [
        "document.body.innerHTML = '<b>x</b>'",
        "new DOMParser().parseFromString('<b>x</b>', 'text/html')",
        "document.write('<b>x</b>')",
        "trustedTypes.createPolicy('p', {createHTML: it => it})",
    ] {
        let tried = format!("try {{ {attempt}; 'done' }} catch (error) {{ error.name }}");
        assert_eq!(chrome.value(&tab, &tried), "TypeError", "{attempt}");
    }
    let inline = "{ const it = document.createElement('script'); it.text = 'window.ran = 1'; 0 }";
    let tried = format!("try {{ {inline} }} catch (error) {{ error.name }}");
    assert_eq!(chrome.value(&tab, &tried), "TypeError");
    let elsewhere = "fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'blocked')";
    assert_eq!(chrome.value(&tab, elsewhere), "blocked");
}

#[test]
fn a_used_link_says_so_and_signs_the_other_tab_out() {
    let service = Service::start();
    let mut chrome = Chrome::start();
    let first = chrome.tab();
    let file = format!("file://{}", opened(&service, &[]).display());
    chrome.go(&first, &file);
    chrome.until(&first, "document.querySelector('#nav a[aria-current=page]')");
    let second = chrome.tab();
    chrome.go(&second, &file);
    chrome.until(&second, "document.querySelector('.problem')");
    let shown = text(&mut chrome, &second);
    assert!(shown.contains("used before") && shown.contains("ctl open"), "{shown}");
    assert_eq!(chrome.value(&second, "sessionStorage.length + location.hash"), "0#/search");
    chrome.value(&first, "location.hash = '#/status'");
    chrome.until(&first, "document.querySelector('.door')");
    assert!(text(&mut chrome, &first).contains("expired or was revoked"));
}

#[test]
fn a_page_elsewhere_can_neither_frame_the_dashboard_nor_use_a_code() {
    let service = Service::start();
    let code = service.ctl(&["--json", "open"]).json();
    let code = code["url"].as_str().and_then(|text| text.split_once("#code=")).expect("a code").1;
    let page = service.folder().join("evil.html");
    let (url, body) = (service.url(), json!({ "code": code }).to_string());
    let script = format!(
        "<iframe onload='this.dataset.loaded=1' src='{url}/#code={code}'></iframe><script>\
         Promise.allSettled(['no-cors', 'cors'].map(mode => fetch('{url}/api/dashboard/token', {{method: 'POST', mode, body: {body:?}}})))\
         .then(it => document.title = it.map(one => one.value?.type ?? 'failed').join())</script>"
    );
    fs::write(&page, script).expect("a file");
    let mut chrome = Chrome::start();
    let tab = chrome.tab();
    chrome.go(&tab, &format!("file://{}", page.display()));
    chrome.until(&tab, "document.title === 'opaque,failed'");
    chrome.until(&tab, "document.querySelector('iframe').dataset.loaded");
    // Nobody has used the code: the page in the frame would have.
    let victim = chrome.tab();
    chrome.go(&victim, &format!("{url}/#code={code}"));
    chrome.until(&victim, "document.querySelector('#nav a[aria-current=page]')");
}

/// The rules of axe-core, if `scripts/prepare test` has installed it.
#[test]
fn no_view_breaks_a_rule_of_accessibility() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../target/npm/node_modules/axe-core/axe.min.js");
    let Ok(rules) = fs::read_to_string(&rules) else {
        eprintln!("skipped: `scripts/prepare test` could not install axe-core");
        return;
    };
    let approvals = tempfile::tempdir().expect("a folder");
    let service = Service::start_with(|folder, options| {
        options.approval = Approval::In(approvals.path().join("waypost"));
        let flows = folder.join(".waypost/flows");
        fs::create_dir_all(&flows).expect("a folder");
        for name in ["says", "later"] {
            let flow = format!(
                "flows:\n  - name: {name}\n    trigger: {{ pattern: 'build:*' }}\n    actions: [{{ type: command, command: 'echo {{{{data.branch}}}}; exit 3' }}]\n"
            );
            fs::write(flows.join(format!("{name}.yaml")), flow).expect("a file");
        }
    });
    service.ctl(&["flows", "allow", "says.yaml", "--yes"]).done();
    let older = service.add("The service listens on port 4000.");
    service.add("The service listens on port 4747.");
    service.ctl(&["update", &older.to_string(), "--title", "Port"]).done();
    let event = service.ctl(&["--json", "emit", "build:done", "--data", "branch=main"]).json();
    service.ctl(&["events", "tail", "--after", "0", "--pattern", "flow:failed", "-n", "1"]).done();
    for session in ["one", "two"] {
        let prompt = waypost_api::RecallPromptRequest {
            session: session.to_owned(),
            harness: "test".to_owned(),
            prompt: "Which port does the service listen on?".to_owned(),
            ..waypost_api::RecallPromptRequest::default()
        };
        service.client().call(&routes::RECALL_FOR_PROMPT, &prompt).expect("it is recalled");
    }
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);
    let memory = format!("memory/{older}");
    let graph = format!("graph/{older}");
    let run = format!("flows/run/says.{}", event["id"]);
    let views = [
        "search",
        "search?q=port",
        &memory,
        "recall",
        "conflicts",
        "context",
        "events",
        "flows",
        "flows/why/1",
        &run,
        "flows/replay/says",
        "flows/file/later.yaml",
        &graph,
        "status",
    ];
    for (scheme, width) in [("light", 1280), ("dark", 380)] {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        chrome.call(Some(&tab), "Emulation.setEmulatedMedia", &json!({ "features": features }));
        let metrics =
            json!({"width": width, "height": 820, "deviceScaleFactor": 1, "mobile": false});
        chrome.call(Some(&tab), "Emulation.setDeviceMetricsOverride", &metrics);
        for view in views {
            chrome.value(&tab, &format!("location.hash = '#/{view}'"));
            chrome.until(
                &tab,
                "document.querySelector('main h1') && !document.querySelector('[aria-busy]')",
            );
            chrome.value(
                &tab,
                "document.querySelectorAll('main details').forEach(it => { it.open = true; })",
            );
            chrome.value(&tab, &format!("{rules}; 0"));
            let found = chrome.value(&tab, "axe.run(document, {resultTypes: ['violations']}).then(it => it.violations.map(one => one.id + ' ' + one.nodes[0].html))");
            assert_eq!(found, Value::Array(Vec::new()), "{view}, {scheme}, {width}");
            let wide = chrome.value(&tab, "document.documentElement.scrollWidth - innerWidth");
            assert!(
                wide.as_i64().is_some_and(|it| it <= 0),
                "{view} is {wide} too wide at {width}"
            );
        }
    }
}
