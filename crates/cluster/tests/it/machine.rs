//! A machine of a cluster: a hub, a store of memories and an event bus in a folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tempfile::TempDir;
use waypost_cluster::{Base, Hub, HubOptions, Member, PARTS, Part, Places};
use waypost_events::{Bus, Data, Draft as EventDraft, Published, Value};
use waypost_memory::{Added, Draft, Memory, Store, StoreOptions};
use waypost_time::Timestamp;

use crate::server::settings;
use crate::{Journal, StoreId, long};

pub(crate) struct Machine {
    pub(crate) dir: TempDir,
    url: String,
    pub(crate) hub: Arc<Hub>,
    store: Option<Arc<Store>>,
    bus: Option<Arc<Bus>>,
    following: Option<(Arc<AtomicBool>, JoinHandle<()>)>,
}

/// Creates the journal of a new store.
pub(crate) fn create(url: &str) -> StoreId {
    let store = Member::first(url, [0; PARTS]).unwrap().store;
    Journal::create(settings(url), store, &long()).unwrap();
    store
}

/// Two machines of a new store.
pub(crate) fn two(url: &str) -> [Machine; 2] {
    let store = create(url);
    [Machine::new(url, store), Machine::new(url, store)]
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis((1_700_000_000 + seconds) * 1000)
}

impl Machine {
    pub(crate) fn new(url: &str, store: StoreId) -> Self {
        let dir = TempDir::new().unwrap();
        let base = Base::start(store, [0; PARTS]);
        let member = Member::joining(url, 1, base, store).unwrap();
        member.write(dir.path()).unwrap();
        let hub = hub(&dir, url);
        let mut machine =
            Self { dir, url: url.to_owned(), hub, store: None, bus: None, following: None };
        machine.open();
        assert_eq!(machine.compare(), None);
        machine
    }

    fn open(&mut self) {
        let options = StoreOptions::default()
            .with_free_bytes_min(0)
            .with_shared_journal(self.hub.part(Part::Memory));
        let (store, _) = Store::open(self.dir.path(), options).unwrap();
        let options = waypost_events::Options::default()
            .with_free_bytes_min(0)
            .with_shared_journal(self.hub.part(Part::Events));
        let (bus, _) = Bus::open(&self.dir.path().join("events"), &options).unwrap();
        (self.store, self.bus) = (Some(Arc::new(store)), Some(Arc::new(bus)));
    }

    /// Compares both parts with the journal, and returns why that fails.
    pub(crate) fn compare(&self) -> Option<String> {
        let store = self.store().compare().err().map(|error| error.to_string());
        store.or_else(|| self.bus().compare().err().map(|error| error.to_string()))
    }

    /// Ends everything and opens it again, with the database at this URL from then on.
    pub(crate) fn reopen(&mut self, url: &str) {
        self.stop_following();
        self.hub.stop();
        (self.store, self.bus) = (None, None);
        url.clone_into(&mut self.url);
        self.hub = hub(&self.dir, url);
        self.open();
        drop(self.compare());
    }

    pub(crate) fn store(&self) -> &Arc<Store> {
        self.store.as_ref().unwrap()
    }

    pub(crate) fn bus(&self) -> &Arc<Bus> {
        self.bus.as_ref().unwrap()
    }

    pub(crate) fn add(&self, text: &str) -> waypost_memory::Result<Memory> {
        self.store().add(Draft::new(text), at(0)).map(|added| match added {
            Added::New(memory) | Added::Existing(memory) | Added::Before(memory) => memory,
        })
    }

    pub(crate) fn publish(&self, text: &str) -> waypost_events::Result<Published> {
        let mut data = Data::default();
        data.insert("text", Value::Text(text.to_owned())).unwrap();
        let mut draft = EventDraft::new("test:event".parse().unwrap(), data, "test");
        draft.key = text.replace(char::is_whitespace, "-").parse().ok();
        self.bus().publish(draft, at(0))
    }

    pub(crate) fn follow(&self) {
        self.store().follow().unwrap();
        self.bus().follow().unwrap();
    }

    pub(crate) fn places(&self) -> Places {
        [self.store().position(), self.bus().position(), 0, 0]
    }

    /// Syncs everything and lets the next start begin here.
    pub(crate) fn settle_base(&self) {
        let mark = self.hub.mark();
        self.follow();
        let mut places = self.places();
        places[Part::Notices.index()] = mark.places[Part::Notices.index()];
        assert!(places.iter().zip(mark.places).all(|(has, needs)| *has >= needs));
        self.store().maintain().unwrap();
        self.bus().sync().unwrap();
        self.hub.set_base(mark, Vec::new()).unwrap();
    }

    /// Follows on a thread until [`stop_following`](Self::stop_following).
    pub(crate) fn start_following(&mut self) {
        let is_over = Arc::new(AtomicBool::new(false));
        let (hub, over) = (Arc::clone(&self.hub), Arc::clone(&is_over));
        let (store, bus) = (Arc::clone(self.store()), Arc::clone(self.bus()));
        let thread = std::thread::spawn(move || {
            while !over.load(Ordering::Acquire) {
                let has_more = hub.wait(Duration::from_millis(100)).unwrap_or(false);
                let places = [store.position(), bus.position(), 0, 0];
                if has_more || hub.applied(&places) < hub.tail().seq {
                    drop(store.follow());
                    drop(bus.follow());
                }
            }
        });
        self.following = Some((is_over, thread));
    }

    pub(crate) fn stop_following(&mut self) {
        if let Some((is_over, thread)) = self.following.take() {
            is_over.store(true, Ordering::Release);
            thread.join().unwrap();
        }
    }

    /// Everything that all machines must have alike.
    pub(crate) fn export(&self) -> String {
        let mut out = Vec::new();
        self.store().export(&mut out).unwrap();
        let digest = self.store().digest().unwrap();
        let events = self.bus().digest().unwrap();
        format!("{}{digest}\n{events}\n", String::from_utf8(out).unwrap())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.stop_following();
    }
}

fn hub(dir: &TempDir, url: &str) -> Arc<Hub> {
    let member = Member::read(dir.path()).unwrap().unwrap();
    let options = HubOptions::default()
        .with_append_time(Duration::from_secs(30))
        .with_read_time(Duration::from_secs(30))
        .with_parts(&[Part::Memory, Part::Events]);
    Hub::new(dir.path(), member, settings(url), options)
}

/// Lets all machines follow to the end and compares them.
pub(crate) fn settle(machines: &[Machine]) -> String {
    let mut exports = machines.iter().map(|machine| {
        machine.follow();
        assert_eq!(machine.hub.applied(&machine.places()), machine.hub.tail().seq);
        machine.export()
    });
    let first = exports.next().unwrap();
    for other in exports {
        assert!(other == first, "machines differ:\n{first}\n{other}");
    }
    first
}
