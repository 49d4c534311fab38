//! A database that is suspended for a while: machines continue when it does.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use waypost_journal::Until;

use crate::machine::{Machine, create, settle};
use crate::proxy::{Fault, Proxy};
use crate::server;

#[test]
fn writes_that_wait_for_a_suspended_database_continue_with_it() {
    let server = server!();
    // Over TCP: as long as the machine runs, its network answers for a suspended process.
    let url = format!("postgresql://waypost@127.0.0.1:{}/waypost", server.port);
    let store = create(&url);
    let mut machines = [0; 2].map(|_| Machine::new(&url, store));
    machines.iter_mut().for_each(Machine::start_following);
    for name in ["all", "others"] {
        let signal = |signal| match name {
            "all" => server.signal(signal),
            _ => server.signal_others(signal),
        };
        for machine in &machines {
            machine.add(&format!("before {name}")).unwrap();
        }
        let journal = machines[0].hub.journal(&crate::long()).unwrap();
        signal(Signal::STOP);
        thread::scope(|scope| {
            let mut writers = Vec::new();
            for (number, machine) in machines.iter().enumerate() {
                let text = format!("during {name}, {number}");
                writers.push(scope.spawn({
                    let text = text.clone();
                    move || drop(machine.add(&text).unwrap())
                }));
                writers.push(scope.spawn(move || drop(machine.publish(&text).unwrap())));
            }
            // What has little time fails, and drops its connections; who writes has more. A process
            // that accepts connections may start new ones for them.
            let soon = || Until::within(Duration::from_secs(1));
            let looks = [(); 2].map(|()| journal.head(&soon()).is_ok());
            if name == "all" {
                assert_eq!(looks, [false; 2]);
                assert!(writers.iter().all(|it| !it.is_finished()), "it is suspended");
            }
            signal(Signal::CONT);
            for writer in writers {
                writer.join().unwrap();
            }
        });
        for machine in &machines {
            machine.add(&format!("after {name}")).unwrap();
        }
    }
    machines.iter_mut().for_each(Machine::stop_following);
    let export = settle(&machines);
    assert_eq!(export.matches("\"content\":\"during").count(), 4, "{export}");
}

/// As after an interruption of the network that neither side has noticed.
#[test]
fn machines_whose_statements_or_answers_are_lost_continue_on_other_connections() {
    let server = server!();
    let store = create(&server.url());
    let proxies = [(); 2].map(|()| Proxy::new(&server));
    let machines = [0, 1].map(|number: usize| Machine::new(&proxies[number].url(), store));
    machines[0].add("before").unwrap();
    machines[1].follow();
    thread::scope(|scope| {
        let faults = [Fault::LoseStatement, Fault::LoseAnswer];
        for ((machine, proxy), fault) in machines.iter().zip(&proxies).zip(faults) {
            proxy.arm("INSERT INTO waypost.journal", fault);
            scope.spawn(move || machine.add(&format!("{fault:?}")).unwrap());
        }
    });
    assert!(proxies.iter().all(Proxy::has_failed));
    let export = settle(&machines);
    for text in ["LoseStatement", "LoseAnswer"] {
        assert_eq!(export.matches(&format!("\"content\":\"{text}\"")).count(), 1, "{export}");
    }
}

#[test]
fn without_the_process_that_accepts_connections_writes_continue_on_those_that_exist() {
    let server = server!();
    let store = create(&server.url());
    let machines = [Machine::new(&server.url(), store)];
    machines[0].add("before").unwrap();
    server.signal_first(Signal::STOP);
    machines[0].add("during").unwrap();
    server.signal_first(Signal::CONT);
    settle(&machines);
}
