//! After any crash: every answered append is there, batches are whole or absent, the order has no
//! gaps, and the log goes on.

use std::collections::BTreeMap;

use super::image::{Disk, Event, Image, Recorder, write};
use super::{Random, entries, folder, open, record, small};
use crate::{Keep, Log, Options, Verify};

/// A finished run: what it did to the disk and what it appended.
struct Run {
    options: Options,
    events: Vec<Event>,
    /// First sequences of batches, and every record.
    starts: Vec<u64>,
    records: BTreeMap<u64, Vec<u8>>,
}

/// What compaction and retention take away in these tests.
fn is_removed(sequence: u64) -> bool {
    !sequence.is_multiple_of(3)
}

/// What a crash after some events must not have lost.
#[derive(Debug, Default)]
struct Promise {
    answered: u64,
    /// Up to where removal may, and must, have happened.
    removing: u64,
    removed: u64,
}

impl Promise {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::Answered(range) => self.answered = self.answered.max(range.end - 1),
            Event::Removing(to) => self.removing = *to,
            Event::Removed(to) => self.removed = *to,
            _ => {}
        }
    }
}

impl Run {
    fn check(&self, image: &Image, promise: &Promise, what: &str) {
        for verify in [Verify::All, Verify::Unsealed] {
            let dir = folder();
            write(image, dir.path());
            let options = Options { verify, ..self.options.clone() };
            self.check_folder(dir.path(), &options, promise, &format!("{what}, {verify:?}"));
        }
    }

    fn check_folder(
        &self,
        dir: &std::path::Path,
        options: &Options,
        promise: &Promise,
        what: &str,
    ) {
        let (log, recovery) = match Log::open(dir, options) {
            Ok(opened) => opened,
            Err(error) => unreachable!("{what}: {error}; {promise:?}"),
        };
        assert!(recovery.damage.is_empty(), "{what}");
        assert_eq!(Log::verify(dir, options).expect("readable").torn_bytes, 0, "{what}: not cut");
        let last = log.last_sequence();
        assert!(last >= promise.answered, "{what}: {last} of {promise:?}");
        let whole = self.starts.contains(&(last + 1)) || last == self.records.len() as u64;
        assert!(whole, "{what}: half a batch at {last}");
        let stored: BTreeMap<u64, Vec<u8>> =
            entries(&log).into_iter().map(|entry| (entry.sequence, entry.payload)).collect();
        for (sequence, payload) in self.records.range(..=last) {
            let found = stored.get(sequence);
            let gone = is_removed(*sequence);
            if gone && *sequence <= promise.removed {
                assert_eq!(found, None, "{what}: {sequence} was removed");
            } else if !(gone && *sequence <= promise.removing && found.is_none()) {
                assert_eq!(found, Some(payload), "{what}: {sequence} of {last}, {promise:?}");
            }
        }
        assert!(stored.keys().all(|it| *it <= last), "{what}");
        assert_eq!(log.append(record(b"again")).expect("there is room"), last + 1, "{what}");
        drop(log);
        let log = open(dir, options);
        assert_eq!(log.last_sequence(), last + 1, "{what}");
        assert_eq!(entries(&log).len(), stored.len() + 1, "{what}");
    }

    /// Calls `each` with the disk before each event, and with it.
    fn replay(&self, mut each: impl FnMut(usize, &Disk, &Promise)) {
        let mut disk = Disk::default();
        let mut promise = Promise::default();
        for (at, event) in self.events.iter().enumerate() {
            each(at, &disk, &promise);
            disk.apply(event);
            promise.hear(event);
        }
        each(self.events.len(), &disk, &promise);
    }
}

/// Appends batches of random sizes, syncs some of them later, compacts, and goes on.
fn run(segment_bytes: u64, payload_max: usize, batches: usize, seed: u64) -> Run {
    let dir = folder();
    let recorder = Recorder::default();
    let options = small(segment_bytes);
    let opened = Log::open_through(dir.path(), &options, Some(recorder.gate()));
    let log = opened.expect("an empty folder opens").0;
    let mut random = Random(seed);
    let mut run = Run { options, events: Vec::new(), starts: Vec::new(), records: BTreeMap::new() };
    for round in 0..batches {
        let payloads: Vec<Vec<u8>> = (0..=random.below(4))
            .map(|_| (0..random.below(payload_max)).map(|_| random.below(256) as u8).collect())
            .collect();
        let batch: Vec<_> = payloads.iter().map(|payload| record(payload)).collect();
        let range = if random.below(4) == 0 {
            log.append_batch_unsynced(&batch).expect("there is room")
        } else {
            let range = log.append_batch(&batch).expect("there is room");
            recorder.note(Event::Answered(range.clone()));
            range
        };
        run.starts.push(range.start);
        run.records.extend(range.clone().zip(payloads));
        if round == batches / 2 || round == batches * 3 / 4 {
            recorder.note(Event::Removing(range.end - 1));
            let keep = |sequence| if is_removed(sequence) { Keep::No } else { Keep::Yes };
            log.compact(&mut |it| keep(it.sequence)).expect("there is room");
            recorder.note(Event::Removed(range.end - 1));
        }
    }
    log.sync().expect("the disk works");
    recorder.note(Event::Answered(1..run.records.len() as u64 + 1));
    run.events = recorder.events();
    run
}

#[test]
fn any_mixture_of_lost_blocks_and_names_is_recovered_from() {
    for (segment_bytes, payload_max, block, seed) in
        [(1024, 60, 512, 11), (4096, 700, 512, 12), (16_384, 3000, 4096, 13)]
    {
        let run = run(segment_bytes, payload_max, 24, seed);
        let mut random = Random(seed);
        run.replay(|at, disk, promise| {
            let what = format!("{segment_bytes} bytes, event {at}");
            run.check(&disk.killed(), promise, &format!("{what}, killed"));
            run.check(&disk.lost(), promise, &format!("{what}, lost"));
            for round in 0..8 {
                let image = disk.cut(&mut random, block);
                run.check(&image, promise, &format!("{what}, cut {round}"));
            }
        });
    }
}

#[test]
fn any_prefix_of_the_written_bytes_is_recovered_from() {
    let run = run(1024, 40, 10, 21);
    run.replay(|at, disk, promise| {
        let Some(Event::Write(name, offset, bytes)) = run.events.get(at) else { return };
        if bytes.iter().all(|byte| *byte == 0) {
            return;
        }
        for len in 0..bytes.len() {
            let mut disk = disk.clone();
            disk.apply(&Event::Write(name.clone(), *offset, bytes[..len].to_vec()));
            run.check(&disk.killed(), promise, &format!("event {at}, {len} bytes"));
        }
    });
}

#[test]
fn every_mixture_of_blocks_of_an_unsynced_tail_is_recovered_from() {
    let dir = folder();
    let recorder = Recorder::default();
    let options = small(16 << 10);
    let opened = Log::open_through(dir.path(), &options, Some(recorder.gate()));
    let log = opened.expect("an empty folder opens").0;
    let mut run = Run { options, events: Vec::new(), starts: Vec::new(), records: BTreeMap::new() };
    let payloads: Vec<Vec<u8>> = (1..=9_u8).map(|number| vec![number; 350]).collect();
    let mut append = |batch: &[Vec<u8>], durable: bool| {
        let records: Vec<_> = batch.iter().map(|batch| record(batch)).collect();
        let range =
            if durable { log.append_batch(&records) } else { log.append_batch_unsynced(&records) };
        let range = range.expect("there is room");
        run.starts.push(range.start);
        run.records.extend(range.zip(batch.iter().cloned()));
    };
    append(&payloads[..1], true);
    append(&payloads[1..4], false);
    append(&payloads[4..5], false);
    append(&payloads[5..9], false);
    let mut disk = Disk::default();
    recorder.events().iter().for_each(|event| disk.apply(event));
    let promise = Promise { answered: 1, ..Promise::default() };
    let images = disk.every_cut("00000000000000000001.log", 512);
    assert!(images.len() >= 64, "{} images", images.len());
    for (at, image) in images.iter().enumerate() {
        run.check(image, &promise, &format!("mixture {at:b}"));
    }
}

#[test]
fn a_crash_during_or_after_recovery_is_recovered_from() {
    let run = run(2048, 300, 24, 31);
    let mut random = Random(31);
    run.replay(|at, disk, promise| {
        // Killed, so that nothing is lost yet and nothing more is synced; or cut.
        let cut = disk.cut(&mut random, 512);
        for (image, mut disk) in [(disk.killed(), disk.clone()), (cut.clone(), Disk::holding(&cut))]
        {
            let dir = folder();
            write(&image, dir.path());
            let recorder = Recorder::default();
            let opened = Log::open_through(dir.path(), &run.options, Some(recorder.gate()));
            let found = opened.expect("the log opens").0.last_sequence();
            let events = recorder.events();
            for (step, event) in events.iter().enumerate() {
                disk.apply(event);
                // Readers act on what recovery found: from then on it must not vanish.
                let opened = step + 1 == events.len();
                let answered = if opened { found } else { promise.answered };
                let promise = Promise { answered, ..*promise };
                let what = format!("event {at}, recovery {step}");
                run.check(&disk.lost(), &promise, &what);
                run.check(&disk.cut(&mut random, 512), &promise, &what);
            }
        }
    });
}

#[test]
fn what_concurrent_writers_were_answered_survives_any_crash() {
    let dir = folder();
    let recorder = Recorder::default();
    let options = small(4096);
    let opened = Log::open_through(dir.path(), &options, Some(recorder.gate()));
    let log = opened.expect("an empty folder opens").0;
    let batches = std::sync::Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for writer in 0..8_u8 {
            let (log, recorder, batches) = (&log, &recorder, &batches);
            scope.spawn(move || {
                for round in 0..6_u8 {
                    let payload = vec![writer * 16 + round; 90];
                    let batch = vec![record(&payload); usize::from(round % 3) + 1];
                    let range = log.append_batch(&batch).expect("there is room");
                    recorder.note(Event::Answered(range.clone()));
                    batches.lock().expect("no writer panics").insert(range.start, (range, payload));
                }
            });
        }
    });
    let batches = batches.into_inner().expect("no writer panics");
    let starts = batches.keys().copied().collect();
    let record = |(range, payload): (std::ops::Range<u64>, Vec<u8>)| {
        range.map(move |range| (range, payload.clone()))
    };
    let records = batches.into_values().flat_map(record).collect();
    let run = Run { options, events: recorder.events(), starts, records };
    let mut random = Random(41);
    run.replay(|at, disk, promise| {
        for round in 0..6 {
            run.check(&disk.cut(&mut random, 512), promise, &format!("event {at}, cut {round}"));
        }
    });
}

#[test]
fn a_crash_during_retention_leaves_a_log_without_holes() {
    let dir = folder();
    let recorder = Recorder::default();
    let options = small(1024);
    let opened = Log::open_through(dir.path(), &options, Some(recorder.gate()));
    let log = opened.expect("an empty folder opens").0;
    for at in 0..60_u8 {
        log.append(record(&[at; 60])).expect("there is room");
    }
    let before = recorder.events().len();
    let first = log.truncate_before(40).expect("writable");
    drop(log);
    let mut disk = Disk::default();
    let mut random = Random(51);
    let events = recorder.events();
    for (at, event) in events.iter().enumerate() {
        disk.apply(event);
        for image in [disk.killed(), disk.lost(), disk.cut(&mut random, 512)] {
            if at < before {
                continue;
            }
            let dir = folder();
            write(&image, dir.path());
            let log = open(dir.path(), &options);
            let sequences: Vec<u64> = entries(&log).iter().map(|entry| entry.sequence).collect();
            assert_eq!(sequences, (log.first_sequence()..=60).collect::<Vec<_>>(), "event {at}");
            assert!([1, first].contains(&log.first_sequence()), "event {at}: all or nothing");
        }
    }
    assert!(first > 20 && events.len() > before + 4);
}
