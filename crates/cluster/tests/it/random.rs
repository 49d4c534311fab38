//! Random commands on random machines, with crashes, lost answers and lag.
//!
//! `WAYPOST_TEST_CASES` says how many histories; proptest keeps those that fail.

use proptest::prelude::*;

use crate::machine::{Machine, create, settle};
use crate::proxy::{Fault, Proxy};
use crate::server::Server;

const MACHINES: usize = 3;

#[derive(Debug, Clone)]
enum Step {
    Add(usize, u8),
    Publish(usize, u8),
    Delete(usize, u64),
    Follow(usize),
    Base(usize),
    /// As after `kill -9`: nothing is saved.
    Crash(usize),
    Fault(&'static str, Fault),
}

fn step() -> impl Strategy<Value = Step> {
    let machine = || 0..MACHINES;
    let fault = prop_oneof![Just(Fault::CutBefore), Just(Fault::CutAfter)];
    let statement = prop_oneof![
        Just("INSERT INTO waypost.journal"),
        Just("COMMIT"),
        Just("FOR UPDATE"),
        Just("SELECT incarnation")
    ];
    prop_oneof![
        8 => (machine(), 0..20_u8).prop_map(|(at, it)| Step::Add(at, it)),
        8 => (machine(), 0..20_u8).prop_map(|(at, it)| Step::Publish(at, it)),
        2 => (machine(), 1..10_u64).prop_map(|(at, it)| Step::Delete(at, it)),
        3 => machine().prop_map(Step::Follow),
        1 => machine().prop_map(Step::Base),
        1 => machine().prop_map(Step::Crash),
        3 => (statement, fault).prop_map(|(text, it)| Step::Fault(text, it)),
    ]
}

fn cases(default: u32) -> u32 {
    let cases = std::env::var("WAYPOST_TEST_CASES").ok();
    cases.and_then(|case| case.parse().ok()).unwrap_or(default)
}

fn run(steps: &[Step], server: &Server, proxy: &Proxy) {
    let store = create(&server.url());
    let urls = [proxy.url(), server.url(), server.url()];
    let mut machines = [0, 1, 2].map(|number: usize| Machine::new(&urls[number], store));
    let (mut added, mut published) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Add(at, text) => {
                let text = format!("memory {text}");
                // Only the deadline, which no case reaches, makes it fail.
                let memory = machines[*at].add(&text).unwrap();
                added.push((memory.id, text));
            }
            Step::Publish(at, text) => {
                let text = format!("event-{text}");
                let event = machines[*at].publish(&text).unwrap().event;
                let known = published.iter().find(|published: &&(u64, String)| published.1 == text);
                assert!(known.is_none_or(|it| it.0 == event.id), "{text} exists twice");
                published.push((event.id, text));
            }
            Step::Delete(at, id) => {
                let id = waypost_memory::MemoryId::new(*id).unwrap();
                drop(machines[*at].store().delete(id, crate::machine::at(1)));
            }
            Step::Follow(at) => machines[*at].follow(),
            Step::Base(at) => machines[*at].settle_base(),
            Step::Crash(at) => machines[*at].reopen(&urls[*at]),
            Step::Fault(text, fault) => proxy.arm(text, *fault),
        }
    }
    settle(&machines);
    for machine in &machines {
        for (id, text) in &added {
            if let Ok(memory) = machine.store().get(*id) {
                assert_eq!(&memory.content, text);
            }
        }
        for (id, _) in &published {
            assert!(machine.bus().get(*id).unwrap().is_some());
        }
    }
}

#[test]
fn machines_are_one_store() {
    let server = crate::server!();
    let proxy = Proxy::new(&server);
    let config = ProptestConfig { cases: cases(6), ..ProptestConfig::default() };
    proptest!(config, |(steps in prop::collection::vec(step(), 1..40))| {
        run(&steps, &server, &proxy);
    });
}
