//! Folders that are not a model, or no longer one: an error with the file's name, never a panic.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_embedding::{ErrorKind, Model, fetch};

use crate::tiny;

pub(crate) fn whole() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    tiny::write(folder.path(), &tiny::files(1));
    folder
}

/// Loads, and compares the error's kind and a part of its message.
pub(crate) fn check(folder: &Path, kind: ErrorKind, part: &str) {
    let error = Model::load(folder).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

pub(crate) fn change(folder: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.join(file);
    let mut value =
        fs::read(&path).map_or(json!({}), |text| serde_json::from_slice(&text).unwrap());
    change(&mut value);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
}

#[test]
fn a_whole_model_embeds() {
    let folder = whole();
    let model = Model::load(folder.path()).unwrap();
    assert_eq!((model.dimensions(), model.terms_max()), (tiny::DIMENSIONS, 64));
    assert!(model.embed(&[]).unwrap().is_empty());
    let vectors = model.embed(&["sea", "", "light", "sea"]).unwrap();
    assert_eq!(vectors[0], vectors[3]);
    assert_ne!(vectors[0], vectors[2]);
    assert_eq!(vectors[1].len(), tiny::DIMENSIONS);
}

#[test]
fn weights_of_half_the_bits_give_nearly_the_same_vectors() {
    let folder = whole();
    let full = Model::load(folder.path()).unwrap().embed(&["sea light"]).unwrap().remove(0);
    fs::write(folder.path().join("model.safetensors"), tiny::half_weights(1)).unwrap();
    let half = Model::load(folder.path()).unwrap().embed(&["sea light"]).unwrap().remove(0);
    let likeness: f32 = full.iter().zip(&half).map(|(a, b)| a * b).sum();
    assert!(full != half && likeness > 0.99, "{likeness}");
}

#[test]
fn a_missing_file_is_named() {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let folder = whole();
        fs::remove_file(folder.path().join(file)).unwrap();
        check(folder.path(), ErrorKind::NotFound, file);
    }
    check(Path::new("/nowhere/at/all"), ErrorKind::NotFound, "config.json");
}

#[test]
fn a_pipe_in_place_of_a_file_is_named_and_nothing_waits_for_it() {
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        let folder = whole();
        let path = folder.path().join(file);
        fs::remove_file(&path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        check(folder.path(), ErrorKind::Damaged, file);
    }
}

#[test]
fn truncated_weights_are_named() {
    let weights = tiny::weights(1);
    for length in [0, 1, 7, 8, 9, 100, weights.len() / 2, weights.len() - 4, weights.len() - 1] {
        let folder = whole();
        fs::write(folder.path().join("model.safetensors"), &weights[..length]).unwrap();
        check(folder.path(), ErrorKind::Damaged, "model.safetensors");
    }
}

#[test]
fn files_of_two_models_are_told_apart() {
    let folder = whole();
    change(folder.path(), "config.json", |value| value["intermediate_size"] = json!(32));
    check(folder.path(), ErrorKind::Damaged, "model.safetensors does not match config.json");
    let folder = whole();
    change(folder.path(), "config.json", |value| value["num_hidden_layers"] = json!(2));
    check(folder.path(), ErrorKind::Damaged, "model.safetensors does not match config.json");
    let folder = whole();
    change(folder.path(), "tokenizer.json", |value| {
        value["model"]["vocab"]["zebra"] = json!(9_999);
    });
    check(folder.path(), ErrorKind::Damaged, "tokenizer.json counts its words up to 9999");
}

#[test]
fn weights_swapped_after_they_came_in_are_noticed() {
    let cache = tempfile::tempdir().unwrap();
    let folder = fetch::import(whole().path(), "tiny", cache.path(), Model::check).unwrap();
    Model::load(&folder).unwrap();
    fs::write(folder.join("model.safetensors"), tiny::weights(2)).unwrap();
    check(&folder, ErrorKind::Damaged, "model.safetensors has SHA-256");
}

#[test]
fn weights_that_give_no_numbers_are_refused() {
    for broken in [f32::NAN, f32::INFINITY] {
        let folder = whole();
        let path = folder.path().join("model.safetensors");
        let mut weights = fs::read(&path).unwrap();
        // The last tensor is the last layer's scale or shift, which affects every vector.
        let end = weights.len();
        weights[end - 4..].copy_from_slice(&broken.to_le_bytes());
        fs::write(&path, weights).unwrap();
        check(folder.path(), ErrorKind::Damaged, "without a direction");
    }
}

#[test]
fn kinds_that_are_not_run_are_named() {
    let cases: [(&str, Value, &str); 6] = [
        (
            "config.json",
            json!({ "model_type": "t5" }),
            "supported are bert, roberta, xlm-roberta, mpnet",
        ),
        ("config.json", json!({ "position_embedding_type": "relative_key" }), "relative_key"),
        ("1_Pooling/config.json", json!({ "pooling_mode_max_tokens": true }), "pooling_mode"),
        (
            "1_Pooling/config.json",
            json!({ "pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true }),
            "exactly one",
        ),
        (
            "modules.json",
            json!([{ "idx": 0, "name": "2", "path": "2_Dense", "type": "x.models.Dense" }]),
            "Dense",
        ),
        (
            "modules.json",
            json!([{ "idx": 0, "name": "1", "path": "../1_Pooling", "type": "Pooling" }]),
            "Pooling",
        ),
    ];
    for (file, value, part) in cases {
        let folder = whole();
        change(folder.path(), file, |it| match (it, value) {
            (Value::Object(settings), Value::Object(more)) => settings.extend(more),
            (it, value) => *it = value,
        });
        check(folder.path(), ErrorKind::Invalid, part);
    }
}

#[test]
fn impossible_settings_are_damage() {
    for (name, value) in [
        ("num_attention_heads", json!(0)),
        ("num_attention_heads", json!(3)),
        ("hidden_size", json!(1_u64 << 60)),
        ("vocab_size", json!(-1)),
    ] {
        let folder = whole();
        change(folder.path(), "config.json", |it| it[name] = value);
        check(folder.path(), ErrorKind::Damaged, "config.json");
    }
}

#[test]
fn a_template_that_names_an_undefined_mark_is_damage() {
    let folder = whole();
    change(folder.path(), "tokenizer.json", |value| {
        value["post_processor"]["special_tokens"] = json!({});
    });
    check(folder.path(), ErrorKind::Damaged, "tokenizer.json");
}

#[test]
fn pooling_length_and_case_come_from_the_settings() {
    let embed = |folder: &Path, text: &str| {
        let model = Model::load(folder).unwrap();
        (model.embed(&[text]).unwrap().remove(0), model.fingerprint().to_owned())
    };
    let folder = whole();
    let text = "a b c d e f g h";
    let (mean, before) = embed(folder.path(), text);
    change(folder.path(), "1_Pooling/config.json", |value| {
        value["pooling_mode_cls_token"] = json!(true);
    });
    let (first, after) = embed(folder.path(), text);
    assert_ne!(mean, first);
    assert_ne!(before, after, "another pooling is another model");

    change(folder.path(), "sentence_bert_config.json", |value| value["max_seq_length"] = json!(5));
    let (cut, shorter) = embed(folder.path(), text);
    assert_ne!(after, shorter);
    assert_eq!(cut, embed(folder.path(), "a b c").0, "two marks and three terms are read");

    fs::remove_file(folder.path().join("sentence_bert_config.json")).unwrap();
    change(folder.path(), "tokenizer_config.json", |value| value["model_max_length"] = json!(1e30));
    assert_eq!(Model::load(folder.path()).unwrap().terms_max(), 64, "the positions are the limit");
}

#[test]
fn a_text_of_a_megabyte_has_the_vector_of_its_beginning() {
    let model = Model::load(whole().path()).unwrap();
    let long = "sea light ".repeat(100_000);
    let beginning = "sea light ".repeat(100);
    let vectors = model.embed(&[&long, &beginning, &"x".repeat(1 << 20)]).unwrap();
    assert_eq!(vectors[0], vectors[1]);
}

/// Loads a model from `files`; whatever they are, its vectors are finite or there is an error.
fn loads_or_refuses(files: &[(&'static str, Vec<u8>)]) {
    let folder = tempfile::tempdir().unwrap();
    tiny::write(folder.path(), files);
    if let Ok(model) = Model::load(folder.path())
        && let Ok(vectors) = model.embed(&["sea light", "b"])
    {
        assert!(vectors.iter().flatten().all(|number| number.is_finite()));
    }
}

/// `tokenizers` 0.23.2 panics on a decoder that is an object with a `type` but no known fields.
#[test]
fn a_decoder_that_makes_no_sense_is_not_read() {
    for decoder in [json!({ "typf": "WordPiece" }), json!({ "type": 7 }), json!([]), json!("x")] {
        let folder = whole();
        change(folder.path(), "tokenizer.json", |value| value["decoder"] = decoder);
        Model::load(folder.path()).unwrap();
    }
}

#[test]
fn parts_that_make_no_sense_are_damage() {
    for (part, value, at) in [
        ("normalizer", json!({ "type": "Replace" }), ""),
        ("post_processor", json!({ "type": "TemplateProcessing", "single": "$A:9" }), ""),
        ("model", json!({ "type": "BPE", "vocab": {}, "merges": ["a"] }), ""),
        ("added_tokens", json!([{ "id": 9 }]), "content"),
    ] {
        let folder = whole();
        change(folder.path(), "tokenizer.json", |it| it[part] = value);
        check(folder.path(), ErrorKind::Damaged, "tokenizer.json is damaged: ");
        check(folder.path(), ErrorKind::Damaged, at);
    }
}

/// Every byte of the settings and of the weights' header, with one bit flipped each, or, if
/// `WAYPOST_TEST_CASES` requests many cases, with each of its bits flipped.
#[test]
fn any_byte_of_the_settings_may_be_flipped() {
    /// The header of the tiny weights is shorter than this.
    const HEADER_BYTES: usize = 2_500;
    let whole = tiny::files(1);
    let is_long = cases(0) > 0;
    for file in 0..whole.len() {
        // A third of the positions is enough for every commit.
        let step = if is_long { 1 } else { 3 };
        for place in (0..whole[file].1.len().min(HEADER_BYTES)).step_by(step) {
            let bits = if is_long { 0..8 } else { place as u32 % 8..place as u32 % 8 + 1 };
            for bit in bits {
                let mut files = whole.clone();
                files[file].1[place] ^= 1 << bit;
                loads_or_refuses(&files);
            }
        }
    }
}

/// The number of random cases of a test: the value of `WAYPOST_TEST_CASES`, or `default`.
#[expect(clippy::disallowed_methods, reason = "how long a test runs is no setting")]
pub(crate) fn cases(default: u32) -> u32 {
    std::env::var("WAYPOST_TEST_CASES").ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(200), ..ProptestConfig::default() })]

    /// A change of any byte of any file either loads and gives a direction, or is an error.
    #[test]
    fn a_flipped_byte_is_never_a_panic(file in 0..3_usize, place in 0.0..1.0_f64, bits in 1..=255_u8) {
        let mut files = tiny::files(1);
        let content = &mut files[file].1;
        let place = (place * content.len() as f64) as usize;
        content[place] ^= bits;
        loads_or_refuses(&files);
    }
}
