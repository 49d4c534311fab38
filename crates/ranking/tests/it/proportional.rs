//! Analysing a text takes time in proportion to it, whatever is in it.

use waypost_ranking::{Analyzer, Cues, names, periods};

use crate::doubling::assert_proportional;

#[test]
fn a_word_without_an_end_takes_time_in_proportion_to_it() {
    let analyzer = Analyzer::english();
    let parts = [
        "y", "ying", "aB", "x_", "ab.", "1.", "'a", "\u{e9}y", "\u{fdfa}", "ы", "ς", "ا",
        "\u{640}", "ו", "ा", "機", "😀",
    ];
    for part in parts {
        let word = |count: usize| part.repeat(count / part.len());
        assert_proportional(part, 1 << 14, word, |text| analyzer.terms(text));
    }
}

#[test]
fn dates_names_and_differences_are_found_in_time_in_proportion_to_the_text() {
    let analyzer = Analyzer::english();
    for part in ["the first of ", "two weeks of ", "Friday 8 ", "1.", "Ada ", "is not "] {
        let text = |bytes: usize| part.repeat(bytes / part.len());
        assert_proportional(part, 1 << 14, text, |text| periods(text, Some(20_780)));
        assert_proportional(part, 1 << 14, text, |text| (Cues::of(text), names(text).count()));
        let compare = |text: &String| {
            analyzer.compare(text, &text[part.len()..]).map(|comparison| comparison.verdict())
        };
        assert_proportional(part, 1 << 13, text, compare);
    }
}
