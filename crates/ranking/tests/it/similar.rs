//! Texts that say nearly the same.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use waypost_ranking::{Analyzer, Difference, Error, Signature, SimilarIndex, Slot, Verdict};

fn text(words: &BTreeSet<u16>) -> String {
    words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ")
}

fn signature(text: &str) -> Option<Signature> {
    Signature::of(&Analyzer::english().document("", text))
}

fn jaccard(one: &BTreeSet<u16>, other: &BTreeSet<u16>) -> f32 {
    one.intersection(other).count() as f32 / one.union(other).count() as f32
}

proptest! {
    #[test]
    fn an_estimate_is_near_the_exact_similarity(
        one in prop::collection::btree_set(0u16..60, 1..40),
        other in prop::collection::btree_set(0u16..60, 1..40),
    ) {
        let signatures = (signature(&text(&one)), signature(&text(&other)));
        let (Some(first), Some(second)) = signatures else { panic!("both have terms") };
        let estimate = first.similarity(&second);
        // Five standard errors.
        prop_assert!((estimate - jaccard(&one, &other)).abs() < 0.37);
        prop_assert_eq!(estimate, second.similarity(&first));
        prop_assert_eq!(first.similarity(&first), 1.0);
    }

    #[test]
    fn an_index_holds_what_was_put_in_last(
        steps in prop::collection::vec((0u32..8, prop::option::of(0u16..4)), 0..24),
    ) {
        let (mut index, mut model) = (SimilarIndex::default(), BTreeMap::new());
        for (slot, word) in steps {
            let signature = word.and_then(|it| signature(&format!("w{it}")));
            index.insert(slot, signature);
            match word {
                Some(word) => model.insert(slot, word),
                None => model.remove(&slot),
            };
        }
        let decoded = SimilarIndex::decode(&index.encode(), 8).expect("what was encoded");
        for (slot, word) in &model {
            let same = model.iter().filter(|(it, other)| *it != slot && *other == word);
            let same: Vec<Slot> = same.map(|(it, _)| *it).collect();
            for index in [&index, &decoded] {
                let (found, is_cut) = index.similar(*slot, 1.0);
                prop_assert!(!is_cut);
                prop_assert_eq!(found.iter().map(|it| it.slot).collect::<Vec<_>>(), same.clone());
            }
        }
        prop_assert_eq!(decoded.encode(), index.encode());
    }
}

/// Sets with a known similarity: `common` words of two, and half of the others each.
fn pair(number: u16, similarity: f32) -> (BTreeSet<u16>, BTreeSet<u16>) {
    let words = 40;
    let common = (f32::from(words) * similarity).round() as u16;
    let all = (number * words..(number + 1) * words).enumerate();
    let own = |side: usize| {
        let is_own = |at: usize| at < usize::from(common) || at % 2 == side;
        all.clone().filter(|(at, _)| is_own(*at)).map(|(_, word)| word).collect()
    };
    (own(0), own(1))
}

#[test]
fn estimates_have_no_bias_and_bands_find_what_is_similar() {
    for (similarity, found_min, found_max) in
        [(0.1, 0.0, 0.06), (0.5, 0.8, 0.96), (0.6, 0.94, 1.0), (0.8, 0.99, 1.0)]
    {
        let (mut sum, mut exact, mut found) = (0.0, 0.0, 0);
        for number in 0..200 {
            let (one, other) = pair(number, similarity);
            let mut index = SimilarIndex::default();
            let signatures = [signature(&text(&one)), signature(&text(&other))];
            for (slot, signature) in signatures.iter().enumerate() {
                index.insert(slot as Slot, *signature);
            }
            let [Some(first), Some(second)] = signatures else { panic!("both have terms") };
            sum += first.similarity(&second);
            exact += jaccard(&one, &other);
            found += index.similar(0, 0.0).0.len();
        }
        assert!((sum - exact).abs() / 200.0 < 0.02, "{similarity}: {sum} {exact}");
        let share = found as f32 / 200.0;
        assert!((found_min..=found_max).contains(&share), "{similarity}: found {share}");
    }
}

#[test]
fn a_hundred_thousand_copies_are_considered_up_to_a_limit() {
    let mut index = SimilarIndex::default();
    let same = signature("the same text again");
    for slot in 0..100_000 {
        index.insert(slot, same);
    }
    let (found, is_cut) = index.similar(50_000, 0.5);
    let slots: BTreeSet<Slot> = found.iter().map(|found| found.slot).collect();
    let nearest = (49_984..50_000).chain(50_001..50_017).collect();
    assert_eq!((slots, is_cut), (nearest, true));
    index.remove(50_001);
    assert!(index.similar(50_001, 0.0).0.is_empty());
    assert_eq!(index.similar(50_000, 0.0).0.len(), 32);
}

#[test]
fn a_text_without_terms_has_no_signature_and_a_damaged_index_is_rejected() {
    assert_eq!(signature("?! …"), None);
    let mut index = SimilarIndex::default();
    index.insert(3, signature("one"));
    let bytes = index.encode();
    assert!(SimilarIndex::decode(&bytes, 4).is_ok());
    for damaged in [SimilarIndex::decode(&bytes, 3), SimilarIndex::decode(&bytes[..30], 4)] {
        assert!(matches!(damaged, Err(Error::SnapshotDamaged { .. })));
    }
}

fn verdict(old: &str, new: &str) -> Verdict {
    Analyzer::english().compare(old, new).expect("texts with words").verdict()
}

fn values(values: &[(&str, &str)]) -> Verdict {
    let owned = values.iter().map(|(old, new)| ((*old).to_owned(), (*new).to_owned()));
    Verdict::Differ(Difference::Values(owned.collect()))
}

#[test]
fn another_value_of_the_same_subject_is_found() {
    for (old, new, expected) in [
        ("The service uses PostgreSQL 16.", "The service uses PostgreSQL 17", ("16", "17")),
        ("The limit is 5 MB per file", "the limit is 10 MB per file", ("5", "10")),
        (
            "Deploy with `make ship` on Fridays",
            "Deploy with `just ship` on Fridays",
            ("make", "just"),
        ),
        (
            "Anna's favourite colour is green.",
            "Anna's favourite colour is blue.",
            ("green", "blue"),
        ),
        (
            "The release is on 2026-12-01.",
            "The release is on 2026-12-08.",
            ("2026-12-01", "2026-12-08"),
        ),
        ("服务监听的端口是4000", "服务监听的端口是4747", ("4000", "4747")),
        ("我最喜欢的颜色是红色", "我最喜欢的颜色是蓝色", ("红", "蓝")),
        ("Сервис слушает порт 4000", "Сервис слушает порт 4747", ("4000", "4747")),
        (
            "المنفذ الذي تستخدمه الخدمة هو 4000",
            "المنفذ الذي تستخدمه الخدمة هو 4747",
            ("4000", "4747"),
        ),
    ] {
        assert_eq!(verdict(old, new), values(&[expected]), "{old}");
    }
    assert_eq!(
        verdict(
            "PostgreSQL 16 of the service uses port 5432",
            "PostgreSQL 17 of the service uses port 5433"
        ),
        values(&[("16", "17"), ("5432", "5433")])
    );
}

#[test]
fn a_negation_contradicts_and_an_end_updates() {
    let negated = |word: &str| Verdict::Differ(Difference::Negation(word.to_owned()));
    assert_eq!(
        verdict("The cache is shared by all", "The cache is not shared by all"),
        negated("not")
    );
    assert_eq!(verdict("We can't ship on Friday", "We can ship on Friday"), negated("can't"));
    assert_eq!(
        verdict("Das Tor ist nachts offen", "Das Tor ist nachts nicht offen"),
        negated("nicht")
    );
    assert_eq!(verdict("这个服务是公开的", "这个服务不是公开的"), negated("不"));
    assert_eq!(
        verdict(
            "The service uses sled for its state",
            "The service no longer uses sled for its state"
        ),
        Verdict::Differ(Difference::Ended("no longer".to_owned()))
    );
    assert_eq!(
        verdict("Peter works for the company", "Peter does not work for the company anymore"),
        Verdict::Differ(Difference::Ended("not … anymore".to_owned()))
    );
    // The opposite by a prefix.
    for (old, new, word) in [
        ("Logging is enabled in the service", "Logging is disabled in the service", "disabled"),
        ("The account of Anna is inactive", "The account of Anna is active", "inactive"),
    ] {
        assert_eq!(verdict(old, new), negated(word));
    }
    // Another difference does not hide it.
    assert_eq!(
        verdict(
            "A backup of the main database is made every night and kept for a month in the vault",
            "A backup of the main database is not made every night and kept for a year in the vault"
        ),
        negated("not")
    );
}

#[test]
fn the_same_text_in_other_forms_is_the_same() {
    for (old, new) in [
        ("The keys are in the blue tin.", "the keys are in the blue tin"),
        ("A key is in the blue tin", "The keys are in the blue tin"),
        ("The keys and the wallet are in the drawer", "The wallet and the keys are in the drawer"),
        (
            "Backups run every night at two and are kept for thirty days in the vault",
            "Backups run every single night at two and are kept for thirty days in the vault",
        ),
    ] {
        assert_eq!(verdict(old, new), Verdict::Same, "{new}");
    }
}

#[test]
fn texts_about_something_else_are_unlike() {
    for (old, new) in [
        ("Anna likes tea", "Bob likes tea"),
        ("Invoice 4711", "Invoice 4712"),
        ("Does Max enjoy swimming?", "Max loves to fetch! Does he also enjoy long walks?"),
        ("On 2026-11-21 the tests took 5 minutes", "On 2026-11-22 the tests took 7 minutes"),
        ("The cat sleeps on the keyboard", "The service listens on port 4747"),
        ("On 3 May the build took 12 minutes", "On 4 May the build took 15 minutes"),
        ("Weight on 2026-01-01: 82 kg", "Weight on 2026-02-01: 81 kg"),
        // Another subject of the same statement.
        (
            "Alice approved the release of the app on the staging server this morning.",
            "Bob approved the release of the app on the staging server this morning.",
        ),
        ("Alice is the manager of Bob.", "Bob is the manager of Alice."),
        // More values than are named in a reason.
        (
            "The pools of the cluster in the north have 1, 2, 3 and 4 workers and a common queue \
             for all of the jobs that the customers in the north send in the night",
            "The pools of the cluster in the north have 5, 6, 7 and 8 workers and a common queue \
             for all of the jobs that the customers in the north send in the night",
        ),
    ] {
        assert_eq!(verdict(old, new), Verdict::Unlike, "{old}");
    }
}

#[test]
fn in_a_text_of_several_sentences_the_first_word_is_no_subject_of_all() {
    let rest = "the keys are in the blue tin. The tin is on the shelf behind the door.";
    let (old, new) = (format!("Remember: {rest}"), format!("Note: {rest}"));
    assert_eq!(verdict(&old, &new), Verdict::Same);
}

#[test]
fn a_difference_counts_at_the_end_of_a_long_word_and_in_a_comparison() {
    let [old, new] = ['e', 'o'].map(|it| format!("{}{it}", "x".repeat(50)));
    let Verdict::Differ(Difference::Values(found)) = verdict(
        &format!("The secret name of the lighthouse is {old}"),
        &format!("The secret name of the lighthouse is {new}"),
    ) else {
        panic!("the names differ")
    };
    assert_eq!(found.len(), 1);
    assert_eq!(
        verdict("It is tried again if the count is < 5", "It is tried again if the count is > 5"),
        values(&[("<", ">")])
    );
}

#[test]
fn texts_of_near_meaning_differ_in_their_values_or_negations() {
    let analyzer = Analyzer::english();
    let verdict =
        |old, new| analyzer.compare(old, new).expect("texts with words").verdict_by_meaning();
    let differ = values(&[("4000", "4747")]);
    assert_eq!(
        verdict("The API port is 4000", "Our HTTP interface listens at 4747"),
        Verdict::Unlike
    );
    assert_eq!(verdict("The port is 4000", "Our interface listens at 4747"), differ);
    assert_eq!(verdict("The door is open at night", "Nights, you find it unlocked"), Verdict::Same);
    for (old, new) in [
        ("In March the bill was 1200 euros", "The October bill came to 1350 euros"),
        ("The German edition is made in Dublin", "The English edition is made in Dublin"),
        ("The user service calls the shop", "The shop service calls the user"),
    ] {
        assert_eq!(verdict(old, new), Verdict::Unlike, "{old}");
    }
    let negated = Verdict::Differ(Difference::Negation("disabled".to_owned()));
    assert_eq!(verdict("The cache is enabled", "The cache is disabled"), negated);
    let negated = Verdict::Differ(Difference::Negation("not".to_owned()));
    assert_eq!(
        verdict("The door is open at night", "Nights, you do not find it unlocked"),
        negated
    );
}

#[test]
fn long_texts_are_compared_up_to_a_limit() {
    let analyzer = Analyzer::english();
    let long = "word ".repeat(16_384);
    let compared = analyzer.compare(&long, &long).expect("as many words as allowed");
    assert!(compared.is_equal());
    assert!(analyzer.compare(&long, &format!("{long} more")).is_none());
    assert!(analyzer.compare("word", "?!").is_none());
    let value = "x".repeat(1 << 20) + "1";
    let other = "x".repeat(1 << 20) + "2";
    let texts = [value, other].map(|it| format!("the very long value is {it}"));
    let Verdict::Differ(Difference::Values(values)) = verdict(&texts[0], &texts[1]) else {
        panic!("the values differ")
    };
    assert!(values[0].0.chars().count() == 41 && values[0].0.ends_with('…'));
}
