//! Headers of code, language by language.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

mod compiled;
mod scripts;

use expect_test::expect;
use waypost_context::Parser;

use crate::{page, taken};

fn headers(path: &str, text: &str) -> String {
    let extract = taken(&[(path, text)]);
    assert_eq!(extract.parser, Parser::Tree, "{path}");
    page(&extract)
}

#[test]
fn a_language_without_a_grammar_goes_by_its_lines() {
    let extract = taken(&[(
        "Log.scala",
        "/* Licensed to the ASF */\npackage a\n\n/** A log. */\nclass Log(dir: File) {\n  def size: Int = 1\n}\n",
    )]);
    assert_eq!(extract.parser, Parser::Lines);
    expect![[r#"
        [1-7] module Log.scala
            defines Log
        [4-5] type Log.scala::Log
            /** A log. */
            class Log(dir: File)
        [6-6] function Log.scala::Log.size
            def size: Int = 1
    "#]]
    .assert_eq(&page(&extract));
}

#[test]
fn what_stands_for_it_in_a_vector_is_signature_and_first_paragraph() {
    let extract = taken(&[(
        "a.rs",
        "/// Opens it.\n/// Slowly.\n///\n/// # Errors\npub fn open(a: u8) {}\n",
    )]);
    assert_eq!(
        extract.chunks[1].embedded(),
        "open\npub fn open(a: u8)\n/// Opens it.\n/// Slowly."
    );
    let long =
        format!("/// {}.\npub fn a({}) {{}}\n", "é\n/// ".repeat(1_500), "b: u8,\n".repeat(300));
    let chunk = &taken(&[("a.rs", &long)]).chunks[1];
    assert!(chunk.content.len() <= 2_700, "{}", chunk.content.len());
    assert!(chunk.embedded().len() <= 2_800);
}
