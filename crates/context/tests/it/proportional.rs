//! Extracting a file takes time and memory in proportion to it, whatever is in it.

use std::cell::RefCell;

use waypost_context::{
    Class, Extract, Extractor, Found, Kind, Language, Prior, Stat, Timestamp, check_glob,
};

use crate::doubling::assert_proportional;

fn extract(
    extractor: &mut Extractor,
    (path, kind, language): (&str, Kind, Option<Language>),
    text: &str,
) -> Option<Extract> {
    let class = Class { kind, language, prior: Prior::default() };
    let found = Found { path: path.to_owned(), stat: Stat::default(), class };
    extractor.extract(&found, text.as_bytes(), Timestamp::EPOCH).ok()
}

#[test]
fn documents_are_extracted_in_time_in_proportion_to_them() {
    let parts = [
        "\n",
        " \n",
        "- a\n",
        "a\n\n",
        "# a\n",
        "## a b\n\ntext\n",
        "| a |\n",
        "```\n",
        "[[a]] ",
        "](",
        "é1",
        "1 ",
        "=\n",
        "::\n\n",
        "a: b\n",
    ];
    let documents =
        [("a.md", Kind::Guide), ("a.rst", Kind::Note), ("CHANGELOG.md", Kind::Changelog)];
    let extractor = RefCell::new(Extractor::new());
    for (path, kind) in documents {
        for part in parts {
            // Behind a list item, below a heading, and in a heading.
            let texts = |bytes: usize| {
                let all = part.repeat(bytes / part.len());
                let line = all.replace('\n', " ");
                [format!("- a\n{all}  b\n"), format!("# a\n{all}"), format!("# {line}\n\n{all}")]
            };
            assert_proportional(&format!("{path} {part:?}"), 1 << 12, texts, |texts| {
                let mut extractor = extractor.borrow_mut();
                let found = |text| extract(&mut extractor, (path, kind, None), text);
                texts.iter().map(String::as_str).filter_map(found).count()
            });
        }
    }
}

#[test]
fn a_long_heading_is_not_repeated_in_full_for_each_section_below_it() {
    let section = format!("## section\n\n{}\n\n", "words ".repeat(100));
    let sections = section.repeat(200);
    let long = "heading ".repeat(sections.len() / 20);
    let head = format!("---\ntitle: {}\n---\n", &long[..16_000]);
    for text in [format!("# {long}\n\n{sections}"), format!("{head}# {long}\n\n{sections}")] {
        let file = ("a.md", Kind::Guide, None);
        let chunks = extract(&mut Extractor::new(), file, &text).expect("a document").chunks;
        let titles: usize = chunks.iter().map(|chunk| chunk.title.len() + chunk.name.len()).sum();
        assert!(chunks.len() >= 200 && titles < 2 * text.len(), "{titles} of {}", text.len());
    }
}

#[test]
fn code_is_extracted_in_time_in_proportion_to_it() {
    let parts = [
        "fn a() {}\n",
        "class A {\n",
        "// a\n",
        "def a():\n    pass\n",
        "(\n",
        "/* ",
        "\"\n",
        "#[a]\n",
    ];
    // Three with a grammar, and one that is read by lines.
    for language in [Language::Rust, Language::Cpp, Language::Python, Language::Scala] {
        let extractor = RefCell::new(Extractor::new());
        for part in parts {
            let text = |bytes: usize| part.repeat(bytes / part.len());
            let name = format!("{language:?} {part:?}");
            assert_proportional(&name, 1 << 12, text, |text| {
                let file = ("a", Kind::Module, Some(language));
                extract(&mut extractor.borrow_mut(), file, text).is_some()
            });
        }
    }
}

#[test]
fn globs_are_checked_in_time_in_proportion_to_them() {
    for part in ["*", "**/", "[", "{a,", "?", "\\"] {
        let text = |bytes: usize| part.repeat(bytes / part.len());
        assert_proportional(part, 1 << 10, text, |text| check_glob(text).is_ok());
    }
}
