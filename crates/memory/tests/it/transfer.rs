//! Export and import.

use std::num::NonZeroU32;

use waypost_memory::{
    Draft, ErrorKind, ImportIds, ImportOptions, ImportResult, LinkKind, Patch, Scalar,
};

use crate::world::{World, at, float, id, purge};

fn filled() -> World {
    let mut world = World::new();
    let a = world.add_draft(
        Draft::new("line\nline \u{1b}[31m ünï 🙂")
            .with_title("A \"title\"")
            .with_tags(["x", "y"])
            .with_metadata(
                [
                    ("float".to_owned(), float(2.0)),
                    ("int".to_owned(), Scalar::from(2)),
                    ("tiny".to_owned(), float(1e-300)),
                    // A reader that rounds each step gives its neighbour.
                    ("exact".to_owned(), float(2.974_775_561_277_169_5e-308)),
                ]
                .into(),
            )
            .with_session("s")
            .with_created_at(at(-5)),
    );
    let b = world.add("b");
    let long = world.add(&"long ".repeat(20_000));
    let gone = world.add("gone");
    let purged = world.add("purged");
    for text in ["b2", "b3"] {
        let now = world.now();
        let patch = Patch::default().with_content(text);
        world.store().update(b, patch, now).expect("a change");
    }
    let now = world.now();
    world.store().delete(purged, now).expect("a deletion");
    world.store().compact(purge()).expect("a purge");
    world.store().delete(gone, now).expect("a deletion");
    world.store().link(a.id, b, LinkKind::CausedBy, now).expect("a link");
    world.store().link(long, a.id, LinkKind::Contradicts, now).expect("a link");
    world
}

/// A new store that imports the export of `world` exports the same.
fn assert_round_trip(world: &World) {
    let exported = world.export();
    let target = World::new();
    assert_eq!(import_with(&target, &exported, ImportIds::Keep).problems, []);
    assert_eq!(target.export(), exported);
}

#[test]
fn a_round_trip_into_an_empty_store_is_identical() {
    let source = filled();
    let exported = source.export();
    let mut target = World::new();
    let now = target.now();
    let imported = target.store().import(&mut exported.as_bytes(), now).expect("an import");
    assert_eq!(imported.problems, []);
    assert_eq!((imported.memories, imported.links), (5, 2));
    assert_eq!(target.export(), exported);
    target.reopen();
    assert_eq!(target.export(), exported);
    assert_eq!(target.add("next").get(), 6, "ids go on after the imported ones");
}

#[test]
fn an_import_can_be_repeated() {
    let source = filled();
    let exported = source.export();
    let again = source.store().import(&mut exported.as_bytes(), at(0)).expect("an import");
    assert_eq!((again.memories, again.links, again.existing), (0, 0, 7));
    assert_eq!(again.problems, []);
    assert_eq!(source.export(), exported);
}

#[test]
fn an_id_that_belongs_to_another_memory_is_named_with_its_line() {
    let source = filled();
    let exported = source.export();
    let mut target = World::new();
    target.add("something else");
    let now = target.now();
    let imported = target.store().import(&mut exported.as_bytes(), now).expect("an import");
    assert_eq!(imported.memories, 4);
    let lines: Vec<u64> = imported.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(lines[0], 2);
    assert!(imported.problems[0].message.contains("id 1 "), "{:?}", imported.problems);
    assert_eq!(target.store().get(id(1)).expect("it stays").content, "something else");
}

fn import_with(world: &World, text: &str, ids: ImportIds) -> ImportResult {
    let options = ImportOptions::default().with_ids(ids);
    let store = world.store();
    let mut input = text.as_bytes();
    store.import_beside(&mut input, &options, at(0), &|| store.write_queued()).expect("an import")
}

#[test]
fn no_imported_link_connects_a_memory_that_only_has_the_same_id() {
    let source = filled();
    let exported = source.export();
    for ids in [ImportIds::Keep, ImportIds::Map] {
        let mut target = World::new();
        let unrelated = target.add("something else");
        let imported = import_with(&target, &exported, ids);
        assert_eq!(target.store().links(unrelated, 1).expect("links"), [], "{ids:?}");
        let expected = if ids == ImportIds::Keep { (4, 0, 3) } else { (5, 2, 0) };
        let found = (imported.memories, imported.links, imported.problems.len());
        assert_eq!(found, expected, "{ids:?}: {:?}", imported.problems);
    }
}

#[test]
fn mapped_memories_keep_their_history_and_their_links_and_are_reported() {
    let source = filled();
    let exported = source.export();
    let mut target = World::new();
    for text in ["one", "two", "three"] {
        target.add(text);
    }
    let imported = import_with(&target, &exported, ImportIds::Map);
    assert_eq!(imported.problems, []);
    let here = |from: u64| {
        let mapped = imported.mapped.iter().find(|mapped| mapped.from == id(from));
        mapped.map_or(id(from), |mapped| mapped.to)
    };
    let ids: std::collections::BTreeSet<_> = (1..=5).map(here).collect();
    assert_eq!(ids.len(), 5, "no two of them became one");
    let contents = |world: &World, id| {
        let history = world.store().history(id).expect("a history");
        history
            .iter()
            .map(|history| (history.content().map(str::to_owned), history.memory.updated_at))
            .collect::<Vec<_>>()
    };
    for number in 1..=5 {
        assert_eq!(contents(&target, here(number)), contents(&source, id(number)), "{number}");
    }
    let links = target.store().links(here(1), 1).expect("links");
    let mut ends: Vec<_> = links.iter().map(|link| (link.from, link.to, link.kind)).collect();
    ends.sort_by_key(|end| end.0);
    let mut wanted =
        vec![(here(1), here(2), LinkKind::CausedBy), (here(3), here(1), LinkKind::Contradicts)];
    wanted.sort_by_key(|wanted| wanted.0);
    assert_eq!(ends, wanted);
    for number in 1..=3 {
        assert_eq!(target.store().history(id(number)).expect("it stays").len(), 1);
    }

    // Once more: what lives is found again by its text and times.
    let again = import_with(&target, &exported, ImportIds::Map);
    let mapped = |it: &ImportResult, from: u64| {
        it.mapped.iter().find(|mapped| mapped.from == id(from)).copied()
    };
    for number in 1..=3 {
        assert_eq!(mapped(&again, number), mapped(&imported, number), "{number}");
    }
    assert_eq!(again.links, 0);
    target.reopen();
    assert_eq!(target.store().links(here(1), 1).expect("links").len(), 2);
}

#[test]
fn superseded_by_follows_the_mapping() {
    let mut source = World::new();
    let (old, new) = (source.add("the door code is 1111"), source.add("the door code is 2222"));
    let now = source.now();
    source.store().link(new, old, LinkKind::Updates, now).expect("a link");
    let mut target = World::new();
    let unrelated = target.add("something else");
    let imported = import_with(&target, &source.export(), ImportIds::Map);
    let here = |from| {
        imported.mapped.iter().find(|mapped| mapped.from == from).map_or(from, |mapped| mapped.to)
    };
    let get = |id| target.store().get(id).expect("it is there");
    assert_eq!(get(here(old)).superseded_by, Some(here(new)));
    assert_eq!(get(unrelated).superseded_by, None);
    assert_eq!(get(here(new)).superseded_by, None);
}

#[test]
fn a_deletion_in_a_file_never_deletes_a_memory_that_only_has_the_same_id() {
    let lines = [
        r#"{"format":"waypost-memory","version":1}"#,
        r#"{"record":"deletion","id":1,"at":"2025-01-01T00:00:00.000Z"}"#,
    ];
    for ids in [ImportIds::Keep, ImportIds::Map] {
        let mut world = World::new();
        let kept = world.add("kept");
        import_with(&world, &lines.join("\n"), ids);
        assert_eq!(world.store().get(kept).expect("it is there").content, "kept");
    }
}

#[test]
fn an_older_export_takes_nothing_back() {
    let mut world = World::new();
    let (changed, gone) = (world.add("changed later"), world.add("deleted later"));
    let older = world.export();
    let now = world.now();
    let patch = Patch::default().with_content("changed");
    world.store().update(changed, patch, now).expect("a change");
    world.store().delete(gone, now).expect("a deletion");
    let before = world.export();
    for ids in [ImportIds::Keep, ImportIds::Map] {
        let imported = import_with(&world, &older, ids);
        assert_eq!((imported.existing, imported.problems), (2, Vec::new()), "{ids:?}");
        assert_eq!(world.export(), before);
    }
}

#[test]
fn damaged_and_foreign_input_is_told() {
    let exported = filled().export();
    let import = |text: &[u8]| World::new().store().import(&mut &text[..], at(0));
    let cut = &exported[..exported.len() - 30];
    let problems = import(cut.as_bytes()).expect("what is whole is taken").problems;
    assert!(problems.iter().any(|it| it.message.contains("is truncated")), "{problems:?}");
    let changed = exported.replace("b2", "b4");
    let problems = import(changed.as_bytes()).expect("it is taken").problems;
    assert!(problems.iter().any(|it| it.message.contains("checksum")), "{problems:?}");
    for foreign in [&b""[..], b"hello\n", b"{\"format\":\"other\",\"version\":1}\n", b"\xff\xfe\n"]
    {
        assert_eq!(import(foreign).expect_err("it is foreign").kind(), ErrorKind::Invalid);
    }
    let newer = b"{\"format\":\"waypost-memory\",\"version\":2}\n";
    assert_eq!(import(newer).expect_err("it is newer").kind(), ErrorKind::Newer);
}

#[test]
fn a_line_that_is_wrong_fails_alone() {
    let lines = [
        r#"{"format":"waypost-memory","version":1}"#,
        r#"{"record":"memory","id":1,"content":"one"}"#,
        r#"{"record":"memory","id":0,"content":"zero"}"#,
        r#"{"record":"memory","id":2,"content":""}"#,
        r#"{"record":"memory","id":3,"content":"c","colour":"red"}"#,
        r#"{"record":"memory","id":4,"content":"c","metadata":{"k":[1]}}"#,
        r#"{"record":"memory","id":5,"purged":true}"#,
        r#"{"record":"link","from":1,"to":99,"type":"updates"}"#,
        r#"{"record":"link","from":1,"to":1,"type":"updates"}"#,
        r#"{"record":"link","from":1,"to":1,"type":"likes"}"#,
        r"not json",
        r#"{"record":"memory","id":9,"content":"nine"}"#,
    ];
    let world = World::new();
    let text = lines.join("\n");
    let imported = world.store().import(&mut text.as_bytes(), at(7)).expect("an import");
    assert_eq!(imported.memories, 2);
    let numbers: Vec<u64> = imported.problems.iter().map(|problem| problem.line).collect();
    assert_eq!(numbers, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12], "the last is the missing end");
    assert_eq!(world.store().get(id(9)).expect("it is there").created_at, at(7));
}

/// A file with these lines, without the line that ends it.
fn file(lines: &[String]) -> String {
    let header = r#"{"format":"waypost-memory","version":1}"#.to_owned();
    [&[header], lines].concat().join("\n")
}

/// What was wrong but for the missing end.
fn problems(imported: &ImportResult) -> Vec<(u64, &str, bool)> {
    let (end, rest): (Vec<_>, Vec<_>) = imported
        .problems
        .iter()
        .partition(|problem| problem.message.contains("the end is missing"));
    assert_eq!(end.len(), 1);
    rest.iter().map(|it| (it.line, it.message.as_str(), it.id_taken)).collect()
}

#[test]
fn a_version_far_above_the_previous_one_is_refused_and_changed_memories_are_imported_again() {
    const GAP: u32 = 1 << 20;
    let memory = |id: u64, version: u32| {
        let content = format!("c{id} {version}");
        format!(r#"{{"record":"memory","id":{id},"version":{version},"content":"{content}"}}"#)
    };
    let lines = [
        memory(1, u32::MAX),
        memory(2, GAP + 1),
        memory(3, 0),
        memory(4, GAP),
        memory(4, 2 * GAP),
        memory(4, 3 * GAP + 1),
        memory(4, 2 * GAP),
    ];
    let mut world = World::new();
    let imported = import_with(&world, &file(&lines), ImportIds::Keep);
    let beyond = |version: u32, previous: u32| {
        let highest = previous + GAP;
        format!(
            "version {version} is too far above the memory's previous one in the file, {previous}; \
             number its versions in sequence, at most up to {highest} here"
        )
    };
    let wanted = [
        (2, beyond(u32::MAX, 0)),
        (3, beyond(GAP + 1, 0)),
        (4, "version 0 is out of range; expected 1 to 4294967295".to_owned()),
        (7, beyond(3 * GAP + 1, 2 * GAP)),
        (8, format!("version {} comes after a later one", 2 * GAP)),
    ];
    let wanted: Vec<_> = wanted.iter().map(|(line, it)| (*line, &**it, false)).collect();
    assert_eq!(problems(&imported), wanted);
    let now = world.now();
    let patch = Patch::default().with_content("changed");
    let changed = world.store().update(id(4), patch, now).expect("there is room");
    assert_eq!(changed.version, 2 * GAP + 1);
    world.reopen();
    assert_eq!(world.store().get(id(4)).expect("it is there").content, "changed");
    assert_round_trip(&world);
}

#[test]
fn the_largest_version_is_exported_and_imported() {
    const GAP: u64 = 1 << 20;
    let line = |version: u64| {
        format!(r#"{{"record":"memory","id":1,"version":{version},"content":"{version}"}}"#)
    };
    let last = u64::from(u32::MAX);
    let lines: Vec<String> = (1..=4096).map(|number| line((number * GAP).min(last))).collect();
    let mut world = World::new();
    assert_eq!(problems(&import_with(&world, &file(&lines), ImportIds::Keep)), []);
    let now = world.now();
    let patch = Patch::default().with_content("after");
    let error = world.store().update(id(1), patch, now).expect_err("it is the largest");
    assert!(error.to_string().contains("4294967295, the last one possible"), "{error}");
    assert_round_trip(&world);
}

#[test]
fn ids_far_above_those_in_use_are_refused_or_mapped() {
    const GAP: u64 = 1 << 28;
    let memory = |id: u64| format!(r#"{{"record":"memory","id":{id},"content":"c{id}"}}"#);
    let deletion =
        |id: u64| format!(r#"{{"record":"deletion","id":{id},"at":"2025-01-01T00:00:00.000Z"}}"#);
    let last = (1 << 53) - 1;
    let lines = [memory(last), deletion(last - 1), memory(GAP + 3), memory(GAP + 2)];
    let mut kept = World::new();
    assert_eq!((kept.add("one"), kept.add("two")), (id(1), id(2)));
    let imported = import_with(&kept, &file(&lines), ImportIds::Keep);
    let beyond = |id: u64| {
        let valid = GAP + 2;
        format!("id {id} is too far above the ids in use; expected 1 to {valid}")
    };
    let wanted = [beyond(last), beyond(last - 1), beyond(GAP + 3)];
    assert_eq!(
        problems(&imported),
        [(2, &*wanted[0], true), (3, &*wanted[1], true), (4, &*wanted[2], true)]
    );
    assert_eq!(kept.add("next"), id(GAP + 3));
    // What was taken can be taken again elsewhere.
    let exported = kept.export();
    assert_eq!(import_with(&World::new(), &exported, ImportIds::Keep).problems, []);

    let mut mapped = World::new();
    let imported = import_with(&mapped, &file(&lines[..3]), ImportIds::Map);
    assert_eq!(problems(&imported), []);
    let to: Vec<_> = imported.mapped.iter().map(|mapped| (mapped.from, mapped.to)).collect();
    assert_eq!(to, [(id(last), id(1)), (id(GAP + 3), id(2))]);
    assert_eq!(mapped.add("next"), id(3));
}

#[test]
fn only_a_file_that_has_the_newest_version_continues_a_memory() {
    let stored = || {
        let mut world = World::new();
        world.add_draft(Draft::new("secret").with_space("hr"));
        world.add("beside");
        world
    };
    let first = stored().export().lines().nth(1).expect("a memory").to_owned();
    let second = |space: &str, created_at: &str| {
        format!(
            r#"{{"record":"memory","id":1,"version":2,"content":"changed","space":"{space}","createdAt":"{created_at}"}}"#
        )
    };
    let line: serde_json::Value = serde_json::from_str(&first).expect("it is JSON");
    let created_at = line["createdAt"].as_str().expect("a time");
    let purged = format!(
        r#"{{"record":"memory","id":1,"space":"hr","createdAt":"{created_at}","validFrom":"2001-01-01T00:00:00.000Z","purged":true}}"#
    );
    let valid_from = line["validFrom"].as_str().expect("a time");
    let textless = purged.replace("2001-01-01T00:00:00.000Z", valid_from);
    let gone = r#"{"record":"deletion","id":1,"at":"2025-01-01T00:00:00.000Z"}"#.to_owned();
    let foreign = [
        vec![second("public", created_at)],
        vec![second("hr", created_at)],
        vec![purged.clone(), second("hr", created_at)],
        vec![purged, gone.clone()],
        vec![second("hr", created_at), gone],
        vec![first.clone(), second("public", created_at)],
        vec![first.clone(), second("hr", "2001-01-01T00:00:00Z")],
        vec![first.replace("secret", "other"), second("hr", created_at)],
    ];
    for lines in foreign {
        let text = file(&lines);
        let world = stored();
        let before = world.export();
        let imported = import_with(&world, &text, ImportIds::Keep);
        assert_eq!(problems(&imported), [(2, "id 1 belongs to another memory", true)], "{text}");
        assert_eq!(world.export(), before, "{text}");
        // With a new id it harms nobody.
        import_with(&world, &text, ImportIds::Map);
        let kept = world.store().history(id(1)).expect("it stays");
        assert_eq!(kept.len(), 1, "{text}");
        assert_eq!(
            (kept[0].content(), kept[0].memory.space.as_str()),
            (Some("secret"), "hr"),
            "{text}"
        );
    }
    let world = stored();
    let imported = import_with(&world, &file(&[textless]), ImportIds::Keep);
    let message = "the newest version is purged, but the memory is not deleted";
    assert_eq!((imported.existing, problems(&imported)), (0, vec![(2, message, false)]));
    let imported = import_with(&world, &file(&[first, second("hr", created_at)]), ImportIds::Keep);
    assert_eq!((imported.memories, problems(&imported)), (1, Vec::new()));
    assert_eq!(world.store().get(id(1)).expect("it is there").content, "changed");
}

/// What an export writes, and a change of the store that is made once it has begun.
struct Midway<'a> {
    written: Vec<u8>,
    change: Option<Box<dyn FnOnce() + 'a>>,
}

impl std::io::Write for Midway<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.written.extend_from_slice(bytes);
        if let Some(change) = self.change.take() {
            change();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The text of an export whose reader makes a change before it reads on.
fn exported_during(world: &World, change: impl FnOnce()) -> String {
    let mut out = Midway { written: Vec::new(), change: Some(Box::new(change)) };
    world.store().export(&mut out).expect("an export");
    assert!(out.change.is_none());
    String::from_utf8(out.written).expect("UTF-8")
}

#[test]
fn an_export_is_of_the_moment_when_it_began_and_no_write_waits_for_its_reader() {
    let world = filled();
    let before = world.export();
    let store = world.store();
    let now = at(1_800_000_000_000);
    let exported = exported_during(&world, || {
        store.add(Draft::new("added meanwhile"), now).expect("a draft");
        let patch = || Patch::default().with_content("changed meanwhile");
        for memory in [1, 2] {
            store.update(id(memory), patch(), now).expect("a change");
        }
        store.undelete(id(4), now).expect("it was deleted");
        store.unlink(id(1), id(2), LinkKind::CausedBy, now).expect("a change");
        store.link(id(1), id(2), LinkKind::Updates, now).expect("a link");
        store.delete(id(3), now).expect("a deletion");
        // The text of a memory that exists in the export leaves the files.
        store.compact(purge()).expect("a compaction");
        store.maintain().expect("the state is written");
    });
    assert_eq!(exported, before);
    assert_ne!(world.export(), before);
    assert_round_trip(&world);
}

#[test]
fn an_export_beside_a_compaction_can_be_imported() {
    let world = filled();
    let before = world.export();
    let one = NonZeroU32::new(1).expect("it is not 0");
    let exported = exported_during(&world, || {
        world.store().delete(id(1), at(1_800_000_000_000)).expect("a deletion");
        world.store().compact(purge().with_versions(one)).expect("a compaction");
    });
    let newest = |text: &str| text.matches("\"content\":").count();
    assert_eq!((newest(&before), newest(&exported)), (6, 4), "two earlier texts were removed");
    let target = World::new();
    let imported = import_with(&target, &exported, ImportIds::Keep);
    assert_eq!((imported.problems, imported.memories, imported.links), (Vec::new(), 5, 2));
    assert_eq!(target.export(), exported);
}
