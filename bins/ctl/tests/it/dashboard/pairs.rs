//! Conflicts in the dashboard: pairs of memories are merged, linked or dismissed.

use serde_json::json;
use waypost_api::{LinkKind, LinksRequest, routes};

use super::page::{complete, confirmed, press, show, signed_in, text};
use crate::chrome::{Chrome, Tab};
use crate::service::Service;
use crate::wait::until;

/// Presses a button of the pair that a text belongs to.
fn press_of(chrome: &mut Chrome, tab: &Tab, pair: &str, name: &str) {
    let card = format!(
        "[...document.querySelectorAll('li.card')].find(it => it.textContent.includes({}))",
        json!(pair)
    );
    let found = format!(
        "[...{card}.querySelectorAll('button')].find(it => it.textContent === {})",
        json!(name)
    );
    chrome.value(tab, &format!("{found}.click()"));
}

#[test]
fn a_pair_is_merged_linked_or_dismissed() {
    let service = Service::start();
    let client = service.client();
    let zurich = service.add("The nightly backup of the archive runs at 02:00 in Zurich.");
    let geneva = service.add("The nightly backup of the archive runs at 02:00 in Geneva.");
    let port = service.add("The metrics exporter listens on port 9100 of every worker machine.");
    let other_port =
        service.add("The metrics exporter listens on port 9200 of every worker machine.");
    let header =
        service.add("Every request to the API carries a bearer token in the Authorization header.");
    let always =
        service.add("Every request to the API carries a bearer token in the Authorization header");
    let standing = service.add("Requests without a token are answered with 401.");
    let linked = waypost_api::LinkRequest { from: standing, to: header, kind: LinkKind::PartOf };
    client.store(&routes::ADD_LINK, &linked).expect("it is linked");
    let kinds = |from: u64| {
        let mut found: Vec<_> = client
            .call(&routes::MEMORY_LINKS.at(from), LinksRequest { depth: Some(1) })
            .expect("links")
            .iter()
            .map(|call| (call.from.get(), call.kind, call.to.get()))
            .collect();
        found.sort_by_key(|found| (found.0, found.2));
        found
    };

    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);
    show(&mut chrome, &tab, "conflicts");
    assert_eq!(chrome.value(&tab, "document.querySelectorAll('.pair').length"), 3);

    press_of(&mut chrome, &tab, "Zurich", "They contradict");
    let settled = |chrome: &mut Chrome, said: &str| {
        chrome.until(
            &tab,
            &format!(
                "[...document.querySelectorAll('li.card')].some(it => it.textContent === {})",
                json!(said)
            ),
        );
    };
    settled(&mut chrome, &format!("Linked #{geneva} and #{zurich} as contradicting."));
    assert_eq!(kinds(geneva), [(geneva, LinkKind::Contradicts, zurich)]);

    press_of(&mut chrome, &tab, "exporter", "Dismiss");
    settled(&mut chrome, &format!("Dismissed: #{other_port} and #{port} are linked as related."));
    assert_eq!(kinds(port), [(other_port, LinkKind::RelatedTo, port)]);
    assert_eq!(
        client.call(&routes::GET_MEMORY.at(port), ()).expect("it exists").superseded_by,
        None
    );

    press_of(&mut chrome, &tab, "bearer", "Keep the newer");
    chrome.until(&tab, "document.querySelector('dialog[open]')");
    press(&mut chrome, &tab, "Cancel");
    client.call(&routes::GET_MEMORY.at(header), ()).expect("it still exists");
    confirmed(&mut chrome, &tab, "Keep the newer", "Merge");
    settled(&mut chrome, &format!("Merged #{header} into #{always}."));
    client.call(&routes::GET_MEMORY.at(header), ()).expect_err("it was merged");
    assert_eq!(kinds(always), [(standing, LinkKind::PartOf, always)], "it has the other's links");

    show(&mut chrome, &tab, "conflicts");
    assert!(text(&mut chrome, &tab).contains("No pair needs a decision."));

    // The page of a memory links it with any other one, and removes the link.
    show(&mut chrome, &tab, &format!("memory/{standing}"));
    chrome.value(&tab, "document.querySelector('form.inline select').value = 'caused_by'");
    chrome.value(&tab, &format!("document.querySelector('form.inline input').value = '#{port}'"));
    press(&mut chrome, &tab, "Add link");
    until(|| {
        let links = kinds(standing);
        if links.contains(&(standing, LinkKind::CausedBy, port)) {
            Ok(())
        } else {
            Err(format!("{links:?}"))
        }
    });
    complete(&mut chrome, &tab);
    show(&mut chrome, &tab, &format!("graph/{standing}"));
    let shown = text(&mut chrome, &tab);
    assert!(shown.contains("caused_by") && shown.contains("part_of"), "{shown}");
    assert_eq!(chrome.complaints, Vec::<String>::new());
}
