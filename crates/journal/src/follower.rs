//! Waits for records of others: NOTIFY is a hint, polling finds what it misses.

use std::time::Duration;

use crate::deadline::{Until, now};
use crate::error::Result;
use crate::journal::{Head, Journal};
use crate::link::Link;

/// The pauses between two looks double from the first to the last.
const PAUSE_FIRST: Duration = Duration::from_millis(2);
/// The last one as long as no notification has arrived, as behind PgBouncer.
const PAUSE_LAST: Duration = Duration::from_millis(250);
/// The last one if notifications arrive.
const PAUSE_LAST_NOTIFIED: Duration = Duration::from_secs(2);

/// The pause between two notifications of one process: each costs the server some 0.2 ms. Who has
/// heard of an append looks again by then.
const ANNOUNCE: Duration = Duration::from_millis(2);

/// How long a wait lets the server take for an answer, also if it is to return earlier: a connection
/// that is ended because of a short wait would be made again and again.
const ANSWER: Duration = Duration::from_secs(5);

/// The connection that waits.
#[derive(Debug, Default)]
pub(crate) struct Follower {
    link: Option<Link>,
    /// A notification has arrived on this connection.
    is_notified: bool,
    /// Where the journal ended at the last look.
    seen: Option<u64>,
}

impl Journal {
    /// Waits until the journal ends elsewhere than at `seq`, or the deadline passes, and returns the
    /// head row. One thread can wait at a time.
    ///
    /// A change of another machine is found by its notification, or by a look at the head row: 2 ms
    /// after the last change, later in pauses that grow to 250 ms, or to 2 s if notifications arrive.
    /// An append of this process is as good as a look: it would have failed after another change.
    /// An idle journal costs 14,400 looks per hour, or 1,800. A look that has begun may take 5 s beyond
    /// the deadline.
    ///
    /// # Errors
    /// If the connection ends; the next call connects again. [`Error::Incarnation`](crate::Error::Incarnation).
    pub fn wait(&self, seq: u64, until: &Until) -> Result<Head> {
        let mut follower = self.follower.lock();
        let found = self.wait_with(&mut follower, seq, until);
        if found.is_err() {
            *follower = Follower::default();
        }
        found
    }

    fn wait_with(&self, follower: &mut Follower, seq: u64, until: &Until) -> Result<Head> {
        let link = match follower.link.take() {
            Some(link) => link,
            None => self.listening_to(&self.channel(), &until.at_least(ANSWER))?,
        };
        let link = follower.link.insert(link);
        let (mut pause, mut head, mut is_heard) = (PAUSE_FIRST, None, false);
        // What was appended or fetched since the last look has shown the end.
        let is_new = follower.seen.is_none_or(|seen| seq <= seen);
        let mut due = if is_new { now() } else { now() + pause };
        loop {
            let appended = self.appended();
            let wait = due.max(appended.map_or(due, |appended| appended.1 + PAUSE_FIRST)) - now();
            if is_heard || wait.is_zero() || (until.is_over() && head.is_none()) {
                let rows = self.head_rows(link, &until.at_least(ANSWER))?;
                let found = Head::from_rows(&rows, self.store)?;
                self.know(&found);
                self.same_incarnation(&found)?;
                follower.seen = Some(found.position.seq);
                if found.position.seq != seq {
                    return Ok(found);
                }
                head = Some(found);
                is_heard = false;
                due = now() + pause;
                let last = if follower.is_notified { PAUSE_LAST_NOTIFIED } else { PAUSE_LAST };
                pause = last.min(2 * pause);
            }
            if let Some(head) = head.filter(|_| until.is_over()) {
                return Ok(head);
            }
            let wait = due.max(appended.map_or(due, |appended| appended.1 + PAUSE_FIRST)) - now();
            link.listen(&until.at_most(wait))?;
            let own = self.appended().map_or(0, |appended| appended.0);
            for payload in link.take_notifications() {
                follower.is_notified = true;
                let announced = self.announced(&payload);
                is_heard |= announced.is_none_or(|announced| announced > own);
                if let Some(seq) = announced {
                    self.note_confirmed(seq);
                }
            }
        }
    }

    pub(crate) fn listening_to(&self, channel: &str, until: &Until) -> Result<Link> {
        let mut link = self.connect(until)?;
        if self.settings.notify {
            link.simple(&format!("LISTEN {channel}"), until)?;
        }
        Ok(link)
    }

    /// Tells the others of an acknowledged append, if it has not just told them of another one, and
    /// does not wait for an answer. In a transaction
    /// of its own: inside that of the append, it would make all commits of the database wait for
    /// each other. It does not have to survive anything.
    pub(crate) fn announce(&self, link: &mut Link, seq: u64) {
        self.note_appended(seq);
        if self.settings.notify && self.may_announce(ANNOUNCE) {
            link.post(&format!(
                "SELECT set_config('synchronous_commit', 'off', true), \
                 pg_notify('{}', '{}:{seq}')",
                self.channel(),
                self.incarnation
            ));
        }
    }

    /// The position that a notification of this incarnation announces as acknowledged.
    fn announced(&self, payload: &str) -> Option<u64> {
        let (incarnation, seq) = payload.split_once(':')?;
        let seq = seq.parse().ok()?;
        (incarnation.parse() == Ok(self.incarnation)).then_some(seq)
    }

    pub(crate) fn channel(&self) -> String {
        format!("waypost_{}", self.store.to_string().replace('-', ""))
    }
}
