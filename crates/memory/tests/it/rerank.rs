//! A cross-encoder orders the best hits; the scores stay at their places.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use waypost_memory::{
    Draft, Embedder, Hit, LinkKind, MemoryId, Rerank, Reranker, SearchOptions, SearchResult,
};

use crate::world::{World, embed, embedder};

/// Prefers the passages that come first in this list.
fn prefers(wanted: &[&Hit], candidates: usize) -> Reranker {
    let wanted: Vec<String> = wanted.iter().map(|wanted| wanted.memory.content.clone()).collect();
    let score = move |_: &str, passages: &[&str]| {
        let place = |text: &&str| wanted.iter().position(|wanted| wanted == text);
        let score = |number: Option<usize>| 1.0 / (2.0 + number.map_or(100.0, |it| it as f32));
        Ok(passages.iter().map(|passage| score(place(passage))).collect())
    };
    Reranker { candidates, score: Arc::new(score) }
}

fn search(world: &World, options: &SearchOptions) -> SearchResult {
    world.store().search("red fox", options).expect("a valid search")
}

fn ids(hits: &[Hit]) -> Vec<MemoryId> {
    hits.iter().map(|hit| hit.memory.id).collect()
}

fn scores(hits: &[Hit]) -> Vec<f64> {
    hits.iter().map(|hit| hit.score).collect()
}

/// Five memories, as they are ranked.
fn foxes() -> (World, Vec<Hit>) {
    let mut world = World::new();
    for text in [
        "red fox red fox alpha",
        "red fox and a hedge beta",
        "red fox and a hedge and a field gamma",
        "one fox delta",
        "the fox and the hedge and the field epsilon",
    ] {
        world.add(text);
    }
    let ranked = search(&world, &SearchOptions::default());
    assert_eq!(ranked.rerank, Rerank::Off);
    assert_eq!(ranked.hits.len(), 5);
    (world, ranked.hits)
}

#[test]
fn the_best_hits_change_places_and_scores_do_not() {
    let (world, hits) = foxes();
    let ranked = ids(&hits);
    let options = SearchOptions::default().with_explain(true);
    let before = search(&world, &options);
    world.store().set_reranker(Some(prefers(&[&hits[4], &hits[2], &hits[0], &hits[1]], 3)));
    let after = search(&world, &options);
    assert_eq!(after.rerank, Rerank::Applied);
    assert_eq!(ids(&after.hits), [ranked[2], ranked[0], ranked[1], ranked[3], ranked[4]]);
    assert_eq!(scores(&after.hits), scores(&before.hits));
    assert_eq!(after.answerable, before.answerable);
    for (place, hit) in after.hits.iter().enumerate() {
        let signals = &hit.explanation.as_ref().expect("it was asked for").signals;
        let sum: f64 = signals.iter().map(|signal| signal.contribution).sum();
        assert!((sum - hit.score).abs() < 1e-6, "{sum}, not {}", hit.score);
        let own = signals.iter().find(|signal| signal.name == "rerank").map(|signal| signal.rank);
        assert_eq!(own, (place < 3).then_some(Some(place as u32 + 1)));
    }
    world.store().set_reranker(None);
    assert_eq!(search(&world, &options), before);
}

#[test]
fn hits_beyond_the_limit_or_below_the_least_score_are_candidates() {
    let (world, all) = foxes();
    let ranked = ids(&all);
    world.store().set_reranker(Some(prefers(&[&all[4]], 32)));
    let one = search(&world, &SearchOptions::default().with_limit(1));
    assert_eq!(ids(&one.hits), ranked[4..]);
    let least = all[1].score;
    let best = search(&world, &SearchOptions::default().with_min_score(least));
    let expected = all.iter().filter(|item| item.score >= least).count();
    assert_eq!(best.hits.len(), expected);
    assert_eq!(best.hits[0].memory.id, ranked[4]);
}

#[test]
fn a_superseded_memory_stays_below_the_newer_one() {
    let (mut world, hits) = foxes();
    let ranked = ids(&hits);
    let now = world.now();
    world.store().link(ranked[1], ranked[3], LinkKind::Updates, now).expect("a link");
    world.store().set_reranker(Some(prefers(&[3, 2, 1, 0].map(|it| &hits[it]), 32)));
    let found = ids(&search(&world, &SearchOptions::default()).hits);
    assert_eq!(found, [ranked[2], ranked[1], ranked[3], ranked[0], ranked[4]]);
    let as_is = SearchOptions::default().with_include_superseded(true);
    assert_eq!(ids(&search(&world, &as_is).hits)[0], ranked[3]);
    // In a cycle none is the newest.
    let now = world.now();
    world.store().link(ranked[3], ranked[1], LinkKind::Updates, now).expect("a link");
    assert_eq!(search(&world, &SearchOptions::default()).hits.len(), 5);
}

/// What a closure returns for so many passages.
type Answer = fn(usize) -> Result<Vec<f32>, String>;

#[test]
fn a_cross_encoder_that_fails_leaves_the_order_and_is_asked_again() {
    let (world, hits) = foxes();
    let ranked = ids(&hits);
    let calls = Arc::new(AtomicUsize::new(0));
    let broken: [Answer; 4] = [
        |_| Err("its time is over".to_owned()),
        |count| Ok(vec![0.5; count - 1]),
        |count| Ok(vec![f32::NAN; count]),
        |_| Ok(Vec::new()),
    ];
    for score in broken {
        calls.store(0, Ordering::Relaxed);
        let counted = Arc::clone(&calls);
        let score = move |_: &str, passages: &[&str]| {
            counted.fetch_add(1, Ordering::Relaxed);
            score(passages.len())
        };
        world.store().set_reranker(Some(Reranker { candidates: 32, score: Arc::new(score) }));
        for _ in 0..2 {
            let found = search(&world, &SearchOptions::default().with_limit(3));
            assert_eq!(found.rerank, Rerank::Skipped);
            assert_eq!(ids(&found.hits), ranked[..3]);
        }
        assert_eq!(calls.load(Ordering::Relaxed), 2, "a skipped answer is not remembered");
    }
}

#[test]
fn passages_are_titles_and_contents() {
    let mut world = World::new();
    world.add_draft(Draft::new("red fox").with_title("In the hedge"));
    world.add("red fox");
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let score = move |query: &str, passages: &[&str]| {
        let mut seen = kept.lock().map_err(|error| error.to_string())?;
        seen.push(query.to_owned());
        seen.extend(passages.iter().map(|passage| (*passage).to_owned()));
        Ok(vec![0.5; passages.len()])
    };
    world.store().set_reranker(Some(Reranker { candidates: 2, score: Arc::new(score) }));
    search(&world, &SearchOptions::default());
    let mut seen = seen.lock().expect("no panic").clone();
    seen.sort_unstable();
    assert_eq!(seen, ["In the hedge\nred fox", "red fox", "red fox"]);
}

#[test]
fn queries_have_a_closure_of_their_own() {
    let mut world = World::new();
    let (cat, car) = (world.add("cat"), world.add("car"));
    // A model whose queries need another word.
    let model = Embedder {
        embed_queries: Some(Arc::new(|texts: &[&str]| {
            Ok(texts
                .iter()
                .map(|text| embed(text.strip_prefix("find ").unwrap_or("car")))
                .collect())
        })),
        ..embedder("two closures")
    };
    world.store().set_embedder(Some(model)).expect("a model");
    world.embed_all();
    let options = SearchOptions::default().with_mode(waypost_memory::SearchMode::Semantic);
    let best = |query| world.store().search(query, &options).expect("a search").hits[0].memory.id;
    assert_eq!((best("find cat"), best("cat")), (cat, car));
}
