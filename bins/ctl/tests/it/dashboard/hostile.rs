//! Stored text of every kind, in every view, is only text.

use std::fs;

use serde_json::json;
use tempfile::TempDir;
use waypost_api::{AddRequest, NewTokenRequest, PatchRequest, Scope, routes};
use waypost_service::Approval;

use super::page::{HOSTILE, confirmed, press, show, signed_in};
use crate::chrome::{Chrome, Tab};
use crate::service::Service;
use crate::wait::until;

/// Markup that can be the name of a file.
const NAME: &str = "<img src=x onerror=document.title='executed'>";
/// Elements that no view has, and the text of others contains.
const FOREIGN: &str = "main :is(img, svg, script, style, iframe, b, i, u), dialog img, #said img";

/// A service whose flows, files, memories, events and tokens are full of markup.
fn hostile() -> (Service, TempDir) {
    let approvals = tempfile::tempdir().expect("a folder");
    let service = Service::start_with(|folder, options| {
        options.approval = Approval::In(approvals.path().join("waypost"));
        let write = |name: &str, content: String| {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, content).expect("a file");
        };
        let flow = format!(
            "# {HOSTILE}\nflows:\n  - name: acts\n    description: {}\n    trigger: {{ pattern: 'a:*', condition: {} }}\n    actions: [{{ type: command, command: 'sh tools/act.sh \"$WAYPOST_EVENT_DATA_who\"' }}]\n",
            json!(HOSTILE),
            json!(format!("data.who != \"{NAME}\"")),
        );
        let program = format!("printf '%s' \"$1\"\nprintf '%s' \"$1\" >&2\nexit 3 # {HOSTILE}\n");
        write("tools/act.sh", program);
        write(&format!(".waypost/flows/{NAME}.yaml"), flow.replace("acts", "later"));
        write(&format!(".waypost/flows/bad {NAME}.yaml"), format!("{NAME}: {NAME}\n"));
        write(".waypost/flows/acts.yaml", flow);
        write(&format!("needle {NAME}.md"), format!("# needle {HOSTILE}\n\nneedle {HOSTILE}\n"));
    });
    service.ctl(&["flows", "allow", "acts.yaml", "--yes"]).done();
    let client = service.client();
    service.ctl(&["emit", "a:b", "--set", &format!("who={HOSTILE}")]).done();
    until(|| {
        let runs =
            client.call(&routes::LIST_RUNS, waypost_api::RunsRequest::default()).expect("a list");
        let is_failed = runs.first().is_some_and(|run| run.state == waypost_api::RunState::Failed);
        if is_failed { Ok(()) } else { Err(format!("{runs:?}")) }
    });
    service.ctl(&["flows", "pause", "acts", "--why", HOSTILE]).done();

    for day in ["Monday", "Tuesday"] {
        let memory = AddRequest {
            title: Some(HOSTILE.to_owned()),
            content: format!("The needle of {NAME} is replaced on every {day}, {HOSTILE}"),
            space: Some(NAME.to_owned()),
            ..AddRequest::default()
        };
        let id = client
            .store(&routes::ADD_MEMORY, &memory)
            .expect("it is added")
            .into_inner()
            .memory
            .id
            .get();
        let content = Some(format!("{}, as was decided", memory.content));
        let change = PatchRequest { content, ..PatchRequest::default() };
        client.call(&routes::UPDATE_MEMORY.at(id), &change).expect("it is changed");
    }
    let token = NewTokenRequest {
        scopes: vec![Scope::MemoryRead],
        expires_at: None,
        space: Some(NAME.to_owned()),
        note: Some(HOSTILE.to_owned()),
    };
    client.call(&routes::CREATE_TOKEN, &token).expect("it is created");
    (service, approvals)
}

/// That the page has no element from a text, and says these texts.
#[track_caller]
fn is_text(chrome: &mut Chrome, tab: &Tab, view: &str, texts: &[&str]) {
    let found = chrome.value(tab, &format!("document.querySelectorAll({}).length", json!(FOREIGN)));
    assert_eq!(found, 0, "{view}");
    assert_ne!(chrome.value(tab, "document.title"), "executed", "{view}");
    let shown = chrome.value(tab, "document.body.textContent");
    let shown = shown.as_str().expect("text");
    for text in texts {
        assert!(shown.contains(text), "{view}: {text} is not in {shown}");
    }
}

#[test]
fn markup_in_flows_files_tokens_and_versions_is_only_text() {
    let (service, _approvals) = hostile();
    let event = service.ctl(&["--json", "events", "list", "--pattern", "a:*"]).json();
    let event = event[0]["id"].as_u64().expect("an id");
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);
    let file = format!("flows/file/{}", NAME.replace(' ', "%20").replace('\'', "%27") + ".yaml");
    let bad = format!("bad {NAME}.yaml");
    let run = format!("flows/run/acts.{event}");
    let why = format!("flows/why/{event}");
    // The addresses, and what they show beside the frame of the view.
    let views: &[(&str, &[&str])] = &[
        ("flows", &[HOSTILE, NAME, &bad, "data.who != "]),
        (&run, &[HOSTILE, "Standard output", "Standard error"]),
        (&why, &[HOSTILE, NAME, "Its pattern matches"]),
        (&file, &[HOSTILE, NAME, "Approve what is shown"]),
        ("events", &[HOSTILE, "a:b"]),
        ("status", &[HOSTILE, NAME, "Waiting for approval"]),
        ("conflicts", &[HOSTILE, NAME, "Newer supersedes older"]),
        ("memory/1", &[HOSTILE, NAME, "as was decided"]),
        ("graph/1", &[]),
        ("search?q=needle", &[HOSTILE, NAME, "Why this score"]),
    ];
    for (view, texts) in views {
        show(&mut chrome, &tab, view);
        let open = "document.querySelectorAll('main details').forEach(it => { it.open = true; })";
        chrome.value(&tab, open);
        // Opening is told a moment later, and fills what was opened.
        let filled =
            "[...document.querySelectorAll('main details > div')].every(it => it.firstChild)";
        chrome.until(&tab, filled);
        is_text(&mut chrome, &tab, view, texts);
    }

    show(&mut chrome, &tab, "context");
    chrome.value(&tab, "document.querySelector('textarea').value = 'needle'");
    chrome.value(&tab, "document.querySelector('input[value=memory]').click()");
    until(|| {
        press(&mut chrome, &tab, "Show the context");
        chrome.until(
            &tab,
            "document.querySelector('.summary') && !document.querySelector('[aria-busy]')",
        );
        let shown = chrome.value(&tab, "document.querySelector('main').textContent");
        let has_both =
            shown.as_str().is_some_and(|text| text.contains(".md") && text.contains("Monday"));
        if has_both { Ok(()) } else { Err(shown) }
    });
    is_text(&mut chrome, &tab, "context", &[HOSTILE, NAME]);

    // What the service refuses is in its answer, and what the address says is in the page.
    let encoded = "%3Cimg%20src%3Dx%20onerror%3Ddocument.title%3D%27executed%27%3E";
    for view in [
        "search?q=@&type=@&tags=@&space=@&metadata=@&validAt=@&mode=@",
        "search?type=@",
        "events?pattern=@",
        "flows?flow=@&state=@",
        "flows/run/@",
        "flows/why/@",
        "flows/file/@",
        "flows/replay/@",
        "recall?session=@&memory=@",
        "memory/@",
        "graph/@?depth=@",
        "@",
    ] {
        show(&mut chrome, &tab, &view.replace('@', encoded));
        is_text(&mut chrome, &tab, view, &[]);
    }

    // Dialogs, and what the page says at its bottom.
    show(&mut chrome, &tab, "conflicts");
    press(&mut chrome, &tab, "Keep the newer");
    chrome.until(&tab, "document.querySelector('dialog[open]')");
    is_text(&mut chrome, &tab, "a merge", &[HOSTILE]);
    press(&mut chrome, &tab, "Cancel");
    show(&mut chrome, &tab, &file);
    confirmed(&mut chrome, &tab, "Approve what is shown", "Approve");
    chrome.until(&tab, "document.querySelector('#said').textContent.startsWith('Approved <img')");
    is_text(&mut chrome, &tab, "an approval", &[NAME]);
    assert_eq!(chrome.complaints, Vec::<String>::new());
}
