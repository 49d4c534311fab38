//! Takes a file apart, whatever is in it. What comes out lies within the file, and taking it apart
//! again gives the same.

#![no_main]

use std::cell::RefCell;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use waypost_context::{Class, Extractor, Found, Kind, Language, Prior, Stat, Timestamp};

const DOCUMENTS: [(&str, Kind); 8] = [
    ("a.md", Kind::Guide),
    ("CHANGELOG.md", Kind::Changelog),
    ("2026-01-31.md", Kind::Daily),
    ("docs/adr/1.md", Kind::Decision),
    ("a.rst", Kind::Note),
    ("a.adoc", Kind::Note),
    ("a.org", Kind::Worklog),
    ("openapi.yaml", Kind::Spec),
];

const NOW: Timestamp = Timestamp::from_secs(1_780_272_000);

thread_local! {
    static EXTRACTOR: RefCell<Extractor> =
        RefCell::new(Extractor::with_deadline(Duration::from_secs(3600)));
}

fuzz_target!(|input: &[u8]| {
    let Some((which, bytes)) = input.split_first() else { return };
    let languages: Vec<Language> = Language::all().collect();
    let which = usize::from(*which) % (DOCUMENTS.len() + languages.len());
    let (path, kind, language) = match DOCUMENTS.get(which) {
        Some((path, kind)) => (*path, *kind, None),
        None => ("a", Kind::Module, Some(languages[which - DOCUMENTS.len()])),
    };
    let found = Found {
        path: path.to_owned(),
        stat: Stat::default(),
        class: Class { kind, language, prior: Prior::default() },
    };
    let lines = bytes.iter().filter(|it| **it == b'\n').count() as u32 + 1;
    EXTRACTOR.with_borrow_mut(|extractor| {
        let extract = extractor.extract(&found, bytes, NOW);
        if let Ok(extract) = &extract {
            for chunk in &extract.chunks {
                assert!(1 <= chunk.line && chunk.line <= chunk.end_line, "{chunk:?}");
                assert!(chunk.end_line <= lines, "{chunk:?} of {lines} lines");
                drop(chunk.embedded());
            }
        }
        assert_eq!(extractor.extract(&found, bytes, NOW), extract);
    });
});
