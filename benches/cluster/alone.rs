//! A service without a cluster, of this build and of another one.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::adds::adds;
use crate::machine::Machine;
use crate::process::progress;
use crate::report::Report;
use crate::samples::Samples;
use crate::text::Random;
use crate::{CLIENTS, Options};

/// What was measured of one build.
#[derive(Debug, Default)]
struct Build {
    rates: Samples,
    /// The processor time of an add, in µs.
    busy: Samples,
    /// One client, in ms.
    latencies: Samples,
    /// Starts with an empty project, and with the store of the round, in ms.
    starts: Samples,
    starts_filled: Samples,
    /// Resident memory after the start with an empty project, in MiB.
    memory: Samples,
}

impl Build {
    fn round(&mut self, mut machine: Machine, time: Duration, random: &mut Random) -> Result<()> {
        self.starts.add(machine.start()?.as_secs_f64() * 1e3);
        std::thread::sleep(Duration::from_millis(500));
        self.memory.add(machine.service()?.memory()? as f64 / f64::from(1 << 20));
        self.latencies.add(adds(&[&machine], 1, time / 2, random)?.latencies.median() * 1e3);
        let used = machine.service()?.seconds()?;
        let added = adds(&[&machine], CLIENTS, time, random)?;
        self.rates.add(added.rate());
        self.busy.add((machine.service()?.seconds()? - used) / added.answers as f64 * 1e6);
        machine.stop();
        self.starts_filled.add(machine.start()?.as_secs_f64() * 1e3);
        Ok(())
    }
}

pub(crate) fn measure(
    folder: &Path,
    programs: &Path,
    options: &Options,
    report: &mut Report,
) -> Result<()> {
    let mut random = Random(7);
    let (mut now, mut before) = (Build::default(), Build::default());
    for round in 0..options.rounds {
        progress("a service without a cluster");
        let begun = Instant::now();
        let new = Machine::new(folder.join(format!("alone-{round}")), programs)?;
        now.round(new, options.time, &mut random)?;
        if let Some(programs) = &options.before {
            let old = Machine::new(folder.join(format!("before-{round}")), programs)?;
            before.round(old, options.time, &mut random)?;
        }
        progress(&format!("that took {:.0} s", begun.elapsed().as_secs_f64()));
    }
    let rows = [
        ("durable add, 64 clients, adds/s", &now.rates, &before.rates, 0),
        ("processor time of the service for each, µs", &now.busy, &before.busy, 0),
        ("durable add, 1 client, p50, ms", &now.latencies, &before.latencies, 2),
        ("start, empty, ms", &now.starts, &before.starts, 0),
        ("start, with the memories of a round, ms", &now.starts_filled, &before.starts_filled, 0),
        ("resident memory, empty, MiB", &now.memory, &before.memory, 1),
    ];
    for (what, ours, theirs, digits) in rows {
        let (mut other, mut ratio) = (String::new(), String::new());
        if options.before.is_some() {
            other = format!("before: {}", theirs.rounds(digits));
            ratio = ours.per(theirs).rounds(2);
        }
        report.row(
            &format!("without a cluster: {what}"),
            "unchanged",
            [&ours.rounds(digits), &other, &ratio],
            None,
        )?;
    }
    Ok(())
}
