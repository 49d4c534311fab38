//! All limits.

use std::time::Duration;

/// The longest name of a target, a command, a type of event, a peer or a mesh, in bytes.
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
/// How many events a listener queues for its reader; beyond this the oldest is dropped.
pub const EVENTS_WAITING_MAX: usize = 256;
/// How many events a listener remembers, so that one that arrives on two links is delivered once.
pub const EVENTS_REMEMBERED_MAX: usize = 4096;

/// The maximum size that an envelope adds to its content.
pub(crate) const ENVELOPE_BYTES_MAX: usize = 1024;
/// How long a thread that served a call waits for the next one before it ends.
pub(crate) const WORKER_IDLE: Duration = Duration::from_secs(10);
/// How long opening waits for its turn.
pub(crate) const TURN_MAX: Duration = Duration::from_secs(10);
/// How long opening waits for the existing peers.
pub(crate) const GREETING_MAX: Duration = Duration::from_secs(1);
/// The same, for paired machines.
pub(crate) const FAR_GREETING_MAX: Duration = Duration::from_millis(1_500);
/// The time limit for querying who is present.
pub(crate) const PRESENCE_MAX: Duration = Duration::from_secs(1);
/// How often a peer checks whether its socket and its list of paired machines are unchanged.
pub(crate) const TEND_EVERY: Duration = Duration::from_millis(500);
/// The longest wait before it tries again to connect to a router, in numbers of checks.
pub(crate) const ROUTER_REST_MAX: u32 = 8;
/// How long a call to another machine waits for a dropped connection to come back, and how long a
/// machine that responded counts as one whose connection has dropped: a lease of the transport.
pub(crate) const RESUME_MAX: Duration = Duration::from_secs(5);
/// The pause between two checks whether it is back.
pub(crate) const RESUME_EVERY: Duration = Duration::from_millis(10);
/// How long a request to another machine waits before it is sent again although no link was seen to
/// drop; doubled each time. The transport loses a request that it sends while its link closes.
pub(crate) const REPEAT_AFTER: Duration = Duration::from_secs(2);
/// How many targets of other machines are remembered as having responded.
pub(crate) const ANSWERED_MAX: usize = 256;
/// How many call keys are kept ready on a link.
pub(crate) const CALLED_KEYS_MAX: usize = 256;
