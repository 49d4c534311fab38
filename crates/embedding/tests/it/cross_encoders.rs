//! Cross-encoders of each family give the scores of the library that defines them.

use std::cell::Cell;
use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use waypost_embedding::{CrossEncoder, Error, ErrorKind, Model};

use crate::families::{FAMILIES, change, copy, folder};
use crate::tiny;

#[derive(Deserialize)]
struct Expected {
    pairs: Vec<Pairs>,
}

#[derive(Deserialize)]
struct Pairs {
    query: String,
    passages: Vec<String>,
    scores: Vec<f64>,
}

fn expected(family: &str) -> Vec<Pairs> {
    let bytes = fs::read(folder(family).join("expected.json")).unwrap();
    serde_json::from_slice::<Expected>(&bytes).unwrap().pairs
}

fn score(model: &CrossEncoder, pairs: &Pairs) -> Vec<f32> {
    let passages: Vec<&str> = pairs.passages.iter().map(String::as_str).collect();
    model.score(&pairs.query, &passages, &|| false).unwrap()
}

#[test]
fn each_family_has_the_scores_of_the_reference() {
    for family in FAMILIES {
        let model = CrossEncoder::load(&folder(family)).unwrap();
        for pairs in expected(family) {
            let found = score(&model, &pairs);
            assert_eq!(found.len(), pairs.scores.len());
            for (found, expected) in found.iter().zip(&pairs.scores) {
                // The logarithms of the odds are what the networks return.
                let odds = |value: f64| (value / (1.0 - value)).ln();
                let apart = (odds(f64::from(*found)) - odds(*expected)).abs();
                assert!(apart < 1e-3, "{family}: {found}, expected {expected}");
            }
        }
    }
}

#[test]
fn time_that_is_over_is_an_error_that_says_how_far_it_came() {
    let model = CrossEncoder::load(&folder("bert")).unwrap();
    let (passages, asked) = (["a"; 10], Cell::new(0));
    let over_at = |limit| {
        asked.set(0);
        model.score("a", &passages, &|| {
            asked.set(asked.get() + 1);
            asked.get() > limit
        })
    };
    for (limit, expected) in [(0, 0), (1, 4), (2, 8)] {
        let error = over_at(limit).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let Error::OverBudget { scored, passages, .. } = &error else { panic!("{error}") };
        assert_eq!((*scored, *passages), (expected, 10));
        assert!(error.to_string().contains("fewer passages"), "{error}");
    }
    assert_eq!(over_at(3).unwrap().len(), 10);
    assert!(model.score("a", &[], &|| true).unwrap().is_empty());
}

/// Loading fails, and the message has all parts.
fn refused(folder: &Path, kind: ErrorKind, parts: &[&str]) {
    let error = CrossEncoder::load(folder).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "no {part:?} in: {error}");
    }
}

#[test]
fn what_is_no_cross_encoder_is_refused() {
    let made = tempfile::tempdir().unwrap();
    tiny::write(made.path(), &tiny::files(1));
    Model::load(made.path()).unwrap();
    refused(made.path(), ErrorKind::Damaged, &["model.safetensors", "no classifier.weight"]);

    let folder = copy("bert");
    change(folder.path(), "config.json", |value| {
        value["id2label"] = json!({ "0": "no", "1": "yes" });
    });
    refused(folder.path(), ErrorKind::Invalid, &["config.json", "2 labels", "1 is supported"]);
    refused(Path::new("/nowhere/at/all"), ErrorKind::NotFound, &["config.json"]);
    for family in FAMILIES {
        let folder = copy(family);
        let path = folder.path().join("model.safetensors");
        let weights = fs::read(&path).unwrap();
        fs::write(&path, &weights[..weights.len() / 2]).unwrap();
        refused(folder.path(), ErrorKind::Damaged, &["model.safetensors"]);
    }
}
