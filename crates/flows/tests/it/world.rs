//! Stands in for the service: stores the events, carries out the engine's effects, and can crash.

use std::time::Duration;

use waypost_events::{Data, Event, Lineage};
use waypost_flows::{
    Attempt, AttemptId, Effect, End, Engine, FlowFile, FlowSet, Notice, Options, Orphan, Outcome,
    Phase, Report, RunId, Timestamp,
};

pub(crate) struct World {
    pub(crate) engine: Option<Engine>,
    pub(crate) now_ms: u64,
    /// The bus.
    pub(crate) events: Vec<Event>,
    /// Started attempts that are not done.
    pub(crate) started: Vec<Attempt>,
    pub(crate) stopped: Vec<AttemptId>,
    pub(crate) orphans: Vec<Orphan>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) removed: Vec<RunId>,
    flows: String,
    folder: tempfile::TempDir,
}

/// A sequence of choices from a seed.
pub(crate) struct Choices(pub(crate) u64);

impl Choices {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

pub(crate) fn at(ms: u64) -> Timestamp {
    Timestamp::EPOCH.saturating_add(Duration::from_millis(ms))
}

pub(crate) fn event(id: u64, kind: &str, data: &str) -> Event {
    Event {
        id,
        kind: kind.parse().expect("a type"),
        data: serde_json::from_str::<Data>(data).expect("data"),
        time: at(id),
        source: "test".to_owned(),
        lineage: Lineage::default(),
        space: None,
    }
}

pub(crate) fn set(text: &str) -> FlowSet {
    FlowSet::new([
        &FlowFile::new("flows.yaml", text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    ])
}

/// A flow with `steps` actions for every event of a pattern.
pub(crate) fn flow(name: &str, pattern: &str, steps: usize, more: &str) -> String {
    let actions = "      - { type: command, command: \"true\" }\n".repeat(steps);
    format!(
        "  - name: {name}\n    trigger: {{ pattern: \"{pattern}\" }}\n{more}    actions:\n{actions}"
    )
}

pub(crate) fn file(flows: &[String]) -> String {
    format!("flows:\n{}", flows.concat())
}

pub(crate) fn id(text: &str) -> RunId {
    text.parse().expect("a run")
}

impl World {
    pub(crate) fn now(&self) -> Timestamp {
        self.after(0)
    }

    pub(crate) fn after(&self, ms: u64) -> Timestamp {
        at(self.now_ms + ms)
    }

    pub(crate) fn new(flows: &[String]) -> Self {
        let folder =
            tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder");
        let mut world = Self {
            engine: None,
            now_ms: 1_000_000,
            events: Vec::new(),
            started: Vec::new(),
            stopped: Vec::new(),
            orphans: Vec::new(),
            notices: Vec::new(),
            removed: Vec::new(),
            flows: file(flows),
            folder,
        };
        world.open();
        world
    }

    /// As after a start of the service, which may have been killed at any moment before.
    pub(crate) fn open(&mut self) {
        self.engine = None;
        (self.started, self.stopped) = (Vec::new(), Vec::new());
        (self.orphans, self.notices) = (Vec::new(), Vec::new());
        let mut engine = Engine::open(self.folder.path(), Options::default(), self.now())
            .expect("the engine opens");
        engine.install(set(&self.flows));
        self.engine = Some(engine);
    }

    /// The engine's folder, after closing the engine.
    pub(crate) fn closed(&mut self) -> std::path::PathBuf {
        self.engine = None;
        self.folder.path().to_path_buf()
    }

    pub(crate) fn engine(&mut self) -> &mut Engine {
        self.engine.as_mut().expect("it is open")
    }

    pub(crate) fn install(&mut self, flows: &[String]) {
        self.flows = file(flows);
        let set = set(&self.flows);
        self.engine().install(set);
    }

    pub(crate) fn publish(&mut self, kind: &str, data: &str) -> u64 {
        let id = self.events.len() as u64 + 1;
        self.events.push(event(id, kind, data));
        id
    }

    /// Publishes an event, evaluates it and commits.
    pub(crate) fn say(&mut self, kind: &str, data: &str) -> u64 {
        let id = self.publish(kind, data);
        self.offer_all();
        self.commit();
        id
    }

    /// Passes all unevaluated events to the engine.
    pub(crate) fn offer_all(&mut self) {
        let now = self.now();
        let engine = self.engine.as_mut().expect("it is open");
        let from = engine.cursor() as usize;
        for event in &self.events[from.min(self.events.len())..] {
            engine.offer(event, now);
        }
    }

    /// Reads the past events that the engine requests.
    pub(crate) fn fill_all(&mut self) {
        let now = self.now();
        let engine = self.engine.as_mut().expect("it is open");
        while let Some(backfill) = engine.backfill() {
            let from = backfill.after as usize;
            let page: Vec<Event> = self.events[from..].iter().take(3).cloned().collect();
            let through = page.last().map_or(backfill.until, |page| page.id);
            engine.fill(&backfill, &page, through, now);
        }
    }

    pub(crate) fn commit(&mut self) {
        for effect in self.engine().commit().expect("the journal takes it") {
            match effect {
                Effect::Start(attempt) => self.started.push(attempt),
                Effect::Stop(attempt) => self.stopped.push(attempt),
                Effect::EndOrphan(orphan) => self.orphans.push(orphan),
                Effect::Announce(notice) => self.notices.push(notice),
                Effect::RemoveOutput(run) => self.removed.push(run),
                other => panic!("{other:?}"),
            }
        }
    }

    /// Reports the result of the oldest started attempt.
    pub(crate) fn finish(&mut self, outcome: Outcome) -> Attempt {
        let attempt = self.started.remove(0);
        self.report(&attempt, outcome);
        attempt
    }

    pub(crate) fn report(&mut self, attempt: &Attempt, outcome: Outcome) {
        let now = self.now();
        self.engine().ended(&attempt.id, Report::new(outcome, "said so"), now);
        self.commit();
    }

    /// Lets everything started, and everything that follows, succeed.
    pub(crate) fn finish_all(&mut self) -> Vec<String> {
        let mut done = Vec::new();
        while !self.started.is_empty() {
            let it = self.finish(Outcome::Succeeded).id;
            done.push(format!("{}/{}", it.run, it.step));
        }
        done
    }

    pub(crate) fn later(&mut self, ms: u64) {
        self.now_ms += ms;
        let now = self.now();
        self.engine().wake(now);
        self.commit();
    }

    /// What is running.
    pub(crate) fn running(&self) -> Vec<String> {
        self.started.iter().map(|started| started.id.run.to_string()).collect()
    }

    /// How a run ended, and why.
    pub(crate) fn end_of(&mut self, run: &str) -> (End, String) {
        let run = self.engine().run(&id(run)).expect("a run").clone();
        match run.phase {
            Phase::Ended { end, why, .. } => (end, why),
            other => panic!("{} is {other:?}", run.id),
        }
    }
}
