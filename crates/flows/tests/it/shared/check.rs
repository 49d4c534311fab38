//! What the records of a shared journal must say.

use std::collections::BTreeSet;

use waypost_log::{Entry, SharedJournal};

use super::Cluster;

impl Cluster {
    /// The journal has each run once, each attempt once, and no attempt of a step that had
    /// succeeded; and every attempt that was started is in it, with the machine that started it.
    pub(super) fn check_records(&self) {
        let (mut created, mut begun, mut done) =
            (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for record in self.records() {
            let (name, fields) =
                record.as_object().and_then(|object| object.iter().next()).expect("one");
            let text = |field: &str| fields[field].as_str().unwrap_or_default().to_owned();
            let number = |field: &str| fields[field].as_u64().unwrap_or_default();
            let step = (text("run"), number("step"));
            match name.as_str() {
                "created" | "skipped" => assert!(created.insert(text("run")), "{record}"),
                "begun" => {
                    assert!(!done.contains(&step), "{record}");
                    assert!(text("machine").starts_with("machine-"), "{record}");
                    assert!(begun.insert((text("run"), step.1, number("attempt"))), "{record}");
                }
                "tried" if fields["report"]["outcome"] == "succeeded" => {
                    assert!(done.insert(step), "{record}");
                }
                _ => {}
            }
        }
        for it in &self.begun {
            let attempt = (it.run.to_string(), u64::from(it.step), u64::from(it.attempt));
            assert!(begun.contains(&attempt), "{it:?} was started without a record");
        }
    }

    /// The records of the hub as JSON.
    fn records(&self) -> Vec<serde_json::Value> {
        let member = &self.nodes[0].access.member;
        let mut records: Vec<serde_json::Value> = Vec::new();
        loop {
            let page = member.read(records.len() as u64).expect("the hub is reachable");
            if page.is_empty() {
                return records;
            }
            let read = |entry: &Entry| serde_json::from_slice(&entry.payload).expect("it is JSON");
            records.extend(page.iter().map(read));
        }
    }
}
