//! A `tokenizer.json` that would take all memory or time: an error with the part's place, before it
//! takes any.

use std::fs;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};
use waypost_embedding::{ErrorKind, Model};

use crate::broken::{cases, change, check, whole};
use crate::tiny;

/// What a process may take in which tokenizers are tried; without checks, several take more.
const MEMORY_KB_MAX: u64 = 3 << 20;

/// Replaces one part, and compares the error.
fn refuse(part: &str, value: Value, kind: ErrorKind, message: &str) {
    let folder = whole();
    change(folder.path(), "tokenizer.json", |it| *it.pointer_mut(part).unwrap() = value);
    check(folder.path(), kind, "tokenizer.json");
    check(folder.path(), kind, message);
}

fn replace(pattern: &str, content: &str) -> Value {
    json!({ "type": "Replace", "pattern": { "Regex": pattern }, "content": content })
}

fn template(single: &[&str], ids: usize) -> Value {
    let part = |name: &&str| match *name {
        "A" => json!({ "Sequence": { "id": "A", "type_id": 0 } }),
        "B" => json!({ "Sequence": { "id": "B", "type_id": 0 } }),
        other => json!({ "SpecialToken": { "id": other, "type_id": 0 } }),
    };
    let single: Vec<Value> = single.iter().map(part).collect();
    let special = json!({ "id": "x", "ids": vec![5; ids], "tokens": vec!["x"; ids] });
    json!({
        "type": "TemplateProcessing", "single": single, "pair": single,
        "special_tokens": { "x": special }
    })
}

#[test]
fn steps_beyond_a_limit_are_refused_with_their_place() {
    let long = "a".repeat(10_000_000);
    let chain = |parts: Value| json!({ "type": "Sequence", "normalizers": parts });
    for (part, value, message) in [
        (
            "/normalizer",
            chain(json!(vec![replace(r"\s", "aaaaaaaaaa"); 9])),
            "normalizer.normalizers[2]: after this step, a text can be 1000 times as long; \
             valid: up to 128 times",
        ),
        (
            "/normalizer",
            json!({ "type": "Prepend", "prepend": long }),
            "normalizer: after this step, a text can be 10000001 times",
        ),
        ("/normalizer", replace("", "b"), "normalizer.pattern: {\"Regex\":\"\"} is not"),
        (
            "/normalizer",
            replace("(a+)+$", "b"),
            "(a+)+$\"} is not a text, nor one of known models; valid: [",
        ),
        // The library takes some parts for the first type that has their fields.
        (
            "/normalizer",
            json!({ "type": "BertNormalizer", "prepend": "x".repeat(1_000) }),
            "normalizer: after this step, a text can be 7508 times",
        ),
        (
            "/normalizer",
            json!({ "type": "Replace", "pattern": { "String": "" }, "content": "b" }),
            "normalizer.pattern: {\"String\":\"\"} is not a text",
        ),
        (
            "/pre_tokenizer",
            json!({ "type": "FixedLength", "length": 0 }),
            "no known type; valid: B",
        ),
        ("/normalizer", json!({ "type": "Magic" }), "normalizer: it has no known type"),
        (
            "/pre_tokenizer",
            json!({
                "type": "Sequence",
                "pretokenizers": [{ "type": "Split", "pattern": { "Regex": "(?=(a|b)*c)" },
                    "behavior": "Isolated", "invert": true }]
            }),
            "pre_tokenizer.pretokenizers[0].pattern: ",
        ),
        (
            "/model/max_input_chars_per_word",
            json!(1_000_000),
            "model.max_input_chars_per_word: it is 1000000; valid: up to 200",
        ),
        ("/model/continuing_subword_prefix", json!("#".repeat(65)), "_prefix: it has 65 bytes"),
        ("/added_tokens/1/content", json!("a".repeat(1 << 18)), "added_tokens: it has 262"),
        ("/post_processor", template(&["x", "A"], 5_000), "post_processor: it has "),
        (
            "/normalizer",
            json!({ "type": "Precompiled", "precompiled_charsmap": "AAAA" }),
            "normalizer.precompiled_charsmap: it is not SentencePiece's rules",
        ),
        (
            "/normalizer",
            json!({ "type": "Precompiled", "precompiled_charsmap": charsmap(1_000) }),
            "normalizer: after this step, a text can be 1000 times",
        ),
        (
            "/post_processor",
            json!({
                "type": "Sequence",
                "processors": vec![template(&["A", "A"], 1); 2]
            }),
            "post_processor: it has 2 templates; valid: up to 1",
        ),
        (
            "/model",
            json!({ "type": "Unigram", "unk_id": 0, "vocab": [["a".repeat(257), 0.0]] }),
            "model.vocab[0]: it has 257 bytes; valid: up to 256",
        ),
    ] {
        refuse(part, value, ErrorKind::Invalid, message);
    }
}

#[test]
fn marks_and_words_that_contradict_are_damage_to_this_file() {
    let roberta = json!({
        "type": "RobertaProcessing", "sep": ["a", 4_000_000_000_u32], "cls": ["b", 1],
        "trim_offsets": true, "add_prefix_space": true
    });
    let words = json!({ "type": "WordLevel", "unk_token": "zz", "vocab": { "a": 0 } });
    let many = template(&["x", "x", "A"], 40);
    for (part, value, message) in [
        ("/post_processor", roberta, "the token 4000000000, which is not one of the 57"),
        ("/post_processor", template(&["A"; 65], 1), "tokens for it; valid: up to 64"),
        ("/post_processor", template(&["x"], 1), "gives two different texts the same tokens"),
        ("/post_processor", template(&["A", "B"], 1), "tokenizer.json is inconsistent ("),
        ("/post_processor", template(&["y", "A"], 1), "tokenizer.json is "),
        ("/post_processor", many, "tokenizer.json "),
        ("/model", words, "tokenizer.json "),
        ("/model/unk_token", json!("nope"), "tokenizer.json failed on it ("),
    ] {
        refuse(part, value, ErrorKind::Damaged, message);
    }
}

/// Old files name no type of model.
#[test]
fn a_model_without_a_type_has_the_vectors_of_the_same_with_one() {
    let embed = |folder: &Path| Model::load(folder).unwrap().embed(&["sea light"]).unwrap();
    let folder = whole();
    let named = embed(folder.path());
    change(folder.path(), "tokenizer.json", |value| {
        value["model"].as_object_mut().unwrap().remove("type").unwrap();
    });
    assert_eq!(embed(folder.path()), named);
}

fn step() -> impl Strategy<Value = Value> {
    let length = || select(vec![0, 1, 2, 3, 10, 100, 127, 128, 200, 256, 257, 1_000_000]);
    let regex =
        select(vec!["", ".", "x*", r"\s", r"\s+", " {2,}", "(a+)+$", "(?=(a|b)*c)", "(", "a|"]);
    let text = select(vec!["", "a", " ", "aa", "ﷺ"]);
    prop_oneof![
        4 => (regex, length()).prop_map(|(regex, length)| replace(regex, &"b".repeat(length))),
        4 => (text, length()).prop_map(|(text, length)| {
            json!({ "type": "Replace", "pattern": { "String": text }, "content": "a".repeat(length) })
        }),
        2 => length().prop_map(|length| json!({ "type": "Prepend", "prepend": "a".repeat(length) })),
        2 => length().prop_map(|length| {
            json!({ "type": "Precompiled", "precompiled_charsmap": charsmap(length) })
        }),
        6 => select(vec!["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "ByteLevel"])
            .prop_map(|kind| json!({ "type": kind })),
    ]
}

/// Rules that replace `a` by a text of `length` bytes: see `charsmap.rs` for the form.
fn charsmap(length: usize) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut units = [0_u32; 256];
    units[0x61] = 0xE1 << 10 | 1 << 8 | 0x61;
    units[0x80] = 1 << 31;
    let units = units.iter().flat_map(|unit| unit.to_le_bytes());
    let bytes = 1_024_u32.to_le_bytes().into_iter().chain(units).chain(vec![b'b'; length]);
    let mut bytes: Vec<u8> = bytes.collect();
    // Zeros at the end are only more ends of replacements.
    bytes.resize(bytes.len().next_multiple_of(3), 0);
    let digits = bytes.chunks_exact(3).flat_map(|some| {
        let bits = u32::from_be_bytes([0, some[0], some[1], some[2]]);
        [18, 12, 6, 0].map(|shift| DIGITS[(bits >> shift & 63) as usize])
    });
    digits.map(char::from).collect()
}

fn pre_step() -> impl Strategy<Value = Value> {
    let regex = select(vec!["", ".", "x*", r"\s+", "(a+)+$", r"\w+|[^\w\s]+"]);
    prop_oneof![
        (regex, any::<bool>()).prop_map(|(regex, invert)| json!({
            "type": "Split", "pattern": { "Regex": regex }, "behavior": "Isolated", "invert": invert
        })),
        select(vec!["", " ", "a"]).prop_map(|text| json!({
            "type": "Split", "pattern": { "String": text }, "behavior": "MergedWithNext", "invert": false
        })),
        select(vec!["▁", "a", " ", "aa"]).prop_map(|text| {
            json!({ "type": "Metaspace", "replacement": text, "prepend_scheme": "always" })
        }),
        any::<bool>().prop_map(|space| {
            json!({ "type": "ByteLevel", "add_prefix_space": space, "trim_offsets": true })
        }),
        (0..3_u64).prop_map(|length| json!({ "type": "FixedLength", "length": length })),
        select(vec!["BertPreTokenizer", "Whitespace", "WhitespaceSplit", "Punctuation", "Nonsense"])
            .prop_map(|kind| json!({ "type": kind })),
    ]
}

/// One change of a whole file: the place, and what comes there.
fn mutation() -> impl Strategy<Value = (&'static str, Value)> {
    let vocabulary = tiny::tokenizer()["model"]["vocab"].clone();
    let words: Vec<String> = vocabulary.as_object().map(Map::keys).unwrap().cloned().collect();
    let chain = |list: &'static str, count| {
        move |steps: Vec<Value>| {
            let mut chain = json!({ "type": "Sequence", list: steps });
            for _ in 0..count {
                chain = json!({ "type": "Sequence", list: [chain] });
            }
            chain
        }
    };
    let number = || select(vec![0_u64, 1, 5, 56, 57, 300, 1 << 31, u64::from(u32::MAX)]);
    let bpe = json!({ "type": "BPE", "vocab": vocabulary, "merges": [], "dropout": 0.5 });
    prop_oneof![
        8 => prop::collection::vec(step(), 1..6).prop_map(chain("normalizers", 0))
            .prop_map(|it| ("/normalizer", it)),
        2 => prop::collection::vec(step(), 0..12).prop_map(chain("normalizers", 20))
            .prop_map(|it| ("/normalizer", it)),
        4 => prop::collection::vec(pre_step(), 1..5).prop_map(chain("pretokenizers", 0))
            .prop_map(|it| ("/pre_tokenizer", it)),
        1 => (number(), number()).prop_map(|(sep, cls)| ("/post_processor", json!({
            "type": "RobertaProcessing", "sep": ["a", sep], "cls": ["b", cls],
            "trim_offsets": true, "add_prefix_space": true
        }))),
        2 => (prop::collection::vec(select(vec!["A", "A", "B", "x", "y"]), 0..5), 0..70_usize)
            .prop_map(|(single, ids)| ("/post_processor", template(&single, ids))),
        1 => number().prop_map(|it| ("/model/max_input_chars_per_word", json!(it))),
        1 => number().prop_map(|it| ("/model/vocab/a", json!(it))),
        1 => (0..100_usize).prop_map(|it| {
            ("/model/continuing_subword_prefix", json!("#".repeat(it)))
        }),
        1 => Just(("/model", bpe)),
        2 => (prop::collection::vec(select(words), 50..100), select(vec![0.0, -5.0, 1e300]), 0..300_usize)
            .prop_map(|(words, score, length)| {
                let more = ["<unk>".to_owned(), "a".repeat(length)];
                let words = more.into_iter().chain(words).map(|word| json!([word, score]));
                let words: Vec<Value> = words.take(57).collect();
                ("/model", json!({ "type": "Unigram", "unk_id": 0, "vocab": words }))
            }),
        1 => (select(vec!["", "a", " ", "ﷺ"]), any::<[bool; 4]>()).prop_map(|(content, flags)| {
            ("/added_tokens/0", json!({
                "id": 0, "content": content, "single_word": flags[0], "lstrip": flags[1],
                "rstrip": flags[2], "normalized": flags[3], "special": true
            }))
        }),
    ]
}

/// Whatever is in `tokenizer.json`: vectors, or an error that names this file and no other.
fn gives_vectors_or_names_the_file(tokenizer: &Value) {
    let folder = whole();
    fs::write(folder.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let texts = ["sea light", "", &"ab ".repeat(10_000), &" ".repeat(20_000), &"ﷺ".repeat(5_000)];
    match Model::load(folder.path()).and_then(|model| model.embed(&texts)) {
        Ok(vectors) => assert!(vectors.iter().flatten().all(|number| number.is_finite())),
        Err(error) => {
            let error = error.to_string();
            assert!(error.contains("tokenizer.json") && !error.contains("safetensors"), "{error}");
        }
    }
}

/// Runs a test of this file again in a process with limited memory; true in that process.
#[expect(clippy::disallowed_methods, reason = "tells the two processes apart")]
fn is_limited(test: &str) -> bool {
    if std::env::var("WAYPOST_TEST_LIMITED").is_ok() {
        return true;
    }
    let limited = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY_KB_MAX} && exec \"$0\" \"$@\"")])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("tokenizers::{test}"), "--nocapture"])
        .env("WAYPOST_TEST_LIMITED", "1")
        // One thread, so that their stacks are not what is measured.
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .unwrap();
    let output = [limited.stdout, limited.stderr].concat();
    let output = String::from_utf8_lossy(&output);
    assert!(limited.status.success() && output.contains("1 passed"), "{output}");
    false
}

#[test]
fn no_tokenizer_takes_more_memory_than_there_is() {
    if !is_limited("no_tokenizer_takes_more_memory_than_there_is") {
        return;
    }
    let mutations = prop::collection::vec(mutation(), 1..4);
    proptest!(ProptestConfig { cases: cases(150), ..ProptestConfig::default() }, |(all in mutations)| {
        let mut tokenizer = tiny::tokenizer();
        for (place, value) in all {
            if let Some(part) = tokenizer.pointer_mut(place) {
                *part = value;
            }
        }
        gives_vectors_or_names_the_file(&tokenizer);
    });
}

#[test]
fn a_tokenizer_that_tells_no_texts_apart_is_at_fault_and_not_the_weights() {
    let folder = whole();
    // Without words, each text is one unknown word.
    change(folder.path(), "tokenizer.json", |value| value["pre_tokenizer"] = Value::Null);
    let part = "tokenizer.json is damaged: it gives two different texts the same tokens";
    check(folder.path(), ErrorKind::Damaged, part);
}

/// Just what is allowed, and a text that makes the most of it.
#[test]
fn the_longest_text_at_the_limit_of_growth_fits_into_memory() {
    if !is_limited("the_longest_text_at_the_limit_of_growth_fits_into_memory") {
        return;
    }
    let folder = whole();
    change(folder.path(), "tokenizer.json", |value| {
        let content = ".".repeat(128);
        value["normalizer"] =
            json!({ "type": "Replace", "pattern": { "String": "x" }, "content": content });
    });
    let model = Model::load(folder.path()).unwrap();
    assert_eq!(model.embed(&[&"x".repeat(1 << 20)]).unwrap()[0].len(), tiny::DIMENSIONS);
}
