//! What the data folder of a member has of the journal, also after a loss.

use std::path::Path;

use waypost_cli::failure::{Failure, Result};
use waypost_cluster::{Member, PARTS, Part, Places};
use waypost_journal::{ErrorKind, Journal, Machine, Position, Row, Until};
use waypost_log::{Entry, Log, Options, Verify};

use super::{LONG, create, failed, named, pages};

/// What to do on a machine that is behind the journal.
const APPLY: &str = "start the service here, which applies them or says why it cannot; or pass --although-behind to lose what only the journal has";
const ELSEWHERE: &str = "run it on a machine that has applied more, or pass --although-behind to lose what only the journal has";

/// How the data folder and the journal differ behind the member's base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum History {
    /// The data folder has nothing that the journal lacks.
    Same,
    /// The data folder has records that the journal lacks.
    Other,
    /// The journal was trimmed behind the base, or has a damaged record.
    Unreadable,
}

/// What the data folder has of the journal.
#[derive(Debug)]
pub(super) struct LocalCopy {
    pub(super) history: History,
    /// The last record that it has. Exact if the history is the same; otherwise, notices that come after
    /// the last record that is certainly common are not counted: no log has them.
    applied: u64,
}

/// What another data folder or the journal has, and this data folder lacks.
pub(super) struct Missing {
    pub(super) message: String,
    pub(super) hint: &'static str,
    pub(super) is_in_journal: bool,
}

impl LocalCopy {
    /// Compares the records behind the base with those of the journal.
    pub(super) fn compare(
        data: &Path,
        places: Places,
        own: &Member,
        journal: &Journal,
    ) -> Result<Self> {
        let logs = Logs::open(data, places, own)?;
        let until = Until::within(LONG);
        let mut last = own.base.places;
        let (mut lacking, mut is_different) = (None, false);
        let (mut notices, mut later_notices) = (0, 0);
        let (mut tail, mut unread) = (own.base.position.seq, None);
        for rows in pages(journal, own.base.position, &until) {
            let rows = rows.unwrap_or_else(|error| {
                unread = Some(error);
                Vec::new()
            });
            for row in &rows {
                tail = row.seq;
                let Some(part) = Part::of_number(row.record.part) else { continue };
                let (at, place) = (part.index(), row.record.place);
                if part == Part::Notices {
                    later_notices += 1;
                } else if place > places[at] {
                    lacking = lacking.or(Some(row.seq));
                } else {
                    let equality = logs.compare(part, row)?;
                    is_different |= equality == Equality::Different;
                    if is_different {
                        continue;
                    }
                    last[at] = place.max(last[at]);
                    if equality == Equality::Certain {
                        notices += std::mem::take(&mut later_notices);
                    }
                }
            }
        }
        let of_logs = || Part::ALL.into_iter().filter(|it| *it != Part::Notices).map(Part::index);
        let more = of_logs().map(|log| places[log].saturating_sub(own.base.places[log]));
        let counted = own.base.position.seq + more.sum::<u64>() + notices;
        let has_more = of_logs().any(|log| places[log] > last[log]);
        let history = match unread {
            None if has_more || is_different => History::Other,
            None => History::Same,
            Some(error) => match error.kind() {
                ErrorKind::Lost => History::Other,
                ErrorKind::Behind | ErrorKind::Damaged => History::Unreadable,
                _ => return Err(failed(&error)),
            },
        };
        let applied = match (history, lacking) {
            (History::Same, Some(seq)) => seq - 1,
            (History::Same, None) => tail,
            (History::Other | History::Unreadable, _) => counted,
        };
        Ok(Self { history, applied })
    }

    /// What this machine lacks of what another data folder of it, the journal, which ends at `end`, or
    /// another machine has.
    pub(super) fn missing(
        &self,
        machines: &[Machine],
        own: &Member,
        incarnation: u64,
        end: Position,
    ) -> Option<Missing> {
        let is_own = |machine: &&Machine| machine.report.id == own.machine;
        let listed = machines.iter().find(is_own).map(|machine| &machine.report);
        let base = own.base.position.seq;
        let elsewhere = |message, hint| Some(Missing { message, hint, is_in_journal: false });
        if let Some(listed) = listed.filter(|listed| listed.base > base) {
            return elsewhere(
                format!(
                    "this data folder is an older copy: it was at record {base} when its service last synced it, and this machine has reported {} since",
                    listed.base
                ),
                "run it where the newer data folder is, or pass --although-behind to lose what only that one has",
            );
        }
        // After a restored backup, the report is older than the data folder.
        let reported = listed.map_or(0, |listed| listed.seq);
        // A service that has found the loss has synced its logs. Its report also counts notices.
        let has_fault = listed.is_some_and(|listed| listed.fault.is_some());
        let (applied, ours) = (self.applied, self.applied.max(reported));
        let is_behind = match self.history {
            History::Same => end.seq > applied,
            // What the journal lacks is not compared with what it has instead.
            History::Other => false,
            History::Unreadable => end.seq > ours,
        };
        if is_behind {
            let can_apply = self.history == History::Same && own.incarnation == incarnation;
            return Some(Missing {
                message: format!(
                    "the journal has {} records, and this machine has applied only {applied}",
                    end.seq
                ),
                hint: if can_apply && !has_fault { APPLY } else { ELSEWHERE },
                is_in_journal: true,
            });
        }
        if reported > applied && !has_fault {
            return elsewhere(
                format!(
                    "this machine has reported record {reported}, and its data folder has only {applied}"
                ),
                "if the folder is an older copy, run it where the newer one is; pass --although-behind to lose what only that one has, or if the others can only be notices, such as changes of tokens, which no log has",
            );
        }
        let others = machines.iter().filter(|machine| !is_own(machine));
        let other = others.max_by_key(|other| other.report.seq)?;
        if other.report.seq <= ours {
            return None;
        }
        elsewhere(
            format!(
                "{} has applied record {}, and this machine only {ours}",
                named(other, machines),
                other.report.seq
            ),
            "run it on that machine, or pass --although-behind to lose what only that machine has",
        )
    }
}

/// Whether a record of the log is the one that the journal has under its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Equality {
    Different,
    /// The log has removed it, or another history could have the same bytes.
    Possible,
    Certain,
}

/// The logs of the data folder that have records behind the member's base.
struct Logs([Option<Log>; PARTS]);

impl Logs {
    fn open(data: &Path, places: Places, own: &Member) -> Result<Self> {
        let mut logs = [const { None }; PARTS];
        for part in Part::ALL {
            let Some(folder) = create::folder(part) else { continue };
            let at = part.index();
            if places[at] > own.base.places[at] {
                // All its records were verified.
                let options = Options::default().with_verify(Verify::Unsealed);
                let opened = Log::open(&data.join(folder), &options);
                logs[at] = Some(opened.map_err(|error| Failure::of(&error))?.0);
            }
        }
        Ok(Self(logs))
    }

    fn compare(&self, part: Part, row: &Row) -> Result<Equality> {
        let Some(log) = &self.0[part.index()] else { return Ok(Equality::Different) };
        let record = &row.record;
        let Some(local) = log.read(record.place).map_err(|error| Failure::of(&error))? else {
            return Ok(Equality::Possible);
        };
        let shared = Entry {
            sequence: record.place,
            kind: record.kind,
            version: record.version,
            payload: record.payload.clone(),
        };
        let (is_same, is_unique) = match part {
            Part::Memory => {
                (waypost_memory::is_same_record(&shared, &local), waypost_memory::has_time(&shared))
            }
            Part::Events => (waypost_events::is_same_record(&shared, &local), true),
            Part::Flows | Part::Notices => (shared == local, false),
        };
        Ok(match (is_same, is_unique) {
            (false, _) => Equality::Different,
            (true, false) => Equality::Possible,
            (true, true) => Equality::Certain,
        })
    }
}
