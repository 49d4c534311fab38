//! Whether the journal lacks records that a machine has applied, or has damaged ones.

use std::path::Path;

use waypost_cluster::{Hub, HubOptions, Member, Part};
use waypost_journal::{Error, ErrorKind, FetchOptions, Journal, Machine, Settings, Until};

use super::{LONG, cluster_failed, create, failed, short};
use crate::failure::{Failure, Result};

/// Refuses if the journal has everything that machines have reported and this one has, undamaged.
pub(super) fn refuse_complete(data: &Path, own: &Member, settings: Settings) -> Result<()> {
    // It refuses what the service refuses.
    let hub = Hub::new(data, own.clone(), settings, HubOptions::default());
    let journal = match hub.journal(&short()) {
        Ok(journal) => journal,
        Err(waypost_cluster::Error::Journal(error @ Error::Incarnation { .. })) => {
            return Err(failed(&error));
        }
        Err(waypost_cluster::Error::Journal(error)) if is_loss(&error) => return Ok(()),
        Err(error) => return Err(cluster_failed(&error)),
    };
    match is_complete(data, own, &journal) {
        Ok(Some(end)) => Err(Failure::new(format!(
            "nothing is lost: the journal has all {end} records, which is as far as any machine has come"
        ))
        .with_hint(
            "if a service reports another record than its own, pass --although-complete: all other machines must join again",
        )),
        Ok(None) => Ok(()),
        Err(error) if is_loss(&error) => Ok(()),
        Err(error) => Err(failed(&error)),
    }
}

/// The end of the journal if it is complete and undamaged up to there.
fn is_complete(
    data: &Path,
    own: &Member,
    journal: &Journal,
) -> std::result::Result<Option<u64>, Error> {
    let head = journal.confirm(own.base.position, &short())?;
    let machines = journal.machines(&short())?;
    let lacks = |it: &Machine| it.report.seq > head.position.seq || it.report.fault.is_some();
    if machines.iter().any(lacks) {
        return Ok(None);
    }
    let until = Until::within(LONG);
    let (mut tail, mut last) = (head.base, own.base.places);
    loop {
        let rows = journal.fetch(tail, &FetchOptions::default(), &until)?.rows;
        let Some(row) = rows.last() else { break };
        tail = row.position();
        for row in &rows {
            if row.seq == own.base.position.seq && row.position() != own.base.position {
                return Ok(None);
            }
            if let Some(part) = Part::of_number(row.record.part) {
                let last = &mut last[part.index()];
                *last = row.record.place.max(*last);
            }
        }
    }
    // A log that cannot be read is reported when the copy is made.
    let places = create::places(data).unwrap_or_default();
    Ok(places.iter().zip(last).all(|(own, last)| *own <= last).then_some(tail.seq))
}

fn is_loss(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Lost | ErrorKind::Damaged)
}
