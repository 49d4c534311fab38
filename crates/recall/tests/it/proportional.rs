//! Reading a transcript takes time in proportion to it, whatever is in it.

use std::io::Cursor;

use waypost_recall::{Harness, Transcript, clean};

use crate::doubling::assert_proportional;

const PARTS: [&str; 7] = [
    "<rules></rules>",
    "<rules>",
    "<system-reminder>x</system-reminder> ",
    "</user_query>",
    "<waypost-memory>\\n",
    "`",
    "a ",
];

#[test]
fn a_long_turn_is_read_in_time_in_proportion_to_it() {
    for (harness, record) in [
        (Harness::Claude, r#"{"type":"user","message":{"content":"TEXT"}}"#),
        (
            Harness::Codex,
            r#"{"type":"event_msg","payload":{"type":"user_message","message":"TEXT"}}"#,
        ),
        (Harness::Cursor, r#"{"role":"user","message":{"content":"TEXT"}}"#),
    ] {
        for part in PARTS {
            let line = |bytes: usize| {
                let text = part.repeat(bytes / part.len());
                format!("{}\n", record.replace("TEXT", &text))
            };
            assert_proportional(part, 1 << 16, line, |line| {
                let mut transcript =
                    Transcript::open(harness, Cursor::new(line), 0).expect("bytes");
                transcript.next_batch(9).expect("bytes")
            });
        }
    }
}

#[test]
fn a_turn_is_cleaned_in_time_in_proportion_to_it() {
    for part in PARTS.map(|part| part.replace("\\n", "\n")) {
        let text = |bytes: usize| part.repeat(bytes / part.len());
        assert_proportional(&part, 1 << 14, text, |text| clean(text));
    }
}
