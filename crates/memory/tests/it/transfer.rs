//! Export and import.

use waypost_memory::{Draft, ErrorKind, LinkKind, MetadataValue, Patch};

use crate::world::{PURGE, World, at, id};

fn filled() -> World {
    let mut world = World::new();
    let a = world.add_draft(Draft {
        title: Some("A \"title\"".to_owned()),
        tags: vec!["x".to_owned(), "y".to_owned()],
        metadata: [
            ("float".to_owned(), MetadataValue::Float(2.0)),
            ("int".to_owned(), MetadataValue::Integer(2)),
            ("tiny".to_owned(), MetadataValue::Float(1e-300)),
            // A reader that rounds each step gives its neighbour.
            ("exact".to_owned(), MetadataValue::Float(2.974_775_561_277_169_5e-308)),
        ]
        .into(),
        session: Some("s".to_owned()),
        created_at: Some(at(-5)),
        ..Draft::new("line\nline \u{1b}[31m ünï 🙂")
    });
    let b = world.add("b");
    let long = world.add(&"long ".repeat(20_000));
    let gone = world.add("gone");
    let purged = world.add("purged");
    for text in ["b2", "b3"] {
        let now = world.now();
        let patch = Patch { content: Some(text.to_owned()), ..Patch::default() };
        world.store().update(b, patch, now).expect("a change");
    }
    let now = world.now();
    world.store().delete(purged, now).expect("a deletion");
    world.store().compact(PURGE).expect("a purge");
    world.store().delete(gone, now).expect("a deletion");
    world.store().link(a.id, b, LinkKind::CausedBy, now).expect("a link");
    world.store().link(long, a.id, LinkKind::Contradicts, now).expect("a link");
    world
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
    let lines: Vec<u64> = imported.problems.iter().map(|it| it.line).collect();
    assert_eq!(lines[0], 2);
    assert!(imported.problems[0].message.contains("id 1 "), "{:?}", imported.problems);
    assert_eq!(target.store().get(id(1)).expect("it stays").content, "something else");
}

#[test]
fn damaged_and_foreign_input_is_told() {
    let exported = filled().export();
    let import = |text: &[u8]| World::new().store().import(&mut &text[..], at(0));
    let cut = &exported[..exported.len() - 30];
    let problems = import(cut.as_bytes()).expect("what is whole is taken").problems;
    assert!(problems.iter().any(|it| it.message.contains("cut off")), "{problems:?}");
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
    let numbers: Vec<u64> = imported.problems.iter().map(|it| it.line).collect();
    assert_eq!(numbers, [3, 4, 5, 6, 7, 8, 9, 10, 11, 12], "the last is the missing end");
    assert_eq!(world.store().get(id(9)).expect("it is there").created_at, at(7));
}
