use std::collections::HashMap;

use super::*;

fn config() -> Config {
    serde_json::from_value(serde_json::json!({
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
fn tensors(config: &Config, prefix: &str) -> HashMap<String, Tensor> {
    let (width, inner) = (config.hidden_size, config.intermediate_size);
    let mut shapes = vec![
        ("embeddings.word_embeddings.weight".to_owned(), vec![config.vocab_size, width]),
        ("embeddings.position_embeddings.weight".to_owned(), vec![80, width]),
        ("embeddings.token_type_embeddings.weight".to_owned(), vec![2, width]),
        ("embeddings.LayerNorm.weight".to_owned(), vec![width]),
        ("embeddings.LayerNorm.bias".to_owned(), vec![width]),
    ];
    for layer in 0..config.num_hidden_layers {
        for (name, from, to) in [
            ("attention.self.query", width, width),
            ("attention.self.key", width, width),
            ("attention.self.value", width, width),
            ("attention.output.dense", width, width),
            ("intermediate.dense", width, inner),
            ("output.dense", inner, width),
        ] {
            shapes.push((format!("encoder.layer.{layer}.{name}.weight"), vec![to, from]));
            shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![to]));
        }
        for name in ["attention.output.LayerNorm", "output.LayerNorm"] {
            shapes.push((format!("encoder.layer.{layer}.{name}.weight"), vec![width]));
            shapes.push((format!("encoder.layer.{layer}.{name}.bias"), vec![width]));
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
            (format!("{prefix}{name}"), Tensor::from_vec(numbers, shape, &Device::Cpu).unwrap())
        })
        .collect()
}

fn builder(tensors: HashMap<String, Tensor>) -> VarBuilder<'static> {
    VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu)
}

fn rows() -> Vec<Vec<u32>> {
    let row = |(at, length): (usize, usize)| {
        (0..length).map(move |term| ((at * 7 + term * 3) % 50) as u32)
    };
    [1, 2, 31, 32, 33, 80, 12, 49].into_iter().enumerate().map(|it| row(it).collect()).collect()
}

fn packed(config: &Config, kernel: Kernel) -> Encoder {
    let network = pack(&builder(tensors(config, "")), config, kernel).unwrap().unwrap();
    Encoder { network: Network::Packed(network), pooling: Pooling::Mean, dimensions: 128 }
}

#[test]
fn every_kernel_returns_the_same_bits_in_any_batch() {
    let (config, rows) = (config(), rows());
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
    let (config, rows) = (config(), rows());
    let network = BertModel::load(builder(tensors(&config, "bert.")), &network_config(&config));
    let general = Encoder {
        network: Network::General(network.unwrap()),
        pooling: Pooling::Mean,
        dimensions: 128,
    };
    let expected = general.encode(&rows).unwrap();
    let found = packed(&config, Kernel::all().pop().unwrap()).encode(&rows).unwrap();
    for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
        assert!((found - expected).abs() < 2e-5, "{found}, expected {expected}");
    }
}

#[test]
fn what_halves_do_not_hold_is_not_packed() {
    let config = config();
    let kernel = Kernel::all()[0];
    let is_packed = |tensors: HashMap<String, Tensor>, config: &Config| {
        pack(&builder(tensors), config, kernel).unwrap().is_some()
    };
    assert!(is_packed(tensors(&config, "bert."), &config));
    let name = "encoder.layer.1.output.dense.weight";
    for factor in [1e-6, 1e6, f64::NAN] {
        let mut tensors = tensors(&config, "");
        let changed = (&tensors[name] * factor).unwrap();
        tensors.insert(name.to_owned(), changed);
        assert!(!is_packed(tensors, &config), "times {factor}");
    }
    let mut relu = config.clone();
    relu.hidden_act = Activation::Relu;
    assert!(!is_packed(tensors(&config, ""), &relu));
}

#[test]
fn terms_that_the_network_does_not_have_are_errors() {
    let encoder = packed(&config(), Kernel::all()[0]);
    assert!(encoder.encode(&[vec![50]]).unwrap_err().contains("the word 50"));
    assert!(encoder.encode(&[vec![1; 81]]).unwrap_err().contains("81 terms"));
}
