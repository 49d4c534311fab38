//! All limits.

use std::time::Duration;

/// The longest name of a target, a command, a type of event or a peer, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// The largest argument of a call and the largest result, as JSON, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;
/// The largest event, as JSON, in bytes.
pub const EVENT_BYTES_MAX: usize = 64 * 1024;
/// The longest deadline of a call.
pub const DEADLINE_MAX: Duration = Duration::from_secs(180);
/// The maximum difference between the clocks of two machines.
pub const CLOCK_SKEW_MAX: Duration = Duration::from_secs(30);
/// How many calls a peer executes at once; more wait.
pub const CALLS_RUNNING_MAX: usize = 32;
/// How many calls wait for one of those to end; more are rejected.
pub const CALLS_WAITING_MAX: usize = 256;
/// How many request ids a peer remembers, each until its deadline has passed.
pub const CALLS_REMEMBERED_MAX: usize = 65_536;
/// How many bytes of results it remembers with them.
pub const RESULTS_REMEMBERED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many events a listener queues for its reader, and a sender for a peer: beyond this a listener
/// drops the oldest, and a sender the new one.
pub const EVENTS_WAITING_MAX: usize = 256;
/// How many bytes of events, as JSON, a listener queues.
pub const EVENTS_WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;

/// The maximum size that an envelope adds to its content.
pub(crate) const ENVELOPE_BYTES_MAX: usize = 1024;
/// How many connections a peer accepts at once on its socket, and on its address; more wait.
pub(crate) const CONNECTIONS_MAX: usize = 256;
/// How many of those on its address one machine may have; more are closed.
pub(crate) const MACHINE_CONNECTIONS_MAX: usize = 64;
/// How many connections a peer offers at once to a machine that it links to. The machine calls this
/// one over them.
pub(crate) const OFFERS_MAX: usize = 64;
/// How long a connection may take to be established.
pub(crate) const CONNECT_MAX: Duration = Duration::from_millis(1_500);
/// A connection ends when it carries no request for this long, or only a part of a request's head, or when
/// nothing of a response is read for this long.
pub(crate) const LEASE: Duration = Duration::from_secs(5);
/// An unused connection is used again for this long: well before the other side ends it.
pub(crate) const REUSE_MAX: Duration = Duration::from_secs(3);
/// The longest life of a connection between machines; it ends also when a certificate expires.
pub(crate) const LINK_MAX: Duration = Duration::from_secs(60 * 60);
/// How long the body of a request may take to arrive.
pub(crate) const BODY_MAX: Duration = Duration::from_secs(30);
/// How long a peer may take to say who it is.
pub(crate) const PRESENCE_MAX: Duration = Duration::from_millis(1_500);
/// How often a caller that waits for a result checks that the peer still responds.
pub(crate) const PING_EVERY: Duration = Duration::from_secs(2);
/// How long a peer that leaves waits for the calls that it is answering.
pub(crate) const LEAVE_MAX: Duration = Duration::from_millis(500);
/// How often a peer checks whether its socket and its list of paired machines are unchanged.
pub(crate) const TEND_EVERY: Duration = Duration::from_millis(500);
/// The shortest and the longest pause before a machine that cannot be reached is tried again.
pub(crate) const RETRY_MIN: Duration = Duration::from_millis(100);
pub(crate) const RETRY_MAX: Duration = Duration::from_secs(4);
/// How long a call to another machine waits for a dropped connection to come back, and how long a
/// machine that responded counts as one whose connection has dropped.
pub(crate) const RESUME_MAX: Duration = Duration::from_secs(5);
/// The pause between two checks whether it is back.
pub(crate) const RESUME_EVERY: Duration = Duration::from_millis(20);
/// How many targets a caller remembers with the peers that serve them.
pub(crate) const ROUTES_MAX: usize = 256;
