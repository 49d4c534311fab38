//! A complete model of a few kilobytes: one layer, 64 dimensions, the alphabet for words. It is
//! meaningless, but it is loaded, fetched and damaged like a real one.

use std::path::Path;

use serde_json::{Map, Value, json};

pub(crate) const DIMENSIONS: usize = 64;

const INNER: usize = 96;

pub(crate) fn config() -> Value {
    json!({
        "model_type": "bert",
        "vocab_size": vocabulary().len(),
        "hidden_size": DIMENSIONS,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": INNER,
        "hidden_act": "gelu",
        "max_position_embeddings": 64,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-12
    })
}

fn vocabulary() -> Map<String, Value> {
    let marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(String::from);
    let letters = ('a'..='z').flat_map(|letter| [letter.to_string(), format!("##{letter}")]);
    marks.into_iter().chain(letters).enumerate().map(|(id, word)| (word, json!(id))).collect()
}

pub(crate) fn tokenizer() -> Value {
    let mark = |id: usize, content: &str| {
        json!({
            "id": id, "content": content, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true
        })
    };
    let special = |id: usize, word: &str| json!({ "id": word, "ids": [id], "tokens": [word] });
    let part = |word: &str| json!({ "SpecialToken": { "id": word, "type_id": 0 } });
    let text = json!({ "Sequence": { "id": "A", "type_id": 0 } });
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [mark(0, "[PAD]"), mark(1, "[UNK]"), mark(2, "[CLS]"), mark(3, "[SEP]")],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [part("[CLS]"), text, part("[SEP]")],
            "pair": [part("[CLS]"), text, part("[SEP]")],
            "special_tokens": { "[CLS]": special(2, "[CLS]"), "[SEP]": special(3, "[SEP]") }
        },
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary()
        }
    })
}

/// Weights in the safetensors format; each seed gives different ones.
pub(crate) fn weights(seed: u64) -> Vec<u8> {
    weights_as("F32", seed, |number| number.to_le_bytes().to_vec())
}

/// The same weights with half the bits: a bfloat16 is the upper half of a 32-bit float.
pub(crate) fn half_weights(seed: u64) -> Vec<u8> {
    weights_as("BF16", seed, |number| number.to_le_bytes()[2..].to_vec())
}

fn weights_as(kind: &str, seed: u64, bytes: impl Fn(f32) -> Vec<u8>) -> Vec<u8> {
    let (width, inner) = (DIMENSIONS, INNER);
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![vocabulary().len(), width]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![64, width]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, width]),
    ];
    let linear = |name: &str, from: usize, to: usize| {
        let name = format!("encoder.layer.0.{name}");
        [(format!("{name}.weight"), vec![to, from]), (format!("{name}.bias"), vec![to])]
    };
    let norm = |name: &str| {
        [(format!("{name}.weight"), vec![width]), (format!("{name}.bias"), vec![width])]
    };
    for name in ["query", "key", "value"] {
        shapes.extend(linear(&format!("attention.self.{name}"), width, width));
    }
    shapes.extend(linear("attention.output.dense", width, width));
    shapes.extend(linear("intermediate.dense", width, inner));
    shapes.extend(linear("output.dense", inner, width));
    shapes.extend(norm("embeddings.LayerNorm"));
    shapes.extend(norm("encoder.layer.0.attention.output.LayerNorm"));
    shapes.extend(norm("encoder.layer.0.output.LayerNorm"));

    let mut state = seed;
    let mut header = Map::new();
    let mut data: Vec<u8> = Vec::new();
    for (name, shape) in shapes {
        let start = data.len();
        for _ in 0..shape.iter().product() {
            // Knuth's multiplier; any scatter of numbers around zero will do.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let number = (state >> 40) as f32 / (1 << 24) as f32 - 0.5;
            data.extend(bytes(number));
        }
        let tensor = json!({ "dtype": kind, "shape": shape, "data_offsets": [start, data.len()] });
        header.insert(name, tensor);
    }
    let header = serde_json::to_vec(&header).unwrap();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header);
    file.extend(data);
    file
}

/// The files of a whole model folder.
pub(crate) fn files(seed: u64) -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("config.json", serde_json::to_vec(&config()).unwrap()),
        ("tokenizer.json", serde_json::to_vec(&tokenizer()).unwrap()),
        ("model.safetensors", weights(seed)),
    ]
}

pub(crate) fn write(folder: &Path, files: &[(&str, Vec<u8>)]) {
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}
