//! Reads flow files: flows that can be planned, or a place in the file and what is wrong there.

#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use waypost_events::{Event, Lineage, Timestamp};
use waypost_flows::{FlowFile, FlowSet, GRACE, ActionContext, parse, plan};

static EVENT: LazyLock<Event> = LazyLock::new(|| Event {
    id: 7,
    kind: "eval:scored".parse().expect("a type"),
    data: serde_json::from_str(r#"{"a": "x", "n": -1.5, "pr": 412}"#).expect("data"),
    time: Timestamp::EPOCH,
    source: "fuzz".to_owned(),
    lineage: Lineage::default(),
    space: None,
});

fuzz_target!(|input: &[u8]| {
    let text = String::from_utf8_lossy(input);
    let flows = match parse(&text) {
        Ok(flows) => flows,
        Err(error) => {
            let lines = text.split('\n').count();
            assert!((1..=lines + 1).contains(&error.line) && error.column > 0, "{error:?}");
            assert!(!error.message.is_empty());
            return;
        }
    };
    let around = ActionContext {
        project: Path::new("/"),
        programs: Path::new("/nowhere"),
        inherited: &[],
        url: "http://127.0.0.1:1",
        token: "token",
        secret: &|_| Some("secret".to_owned()),
        grace: GRACE,
    };
    for flow in &flows {
        drop(plan(flow, &EVENT, &around));
    }
    let file = FlowFile::new("a.yaml", &text).expect("it was read before");
    let set = FlowSet::new([&file]);
    assert_eq!(set.len(), flows.len());
    assert!(set.rings().len() <= flows.len());
});
