//! Pairs of memories that say nearly the same, or different things about the same subject.

use waypost_memory::limits::LIMIT_MAX;
use waypost_memory::{
    Draft, Error, Lifespan, LinkKind, MemoryId, Patch, Reindex, SuggestionKind, SuggestionOptions,
    Suggestions, Vocabulary,
};

use crate::world::{World, at, embedder, id};

use SuggestionKind::{Contradicts, Duplicate, Updates};

fn all() -> SuggestionOptions {
    SuggestionOptions::default().with_limit(LIMIT_MAX as usize)
}

fn of(id: MemoryId) -> SuggestionOptions {
    all().with_id(id)
}

fn suggestions(world: &World, options: &SuggestionOptions) -> Suggestions {
    world.store().suggestions(options).expect("valid options")
}

/// Kind, newer and older memory of each.
fn pairs(world: &World, options: &SuggestionOptions) -> Vec<(SuggestionKind, u64, u64)> {
    let found = suggestions(world, options).suggestions;
    found.iter().map(|found| (found.kind, found.from.get(), found.to.get())).collect()
}

#[test]
fn a_store_without_similar_memories_has_none() {
    let mut world = World::new();
    assert_eq!(suggestions(&world, &all()), Suggestions::default());
    let only = world.add("The service listens on port 4000.");
    assert_eq!(suggestions(&world, &all()), Suggestions::default());
    assert_eq!(suggestions(&world, &of(only)), Suggestions::default());
    assert!(!world.store().may_have_similar(only, None));
    let other = world.add("The keeper of the lighthouse retires in spring");
    world.add("?!");
    assert_eq!(pairs(&world, &all()), []);
    assert!(!world.store().may_have_similar(other, None));
}

#[test]
fn a_pair_has_a_kind_a_score_and_a_reason() {
    let mut world = World::new();
    world.add("The service listens on port 4000.");
    let newer = world.add("The service listens on port 4747.");
    world.add("The cache is shared by all workers");
    world.add("The cache is not shared by all workers");
    world.add_draft(Draft::new("Backups are kept for thirty days").with_title("Backups"));
    world.add_draft(Draft::new("Backups are kept for thirty days").with_kind("decision"));
    let expected = [(Duplicate, 6, 5), (Contradicts, 4, 3), (Updates, 2, 1)];
    assert_eq!(pairs(&world, &all()), expected);
    let found = suggestions(&world, &all());
    assert!(!found.truncated);
    let reasons: Vec<&str> =
        found.suggestions.iter().map(|suggestion| suggestion.reason.as_str()).collect();
    let values = "differs in \"4000\" → \"4747\"";
    assert_eq!(reasons, ["the texts are equal", "only one of them says \"not\"", values]);
    let update = &found.suggestions[2];
    assert_eq!(update.from_title, "The service listens on port 4747.");
    assert_eq!(update.to_title, "The service listens on port 4000.");
    assert!((update.score - 5.0 / 6.0).abs() < 1e-6, "{}", update.score);
    // About either of the two, it is the same.
    for one in [newer, id(1)] {
        assert_eq!(suggestions(&world, &of(one)).suggestions, std::slice::from_ref(update));
        assert!(world.store().may_have_similar(one, None));
    }
    let first = suggestions(&world, &all().with_limit(1));
    assert!(first.truncated);
    assert_eq!(first.suggestions, found.suggestions[..1]);
}

#[test]
fn the_newer_memory_is_the_one_that_was_created_later() {
    let mut world = World::new();
    let add = |world: &mut World, port: u32, created_at: i64| {
        let draft = Draft::new(format!("The service listens on port {port}"));
        world.add_draft(draft.with_created_at(at(created_at))).id
    };
    let later = add(&mut world, 4747, 2_000);
    let earlier = add(&mut world, 4000, 1_000);
    assert_eq!(pairs(&world, &all()), [(Updates, later.get(), earlier.get())]);
    // Of two of the same time, none replaces the other.
    add(&mut world, 4748, 2_000);
    let found = pairs(&world, &of(later));
    assert_eq!(found, [(Contradicts, 3, 1), (Updates, 1, 2)]);
}

#[test]
fn a_linked_pair_and_a_replaced_memory_are_left_out() {
    for kind in LinkKind::ALL.iter().copied() {
        let mut world = World::new();
        let old = world.add("The service listens on port 4000");
        let new = world.add("The service listens on port 4747");
        assert_eq!(pairs(&world, &all()), [(Updates, 2, 1)]);
        let now = world.now();
        world.store().link(new, old, kind, now).expect("a link");
        assert_eq!(pairs(&world, &all()), []);
        let newest = world.add("The service listens on port 4748");
        let expected = match kind {
            LinkKind::Updates => vec![(Updates, 3, 2)],
            _ => vec![(Updates, 3, 2), (Updates, 3, 1)],
        };
        assert_eq!(pairs(&world, &of(newest)), expected, "{kind:?}");
        world.store().unlink(new, old, kind, now).expect("a removed link");
        assert_eq!(pairs(&world, &all()).len(), 3);
    }
}

#[test]
fn memories_of_two_spaces_are_no_pair() {
    let mut world = World::with_model();
    let add = |world: &mut World, port: u32, space: &str| {
        let draft = Draft::new(format!("The service listens on port {port}"));
        world.add_draft(draft.with_space(space)).id
    };
    let mine = add(&mut world, 4000, "mine");
    let theirs = add(&mut world, 4747, "theirs");
    world.embed_all();
    for options in [all(), of(mine), of(theirs)] {
        assert_eq!(pairs(&world, &options), []);
    }
    assert!(!world.store().may_have_similar(mine, None));
    let hidden = world.store().suggestions(&of(theirs).with_space("mine"));
    let hidden = hidden.expect_err("it is of another space");
    assert!(matches!(&hidden, Error::NotInSpace { id, space } if *id == theirs && space == "mine"));
    assert_eq!(hidden.to_string(), format!("memory {theirs} is not in the space `mine`"));
    // A replacement in another space replaces nothing here.
    let now = world.now();
    world.store().link(theirs, mine, LinkKind::Updates, now).expect("a link");
    add(&mut world, 4748, "mine");
    assert_eq!(pairs(&world, &all().with_space("mine")), [(Updates, 3, 1)]);
    assert_eq!(pairs(&world, &all().with_space("theirs")), []);
    assert_eq!(pairs(&world, &all().with_space("nothing")), []);
}

#[test]
fn expired_and_deleted_memories_are_never_suggested() {
    let mut world = World::with_model();
    let expiring = Lifespan::default().with_expires_at(at(2_000_000_000_000));
    let old = Draft::new("The service listens on port 4000").with_lifespan(expiring);
    let old = world.add_draft(old).id;
    let new = world.add("The service listens on port 4747");
    world.embed_all();
    let until = at(2_000_000_000_000);
    let before = at(1_999_999_999_999);
    assert_eq!(pairs(&world, &all().with_now(before)), [(Updates, 2, 1)]);
    assert!(world.store().may_have_similar(new, Some(before)));
    for options in [all(), of(new), of(old)] {
        assert_eq!(pairs(&world, &options.with_now(until)), []);
    }
    assert!(!world.store().may_have_similar(new, Some(until)));
    // An expired memory replaces nothing.
    let other = world.add("The service listens on port 4748");
    let now = world.now();
    world.store().link(old, new, LinkKind::Updates, now).expect("a link");
    assert_eq!(pairs(&world, &of(other).with_now(before)), [(Updates, 3, 1)]);
    assert_eq!(pairs(&world, &of(other).with_now(until)), [(Updates, 3, 2)]);

    world.store().delete(old, now).expect("a deletion");
    assert_eq!(pairs(&world, &all()), [(Updates, 3, 2)]);
    assert!(matches!(world.store().suggestions(&of(old)), Err(Error::NotFound(_))));
    world.store().delete(other, now).expect("a deletion");
    assert_eq!(pairs(&world, &all()), []);
}

#[test]
fn a_changed_text_is_compared_as_it_is_now() {
    let mut world = World::new();
    world.add("The service listens on port 4000");
    let new = world.add("The service listens on port 4747");
    let now = world.now();
    let patch = Patch::default().with_content("The keeper of the lighthouse retires");
    world.store().update(new, patch, now).expect("a change");
    assert_eq!(pairs(&world, &all()), []);
    let patch = Patch::default().with_content("The service listens on port 4000");
    world.store().update(new, patch, now).expect("a change");
    assert_eq!(pairs(&world, &all()), [(Duplicate, 2, 1)]);
}

#[test]
fn values_that_hold_at_different_times_are_no_contradiction() {
    let mut world = World::new();
    let add = |world: &mut World, price: u32, lifespan: Lifespan| {
        let draft = Draft::new(format!("The ticket to the island costs {price} crowns"));
        world.add_draft(draft.with_lifespan(lifespan)).id
    };
    let second = Lifespan::default().with_valid_from(at(1_000));
    add(&mut world, 40, second);
    let first = Lifespan::default().with_valid_until(at(1_000));
    add(&mut world, 30, first);
    assert_eq!(pairs(&world, &all()), []);
    add(&mut world, 35, Lifespan::default());
    assert_eq!(pairs(&world, &all()), [(Updates, 3, 2), (Updates, 3, 1)]);
}

#[test]
fn memories_of_near_meaning_are_found_once_they_have_vectors() {
    let mut world = World::with_model();
    let old = world.add("the kitten and the doctor");
    let new = world.add("the physician and the cat");
    assert_eq!(pairs(&world, &all()), [], "without vectors");
    world.embed_all();
    let expected = [(Duplicate, new.get(), old.get())];
    assert_eq!(pairs(&world, &all()), expected);
    assert_eq!(pairs(&world, &of(old)), expected);
    let found = suggestions(&world, &all()).suggestions;
    let reason = "they mean nearly the same (cosine 1.00)";
    assert_eq!((found[0].reason.as_str(), found[0].score > 0.99), (reason, true));

    // What is known of vectors survives a restart and a rebuild of the index.
    assert_eq!(world.reopen().index_rebuilt, None);
    assert_eq!(pairs(&world, &all()), [], "without a model");
    world.store().set_embedder(Some(embedder("test-model"))).expect("a model");
    assert_eq!(pairs(&world, &all()), expected);
    world.store().reindex(Reindex::default(), at(0), &mut |_| {}).expect("a rebuild");
    assert_eq!(pairs(&world, &all()), expected);
    let now = world.now();
    let patch = Patch::default().with_content("an automobile");
    world.store().update(new, patch, now).expect("a change");
    assert_eq!(pairs(&world, &all()), []);
    world.embed_all();
    assert_eq!(pairs(&world, &all()), []);
}

#[test]
fn a_memory_of_near_meaning_is_found_whichever_gets_its_vector_first() {
    // A backlog is embedded from the newest memory on; a changed memory gets its vector again.
    let mut world = World::with_model();
    let old = world.add("the kitten and the doctor");
    let new = world.add("the physician and the cat");
    for _ in 0..2 {
        assert_eq!(world.store().embed_pending(1).expect("a model").embedded, 1);
    }
    let expected = [(Duplicate, new.get(), old.get())];
    assert_eq!(pairs(&world, &all()), expected);
    let now = world.now();
    for content in ["an automobile", "the kitten and the doctor"] {
        world.store().update(old, Patch::default().with_content(content), now).expect("a change");
        world.embed_all();
    }
    assert_eq!(pairs(&world, &all()), expected);
}

#[test]
fn what_is_near_is_searched_for_again_if_it_was_lost() {
    let mut world = World::with_model();
    let old = world.add("the kitten and the doctor");
    let new = world.add("the physician and the cat");
    world.embed_all();
    let expected = [(Duplicate, new.get(), old.get())];
    // After a crash, and at the first start of a release with another index, the vectors are there.
    world.close();
    std::fs::remove_file(world.folder("index").join("snapshot")).expect("a snapshot");
    assert!(world.reopen().index_rebuilt.is_some());
    world.store().set_embedder(Some(embedder("test-model"))).expect("a model");
    world.store().maintain().expect("an open store");
    assert_eq!(pairs(&world, &all()), expected);
    // Another model says nothing until it has embedded the memories.
    world.store().set_embedder(Some(embedder("another"))).expect("a model");
    world.store().maintain().expect("an open store");
    assert_eq!(pairs(&world, &all()), []);
    world.embed_all();
    assert_eq!(pairs(&world, &all()), expected);
}

#[test]
fn signatures_survive_a_restart_and_a_rebuild() {
    let mut world = World::new();
    for port in 0..40 {
        world.add(&format!("The service number {} listens on port {port}", port % 8));
    }
    let expected = suggestions(&world, &all());
    assert!(expected.suggestions.len() >= 32);
    assert_eq!(world.reopen().index_rebuilt, None);
    assert_eq!(suggestions(&world, &all()), expected);
    world.store().reindex(Reindex::default(), at(0), &mut |_| {}).expect("a rebuild");
    assert_eq!(suggestions(&world, &all()), expected);
    world.close();
    std::fs::remove_file(world.folder("index").join("snapshot")).expect("a snapshot");
    assert!(world.reopen().index_rebuilt.is_some());
    assert_eq!(suggestions(&world, &all()), expected);
}

#[test]
fn identical_memories_are_compared_up_to_a_limit() {
    let mut world = World::new();
    // More pairs than a call compares.
    let drafts = |range: std::ops::Range<u32>| {
        range
            .map(|range| Draft::new("The keys are in the blue tin").with_session(range.to_string()))
    };
    let now = world.now();
    world.store().add_batch(drafts(0..200), now);
    let found = suggestions(&world, &all());
    assert!(found.suggestions.iter().all(|it| it.kind == Duplicate && it.from > it.to));
    assert!(found.suggestions.len() >= 3 * 197 && found.suggestions.len() <= 3 * 200);
    let newest = suggestions(&world, &of(id(200)));
    assert_eq!((newest.suggestions.len(), newest.truncated), (16, true));
    world.store().add_batch(drafts(200..2_000), now);
    let found = suggestions(&world, &all());
    assert_eq!((found.suggestions.len(), found.truncated), (999, true));
    // The newest come first.
    assert!(found.suggestions.iter().all(|it| it.to.get() > 1_600));
}

#[test]
fn what_a_limit_leaves_out_follows_with_the_next_call() {
    let mut world = World::new();
    let same =
        |number: u32| Draft::new("The keys are in the blue tin").with_session(number.to_string());
    let later = |number: u32| Draft::new(format!("The keeper of the lighthouse has {number} keys"));
    let drafts = (0..2).map(same).chain((0..1_200).map(later));
    let now = world.now();
    world.store().add_batch(drafts, now);
    let oldest =
        |found: &Suggestions| found.suggestions.iter().map(|suggestion| suggestion.to).min();
    let mut found = suggestions(&world, &all());
    while let Some(next) = found.next {
        assert!(found.truncated && oldest(&found) > Some(id(2)));
        found = suggestions(&world, &all().with_before(next));
        assert!(found.suggestions.iter().all(|it| it.from < next));
    }
    assert_eq!(oldest(&found), Some(id(1)));
}

#[test]
fn texts_of_a_mebibyte_are_compared_by_their_terms() {
    let mut world = World::new();
    let text = |words: std::ops::Range<u32>| -> String {
        let text: Vec<String> = words.map(|word| format!("{:x}", word * 7919)).collect();
        text.join(" ")
    };
    let long = text(0..115_000);
    assert!((900_000..=1 << 20).contains(&long.len()), "{}", long.len());
    world.add_draft(Draft::new(long.clone()).with_title("one"));
    world.add_draft(Draft::new(long).with_title("other"));
    world.add(&text(115_000..116_000));
    let found = suggestions(&world, &all()).suggestions;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].kind, found[0].from, found[0].to), (Duplicate, id(2), id(1)));
    assert!(found[0].reason.starts_with("about "), "{}", found[0].reason);
}

#[test]
fn a_long_text_is_compared_with_four_mebibytes_at_most() {
    let mut world = World::new();
    let long = "x".repeat(1 << 20);
    let draft = |number: u32| Draft::new(long.clone()).with_session(number.to_string());
    let found_of = |world: &World, newest: u64| {
        let found = suggestions(world, &of(id(newest)));
        (found.suggestions.len(), found.truncated)
    };
    (0..4).for_each(|number| drop(world.add_draft(draft(number))));
    assert_eq!(found_of(&world, 4), (3, false));
    world.add_draft(draft(4));
    assert_eq!(found_of(&world, 5), (3, true));
}

#[test]
fn other_scripts_are_compared_too() {
    let mut world = World::new();
    for (old, new) in [
        ("服务监听的端口是4000", "服务监听的端口是4747"),
        ("Сервис слушает порт 4000 на этой машине", "Сервис слушает порт 4747 на этой машине"),
        ("الخدمة تستمع على المنفذ 4000", "الخدمة تستمع على المنفذ 4747"),
        ("サービスはポート4000で待機する", "サービスはポート4747で待機する"),
    ] {
        world.add(old);
        let new = world.add(new);
        let found = suggestions(&world, &of(new)).suggestions;
        assert_eq!(found.len(), 1, "{old}");
        assert_eq!(found[0].kind, Updates);
        assert_eq!(found[0].reason, "differs in \"4000\" → \"4747\"");
    }
}

#[test]
fn titles_say_whether_texts_are_about_the_same_subject() {
    let found = |titles: [&str; 2], contents: [&str; 2]| {
        let mut world = World::new();
        for (title, content) in titles.into_iter().zip(contents) {
            world.add_draft(Draft::new(content).with_title(title));
        }
        pairs(&world, &all())
    };
    let ports = ["The service listens on port 4000", "The service listens on port 4747"];
    let update = [(Updates, 2, 1)];
    assert_eq!(found(["Port", "Port"], ports), update);
    assert_eq!(found(["Port of the service", "The service has moved"], ports), update);
    // The title names the subject of a short text.
    let short = ["It is 4000", "It is 4747"];
    assert_eq!(found(["Port of the service", "Port of the service"], short), update);
    assert_eq!(found(["Port of the service", "Price of the service"], short), []);
    // What was said on two days is no update, but may be the same.
    let days = ["Caroline 8 May 2023", "Caroline 9 May 2023"];
    assert_eq!(found(days, ports), []);
    assert_eq!(found(days, [ports[0], ports[0]]), [(Duplicate, 2, 1)]);
}

#[test]
fn a_limit_out_of_range_is_invalid() {
    let world = World::new();
    for limit in [0, LIMIT_MAX as usize + 1] {
        let found = world.store().suggestions(&SuggestionOptions::default().with_limit(limit));
        assert!(matches!(found, Err(Error::Invalid { .. })), "{limit}");
    }
    let missing = world.store().suggestions(&of(id(1)));
    assert!(matches!(missing, Err(Error::NotFound(_))));
}
