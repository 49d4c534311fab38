//! Transcripts of each harness, whole and broken.

use std::io::{Cursor, Read, Seek, SeekFrom};

use proptest::prelude::*;
use waypost_recall::limits::{LINE_BYTES_MAX, TURN_BYTES_MAX};
use waypost_recall::{Batch, Harness, Role, Transcript, Turn, clean};

/// As Claude Code 2.1 writes it.
const CLAUDE: &str = r#"{"type":"summary","summary":"Ports","leafUuid":"1"}
{"type":"file-history-snapshot","messageId":"m","snapshot":{}}
{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/p","sessionId":"s","version":"2.1.280","type":"user","message":{"role":"user","content":"Which port do we use?"},"uuid":"u1","timestamp":"2026-11-20T10:00:00.000Z"}
{"type":"user","isMeta":true,"message":{"role":"user","content":"meta"},"timestamp":"2026-11-20T10:00:00.100Z"}
{"type":"attachment","attachment":{"type":"hook_additional_context","content":["injected"]},"timestamp":"2026-11-20T10:00:00.200Z"}
{"type":"assistant","message":{"role":"assistant","model":"m","content":[{"type":"thinking","thinking":"secret thoughts"}],"stop_reason":null},"timestamp":"2026-11-20T10:00:01.000Z"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"Let me look."},{"type":"tool_use","id":"t","name":"Read","input":{"file_path":"x"}}],"stop_reason":"tool_use"},"timestamp":"2026-11-20T10:00:02.000Z"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"tool output"}]}]},"toolUseResult":{"stdout":"tool output"},"timestamp":"2026-11-20T10:00:03.000Z"}
{"type":"user","isSidechain":true,"agentId":"a1","message":{"role":"user","content":"a sub-agent's task"},"timestamp":"2026-11-20T10:00:03.500Z"}
{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"We decided on port 4747."}],"stop_reason":"end_turn"},"timestamp":"2026-11-20T10:00:04.000Z"}
{"type":"user","message":{"role":"user","content":[{"type":"text","text":"Thanks.<system-reminder>do this</system-reminder>"},{"type":"image","source":{"type":"base64","data":"AAAA"}}]},"timestamp":"2026-11-20T10:01:00.000Z"}
{"type":"user","message":{"role":"user","content":"<command-name>/clear</command-name>"},"timestamp":"2026-11-20T10:01:01.000Z"}
{"type":"system","subtype":"compact_boundary","content":"Conversation compacted"}
{"type":"user","isCompactSummary":true,"isVisibleInTranscriptOnly":true,"message":{"role":"user","content":"This session is being continued from a previous conversation"}}
{"type":"a-kind-of-2030","message":{"role":"user","content":42}}
"#;

/// As Codex 0.150 writes it.
const CODEX: &str = r#"{"timestamp":"2026-11-20T10:00:00.000Z","type":"session_meta","payload":{"id":"s","cwd":"/p","cli_version":"0.150.0","instructions":null}}
{"timestamp":"2026-11-20T10:00:00.001Z","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"injected"}]}}
{"timestamp":"2026-11-20T10:00:00.002Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>x</environment_context>"}]}}
{"timestamp":"2026-11-20T10:00:00.003Z","type":"turn_context","payload":{"model":"m","ordinal":1}}
{"timestamp":"2026-11-20T10:00:00.004Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Which port do we use?"}]}}
{"timestamp":"2026-11-20T10:00:00.005Z","type":"event_msg","payload":{"type":"user_message","message":"Which port do we use?","kind":"plain"}}
{"timestamp":"2026-11-20T10:00:01.000Z","type":"event_msg","payload":{"type":"agent_reasoning","text":"thoughts"}}
{"timestamp":"2026-11-20T10:00:02.000Z","type":"event_msg","payload":{"type":"agent_message","message":"Let me look.","phase":"commentary"}}
{"timestamp":"2026-11-20T10:00:02.001Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c"}}
{"timestamp":"2026-11-20T10:00:03.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"tool output"}}
{"timestamp":"2026-11-20T10:00:03.500Z","type":"event_msg","payload":{"type":"token_count","info":null}}
{"timestamp":"2026-11-20T10:00:04.000Z","type":"event_msg","payload":{"type":"agent_message","message":"We decided on port 4747.","phase":"final_answer"}}
{"timestamp":"2026-11-20T10:00:04.001Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"We decided on port 4747."}]}}
{"timestamp":"2026-11-20T10:00:05.000Z","type":"compacted","payload":{"message":"a summary"}}
{"timestamp":"2026-11-20T10:01:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"Thanks."}}
"#;

/// As Cursor 3.20 writes it.
const CURSOR: &str = r#"{"role":"user","message":{"content":[{"type":"text","text":"<user_info>os</user_info>\n<user_query>\nWhich port do we use?\n</user_query>"}]}}
{"role":"assistant","message":{"content":[{"type":"tool_use","name":"Read","input":{}}]}}
{"role":"tool","message":{"content":[{"type":"tool-result","result":"tool output"}]}}
{"role":"assistant","message":{"content":[{"type":"text","text":"We decided on port 4747."}]}}
{"role":"user","message":{"content":[{"type":"text","text":"<user_query>Thanks.</user_query>"}]}}
"#;

const FILES: [(Harness, &str); 3] =
    [(Harness::Claude, CLAUDE), (Harness::Codex, CODEX), (Harness::Cursor, CURSOR)];

const SAID: [(Role, &str); 3] = [
    (Role::User, "Which port do we use?"),
    (Role::Assistant, "We decided on port 4747."),
    (Role::User, "Thanks."),
];

fn read(harness: Harness, text: impl AsRef<[u8]>, from: u64) -> Batch {
    let file = Cursor::new(text.as_ref().to_vec());
    let mut transcript = Transcript::open(harness, file, from).expect("it opens");
    let batch = transcript.next_batch(10_000).expect("it is read");
    assert!(!batch.has_more);
    batch
}

fn said(batch: &Batch) -> Vec<(Role, &str)> {
    batch.turns.iter().map(|turn| (turn.role, &*turn.text)).collect()
}

#[test]
fn prompts_and_answers_are_read_and_nothing_else() {
    for (harness, text) in FILES {
        let batch = read(harness, text, 0);
        assert_eq!(said(&batch), SAID, "{harness:?}");
        assert_eq!((batch.from, batch.to), (0, text.len() as u64));
        assert!(!batch.is_restart, "{harness:?}");
        let has_times = harness != Harness::Cursor;
        assert!(batch.turns.iter().all(|it| it.at.is_some() == has_times), "{harness:?}");
    }
    let first = &read(Harness::Claude, CLAUDE, 0).turns[0];
    assert_eq!(first.at.expect("a time").to_string(), "2026-11-20T10:00:00.000Z");
}

#[test]
fn a_rollout_of_2025_is_read() {
    let text = r##"{"id":"s","timestamp":"2025-05-01T10:00:00Z","instructions":null}
{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md instructions for /p"}]}
{"type":"message","role":"user","content":[{"type":"input_text","text":"Which port?"}]}
{"type":"reasoning","summary":[]}
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"4747."}]}
"##;
    let batch = read(Harness::Codex, text, 0);
    assert_eq!(said(&batch), [(Role::User, "Which port?"), (Role::Assistant, "4747.")]);
}

/// Reading on from the end of any line gives what one reading gives.
#[test]
fn reading_goes_on_at_every_line() {
    for (harness, text) in FILES {
        let ends = text.bytes().enumerate().filter(|(_, it)| *it == b'\n').map(|(at, _)| at + 1);
        for end in ends {
            let first = read(harness, &text[..end], 0);
            assert_eq!(first.to, end as u64);
            let rest = read(harness, text, first.to);
            assert!(!rest.is_restart);
            let both = [said(&first), said(&rest)].concat();
            assert_eq!(both, SAID, "{harness:?} at {end}");
        }
    }
}

#[test]
fn a_file_that_ends_anywhere_is_read_up_to_its_last_line_end() {
    for (harness, text) in FILES {
        for end in (0..text.len()).filter(|number| text.is_char_boundary(*number)) {
            let batch = read(harness, &text[..end], 0);
            let complete = text[..end].rfind('\n').map_or(0, |at| at + 1);
            assert_eq!(batch.to, complete as u64);
            assert_eq!(batch.turns, read(harness, &text[..complete], 0).turns);
        }
    }
}

#[test]
fn a_file_that_became_shorter_is_read_from_its_beginning() {
    for (harness, text) in FILES {
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let shorter = lines[lines.len() - 2..].concat();
        let batch = read(harness, &shorter, text.len() as u64);
        assert!(batch.is_restart && batch.from == 0, "{harness:?}");
        assert_eq!(batch.to, shorter.len() as u64);
        // Another file of the same or a greater length, in which no line ends there.
        let other = format!("{}\n{text}", " ".repeat(99));
        assert!(read(harness, &other, 50).is_restart);
        assert!(!read(harness, &other, 100).is_restart);
    }
}

#[test]
fn broken_lines_and_other_versions_are_skipped_and_counted() {
    for (harness, text) in FILES {
        let broken = [
            "",
            "{",
            "null",
            "[]",
            "42",
            r#""text""#,
            "{}",
            r#"{"type":7}"#,
            r#"{"type":"user","message":7}"#,
            r#"{"role":["user"]}"#,
            r#"{"type":"user","message":{"content":[7]}}"#,
            r#"{"type":"event_msg","payload":{"type":"user_message","message":[7]}}"#,
            &"[".repeat(10_000),
            "\0\0\0",
        ];
        let mut bytes = Vec::new();
        for line in text.lines() {
            for broken in broken {
                bytes.extend_from_slice(broken.as_bytes());
                bytes.push(b'\n');
            }
            bytes
                .extend_from_slice(b"{\"type\":\"user\",\"role\":\"user\",\"message\":\"\xff\"}\n");
            bytes.extend_from_slice(line.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        let batch = read(harness, &bytes, 0);
        assert_eq!(said(&batch), SAID, "{harness:?}");
        let lines = text.lines().count() as u64;
        assert!(batch.skipped >= 12 * lines, "{harness:?}: {}", batch.skipped);
        assert_eq!(batch.to, bytes.len() as u64);
    }
}

#[test]
fn a_batch_has_as_many_turns_as_asked_and_says_that_there_is_more() {
    let file = Cursor::new(CLAUDE.as_bytes());
    let mut transcript = Transcript::open(Harness::Claude, file, 0).expect("it opens");
    let mut all = Vec::new();
    let mut from = 0;
    loop {
        let batch = transcript.next_batch(1).expect("it is read");
        assert_eq!(batch.from, from);
        from = batch.to;
        assert!(batch.turns.len() <= 1);
        all.extend(batch.turns);
        if !batch.has_more {
            break;
        }
    }
    assert_eq!(all.len(), 3);
    assert_eq!(from, CLAUDE.len() as u64);
}

/// A file that is made while it is read: a turn with a number, then a megabyte of tool output, again
/// and again.
struct Generated {
    at: u64,
    periods: u64,
    period: Vec<u8>,
}

const TURN: &[u8] =
    b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"Number 0000\"}}\n";
const OUTPUT: &[u8] =
    b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"content\":\"";
const OUTPUT_END: &[u8] = b"\"}]}}\n";

impl Generated {
    fn new(periods: u64) -> Self {
        let mut period = [TURN, OUTPUT].concat();
        period.resize((1 << 20) - OUTPUT_END.len(), b'x');
        period.extend_from_slice(OUTPUT_END);
        Self { at: 0, periods, period }
    }
}

impl Read for Generated {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.period.len() as u64;
        let (number, start) = (self.at / length, (self.at % length) as usize);
        if number == self.periods {
            return Ok(0);
        }
        let digits = TURN.iter().position(|turn| *turn == b'0').expect("the number");
        self.period[digits..digits + 4].copy_from_slice(format!("{number:04}").as_bytes());
        let count = buffer.len().min(self.period.len() - start);
        buffer[..count].copy_from_slice(&self.period[start..start + count]);
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Generated {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        if let SeekFrom::Start(at) = to {
            self.at = at;
        }
        Ok(self.at)
    }
}

#[test]
fn two_hundred_megabytes_are_read_in_batches() {
    let file = Generated::new(200);
    let mut transcript = Transcript::open(Harness::Claude, file, 0).expect("it opens");
    let (mut turns, mut batches) = (Vec::new(), 0);
    loop {
        let batch = transcript.next_batch(50).expect("it is read");
        turns.extend(batch.turns.into_iter().map(|turn| turn.text));
        batches += 1;
        if !batch.has_more {
            assert_eq!((batch.to, batch.skipped), (200 << 20, 0));
            break;
        }
    }
    let wanted: Vec<String> = (0..200).map(|number| format!("Number {number:04}")).collect();
    assert_eq!((turns, batches), (wanted, 5));
}

#[test]
fn a_line_over_the_limit_is_skipped_and_a_long_turn_is_cut() {
    let line = |text: &str| format!(r#"{{"role":"user","message":{{"content":"{text}"}}}}"#);
    let fits = LINE_BYTES_MAX - line("").len();
    for (extra, turns) in [(0, 2), (1, 1)] {
        let text = format!("{}\n{}\n", line(&"x".repeat(fits + extra)), line("after it"));
        let batch = read(Harness::Cursor, &text, 0);
        assert_eq!((batch.turns.len(), batch.skipped), (turns, 2 - turns as u64));
        assert_eq!(batch.to, text.len() as u64);
    }
    let long = "é".repeat(TURN_BYTES_MAX);
    let batch = read(Harness::Cursor, format!("{}\n", line(&long)), 0);
    let kept = clean(&batch.turns[0].text).expect("it has a text");
    assert!(kept.len() <= TURN_BYTES_MAX && kept.len() + 2 > TURN_BYTES_MAX);
}

/// The turns of a file, read in batches of that many, and the position after them.
fn in_parts(harness: Harness, bytes: &[u8], from: u64, turns_max: usize) -> (Vec<Turn>, u64) {
    let mut transcript =
        Transcript::open(harness, Cursor::new(bytes), from).expect("bytes are read");
    let mut all = Vec::new();
    loop {
        let batch = transcript.next_batch(turns_max).expect("bytes are read");
        assert!(batch.from <= batch.to && batch.to <= bytes.len() as u64);
        all.extend(batch.turns);
        if !batch.has_more {
            return (all, batch.to);
        }
    }
}

proptest! {
    /// As the fuzz target does, with transcripts of which bytes were changed.
    #[test]
    fn changed_bytes_give_the_same_turns_in_any_parts(
        which in 0..FILES.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..40),
        from in 0u64..4_000,
    ) {
        let (harness, text) = FILES[which];
        let mut bytes = text.as_bytes().to_vec();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let (turns, to) = in_parts(harness, &bytes, 0, usize::MAX);
        prop_assert_eq!(in_parts(harness, &bytes, 0, 1), (turns.clone(), to));
        prop_assert_eq!(in_parts(harness, &bytes, to, 7).0, vec![]);
        in_parts(harness, &bytes, from, 3);
        for turn in &turns {
            if let Some(kept) = clean(&turn.text) {
                prop_assert!(!kept.is_empty() && kept.len() <= TURN_BYTES_MAX);
            }
        }
    }
}
