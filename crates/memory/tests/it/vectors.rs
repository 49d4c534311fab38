//! Models come, go, change and fail.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use waypost_memory::{Draft, Embedder, ErrorKind, Patch, Reindex, SearchMode, SearchOptions};

use crate::world::{World, at, embed, embedder};

fn counts(world: &World) -> (u64, u64) {
    let status = world.store().status().expect("a status");
    (status.embedded, status.pending_embeddings)
}

#[test]
fn stored_vectors_are_used_again_and_never_across_models() {
    let mut world = World::with_model();
    for number in 0..20 {
        world.add(&format!("memory {number}"));
    }
    assert_eq!(world.embed_all(), 20);
    world.reopen();
    assert_eq!(counts(&world), (0, 20), "without a model nothing counts");
    world.store().set_embedder(Some(embedder("test-model"))).expect("a model");
    assert_eq!(counts(&world), (20, 0));
    world.store().set_embedder(Some(embedder("another"))).expect("a model");
    assert_eq!(counts(&world), (0, 20));
    let options = SearchOptions::default().with_mode(SearchMode::Semantic);
    assert!(world.store().search("memory", &options).expect("a search").hits.is_empty());
    let done = world.store().reindex(Reindex { backfill: true }, at(0), &mut |_| {});
    assert_eq!(done.expect("a backfill").embedded, 20);
    world.store().set_embedder(Some(embedder("test-model"))).expect("back again");
    assert_eq!(counts(&world), (20, 0));
    world.store().set_embedder(None).expect("no model");
    let result = world.store().search("memory", &SearchOptions::default()).expect("a search");
    assert_eq!(result.mode, SearchMode::Lexical);
}

#[test]
fn a_changed_text_needs_a_new_vector_and_a_changed_tag_does_not() {
    let mut world = World::with_model();
    let memory = world.add("about cats");
    world.embed_all();
    let now = world.now();
    let tag = Patch::default().with_tags(["t"]);
    assert!(world.store().update(memory, tag, now).expect("a change").embedded);
    let text = Patch::default().with_content("about cars");
    assert!(!world.store().update(memory, text, now).expect("a change").embedded);
    assert_eq!(counts(&world), (0, 1));
    world.embed_all();
    assert_eq!(world.found("automobile"), [memory]);
    let back = Patch::default().with_content("about cats");
    world.store().update(memory, back, now).expect("a change");
    world.reopen();
    world.store().set_embedder(Some(embedder("test-model"))).expect("a model");
    assert_eq!(counts(&world), (1, 0), "the first text's vector is still stored");
}

#[test]
fn a_memory_that_changes_while_it_is_embedded_keeps_waiting() {
    let mut world = World::new();
    let memory = world.add("before");
    let world = Arc::new(world);
    let (inner, calls) = (Arc::clone(&world), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&calls);
    let model = Embedder {
        embed: Arc::new(move |texts: &[&str]| {
            if counted.fetch_add(1, Ordering::SeqCst) == 0 {
                let patch = Patch::default().with_content("after");
                inner.store().update(memory, patch, at(1)).map_err(|error| error.to_string())?;
            }
            Ok(texts.iter().map(|text| embed(text)).collect())
        }),
        ..embedder("slow")
    };
    world.store().set_embedder(Some(model)).expect("a model");
    let first = world.store().embed_pending(8).expect("a step");
    assert_eq!((first.embedded, first.skipped, first.pending), (0, 1, 1));
    let second = world.store().embed_pending(8).expect("a step");
    assert_eq!((second.embedded, second.pending), (1, 0));
    world.store().set_embedder(None).expect("the model lets go of the store");
}

#[test]
fn a_text_that_the_model_refuses_does_not_stop_the_others() {
    let mut world = World::new();
    for text in ["good", "poison", "fine"] {
        world.add(text);
    }
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&calls);
    let refuse_until = 20;
    let picky = Embedder {
        embed: Arc::new(move |texts: &[&str]| {
            let call = counted.fetch_add(1, Ordering::SeqCst);
            if call < refuse_until && texts.iter().any(|text| text.contains("poison")) {
                return Err("too long".to_owned());
            }
            Ok(texts.iter().map(|text| embed(text)).collect())
        }),
        ..embedder("picky")
    };
    world.store().set_embedder(Some(picky)).expect("a model");
    let step = world.store().embed_pending(8).expect("a step");
    assert_eq!((step.embedded, step.failed, step.pending), (2, 1, 0));
    assert!(step.last_error.is_some_and(|it| it.contains("too long")));
    assert_eq!(counts(&world), (2, 0));
    calls.store(refuse_until, Ordering::SeqCst);
    let done = world.store().reindex(Reindex { backfill: true }, at(0), &mut |_| {});
    assert_eq!(done.expect("a backfill").embedded, 1, "a backfill tries again");
}

#[test]
fn a_vector_that_comes_later_keeps_nothing_else_waiting() {
    let mut world = World::new();
    for text in ["elsewhere 1", "here 1", "elsewhere 2", "here 2"] {
        world.add(text);
    }
    let is_there = Arc::new(AtomicUsize::new(0));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let (there, log) = (Arc::clone(&is_there), Arc::clone(&asked));
    let partial = Embedder {
        embed: Arc::new(move |texts: &[&str]| {
            log.lock().expect("a log").extend(texts.iter().map(|text| (*text).to_owned()));
            let is_late =
                |text: &str| text.contains("elsewhere") && there.load(Ordering::SeqCst) == 0;
            Ok(texts
                .iter()
                .map(|text| if is_late(text) { Vec::new() } else { embed(text) })
                .collect())
        }),
        ..embedder("partial")
    };
    world.store().set_embedder(Some(partial)).expect("a model");
    let step = || {
        let step = world.store().embed_pending(1).expect("a step");
        (step.embedded, step.later, step.pending)
    };
    assert_eq!(
        [step(), step(), step(), step()],
        [(1, 0, 3), (0, 1, 3), (1, 0, 2), (0, 1, 2)],
        "each text is asked for once"
    );
    assert_eq!(step(), (0, 0, 2), "nothing else is pending");
    assert_eq!(asked.lock().expect("a log").len(), 4);
    is_there.store(1, Ordering::SeqCst);
    assert_eq!([step(), step()], [(1, 0, 1), (1, 0, 0)], "then they are asked for again");
    assert_eq!(counts(&world), (4, 0));
}

#[test]
fn wrong_vectors_are_refused() {
    let wrong: [fn(&str) -> Vec<f32>; 4] = [
        |_| vec![1.0; 3],
        |it| embed(it).iter().map(|_| f32::NAN).collect(),
        |it| embed(it).iter().map(|_| 0.0).collect(),
        |it| embed(it).iter().map(|_| f32::INFINITY).collect(),
    ];
    for make in wrong {
        let mut world = World::new();
        let memory = world.add("text");
        world.add("more text");
        let model = Embedder {
            embed: Arc::new(move |texts: &[&str]| {
                Ok(texts.iter().map(|text| make(text)).collect())
            }),
            ..embedder("wrong")
        };
        world.store().set_embedder(Some(model)).expect("a model");
        let error = world.store().embed_pending(8).expect_err("all are wrong");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(counts(&world), (0, 2), "they still wait for a model that works");
        assert_eq!(world.found("text")[0], memory);
    }
    let mut none = embedder("none");
    none.model.dimensions = 0;
    assert!(World::new().store().set_embedder(Some(none)).is_err());
}

#[test]
fn too_few_or_too_many_vectors_are_refused() {
    type Vectors = Vec<Vec<f32>>;
    let none: fn(Vectors) -> Vectors = |_| Vec::new();
    let one_less: fn(Vectors) -> Vectors = |all| all[1..].to_vec();
    let twice: fn(Vectors) -> Vectors = |all| [all.clone(), all].concat();
    for change in [none, one_less, twice] {
        let mut world = World::new();
        let memory = world.add("text");
        world.add("more text");
        let model = Embedder {
            embed: Arc::new(move |texts: &[&str]| {
                Ok(change(texts.iter().map(|text| embed(text)).collect()))
            }),
            ..embedder("wrong")
        };
        world.store().set_embedder(Some(model)).expect("a model");
        let error = world.store().embed_pending(8).expect_err("not one for each");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("vectors for"), "{error}");
        assert_eq!(counts(&world), (0, 2), "they still wait for a model that works");
        assert_eq!(world.found("text")[0], memory, "words are still searched");
    }
}

#[test]
fn vectors_too_short_for_a_direction_are_refused() {
    let mut world = World::new();
    let memory = world.add("text");
    let model = Embedder {
        embed: Arc::new(|texts: &[&str]| {
            let short = |text: &&str| embed(text).iter().map(|_| 1e-44).collect();
            Ok(texts.iter().map(short).collect())
        }),
        ..embedder("short")
    };
    world.store().set_embedder(Some(model)).expect("a model");
    let step = world.store().embed_pending(8).expect("a step");
    assert_eq!((step.embedded, step.failed, step.pending), (0, 1, 0));
    assert!(step.last_error.is_some_and(|it| it.contains("length is zero")));
    assert_eq!(world.found("text"), [memory], "words are still searched");
}

#[test]
fn a_title_of_its_own_is_embedded_with_the_content() {
    let mut world = World::with_model();
    let titled = Draft::new("on the roof").with_title("kitten");
    let cat = world.add_draft(titled).id;
    world.add("tax forms");
    world.embed_all();
    let options = SearchOptions::default().with_mode(SearchMode::Semantic);
    let hits = world.store().search("cat", &options).expect("a search").hits;
    assert_eq!(hits[0].memory.id, cat);
}

#[test]
fn a_memory_without_a_vector_is_not_taken_to_be_dissimilar() {
    let mut world = World::with_model();
    for number in 0..30 {
        world.add(&format!("the kitten sleeps in room {number}"));
    }
    world.embed_all();
    let fresh = world.add("We used Postgres 16 for the billing database");
    let options = SearchOptions::default().with_explain(true);
    let found = world.store().search("Postgres 16 billing database", &options).expect("a search");
    assert_eq!(found.mode, SearchMode::Hybrid);
    assert_eq!(found.hits[0].memory.id, fresh, "it has all the words, the others none");
    assert!(!found.hits[0].memory.embedded && found.hits[1].memory.embedded);
    assert!(found.hits[0].score > found.hits[1].score);
    let explained = found.hits[0].explanation.as_ref().expect("an explanation");
    let sum: f64 = explained.signals.iter().map(|signal| signal.contribution).sum();
    assert!((sum - found.hits[0].score).abs() < 1e-9, "{sum} {}", found.hits[0].score);
    world.embed_all();
    assert_eq!(world.found("Postgres 16 billing database")[0], fresh);
}

#[test]
fn what_changed_last_is_embedded_before_a_backlog() {
    let mut world = World::with_model();
    let old = world.add("an old note");
    for number in 0..200 {
        world.add(&format!("imported {number}"));
    }
    let now = world.now();
    let text = Patch::default().with_content("an old note, corrected");
    world.store().update(old, text, now).expect("a change");
    let new = world.add("a new note");
    let step = world.store().embed_pending(2).expect("a model that works");
    assert_eq!((step.embedded, step.pending), (2, 200));
    for id in [old, new] {
        assert!(world.store().get(id).expect("a memory").embedded);
    }
}

/// By order, not by time: a batch takes as long as all its texts.
#[test]
fn a_memory_added_before_a_backlog_is_embedded_next_and_alone() {
    let mut world = World::new();
    for number in 0..10 {
        world.add(&format!("backlog {number}"));
    }
    let batches: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let seen = Arc::clone(&batches);
    let model = Embedder {
        embed: Arc::new(move |texts: &[&str]| {
            seen.lock().expect("a list").push(texts.iter().map(|&text| text.to_owned()).collect());
            Ok(texts.iter().map(|text| embed(text)).collect())
        }),
        ..embedder("listed")
    };
    world.store().set_embedder(Some(model)).expect("a model");
    let mut step = |added: &[&str]| {
        for content in added {
            world.add(content);
        }
        world.store().embed_pending(4).expect("a step");
        batches.lock().expect("a list").pop().unwrap_or_default()
    };
    let backlog =
        |batch: &[String]| batch.iter().filter(|batch| batch.starts_with("backlog")).count();
    assert_eq!(backlog(&step(&[])), 4);
    assert_eq!(step(&["one"]), ["one"]);
    assert_eq!(step(&["two", "three"]), ["three", "two"]);
    assert_eq!(step(&["four"]), ["four"]);
    // The backlog is embedded, too, however many are added.
    let mixed = step(&["five"]);
    assert_eq!((mixed[0].as_str(), backlog(&mixed)), ("five", 3));
    assert_eq!(step(&["six"]), ["six"]);
    assert_eq!(backlog(&step(&[])), 3);
    assert!(step(&[]).is_empty());
}
