//! The vectors equal those of an implementation that shares no code with this one.

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
        assert!(likeness >= 0.999_99, "{likeness} for {text:?}");
        let length: f64 =
            vector.iter().map(|&vector| f64::from(vector).powi(2)).sum::<f64>().sqrt();
        assert!((length - 1.0).abs() < 1e-6, "length {length} for {text:?}");
    }
}

#[test]
fn a_vector_does_not_depend_on_the_rest_of_its_batch() {
    let model = default_model::load();
    let (rows, _) = reference();
    // A part of them, of every length.
    let rows = || rows.iter().step_by(4);
    assert!(rows().any(|row| row.terms == 2) && rows().any(|row| row.terms == 256));
    let texts: Vec<&str> = rows().map(|row| row.text.as_str()).collect();
    let on = |threads: usize, texts: &[&str]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| model.embed(texts)).unwrap()
    };
    let together = on(1, &texts);
    let reversed: Vec<&str> = texts.iter().rev().copied().collect();
    let mut backwards = on(3, &reversed);
    backwards.reverse();
    assert!(together == backwards, "not the same bits in another order on three threads");
    for (text, vector) in texts.iter().zip(&together) {
        assert!(model.embed(&[text]).unwrap()[0] == *vector, "not the same bits alone: {text:?}");
    }
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
    let here = here.iter().find(|here| here.name == fetch::DEFAULT_MODEL).unwrap();
    assert_eq!(
        (here.state, here.fingerprint.as_str()),
        (fetch::State::Unchanged, model.fingerprint())
    );
}
