//! The analyzer's terms, as seen through searches.

use waypost_ranking::{Analyzer, Bm25, Slots, TextIndex, TextPart, TextSearch};

struct Library {
    analyzer: Analyzer,
    slots: Slots,
    index: TextIndex,
}

impl Library {
    /// Documents with the ids 0, 1, …; each is a title and a content separated by a bar, or a
    /// content.
    fn of(texts: &[&str]) -> Self {
        let analyzer = Analyzer::english();
        let (mut slots, mut index) = (Slots::default(), TextIndex::default());
        for (id, text) in texts.iter().enumerate() {
            let (title, content) = text.split_once('|').unwrap_or(("", text));
            index.insert(slots.assign(id as u64), &analyzer.document(title, content));
        }
        Self { analyzer, slots, index }
    }

    /// The results, best first.
    fn ranked(&self, query: &str) -> Vec<u64> {
        let query = self.analyzer.query(query);
        let parts = [TextPart { slots: &self.slots, index: &self.index, filter: None }];
        TextSearch::new(&parts, &query, Bm25::default()).top(100).iter().map(|hit| hit.id).collect()
    }

    /// The results, by id.
    fn find(&self, query: &str) -> Vec<u64> {
        let mut ids = self.ranked(query);
        ids.sort_unstable();
        ids
    }
}

#[test]
fn identifiers_are_found_whole_and_by_their_parts() {
    let library = Library::of(&[
        "call parseHttpURL here",
        "the snake_case_name is set",
        "HTTPServer2 listens",
        "uses foo.bar::bazQux in it",
        "see std::collections::HashMap.",
    ]);
    for (query, found) in [
        ("parsehttpurl", vec![0]),
        ("parse", vec![0]),
        ("http", vec![0, 2]),
        ("url", vec![0]),
        ("snake", vec![1]),
        ("httpserver2", vec![2]),
        ("server", vec![2]),
        ("bar", vec![3]),
        ("bazqux", vec![3]),
        ("qux", vec![3]),
        ("hashmap", vec![4]),
        ("collections", vec![4]),
    ] {
        assert_eq!(library.find(query), found, "{query}");
    }
    for (query, first) in
        [("parseHttpURL", 0), ("snake_case_name", 1), ("HTTPServer2", 2), ("foo.bar::bazQux", 3)]
    {
        assert_eq!(library.ranked(query)[0], first, "{query}");
    }
    let whole = library.analyzer.query("foo.bar::bazQux");
    assert!(whole.terms().iter().any(|term| term.term == "foo_bar_bazqux"), "{whole:?}");
}

#[test]
fn words_are_stemmed_and_freed_of_case_and_accents() {
    let library =
        Library::of(&["Running caf\u{e9}s", "fu\u{df}ball \u{1f355}", "NA\u{cf}VE e\u{301}lan"]);
    for (query, id) in [
        ("run", 0),
        ("CAFE", 0),
        ("cafe\u{301}", 0),
        ("fussball", 1),
        ("pizza", 1),
        ("\u{1f355}", 1),
        ("naive", 2),
        ("na\u{ef}ve", 2),
        ("\u{e9}lan", 2),
        ("\u{ff45}lan", 2),
    ] {
        assert_eq!(library.find(query), [id], "{query}");
    }
}

#[test]
fn scripts_without_spaces_are_found() {
    let library = Library::of(&[
        "我喜欢机器学习",
        "猫が好きです",
        "기계학습을 좋아해요",
        "ฉันชอบแมว",
        "GPU机器2台",
    ]);
    for (query, found) in [
        ("机器", vec![0, 4]),
        ("学习", vec![0]),
        ("猫", vec![1]),
        ("好き", vec![1]),
        ("학습", vec![2]),
        ("แมว", vec![3]),
        ("gpu", vec![4]),
        ("犬", vec![]),
    ] {
        assert_eq!(library.find(query), found, "{query}");
    }
}

#[test]
fn stop_words_count_only_where_there_is_nothing_else() {
    let library = Library::of(&["The Who|a band from London", "the cat", "to be or not to be"]);
    assert_eq!(library.find("the who"), [0]);
    assert_eq!(library.find("to be or not to be"), [2]);
    assert_eq!(library.find("the cat"), [1]);
    assert_eq!(library.find("the"), [0]);
    assert_eq!(library.find("about"), [0u64; 0]);
    let analyzer = Analyzer::english();
    for (query, only) in [
        ("the", true),
        ("The Who", true),
        ("to be or not to be", true),
        ("the cat", false),
        ("the 猫", false),
        ("кот", false),
        ("?!", false),
        ("", false),
    ] {
        assert_eq!(analyzer.has_only_stop_words(query), only, "{query}");
    }
}

#[test]
fn what_has_no_words_finds_nothing() {
    let library = Library::of(&["a quiet text", "?!"]);
    for query in ["", " \n\t", "\"'()*:^~-+", "\u{0}\u{1}", "\u{1fae0}\u{e000}", "::__.."] {
        assert_eq!(library.find(query), [0u64; 0], "{query:?}");
    }
    assert_eq!(library.find("\"quiet\" AND (text)*"), [0]);
}

#[test]
fn a_megabyte_without_a_space_is_one_short_term() {
    let analyzer = Analyzer::english();
    for text in
        ["a".repeat(1 << 20), "aB".repeat(1 << 19), "_".repeat(1 << 20), "x_".repeat(1 << 19)]
    {
        let terms = analyzer.terms(&text);
        assert!(terms.len() <= 2 && terms.iter().all(|term| term.len() <= 64), "{}", terms.len());
    }
    let query = analyzer
        .query(&(0..9000).map(|number| format!("w{number}w")).collect::<Vec<_>>().join(" "));
    assert_eq!(query.terms().len(), 4096);
}

#[test]
fn titles_are_matched_apart() {
    let library = Library::of(&["Ada 3 May|went hiking", "Bob 3 May|went hiking with Ada"]);
    let query = library.analyzer.query("where did Ada hike");
    let parts = [TextPart { slots: &library.slots, index: &library.index, filter: None }];
    let search = TextSearch::new(&parts, &query, Bm25::default());
    let (ada, bob) = (search.title_match(0, 0), search.title_match(0, 1));
    assert!(ada.of_query > 0.2 && ada.of_query < 1.0 && ada.of_title > 0.1 && ada.of_title < 1.0);
    assert_eq!((bob.of_query, bob.of_title), (0.0, 0.0));
    let full = library.analyzer.query("ada 3 may");
    let full = TextSearch::new(&parts, &full, Bm25::default()).title_match(0, 0);
    assert!((full.of_query - 1.0).abs() < 1e-6 && (full.of_title - 1.0).abs() < 1e-6);
}

#[test]
fn a_label_is_a_term_that_stands_mostly_in_titles() {
    let library = Library::of(&[
        "Ada 3 May|went hiking in the hills",
        "Bob 3 May|went hiking with Ada",
        "Ada 4 May|bought boots",
        "Hills|the hills are high, and hiking in hills is hard",
        "|untitled hiking",
    ]);
    let titles_in = |index: &TextIndex, query: &str| {
        let query = library.analyzer.query(query);
        let parts = [TextPart { slots: &library.slots, index, filter: None }];
        let search = TextSearch::new(&parts, &query, Bm25::default());
        let titles = search.titles((0..5).map(|slot| (0, slot)));
        titles.into_iter().map(|title| (title.has_term, title.labels)).collect::<Vec<_>>()
    };
    let titles = |query: &str| titles_in(&library.index, query);
    let (no, yes) = ((false, 0.0), (true, 1.0));
    assert_eq!(titles("what did Ada buy"), [yes, no, yes, no, no]);
    let [ada, bob, ..] = titles("what did Ada do on 3 May")[..] else { panic!("five titles") };
    assert!(ada == yes && bob.0 && bob.1 > 0.3 && bob.1 < 1.0, "{bob:?}");
    assert_eq!(titles("hiking"), [no; 5], "no title has it");
    assert_eq!(titles("high hills"), [no, no, no, yes, no], "one half is enough, less is not");
    assert_eq!(titles(""), [no; 5]);
    let mut index = TextIndex::decode(&library.index.encode()).expect("a snapshot");
    assert_eq!(titles_in(&index, "high hills"), titles("high hills"));
    index.remove(3);
    assert_eq!(titles_in(&index, "high hills"), [no; 5]);
}
