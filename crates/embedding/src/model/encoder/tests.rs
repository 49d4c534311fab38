use std::collections::HashMap;

use candle_core::{DType, Device};
use waypost_encoder::f16;

use super::*;
use crate::model::names::layers;
use crate::recipe::Activation;

fn config() -> Config {
    config_of("bert", 2)
}

fn config_of(model_type: &str, types: usize) -> Config {
    serde_json::from_value(serde_json::json!({
        "model_type": model_type,
        "type_vocab_size": types,
        "vocab_size": 50,
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 160,
        "hidden_act": "gelu",
        "max_position_embeddings": 80,
        "layer_norm_eps": 1e-12
    }))
    .unwrap()
}

/// A network whose weights 16-bit floats represent exactly, so that both forms have the same ones.
fn tensors(config: &Config) -> HashMap<String, Tensor> {
    let (width, inner) = (config.hidden_size, config.intermediate_size);
    let names = layers(config.family).unwrap();
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![config.vocab_size, width]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![80, width]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![config.type_vocab_size, width]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![width]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![width]),
    ];
    shapes.extend(names.relative.map(|relative| (format!("{relative}.weight"), vec![32, 2])));
    for layer in 0..config.num_hidden_layers {
        let layer = format!("{}.{layer}", names.layers);
        for (name, from, to) in [
            (names.query, width, width),
            (names.key, width, width),
            (names.value, width, width),
            (names.attended, width, width),
            (names.inner, width, inner),
            (names.outer, inner, width),
        ] {
            shapes.push((format!("{layer}.{name}.weight"), vec![to, from]));
            shapes.push((format!("{layer}.{name}.bias"), vec![to]));
        }
        for name in [names.attended_norm, names.outer_norm] {
            shapes.push((format!("{layer}.{name}.weight"), vec![width]));
            shapes.push((format!("{layer}.{name}.bias"), vec![width]));
        }
    }
    let mut state = 1_u64;
    let mut number = || {
        // Knuth's multiplier; any scatter of numbers around zero will do.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        f16::from_f32((state >> 40) as f32 / (1 << 25) as f32 - 0.25).to_f32()
    };
    shapes
        .into_iter()
        .map(|(name, shape)| {
            let numbers: Vec<f32> = (0..shape.iter().product()).map(|_| number()).collect();
            (name, Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap())
        })
        .collect()
}

fn builder(tensors: HashMap<String, Tensor>) -> VarBuilder<'static> {
    VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu)
}

/// Texts and pairs of texts; the word 1 is padding where the family has one.
fn rows(config: &Config) -> Vec<Row> {
    let row = |(at, length): (usize, usize)| {
        let words = (0..length).map(|term| ((at * 7 + term * 3) % 50) as u32).collect();
        let second = |term| u32::from(config.type_vocab_size > 1 && term > length / 2);
        Row::new(words, (0..length).map(second).collect(), config.padding())
    };
    [1, 2, 31, 32, 33, 78, 12, 49].into_iter().enumerate().map(row).collect()
}

fn packed(config: &Config, kernel: Kernel) -> Encoder {
    let network = pack(&builder(tensors(config)), config, kernel).unwrap().unwrap();
    Encoder::new(Network::Packed(network), config, Pooling::Mean)
}

#[test]
fn every_kernel_returns_the_same_bits_in_any_batch() {
    let config = config();
    let rows = rows(&config);
    let expected = packed(&config, Kernel::all()[0]).encode(&rows).unwrap();
    for kernel in Kernel::all() {
        let encoder = packed(&config, kernel);
        assert!(encoder.encode(&rows).unwrap() == expected, "{kernel:?}");
        for (row, expected) in rows.iter().zip(&expected) {
            let alone = encoder.encode(std::slice::from_ref(row)).unwrap();
            assert!(alone[0] == *expected, "{kernel:?}, {} terms alone", row.len());
        }
    }
}

#[test]
fn both_forms_of_a_network_give_nearly_the_same_vectors() {
    for (model_type, types) in [("bert", 2), ("roberta", 1), ("mpnet", 0), ("distilbert", 0)] {
        let config = config_of(model_type, types);
        let rows = rows(&config);
        let tensors = tensors(&config);
        let general = General::load(&builder(tensors.clone()), &config).unwrap();
        let general = Encoder::new(Network::General(general), &config, Pooling::Mean);
        let expected = general.encode(&rows).unwrap();
        if config.family == Family::Bert {
            let bert = Bert::load(&builder(tensors), &config).unwrap();
            let bert = Encoder::new(Network::Bert(bert), &config, Pooling::Mean);
            let found = bert.encode(&rows).unwrap();
            for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                assert!((found - expected).abs() < 2e-5, "candle's: {found}, expected {expected}");
            }
        }
        let found = packed(&config, Kernel::all().pop().unwrap()).encode(&rows).unwrap();
        for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
            let apart = (found - expected).abs();
            assert!(apart < 2e-5, "{model_type}: {found}, expected {expected}");
        }
    }
}

#[test]
fn what_halves_do_not_hold_is_not_packed() {
    let config = config();
    let kernel = Kernel::all()[0];
    let is_packed = |tensors: HashMap<String, Tensor>, config: &Config| {
        pack(&builder(tensors), config, kernel).unwrap().is_some()
    };
    assert!(is_packed(tensors(&config), &config));
    let name = "encoder.layer.1.output.dense.weight";
    for factor in [1e-6, 1e6, f64::NAN] {
        let mut tensors = tensors(&config);
        let changed = (&tensors[name] * factor).unwrap();
        tensors.insert(name.to_owned(), changed);
        assert!(!is_packed(tensors, &config), "times {factor}");
    }
    let mut relu = config.clone();
    relu.hidden_act = Activation::Relu;
    assert!(!is_packed(tensors(&config), &relu));
}

#[test]
fn terms_that_the_network_does_not_have_are_errors() {
    let encoder = packed(&config(), Kernel::all()[0]);
    let encode = |words: Vec<u32>, kind| {
        let types = vec![kind; words.len()];
        encoder.encode(&[Row::new(words, types, None)]).unwrap_err()
    };
    assert!(encode(vec![50], 0).contains("the word 50"));
    assert!(encode(vec![1; 81], 0).contains("81 terms"));
    assert!(encode(vec![1], 2).contains("the type 2"));
}
