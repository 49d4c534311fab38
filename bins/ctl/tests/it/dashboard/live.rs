//! Live events in the dashboard.

use serde_json::json;
use waypost_api::{EventData, PublishRequest};

use super::page::{press, show, signed_in};
use crate::chrome::Chrome;
use crate::service::Service;

/// Rows that the page keeps.
const ROWS_MAX: u64 = 200;
const ROWS: &str =
    "[...document.querySelectorAll('.events > li')].map(it => Number(it.dataset.id))";

#[test]
fn live_events_have_no_gaps_whatever_a_reader_misses() {
    let service = Service::start();
    let client = service.client();
    let publish = |count: usize| {
        let event = PublishRequest { kind: "a:b".to_owned(), data: EventData(Vec::new()) };
        for _ in 0..count {
            client.publish(&event, None).expect("it is published");
        }
    };
    let mut chrome = Chrome::start();
    let tab = signed_in(&service, &mut chrome);
    show(&mut chrome, &tab, "events");
    assert_eq!(
        chrome.value(&tab, "document.querySelector('.events').textContent"),
        "No events yet."
    );
    publish(30);
    let first: Vec<u64> = (1..=30).rev().collect();
    chrome.until(&tab, &format!("{ROWS}.join() === {}.join()", json!(first)));

    press(&mut chrome, &tab, "Pause");
    publish(ROWS_MAX as usize + 50);
    let marked = "document.querySelector('main [role=status]').textContent === 'paused'";
    chrome.until(&tab, marked);
    assert_eq!(chrome.value(&tab, ROWS), json!(first));
    press(&mut chrome, &tab, "Resume");
    let last = 30 + ROWS_MAX + 50;
    let newest: Vec<u64> = (last - ROWS_MAX + 1..=last).rev().collect();
    chrome.until(&tab, &format!("{ROWS}.join() === {}.join()", json!(newest)));

    press(&mut chrome, &tab, "Earlier events");
    let before = json!((1..=last - ROWS_MAX).rev().collect::<Vec<u64>>());
    chrome.until(&tab, &format!("{ROWS}.join() === {before}.join()"));
    press(&mut chrome, &tab, "Live");
    chrome.until(&tab, &format!("{ROWS}[0] === {last}"));
    assert_eq!(chrome.complaints, Vec::<String>::new());
}
