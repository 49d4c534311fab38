//! Queries that another machine embeds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use waypost_journal::{Answering, EmbeddingModel, QUESTION_BYTES_MAX};

use super::*;

fn model(name: &str) -> EmbeddingModel {
    EmbeddingModel { name: name.to_owned(), fingerprint: format!("{name}'s files").into_bytes() }
}

fn second() -> Until {
    Until::within(Duration::from_secs(1))
}

/// Answers with the lengths of the texts while `work` runs.
fn answered(server: &server::Server, store: StoreId, name: &str, work: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let journal = Journal::open(server.settings(), store, &long()).unwrap();
            let mut answering = Answering::default();
            while !is_over.load(Ordering::Relaxed) {
                let until = Until::within(Duration::from_millis(50));
                let mut compute = |texts: &[&str]| {
                    if texts.iter().any(|text| text.is_empty()) {
                        return Err("an empty text".to_owned());
                    }
                    Ok(texts.iter().map(|text| vec![text.len() as u8]).collect())
                };
                journal.answer(&mut answering, &model(name), &mut compute, &until).unwrap();
            }
        });
        work();
        is_over.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_query_is_embedded_by_a_machine_that_has_the_model() {
    let server = server!();
    let journal = server.journal();
    let store = journal.store();
    assert_eq!(journal.ask(None, "nobody answers", &second()).unwrap(), None);
    answered(&server, store, "small", || {
        let found = journal.ask(None, "four", &long()).unwrap().expect("an answer");
        assert_eq!((found.vector, &found.model), (vec![4], &model("small")));
        let same = journal.ask(Some(&model("small").fingerprint), "seven", &long()).unwrap();
        assert_eq!(same.expect("an answer").vector, [5]);
        let other = journal.ask(Some(&model("large").fingerprint), "seven", &second()).unwrap();
        assert_eq!(other, None, "another model is no substitute");
        thread::scope(|scope| {
            for length in 1..40 {
                let journal = &journal;
                scope.spawn(move || {
                    let found = journal.ask(None, &"x".repeat(length), &long()).unwrap();
                    assert_eq!(found.expect("an answer").vector, [length as u8]);
                });
            }
        });
        // What the model refuses gets no answer, and does not keep others from one.
        assert_eq!(journal.ask(None, "", &second()).unwrap(), None);
        assert!(journal.ask(None, "after it", &long()).unwrap().is_some());
    });
    assert_eq!(server.sql("SELECT count(*) FROM waypost.question").trim(), "0", "nothing stays");
}

#[test]
fn questions_of_another_store_and_wrong_ones_are_not_answered() {
    let server = server!();
    let (journal, other) = (server.journal(), server.journal());
    answered(&server, other.store(), "small", || {
        assert_eq!(journal.ask(None, "text", &second()).unwrap(), None);
    });
    for text in ["a\0b".to_owned(), "x".repeat(QUESTION_BYTES_MAX + 1)] {
        let error = journal.ask(None, &text, &long()).unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
    }
    let nameless = EmbeddingModel { name: String::new(), fingerprint: Vec::new() };
    let refused =
        journal.answer(&mut Answering::default(), &nameless, &mut |_| Ok(vec![]), &long());
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
}
