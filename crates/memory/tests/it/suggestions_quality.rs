//! What is suggested about pairs of short texts, by their words alone. Each line of
//! `data/pairs.tsv` has what should be suggested, the sort of pair, and two texts.

use std::collections::BTreeMap;

use waypost_memory::{Draft, SuggestionOptions, Vocabulary};

use crate::world::World;

const PAIRS: &str = include_str!("../data/pairs.tsv");

/// For each sort of pair, what was suggested and how often. The sorts in which something else was
/// suggested than should be are the limits of a comparison of words.
const FOUND: [&str; 33] = [
    "contradicts, antonym: contradicts 3",
    "contradicts, antonym: updates 2",
    "contradicts, comparison: updates 1",
    "contradicts, negation: contradicts 6",
    "duplicate, addition: duplicate 3",
    "duplicate, copy: duplicate 3",
    "duplicate, form: duplicate 2",
    "duplicate, order: duplicate 3",
    "duplicate, paraphrase: none 6",
    "duplicate, typo: updates 1",
    "none, common: none 7",
    "none, detail: none 1",
    "none, question: none 1",
    "none, roles: none 2",
    "none, sequence: none 1",
    "none, series: none 4",
    "none, subject: none 6",
    "none, subject: updates 1",
    "updates, date: updates 3",
    "updates, ended: updates 2",
    "updates, name: none 2",
    "updates, name: updates 3",
    "updates, number: none 1",
    "updates, number: updates 5",
    "updates, path: none 1",
    "updates, path: updates 1",
    "updates, rewritten: none 1",
    "updates, rewritten: updates 1",
    "updates, several: updates 1",
    "updates, version: none 1",
    "updates, version: updates 2",
    "updates, word: none 1",
    "updates, word: updates 2",
];

fn pairs() -> Vec<[&'static str; 4]> {
    let fields = |line: &'static str| -> Option<[&'static str; 4]> {
        line.split('\t').collect::<Vec<_>>().try_into().ok()
    };
    PAIRS.lines().map(|line| fields(line).expect("four fields")).collect()
}

#[test]
fn what_is_suggested_about_pairs_of_texts() {
    let mut world = World::new();
    let pairs = pairs();
    for (number, [_, _, old, new]) in pairs.iter().enumerate() {
        for (text, kind) in [(old, "note"), (new, "decision")] {
            let draft = Draft::new(text.replace("\\n", "\n")).with_kind(kind);
            world.add_draft(draft.with_space(format!("pair-{number}")));
        }
    }
    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    let mut others = Vec::new();
    for (number, [expected, sort, old, new]) in pairs.iter().enumerate() {
        let options = SuggestionOptions::default().with_space(format!("pair-{number}"));
        let suggested = world.store().suggestions(&options).expect("valid options").suggestions;
        let kind = suggested.first().map_or("none", |suggested| suggested.kind.as_str());
        *found.entry(format!("{expected}, {sort}: {kind}")).or_default() += 1;
        if kind != *expected {
            others.push(format!(
                "{expected}: {kind} {:?}\n  {old}\n  {new}",
                suggested.first().map(|it| &it.reason)
            ));
        }
    }
    let found: Vec<String> = found.iter().map(|(it, count)| format!("{it} {count}")).collect();
    assert_eq!(found, FOUND, "{}", others.join("\n"));
}
