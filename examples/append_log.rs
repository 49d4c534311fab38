//! Appends to a durable log, reopens it and reads it back.

use std::io::Write;

use anyhow::{Result, ensure};
use waypost_log::{Log, Options, Record};

fn main() -> Result<()> {
    let folder = tempfile::tempdir()?;
    {
        let (log, _) = Log::open(folder.path(), &Options::default())?;
        // Each call returns when its records are on disk. A batch is atomic.
        let sequence = log.append(Record { kind: 1, version: 1, payload: b"first" })?;
        let batch = log.append_batch(&[
            Record { kind: 1, version: 1, payload: b"second" },
            Record { kind: 2, version: 1, payload: b"third" },
        ])?;
        writeln!(std::io::stdout(), "appended {sequence} and {batch:?}")?;
    }

    let (log, recovery) = Log::open(folder.path(), &Options::default())?;
    let mut read = Vec::new();
    for entry in log.entries_after(0) {
        let entry = entry?;
        let text = String::from_utf8_lossy(&entry.payload).into_owned();
        writeln!(std::io::stdout(), "{}  kind {}  {text}", entry.sequence, entry.kind)?;
        read.push(text);
    }
    ensure!(recovery.damage.is_empty(), "nothing was damaged");
    ensure!(read == ["first", "second", "third"], "every record exists, in order");
    Ok(())
}

#[test]
fn what_it_shows_holds() -> Result<()> {
    main()
}
