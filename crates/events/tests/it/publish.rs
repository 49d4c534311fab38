use std::sync::mpsc;

use waypost_events::{
    BATCH_DRAFTS_MAX, ErrorKind, Event, LINEAGE_FLOWS_MAX, LINEAGE_NAME_BYTES_MAX, Lineage,
    Refused, SOURCE_BYTES_MAX,
};

use crate::world::{NOW, all, at, data, draft, folder, keyed, open, publish};

#[test]
fn ids_count_from_1_and_an_event_is_what_was_published() {
    let dir = folder();
    let bus = open(dir.path());
    let lineage = Lineage {
        root: Some(1),
        cause: Some("run 1".to_owned()),
        depth: 1,
        flows: vec!["auto-merge".to_owned()],
    };
    publish(&bus, "eval:scored");
    let data = data(r#"{"score":0.5,"agent":"scout","n":18446744073709551615}"#);
    let draft = draft("kanban:done").with_data(data.clone()).with_lineage(lineage.clone());
    let published = bus.publish(draft, at(1)).unwrap();
    let expected = Event {
        id: 2,
        kind: "kanban:done".parse().unwrap(),
        data,
        time: at(1),
        source: "test".to_owned(),
        lineage,
        space: None,
    };
    assert_eq!((&published.event, published.duplicate), (&expected, false));
    assert_eq!(bus.get(2).unwrap(), Some(expected));
    assert_eq!((bus.get(0).unwrap(), bus.get(3).unwrap()), (None, None));
}

#[test]
fn a_batch_has_neighbouring_ids_and_an_answer_for_each_draft() {
    let dir = folder();
    let bus = open(dir.path());
    publish(&bus, "a:before");
    let bad = draft("a:bad").with_source("x".repeat(SOURCE_BYTES_MAX + 1));
    let other = keyed("a:one", "k").with_data(data(r#"{"a":1}"#));
    let drafts =
        vec![draft("a:zero"), bad.clone(), keyed("a:one", "k"), keyed("a:one", "k"), other];
    let answers = bus.publish_batch(drafts, NOW).unwrap();
    let ids: Vec<_> = answers
        .iter()
        .map(|answer| answer.as_ref().map(|it| (it.event.id, it.duplicate)).map_err(Clone::clone))
        .collect();
    assert_eq!(ids[0], Ok((2, false)));
    assert!(matches!(ids[1], Err(Refused::Invalid { field: "source", .. })), "{:?}", ids[1]);
    assert_eq!(ids[2], Ok((3, false)));
    assert_eq!(ids[3], Ok((3, true)));
    assert_eq!(ids[4], Err(Refused::KeyReused { id: 3 }));
    assert_eq!(all(&bus).len(), 3);

    assert!(bus.publish_batch(Vec::new(), NOW).unwrap().is_empty());
    assert_eq!(bus.publish_batch(vec![bad], NOW).unwrap().len(), 1);
    let many = vec![draft("a:b"); BATCH_DRAFTS_MAX + 1];
    assert_eq!(bus.publish_batch(many, NOW).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(bus.publish_batch(vec![draft("a:b"); BATCH_DRAFTS_MAX], NOW).unwrap().len(), 10_000);
    assert_eq!(bus.last(), 3 + BATCH_DRAFTS_MAX as u64);
}

#[test]
fn drafts_over_a_limit_are_refused_and_those_at_it_are_not() {
    let dir = folder();
    let bus = open(dir.path());
    let name = "n".repeat(LINEAGE_NAME_BYTES_MAX);
    let at_limit = Lineage {
        root: Some(u64::MAX),
        cause: Some(name.clone()),
        depth: u8::MAX,
        flows: vec![name.clone(); LINEAGE_FLOWS_MAX],
    };
    let source = "s".repeat(SOURCE_BYTES_MAX);
    let good = draft("a:b").with_source(source.clone()).with_lineage(at_limit.clone());
    assert_eq!(bus.publish(good, NOW).unwrap().event.source, source);
    let lineages = [
        Lineage { root: Some(0), ..Lineage::default() },
        Lineage { cause: Some(format!("{name}n")), ..Lineage::default() },
        Lineage { flows: vec![name; LINEAGE_FLOWS_MAX + 1], ..Lineage::default() },
        Lineage { flows: vec!["a\nb".to_owned()], ..Lineage::default() },
    ];
    let drafts = lineages.map(|lineage| draft("a:b").with_lineage(lineage));
    let newline = draft("a:b").with_source("a\nb");
    for draft in drafts.into_iter().chain([newline]) {
        let error = bus.publish(draft, NOW).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
    assert_eq!(bus.last(), 1);
}

#[test]
fn queued_drafts_are_published_by_whoever_leads() {
    let dir = folder();
    let bus = open(dir.path());
    let (tell, told) = mpsc::channel();
    bus.write_queued();
    for at in 0..5_000_u64 {
        let tell = tell.clone();
        let draft = if at % 2 == 0 { draft("a:b") } else { keyed("a:b", &format!("k{}", at / 4)) };
        bus.queue(draft, NOW, Box::new(move |it| tell.send((at, it)).unwrap())).unwrap();
    }
    assert_eq!(bus.last(), 0, "nobody has led yet");
    bus.write_queued();
    let mut answered: Vec<_> = told.try_iter().collect();
    answered.sort_by_key(|answered| answered.0);
    assert_eq!(answered.len(), 5_000);
    assert!(answered.iter().all(|(at, it)| it.as_ref().unwrap().duplicate == (at % 4 == 3)));
    assert_eq!(bus.last(), 5_000 - 1_250);

    let tell_one = tell.clone();
    bus.queue(draft("a:b"), NOW, Box::new(move |it| tell_one.send((0, it)).unwrap())).unwrap();
    publish(&bus, "a:c");
    assert_eq!(told.try_recv().unwrap().1.unwrap().event.id, 3_751, "a publisher took it along");
    let bad = draft("a:b").with_source("\n");
    assert!(bus.queue(bad, NOW, Box::new(|_| panic!("it is not called"))).is_err());
}

#[test]
fn a_callback_that_panics_takes_down_the_one_who_publishes_and_nobody_else() {
    let dir = folder();
    let bus = open(dir.path());
    let (tell, told) = mpsc::channel();
    bus.queue(draft("a:b"), NOW, Box::new(|_| panic!("this callback is broken"))).unwrap();
    bus.queue(draft("a:b"), NOW, Box::new(move |it| tell.send(it).unwrap())).unwrap();
    // It leads for all three requests, and goes down with the first callback.
    let leader = std::thread::scope(|scope| scope.spawn(|| bus.publish(draft("a:b"), NOW)).join());
    assert!(leader.is_err());
    let other = told.recv_timeout(std::time::Duration::from_secs(60)).map(drop);
    assert_eq!(other, Err(mpsc::RecvTimeoutError::Disconnected), "it went with the first");
    assert_eq!(publish(&bus, "a:b").id, 4, "and the next one leads");
    assert_eq!(all(&bus).len(), 4, "what was written is there");
}
