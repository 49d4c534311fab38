//! Models of each family give the vectors of the library that defines them.
//! `tests/reference/make.py` makes the folders.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use waypost_embedding::{ErrorKind, Model};

pub(crate) const FAMILIES: [&str; 6] =
    ["bert", "roberta", "xlm-roberta", "mpnet", "distilbert", "modernbert"];

#[derive(Deserialize)]
pub(crate) struct Expected {
    texts: Vec<String>,
    passages: Vec<Vec<f32>>,
    queries: Vec<Vec<f32>>,
}

pub(crate) fn folder(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(family)
}

/// A copy that a test may change.
pub(crate) fn copy(family: &str) -> TempDir {
    let (from, to) = (folder(family), tempfile::tempdir().unwrap());
    fs::create_dir(to.path().join("1_Pooling")).unwrap();
    for file in [
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "tokenizer_config.json",
        "1_Pooling/config.json",
        "config_sentence_transformers.json",
    ] {
        if from.join(file).exists() {
            fs::copy(from.join(file), to.path().join(file)).unwrap();
        }
    }
    to
}

pub(crate) fn change(folder: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.join(file);
    let mut value =
        fs::read(&path).map_or(json!({}), |text| serde_json::from_slice(&text).unwrap());
    change(&mut value);
    fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
}

/// Gives the tensors of a safetensors file other names.
fn rename(folder: &Path, name: impl Fn(&str) -> String) {
    let path = folder.join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let (length, rest) = bytes.split_at(8);
    let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
    let (header, numbers) = rest.split_at(length);
    let header: serde_json::Map<String, Value> = serde_json::from_slice(header).unwrap();
    let header: serde_json::Map<String, Value> =
        header.into_iter().map(|(it, value)| (name(&it), value)).collect();
    let header = serde_json::to_vec(&header).unwrap();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(numbers);
    fs::write(path, file).unwrap();
}

/// Compares all vectors, and returns the smallest cosine.
fn compare(model: &Model, expected: &Expected, name: &str) -> f64 {
    let texts: Vec<&str> = expected.texts.iter().map(String::as_str).collect();
    let found = [model.embed(&texts).unwrap(), model.embed_queries(&texts).unwrap()].concat();
    let expected = expected.passages.iter().chain(&expected.queries);
    assert_eq!(found.len(), expected.clone().count());
    let mut least: f64 = 1.0;
    for ((found, expected), text) in found.iter().zip(expected).zip(texts.iter().cycle()) {
        let products = found.iter().zip(expected).map(|(&a, &b)| f64::from(a) * f64::from(b));
        let cosine: f64 = products.sum();
        assert!(cosine >= 0.9999, "{name}: {cosine} for {text:?}");
        least = least.min(cosine);
    }
    least
}

fn expected(family: &str) -> Expected {
    serde_json::from_slice(&fs::read(folder(family).join("expected.json")).unwrap()).unwrap()
}

#[test]
fn each_family_has_the_vectors_of_the_reference() {
    let least = FAMILIES.map(|family| {
        let model = Model::load(&folder(family)).unwrap();
        compare(&model, &expected(family), family)
    });
    assert!(least.iter().all(|it| *it > 0.999_999), "smallest cosines {least:?}");
}

#[test]
fn a_file_without_a_head_has_the_same_vectors() {
    for family in FAMILIES {
        let folder = copy(family);
        rename(folder.path(), |name| {
            let is_head = |text: &str| text.contains("classifier") || text == "head";
            match name.split_once('.') {
                Some((first, rest)) if !is_head(first) => rest.to_owned(),
                _ => name.to_owned(),
            }
        });
        compare(&Model::load(folder.path()).unwrap(), &expected(family), family);
    }
}

#[test]
fn the_older_settings_of_modernbert_mean_the_same() {
    let folder = copy("modernbert");
    change(folder.path(), "config.json", |it| {
        let settings = it.as_object_mut().unwrap();
        assert!(settings.remove("rope_parameters").is_some());
        assert!(settings.remove("layer_types").is_some());
        settings.insert("global_attn_every_n_layers".to_owned(), json!(2));
        settings.insert("global_rope_theta".to_owned(), json!(90.0));
        settings.insert("local_rope_theta".to_owned(), json!(20.0));
        settings.insert("layer_norm_eps".to_owned(), json!(1e-5));
    });
    let model = Model::load(folder.path()).unwrap();
    compare(&model, &expected("modernbert"), "older settings");
}

#[test]
fn prompts_are_part_of_the_fingerprint_and_must_be_known() {
    let folder = copy("xlm-roberta");
    let fingerprint = || Model::load(folder.path()).unwrap().fingerprint().to_owned();
    let (file, before) = ("config_sentence_transformers.json", fingerprint());
    change(folder.path(), file, |value| value["prompts"]["passage"] = json!("text: "));
    assert_ne!(before, fingerprint());
    fs::remove_file(folder.path().join(file)).unwrap();
    let none = fingerprint();
    change(folder.path(), file, |value| value["prompts"] = json!({ "query": "", "document": "" }));
    assert_eq!(none, fingerprint(), "empty prompts are none");

    change(folder.path(), file, |value| value["default_prompt_name"] = json!("clustering"));
    refused(folder.path(), ErrorKind::Damaged, &[file, "\"clustering\""]);
    change(folder.path(), file, |it| {
        *it = json!({ "prompts": { "query": "x".repeat(4097) } });
    });
    refused(folder.path(), ErrorKind::Damaged, &[file, "4097 bytes", "4096"]);
    change(folder.path(), file, |it| *it = json!({ "prompts": { "query": "find: " } }));
    change(folder.path(), "1_Pooling/config.json", |value| value["include_prompt"] = json!(false));
    refused(folder.path(), ErrorKind::Invalid, &["1_Pooling/config.json", "include_prompt"]);
}

/// Loading fails, and the message has all parts.
pub(crate) fn refused(folder: &Path, kind: ErrorKind, parts: &[&str]) {
    let error = Model::load(folder).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "no {part:?} in: {error}");
    }
}

#[test]
fn a_model_of_another_family_than_its_name_says_is_named() {
    for (family, named, parts) in [
        ("bert", "mpnet", ["mpnet", "those of bert"]),
        ("mpnet", "roberta", ["roberta", "those of mpnet"]),
        ("roberta", "bert", ["family bert", "those of roberta"]),
        ("distilbert", "bert", ["family bert", "those of distilbert"]),
        ("bert", "distilbert", ["distilbert", "those of bert"]),
    ] {
        let folder = copy(family);
        let mut config: Value =
            serde_json::from_slice(&fs::read(self::folder(named).join("config.json")).unwrap())
                .unwrap();
        config["vocab_size"] = json!(300);
        fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
        refused(folder.path(), ErrorKind::Damaged, &["model.safetensors", parts[0], parts[1]]);
    }
    let folder = copy("roberta");
    change(folder.path(), "config.json", |value| value["model_type"] = json!("bert"));
    refused(folder.path(), ErrorKind::Damaged, &["config.json", "RobertaForSequence", "roberta"]);
}

#[test]
fn a_tokenizer_of_another_model_is_named() {
    // Its padding has another number than that from which this network counts positions.
    let folder = copy("roberta");
    fs::copy(self::folder("bert").join("tokenizer.json"), folder.path().join("tokenizer.json"))
        .unwrap();
    refused(folder.path(), ErrorKind::Damaged, &["tokenizer.json", "[PAD]", "pad_token_id"]);
    // It has far fewer words than the network.
    let folder = copy("bert");
    change(folder.path(), "tokenizer.json", |value| {
        let words = value["model"]["vocab"].as_object_mut().unwrap();
        words.retain(|_, id| id.as_u64().unwrap() < 200);
    });
    refused(folder.path(), ErrorKind::Damaged, &["tokenizer.json", "200", "300"]);
}

#[test]
fn truncated_weights_of_each_family_are_named() {
    for family in FAMILIES {
        let weights = fs::read(folder(family).join("model.safetensors")).unwrap();
        let folder = copy(family);
        for length in [0, 9, weights.len() / 2, weights.len() - 1] {
            fs::write(folder.path().join("model.safetensors"), &weights[..length]).unwrap();
            refused(folder.path(), ErrorKind::Damaged, &["model.safetensors"]);
        }
    }
}

#[test]
fn settings_of_modernbert_that_make_no_sense_are_refused() {
    for (name, value, kind, part) in [
        (
            "rope_parameters",
            json!({ "full_attention": { "rope_type": "yarn" } }),
            ErrorKind::Invalid,
            "yarn",
        ),
        (
            "rope_parameters",
            json!({ "full_attention": { "rope_theta": 0.0 } }),
            ErrorKind::Damaged,
            "rope_theta",
        ),
        ("layer_types", json!(["full_attention"]), ErrorKind::Damaged, "layer_types"),
        ("layer_types", json!(["full", "full"]), ErrorKind::Invalid, "full_attention"),
        ("num_attention_heads", json!(32), ErrorKind::Damaged, "odd"),
        ("hidden_activation", json!("swish"), ErrorKind::Invalid, "swish"),
        ("classifier_pooling", json!("max"), ErrorKind::Invalid, "max"),
        ("attention_bias", json!(true), ErrorKind::Damaged, "bias"),
    ] {
        let folder = copy("modernbert");
        change(folder.path(), "config.json", |it| it[name] = value);
        refused(folder.path(), kind, &["config.json", part]);
    }
}

#[test]
fn positions_that_leave_no_room_for_a_text_are_damage() {
    let folder = copy("roberta");
    for padding in [40, u32::MAX] {
        change(folder.path(), "config.json", |value| value["pad_token_id"] = json!(padding));
        refused(folder.path(), ErrorKind::Damaged, &["config.json", "max_position_embeddings"]);
    }
}
