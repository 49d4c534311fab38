//! What searches find and how they rank.

use waypost_memory::{
    Draft, ErrorKind, Filter, LinkKind, MemoryId, Patch, Reindex, SearchMode, SearchOptions,
    SearchResult,
};

use crate::world::{World, at, embedder, options};

fn search(world: &World, query: &str, options: &SearchOptions) -> SearchResult {
    world.store().search(query, options).expect("a valid search")
}

fn ids(result: &SearchResult) -> Vec<MemoryId> {
    result.hits.iter().map(|hit| hit.memory.id).collect()
}

#[test]
fn words_are_found_at_once_and_meaning_when_its_vector_is_there() {
    let mut world = World::with_model();
    let cat = world.add("A kitten on the roof");
    world.add("Quarterly tax forms");
    assert_eq!(world.found("kitten"), [cat]);
    let semantic = SearchOptions::default().with_mode(SearchMode::Semantic);
    assert!(search(&world, "cat", &semantic).hits.is_empty());
    assert!(!world.store().get(cat).expect("it is there").embedded);
    assert_eq!(world.embed_all(), 2);
    assert_eq!(ids(&search(&world, "cat", &semantic))[0], cat);
    assert_eq!(world.found("cat")[0], cat);
    assert!(world.store().get(cat).expect("it is there").embedded);
}

#[test]
fn without_a_model_hybrid_is_lexical_and_semantic_says_what_to_do() {
    let mut world = World::new();
    world.add("alpha");
    let result = search(&world, "alpha", &SearchOptions::default());
    assert_eq!(result.mode, SearchMode::Lexical);
    let semantic = SearchOptions::default().with_mode(SearchMode::Semantic);
    let error = world.store().search("alpha", &semantic).expect_err("there is no model");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("mode `lexical`"), "{error}");
}

#[test]
fn filters_work_inside_the_search() {
    let mut world = World::new();
    for number in 0..300 {
        let draft = Draft::new(format!("needle {number}")).with_kind("noise");
        world.add_draft(draft);
    }
    let wanted = world.add_draft(
        Draft::new(format!("{} needle", "padding ".repeat(50)))
            .with_kind("signal")
            .with_tags(["t"])
            .with_space("other")
            .with_created_at(at(5)),
    );
    let filters = [
        Filter::default().with_kinds(["signal", "unknown"]),
        Filter::default().with_tags(["t"]),
        Filter::default().with_space("other"),
        Filter::default().with_until(at(6)),
    ];
    for filter in filters {
        let options = SearchOptions::default().with_limit(5).with_filter(filter);
        assert_eq!(ids(&search(&world, "needle", &options)), [wanted.id], "{:?}", options.filter);
    }
    let nothing = Filter::default().with_space("nowhere");
    let options = SearchOptions::default().with_filter(nothing);
    assert!(search(&world, "needle", &options).hits.is_empty());
}

#[test]
fn neighbours_in_a_session_lend_to_each_other() {
    let mut world = World::new();
    let turn = |content: &str, session: &str, time: i64| {
        Draft::new(content).with_session(session).with_created_at(at(time))
    };
    let question = world.add_draft(turn("Which restaurant did you like?", "a", 10)).id;
    let answer = world.add_draft(turn("The one by the harbour", "a", 20)).id;
    let unrelated = world.add_draft(turn("It rained all week", "b", 15)).id;
    let found = world.found("restaurant");
    assert_eq!(found, [question, answer]);
    assert!(!found.contains(&unrelated));
}

#[test]
fn the_first_hits_lead_to_what_another_memory_says_of_them() {
    let mut world = World::with_model();
    let turn = |content: &str, session: &str| {
        Draft::new(content).with_session(session).with_created_at(at(10))
    };
    let unrelated = world.add_draft(turn("Paul Stone moved to Southport", "c")).id;
    let question = world.add_draft(turn("Who is Ada's mentor?", "a")).id;
    let answer = world.add_draft(turn("Grace Quill since spring", "a")).id;
    let beyond = world.add_draft(turn("Grace Quill moved to Northwind", "b")).id;
    world.embed_all();
    let explained = SearchOptions::default().with_explain(true);
    let mut words_of = |id: MemoryId, second_documents: usize| {
        let mut with = options();
        with.search.second_documents = second_documents;
        world.reopen_with(with);
        world.store().set_embedder(Some(embedder("test-model"))).expect("a valid model");
        let found = search(&world, "Where does the mentor of Ada live?", &explained);
        assert_eq!(ids(&found)[..2], [question, answer]);
        let hit = found.hits.iter().find(|hit| hit.memory.id == id).expect("it is near in meaning");
        let signals = &hit.explanation.as_ref().expect("it was asked for").signals;
        signals.iter().find(|signal| signal.name == "bm25").expect("words were searched for").value
    };
    assert_eq!(words_of(beyond, 0), 0.0, "it has none of the query's words");
    assert_eq!(words_of(unrelated, 2), 0.0);
    assert!(words_of(beyond, 2) > 0.0, "it has a name from the answer");
}

#[test]
fn a_name_in_titles_is_preferred_to_the_same_name_in_contents() {
    let mut world = World::new();
    let turn = |title: &str, content: &str| Draft::new(content).with_title(title);
    let about = world.add_draft(turn("Bob 3 May", "Ada, Ada, how was your hike?")).id;
    let by_her = world.add_draft(turn("Ada 3 May", "a long hike over the hill and back")).id;
    world.add_draft(turn("Ada 4 May", "new boots"));
    assert_eq!(world.found("Ada's hike")[..2], [by_her, about]);
}

#[test]
fn a_memory_that_updates_another_goes_before_it() {
    let mut world = World::new();
    let old = world.add("The meeting room is Jupiter, the meeting room with the window");
    let other = world.add("A meeting about rooms");
    let new = world.add("We meet in Saturn now");
    let now = world.now();
    world.store().link(new, old, LinkKind::Updates, now).expect("a link");
    let result = search(&world, "meeting room", &SearchOptions::default());
    assert_eq!(ids(&result)[0], new);
    let old_hit = result.hits.iter().find(|hit| hit.memory.id == old).expect("it is still found");
    assert_eq!(old_hit.memory.superseded_by, Some(new));
    let kept = SearchOptions::default().with_include_superseded(true);
    let result = search(&world, "meeting room", &kept);
    assert_eq!(ids(&result)[0], old);
    assert_eq!(result.hits[0].memory.superseded_by, Some(new), "it is marked all the same");
    assert!(ids(&result).contains(&other));
}

#[test]
fn chains_and_circles_of_updates_have_an_order() {
    let mut world = World::new();
    let chain: Vec<_> =
        (0..4).map(|number| world.add(&format!("deadline version {number}"))).collect();
    let now = world.now();
    for pair in chain.windows(2) {
        world.store().link(pair[1], pair[0], LinkKind::Updates, now).expect("a link");
    }
    let newest_first: Vec<_> = chain.iter().rev().copied().collect();
    assert_eq!(world.found("deadline"), newest_first);
    world.store().link(chain[0], chain[3], LinkKind::Updates, now).expect("a circle");
    assert_eq!(world.found("deadline"), chain, "in a circle nothing is the newest");
}

#[test]
fn memories_that_update_each_other_in_every_direction_keep_their_order() {
    let mut world = World::new();
    let all: Vec<_> =
        (0..24).map(|number| world.add(&format!("deadline version {number}"))).collect();
    let now = world.now();
    for one in &all {
        for other in all.iter().filter(|other| *other != one) {
            world.store().link(*one, *other, LinkKind::Updates, now).expect("a link");
        }
    }
    let options = SearchOptions::default().with_limit(all.len());
    assert_eq!(ids(&search(&world, "deadline", &options)), all);
    // One that replaces one of them ranks above it, and leaves the others as they are.
    let newer = world.add("the deadline has moved");
    world.store().link(newer, all[3], LinkKind::Updates, now).expect("a link");
    let found = ids(&search(&world, "deadline", &options.with_limit(all.len() + 1)));
    let others: Vec<_> = found.iter().filter(|id| **id != newer && **id != all[3]).collect();
    assert!(others.into_iter().eq(all.iter().filter(|id| **id != all[3])), "{found:?}");
    assert_eq!(found.last(), Some(&all[3]));
}

#[test]
fn a_contradiction_is_shown_on_both_hits() {
    let mut world = World::new();
    let (a, b) = (world.add("the sky is blue"), world.add("the sky is green"));
    let now = world.now();
    world.store().link(a, b, LinkKind::Contradicts, now).expect("a link");
    let result = search(&world, "sky", &SearchOptions::default());
    let shown: Vec<_> =
        result.hits.iter().map(|hit| (hit.memory.id, hit.contradicts.clone())).collect();
    assert_eq!(shown, [(a, vec![b]), (b, vec![a])]);
}

#[test]
fn linked_memories_lend_a_little() {
    let mut world = World::new();
    let whole = world.add("Project Apollo");
    let part = world.add("The budget table");
    world.add("A sandwich recipe");
    let now = world.now();
    world.store().link(part, whole, LinkKind::PartOf, now).expect("a link");
    assert_eq!(world.found("apollo"), [whole, part]);
}

#[test]
fn scores_add_up_and_stay_between_0_and_1() {
    let mut world = World::with_model();
    for number in 0..30 {
        world.add_draft(
            Draft::new(format!("The cat sat on mat {number} with a physician {}", number % 5))
                .with_session("s"),
        );
    }
    world.embed_all();
    let now = world.now();
    world
        .store()
        .link(crate::world::id(9), crate::world::id(3), LinkKind::Updates, now)
        .expect("a link");
    let options = SearchOptions::default().with_explain(true).with_limit(30);
    let result = search(&world, "doctor of the cat 4", &options);
    assert_eq!(result.mode, SearchMode::Hybrid);
    let mut last = 1.0;
    for hit in &result.hits {
        assert!((0.0..=1.0).contains(&hit.score) && hit.score <= last);
        last = hit.score;
        let explanation = hit.explanation.as_ref().expect("it was asked for");
        let sum: f64 = explanation.signals.iter().map(|signal| signal.contribution).sum();
        assert!((sum - hit.score).abs() < 1e-9, "{sum} is not {}", hit.score);
        assert!(explanation.matched_terms.contains(&"cat".to_owned()));
    }
    let names = |at: usize| -> Vec<&str> {
        let explanation = result.hits[at].explanation.as_ref().expect("it was asked for");
        explanation.signals.iter().map(|signal| signal.name).collect()
    };
    assert_eq!(names(0)[..2], ["bm25", "semantic"]);
    let least = result.hits[4].score;
    let some = SearchOptions::default().with_min_score(least).with_limit(30);
    assert!(search(&world, "doctor of the cat 4", &some).hits.iter().all(|it| it.score >= least));
}

#[test]
fn a_score_says_whether_anything_answers() {
    let mut world = World::with_model();
    for text in ["The cat sleeps", "The tax forms are due in April", "The keeper lives on the hill"]
    {
        world.add(text);
    }
    world.embed_all();
    for mode in [SearchMode::Hybrid, SearchMode::Lexical] {
        let options = SearchOptions::default().with_mode(mode);
        let score = |query: &str, options: &SearchOptions| {
            let found = search(&world, query, options);
            let best = found.hits.first().map_or(0.0, |hit| hit.score);
            assert!((best - found.answerable).abs() < 1e-9, "{query}: {best}");
            best
        };
        let [none, some, all] =
            ["how to cook risotto", "cat risotto", "where does the keeper live"]
                .map(|query| score(query, &options));
        assert!(none < 0.2 && some < all && all > 0.5, "{mode:?}: {none} {some} {all}");
        let one = options.clone().with_limit(1);
        assert_eq!(score("cat risotto", &one).to_bits(), some.to_bits(), "whatever the limit is");
        let none_left = search(&world, "cat risotto", &options.with_min_score(1.0));
        assert!(none_left.hits.is_empty());
        assert!((none_left.answerable - some).abs() < 1e-9, "it is known all the same");
    }
    let mut strict = options();
    strict.search.min_score = 1.0;
    world.reopen_with(strict);
    let lexical = SearchOptions::default().with_mode(SearchMode::Lexical);
    assert!(search(&world, "keeper", &lexical).hits.is_empty(), "the store's own threshold");
    assert_eq!(search(&world, "keeper", &lexical.with_min_score(0.0)).hits.len(), 1);
    world.reopen();
    world.store().set_embedder(Some(embedder("test-model"))).expect("a valid model");
    // A name that no memory knows counts more than a word that none has.
    let [named, not_named] = ["Does Zebedee live on the hill", "Does zebedee live on the hill"]
        .map(|query| search(&world, query, &SearchOptions::default()).answerable);
    assert!(named < not_named, "{named} {not_named}");
    let empty = World::new();
    assert_eq!(search(&empty, "cat", &SearchOptions::default()).answerable, 0.0);
}

#[test]
fn the_same_query_gives_the_same_bytes_after_reopening_and_rebuilding() {
    let mut world = World::with_model();
    for number in 0..120_u64 {
        let content = format!("cat {} dog {} bird {}", number % 11, number % 7, number % 13);
        let mut draft = Draft::new(content).with_space(format!("space {}", number % 3));
        if number % 2 == 0 {
            draft = draft.with_session(format!("session {}", number % 5));
        }
        world.add_draft(draft);
    }
    let now = world.now();
    for number in (10..100).step_by(9) {
        world.store().delete(crate::world::id(number), now).expect("a deletion");
    }
    for number in (2..60).step_by(11) {
        let (from, to) = (crate::world::id(number), crate::world::id(number + 7));
        world.store().link(from, to, LinkKind::RelatedTo, now).ok();
    }
    world.embed_all();
    let options = SearchOptions::default().with_limit(100).with_explain(true);
    let ask = |world: &World| format!("{:?}", search(world, "kitten 3 dog 5", &options));
    let before = ask(&world);
    assert_eq!(ask(&world), before);
    world.reopen();
    world.store().set_embedder(Some(embedder("test-model"))).expect("a model");
    assert_eq!(ask(&world), before, "after reopening");
    world.close();
    for derived in ["state", "index"] {
        std::fs::remove_dir_all(world.folder(derived)).expect("it goes");
    }
    world.reopen();
    world.store().set_embedder(Some(embedder("test-model"))).expect("a model");
    assert_eq!(ask(&world), before, "after a rebuild");
}

#[test]
fn the_only_vector_of_a_space_is_the_best_hit() {
    let mut world = World::with_model();
    let queries = ["cat", "kitten on a roof", "tax", "forms of the quarter", "dog and cat"];
    for space in 0..20 {
        let mut draft = Draft::new(format!("A kitten on roof {space}"));
        draft.space = Some(format!("space-{space}"));
        world.add_draft(draft);
    }
    assert_eq!(world.embed_all(), 20);
    for space in 0..20 {
        for query in queries {
            let filter = Filter::default().with_space(format!("space-{space}"));
            let mode = SearchMode::Semantic;
            let options = SearchOptions::default().with_mode(mode).with_filter(filter);
            let result = search(&world, query, &options);
            assert_eq!(result.hits.len(), 1);
            // All of the score is its similarity's and its cues'.
            let (score, answerable) = (result.hits[0].score, result.answerable);
            assert!((score - answerable).abs() < 1e-9, "{query}: {score} {answerable}");
        }
    }
}

#[test]
fn a_question_that_was_asked_before_sees_every_change() {
    let mut world = World::with_model();
    let first = world.add("The cat sleeps on the roof");
    let second = world.add("The cat sleeps in the garden");
    world.embed_all();
    let mut asked = 0;
    let mut before = None;
    let mut check = |world: &World, what: &str, changes: bool| {
        let remembered = search(world, "cat roof", &SearchOptions::default());
        asked += 1;
        // Nobody asked exactly this, so it is searched for.
        let least = Some(f64::MIN_POSITIVE * f64::from(asked));
        let options = SearchOptions::default().with_min_score(least);
        assert_eq!(remembered, search(world, "cat roof", &options), "after {what}");
        let again = search(world, "cat roof", &SearchOptions::default());
        assert_eq!(remembered, again, "after {what}, asked again");
        assert_eq!(before.as_ref() != Some(&remembered), changes, "{what}");
        before = Some(remembered);
    };
    check(&world, "adding", true);
    check(&world, "nothing", false);
    let third = world.add("A cat again, on another roof");
    check(&world, "another add", true);
    world.embed_all();
    check(&world, "embedding", true);
    let now = world.now();
    let retitled = Patch::default().with_title("Roof");
    world.store().update(second, retitled, now).expect("a valid patch");
    check(&world, "an update", true);
    world.store().link(first, third, LinkKind::Updates, now).expect("both are there");
    check(&world, "a link", true);
    world.store().unlink(first, third, LinkKind::Updates, now).expect("it is there");
    check(&world, "unlinking", true);
    world.store().set_embedder(None).expect("no model is a valid one");
    check(&world, "the model went", true);
    world.store().set_embedder(Some(embedder("test-model"))).expect("a valid model");
    check(&world, "the model came back", true);
    world.store().delete(third, now).expect("it is there");
    check(&world, "a delete", true);
    world.store().reindex(Reindex::default(), now, &mut |_| {}).expect("a reindex");
    check(&world, "a reindex", false);
}
