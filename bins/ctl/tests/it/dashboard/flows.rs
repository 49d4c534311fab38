//! Flows in the dashboard: approvals, pauses, replays, retries.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_api::routes;
use waypost_service::Approval;

use super::page::{complete, confirmed, press, show, signed_in, text};
use crate::chrome::{Chrome, Tab};
use crate::service::Service;
use crate::wait::until;

/// A flow that runs a program of the project.
const GREETS: &str = r#"# Greets whoever an event names.
flows:
  - name: greets
    description: Greets people
    trigger: { pattern: "person:*" }
    actions:
      - type: command
        command: sh tools/greet.sh {{data.who}}
"#;
const PROGRAM: &str = "echo hello $1\n";

fn write(project: &Path, flow: &str, program: &str) {
    for (folder, name, content) in
        [(".waypost/flows", "greets.yaml", flow), ("tools", "greet.sh", program)]
    {
        fs::create_dir_all(project.join(folder)).expect("a folder");
        fs::write(project.join(folder).join(name), content).expect("a file");
    }
}

/// A service that runs only what was approved, and the folder with approvals.
fn service() -> (Service, TempDir) {
    let approvals = tempfile::tempdir().expect("a folder");
    let service = Service::start_with(|folder, options| {
        write(folder, GREETS, PROGRAM);
        options.approval = Approval::In(approvals.path().join("waypost"));
    });
    (service, approvals)
}

/// The texts of the elements that a selector finds.
fn texts(chrome: &mut Chrome, tab: &Tab, selector: &str) -> Value {
    let found = format!("[...document.querySelectorAll({})]", json!(selector));
    chrome.value(tab, &format!("{found}.map(it => it.textContent)"))
}

/// The page of the flow's file, read again until it shows a text.
fn review(chrome: &mut Chrome, tab: &Tab, shown: &str) {
    let found = format!("document.querySelector('main').textContent.includes({})", json!(shown));
    until(|| {
        show(chrome, tab, "flows/file/greets.yaml");
        if chrome.value(tab, &found) == true { Ok(()) } else { Err(text(chrome, tab)) }
    });
}

/// Waits until the state of the only flow, as the page shows it, is this.
fn in_state(chrome: &mut Chrome, tab: &Tab, state: &str) {
    let row =
        "document.querySelector('table[aria-label=Flows], main table tbody tr td:nth-of-type(2)')";
    chrome.until(tab, &format!("{row}?.textContent === {}", json!(state)));
}

/// Waits until as many runs have succeeded.
fn succeeded(service: &Service, count: usize) {
    let request = waypost_api::RunsRequest {
        state: Some(waypost_api::RunState::Succeeded),
        ..waypost_api::RunsRequest::default()
    };
    until(|| {
        let runs = service.client().call(&routes::LIST_RUNS, &request).expect("a list");
        if runs.len() == count { Ok(()) } else { Err(format!("{runs:?}")) }
    });
}

#[test]
fn a_person_approves_exactly_the_changes_that_the_page_shows() {
    let (service, _approvals) = service();
    let client = service.client();
    let in_force = || client.call(&routes::LIST_FLOWS, ()).expect("flows").flows.len();
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);

    // A new file: all of it, and all of its program.
    show(&mut chrome, &tab, "flows");
    assert!(text(&mut chrome, &tab).contains("Waiting for you"));
    chrome
        .value(&tab, "document.querySelector('main a[href=\"#/flows/file/greets.yaml\"]').click()");
    chrome.until(&tab, "location.hash === '#/flows/file/greets.yaml'");
    complete(&mut chrome, &tab);
    chrome.until(&tab, "document.querySelectorAll('.diff').length === 2");
    assert_eq!(texts(&mut chrome, &tab, ".diff del"), json!([]));
    let added = texts(&mut chrome, &tab, ".diff ins");
    assert_eq!(added.as_array().map(Vec::len), Some(GREETS.lines().count() + 1), "{added}");
    confirmed(&mut chrome, &tab, "Approve what is shown", "Cancel");
    assert_eq!(in_force(), 0, "nothing was approved");
    confirmed(&mut chrome, &tab, "Approve what is shown", "Approve");
    chrome.until(&tab, "location.hash === '#/flows'");
    in_state(&mut chrome, &tab, "active");
    assert_eq!(in_force(), 1);
    service.ctl(&["emit", "person:came", "--data", "who=Ada"]).done();
    succeeded(&service, 1);

    // A change: the removed and the added line, and what a reader would not see.
    let changed = GREETS.replace("Greets people", "Greets\u{200b} people ");
    write(service.folder(), &changed, "echo goodbye $1\n");
    review(&mut chrome, &tab, "goodbye");
    let lines = texts(&mut chrome, &tab, ".diff del, .diff ins");
    let expected = [
        "removed: −    description: Greets people",
        "added: +    description: Greets\\u{200b} people·",
        "removed: −echo hello $1",
        "added: +echo goodbye $1",
    ];
    assert_eq!(lines, json!(expected));
    assert!(text(&mut chrome, &tab).contains("Greets whoever an event names"), "all of the file");
    // The service sees a changed program within two seconds.
    until(|| if in_force() == 0 { Ok(()) } else { Err("a changed program stops the flow") });

    // The file changes again while a person reads it.
    write(service.folder(), &changed, "echo evil $1\n");
    confirmed(&mut chrome, &tab, "Approve what is shown", "Approve");
    chrome.until(&tab, "document.querySelector('#said.bad')?.textContent");
    assert_eq!(in_force(), 0, "what the page did not show is not approved");
    assert_eq!(chrome.value(&tab, "location.hash"), "#/flows/file/greets.yaml");

    write(service.folder(), &changed, "echo welcome $1\n");
    review(&mut chrome, &tab, "welcome");
    confirmed(&mut chrome, &tab, "Approve what is shown", "Approve");
    chrome.until(&tab, "location.hash === '#/flows'");
    in_state(&mut chrome, &tab, "active");
    service.ctl(&["emit", "person:came", "--data", "who=Grace"]).done();
    succeeded(&service, 2);
    let runs =
        client.call(&routes::LIST_RUNS, waypost_api::RunsRequest::default()).expect("a list");
    let newest = client.call(&routes::GET_RUN.at(&runs[0].id), ()).expect("a run");
    assert_eq!(newest.tries[0].stdout.as_deref(), Some("welcome Grace\n"));
    assert_eq!(chrome.complaints, Vec::<String>::new());
}

#[test]
fn a_person_pauses_resumes_replays_retries_and_cancels() {
    let service = Service::start_with(|folder, _| {
        write(folder, GREETS, "test -e open && echo hello $1\n");
        fs::write(folder.join("open"), "").expect("a file");
    });
    let client = service.client();
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);

    show(&mut chrome, &tab, "flows");
    in_state(&mut chrome, &tab, "active");
    press(&mut chrome, &tab, "Pause");
    in_state(&mut chrome, &tab, "paused paused in the dashboard");
    let paused = client.call(&routes::LIST_FLOWS, ()).expect("flows").flows[0].paused.clone();
    assert_eq!(paused.as_deref(), Some("paused in the dashboard"));
    service.ctl(&["emit", "person:came", "--data", "who=Ada"]).done();
    let state = "document.querySelector('table[aria-label=Runs], section:last-of-type tbody td')?.textContent";
    let in_run_state = |chrome: &mut Chrome, wanted: &str| {
        until(|| {
            show(chrome, &tab, "flows");
            let found = chrome.value(&tab, state);
            if found == wanted { Ok(()) } else { Err(format!("{found}")) }
        });
    };
    in_run_state(&mut chrome, "queued");
    press(&mut chrome, &tab, "Resume");
    in_state(&mut chrome, &tab, "active");
    succeeded(&service, 1);

    // The run fails, and goes on where it failed.
    fs::remove_file(service.folder().join("open")).expect("a file");
    let event = service.ctl(&["--json", "emit", "person:came", "--data", "who=Grace"]).json();
    let run = format!("greets.{}", event["id"]);
    in_run_state(&mut chrome, "failed");
    chrome.value(
        &tab,
        &format!("document.querySelector('main a[href=\"#/flows/run/{run}\"]').click()"),
    );
    chrome.until(&tab, "document.querySelector('main h1')?.textContent.startsWith('Run greets.')");
    fs::write(service.folder().join("open"), "").expect("a file");
    press(&mut chrome, &tab, "Retry");
    succeeded(&service, 2);
    chrome.until(&tab, "!document.querySelector('[aria-busy]')");
    press(&mut chrome, &tab, "Refresh");
    chrome.until(&tab, "document.querySelectorAll('article.card').length === 2");
    assert!(text(&mut chrome, &tab).contains("hello Grace"));

    // A dry run changes nothing.
    show(&mut chrome, &tab, "flows/replay/greets");
    let count = || {
        client.call(&routes::LIST_RUNS, waypost_api::RunsRequest::default()).expect("a list").len()
    };
    press(&mut chrome, &tab, "Replay");
    chrome.until(&tab, "document.querySelector('main').textContent.includes('2 events of 1 to ')");
    assert!(text(&mut chrome, &tab).contains("would run it"));
    assert_eq!(count(), 2);
    chrome.value(&tab, "document.querySelector('form input[type=checkbox]').click()");
    confirmed(&mut chrome, &tab, "Replay", "Cancel");
    assert_eq!(count(), 2);
    chrome.value(
        &tab,
        &format!(
            "document.querySelector('form input[type=number]').value = {}",
            event["id"].as_u64().expect("an id") - 1
        ),
    );
    confirmed(&mut chrome, &tab, "Replay", "Replay");
    chrome.until(&tab, "document.querySelector('main').textContent.includes('1 event of ')");
    succeeded(&service, 3);

    // A run that waits is cancelled.
    show(&mut chrome, &tab, "flows");
    press(&mut chrome, &tab, "Pause");
    in_state(&mut chrome, &tab, "paused paused in the dashboard");
    let event = service.ctl(&["--json", "emit", "person:came", "--data", "who=Eve"]).json();
    in_run_state(&mut chrome, "queued");
    show(&mut chrome, &tab, &format!("flows/run/greets.{}", event["id"]));
    press(&mut chrome, &tab, "Cancel");
    chrome.until(&tab, "document.querySelector('main .facts .chip')?.textContent === 'cancelled'");
    assert_eq!(chrome.complaints, Vec::<String>::new());
}
