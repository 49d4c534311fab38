//! Extraction of documents and journals.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use expect_test::expect;
use waypost_context::{Kind, Parser, Standing, Timestamp};

use crate::{page, taken};

/// The beginning of a day, counted from 1970.
const fn day(number: i64) -> Timestamp {
    Timestamp::from_secs(number * 86_400)
}

#[test]
fn a_guide_is_cut_at_headings_and_small_sections_are_joined() {
    let long = "A sentence about the store that fills some space here.\n".repeat(5);
    let text = format!(
        "# Waypost\n\nShort words.\n\n## Install\n\n{long}\n## One\n\nsmall\n\n## Two\n\nsmall too\n\n## Deep\n\n{long}\n### Deeper\n\n{long}\n#### Not a section\n\nend\n"
    );
    let extract = taken(&[("docs/use.md", &text)]);
    assert_eq!((extract.kind, extract.title.as_str()), (Kind::Guide, "Waypost"));
    assert_eq!(extract.parser, Parser::None);
    let titles: Vec<_> = extract
        .chunks
        .iter()
        .map(|chunk| (chunk.title.as_str(), chunk.line, chunk.end_line))
        .collect();
    assert_eq!(
        titles,
        [
            ("Waypost > Install", 1, 11),
            ("Waypost > One; Two; Deep", 13, 27),
            ("Waypost > Deep > Deeper", 29, 39),
        ]
    );
    assert!(extract.chunks[0].embedded().starts_with("Waypost > Install\n# Waypost"));
}

#[test]
fn code_tables_and_items_are_never_cut() {
    let code = format!("```sh\n{}```\n", "echo a line of a long script, never cut\n\n".repeat(80));
    let table = format!("| a | b |\n|---|---|\n{}", "| some cell | another cell |\n".repeat(100));
    let item = format!("- item\n{}", "  goes on and on, and is not cut\n\n".repeat(80));
    let prose = "A paragraph of some length, one line of it.\n".repeat(60);
    let text = format!("# T\n\n{prose}\n{code}\n{table}\n{item}\n{prose}");
    let extract = taken(&[("a.md", &text)]);
    for part in [&code, &table, &item] {
        let whole = part.trim_end();
        let holds = extract.chunks.iter().filter(|chunk| chunk.content.contains(whole)).count();
        assert_eq!(holds, 1, "{whole}");
    }
    let prose_only = extract.chunks.iter().filter(|chunk| !chunk.content.contains(['|', '`', '-']));
    assert!(
        prose_only.clone().count() >= 2 && prose_only.clone().all(|it| it.content.len() <= 1_600)
    );
    let all: Vec<&str> = extract
        .chunks
        .iter()
        .flat_map(|chunk| chunk.content.lines())
        .filter(|line| !line.trim().is_empty())
        .collect();
    let before: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    assert_eq!(all, before, "nothing is lost or said twice");
    for pair in extract.chunks.windows(2) {
        assert!(pair[0].end_line < pair[1].line);
    }
}

#[test]
fn the_head_of_a_document_wins_over_its_path() {
    let extract = taken(&[(
        "docs/x.md",
        "---\ntitle: Launch\ntype: adr\ntags: [a, \"#b\"]\naliases: [L]\nupdated: 2026-01-31\nstatus: proposed\n---\n# Other\n\nSee [the plan](../plan.md) and [[Store|it]].\n",
    )]);
    assert_eq!((extract.kind, extract.title.as_str()), (Kind::Decision, "Launch"));
    assert_eq!(extract.date, Some(day(20_484)));
    assert_eq!(extract.standing, Standing::Draft);
    assert_eq!(extract.aliases, ["L"]);
    assert_eq!(extract.links, ["Store", "../plan.md"]);
    assert_eq!(extract.chunks[0].line, 9);
    assert!(!extract.chunks[0].content.contains("type:"));

    let post = taken(&[("site/x.md", "---\ntitle: Launch\nslug: launch\n---\nText\n")]);
    assert_eq!(post.kind, Kind::Content);
    let code = taken(&[("site/x.md", "---\ntype: function\n---\nText\n")]);
    assert_eq!(code.kind, Kind::Note, "no document is code");
}

#[test]
fn decisions_say_whether_they_hold() {
    let standing = |text: &str| {
        let extract = taken(&[("docs/adr/0007-store.md", text)]);
        (extract.standing, extract.supersedes)
    };
    assert_eq!(
        standing("# S\n\n## Status\n\nAccepted\n\nSupersedes [ADR 3](0003-x.md)\n"),
        (Standing::Accepted, vec!["0003-x.md".to_owned()])
    );
    for text in [
        "# S\n\n## Status\n\nSuperseded by [ADR 9](0009-y.md)\n",
        "# S\n\n* Status: superseded by ADR-9.\n",
        "# S\n\n**Status:** Deprecated\n",
        "---\nstatus: rejected\n---\n# S\n",
        "---\nsuperseded-by: 0009\n---\n# S\n",
    ] {
        assert_eq!(standing(text).0, Standing::Past, "{text}");
    }
    assert_eq!(standing("---\nsupersedes: [\"[[0001]]\", 0002]\n---\n# S\n").1, ["0001", "0002"]);
    assert_eq!(standing("# S\n\nStatus: Proposed\n").0, Standing::Draft);
    assert_eq!(standing("# S\n\nThe status quo is bad.\n").0, Standing::Current);
}

#[test]
fn a_daily_note_bears_the_date_of_its_name() {
    let extract = taken(&[(
        "journal/2026-01-31.md",
        "# Saturday\n\n## Done\n\nfixed it\n\n## Next\n\nmore\n",
    )]);
    assert_eq!((extract.kind, extract.date), (Kind::Daily, Some(day(20_484))));
    expect![[r#"
        [1-1] daily Saturday @20484
            # Saturday
        [3-5] daily Saturday > Done @20484
            ## Done

            fixed it
        [7-9] daily Saturday > Next @20484
            ## Next

            more
    "#]]
    .assert_eq(&page(&extract));
    let ahead = taken(&[("journal/2199-01-31.md", "x")]);
    assert_eq!(ahead.date, None, "nobody writes so far ahead");
}

#[test]
fn a_log_has_an_entry_for_each_dated_heading() {
    let extract = taken(&[(
        "WORKLOG.md",
        "# Log\n\n## 2026-02-01\n\nTwo.\n\n### Details\n\nMore.\n\n## 2026-01-31 Start\n\nOne.\n",
    )]);
    expect![[r#"
        [1-1] worklog Log
            # Log
        [3-9] worklog Log > 2026-02-01 @20485
            ## 2026-02-01

            Two.

            ### Details

            More.
        [11-13] worklog Log > 2026-01-31 Start @20484
            ## 2026-01-31 Start

            One.
    "#]]
    .assert_eq(&page(&extract));
    assert_eq!(extract.date, Some(day(20_485)));
}

#[test]
fn a_journal_in_plain_text_has_stamped_entries() {
    let extract = taken(&[(
        "work.jrnl",
        "[2026-01-31 09:00] Store. Chose sled.\nIt held.\n\n[2026-02-01 10:30] Index\n\nBuilt it.\n",
    )]);
    expect![[r#"
        [1-2] worklog work > Store. Chose sled. @20484
            [2026-01-31 09:00] Store. Chose sled.
            It held.
        [4-6] worklog work > Index @20485
            [2026-02-01 10:30] Index

            Built it.
    "#]]
    .assert_eq(&page(&extract));
}

#[test]
fn a_change_log_has_an_entry_for_each_version() {
    let extract = taken(&[(
        "CHANGELOG.md",
        "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- a\n\n## [1.1.0] - 2026-01-31\n\n### Fixed\n\n- b\n",
    )]);
    expect![[r#"
        [1-1] changelog Changelog
            # Changelog
        [3-7] changelog Changelog > [Unreleased]
            ## [Unreleased]

            ### Added

            - a
        [9-13] changelog Changelog > [1.1.0] - 2026-01-31 @20484
            ## [1.1.0] - 2026-01-31

            ### Fixed

            - b
    "#]]
    .assert_eq(&page(&extract));
}

#[test]
fn secrets_are_replaced_in_everything_that_leaves() {
    let key = format!("AKIA{}", "Q7".repeat(8));
    let text = format!(
        "# Key {key}\n\nUse {key} with password: hunter2-and-more!\n\n## Next {key}\n\n[a]({key})\n"
    );
    let extract = taken(&[("a.md", &text)]);
    let all = format!("{extract:?}");
    assert!(!all.contains(&key) && !all.contains("hunter2"), "{all}");
    assert_eq!(extract.redactions["aws-access-key"], 4);
    assert_eq!(extract.redactions["secret"], 1);
    assert!(extract.title.contains("[redacted:aws-access-key]"));
    let code = format!("/// Uses {key}.\npub const KEY: &str = \"{key}\";\n");
    let extract = taken(&[("a.rs", &code)]);
    assert!(!format!("{extract:?}").contains(&key));
    assert_eq!(extract.redactions["aws-access-key"], 2);
}

#[test]
fn generated_files_say_so() {
    assert!(taken(&[("a.rs", "// @generated by x\nfn a() {}\n")]).generated);
    assert!(taken(&[("a.go", "// Code generated by x. DO NOT EDIT.\npackage a\n")]).generated);
    assert!(!taken(&[("a.rs", "fn generated() {}\n")]).generated);
}
