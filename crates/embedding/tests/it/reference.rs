//! The vectors are those of an implementation that shares no code with this one.

use std::path::Path;

use serde::Deserialize;
use waypost_embedding::fetch;

use crate::default_model;

#[derive(Deserialize)]
struct Row {
    text: String,
    terms: usize,
}

fn reference() -> (Vec<Row>, Vec<Vec<f32>>) {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let rows: Vec<Row> = std::fs::read_to_string(data.join("reference.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let vectors = std::fs::read(data.join("reference.f32"))
        .unwrap()
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect::<Vec<_>>()
        .chunks_exact(384)
        .map(<[f32]>::to_vec)
        .collect();
    (rows, vectors)
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[test]
fn two_hundred_texts_have_the_vectors_of_the_reference() {
    let (rows, expected) = reference();
    assert_eq!((rows.len(), expected.len()), (200, 200));
    assert!(rows.iter().any(|row| row.terms == 2) && rows.iter().any(|row| row.terms == 256));
    let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    let vectors = default_model::load().embed(&texts).unwrap();
    for ((text, vector), expected) in texts.iter().zip(&vectors).zip(&expected) {
        let likeness = cosine(vector, expected);
        assert!(likeness >= 0.9999, "{likeness} for {text:?}");
        let length: f64 = vector.iter().map(|&it| f64::from(it).powi(2)).sum::<f64>().sqrt();
        assert!((length - 1.0).abs() < 1e-6, "length {length} for {text:?}");
    }
}

#[test]
fn a_vector_does_not_depend_on_the_texts_beside_it() {
    let model = default_model::load();
    let (rows, _) = reference();
    let texts: Vec<&str> = rows.iter().map(|row| row.text.as_str()).collect();
    // Long texts are slow and pad no differently, so a few of them do.
    let sample: Vec<&str> = texts.iter().copied().filter(|text| text.len() < 600).collect();
    let together = model.embed(&sample).unwrap();
    let reversed: Vec<&str> = sample.iter().rev().copied().collect();
    let backwards = model.embed(&reversed).unwrap();
    let mut worst = 0.0_f32;
    for (position, text) in sample.iter().enumerate() {
        let mut compare = |other: &[f32]| {
            for (a, b) in together[position].iter().zip(other) {
                worst = worst.max((a - b).abs());
            }
        };
        compare(&backwards[sample.len() - 1 - position]);
        if position % 4 == 0 {
            compare(&model.embed(&[text]).unwrap()[0]);
        }
    }
    assert!(worst <= 1e-6, "differs by {worst}");
}

#[test]
fn the_known_model_is_what_it_says() {
    let folder = default_model::folder();
    let model = waypost_embedding::Model::load(&folder).unwrap();
    assert_eq!(
        (model.name(), model.dimensions(), model.terms_max()),
        (fetch::DEFAULT_MODEL, 384, 256)
    );
    let verified = fetch::verify(&folder).unwrap();
    assert!(verified.pinned);
    assert_eq!(verified.fingerprint, model.fingerprint());
    let here = fetch::list(folder.parent().unwrap()).unwrap();
    let here = here.iter().find(|it| it.name == fetch::DEFAULT_MODEL).unwrap();
    assert_eq!(
        (here.state, here.fingerprint.as_str()),
        (fetch::State::Unchanged, model.fingerprint())
    );
}
