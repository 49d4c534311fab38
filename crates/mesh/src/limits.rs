//! Every limit, in one place.

use std::time::Duration;

/// The longest name of a target, a command, a type of event, a peer or a mesh, in bytes.
pub const NAME_BYTES_MAX: usize = 64;
/// The largest argument of a call and the largest result, as JSON, in bytes.
pub const PAYLOAD_BYTES_MAX: usize = 1024 * 1024;
/// The largest event, as JSON, in bytes.
pub const EVENT_BYTES_MAX: usize = 64 * 1024;
/// The longest time that a call may ask for.
pub const DEADLINE_MAX: Duration = Duration::from_secs(180);
/// How far the clocks of two machines may be apart.
pub const CLOCK_SKEW_MAX: Duration = Duration::from_secs(30);
/// How many calls a peer answers at once; more wait.
pub const CALLS_RUNNING_MAX: usize = 32;
/// How many calls wait for one of those; more are refused.
pub const CALLS_WAITING_MAX: usize = 256;
/// How many request ids a peer remembers, each until its deadline has passed.
pub const CALLS_REMEMBERED_MAX: usize = 65_536;
/// How many bytes of results it remembers with them.
pub const RESULTS_REMEMBERED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many events a listener keeps for its reader; the oldest goes when one more comes.
pub const EVENTS_WAITING_MAX: usize = 256;
/// How many events a listener remembers, so that one that comes on two ways is heard once.
pub const EVENTS_REMEMBERED_MAX: usize = 4096;

/// What an envelope adds to its content, at most.
pub(crate) const ENVELOPE_BYTES_MAX: usize = 1024;
/// How long a thread that answered a call waits for the next one before it ends.
pub(crate) const WORKER_IDLE: Duration = Duration::from_secs(10);
/// How long opening waits for its turn.
pub(crate) const TURN_MAX: Duration = Duration::from_secs(10);
/// How long it waits for the peers that are there.
pub(crate) const GREETING_MAX: Duration = Duration::from_secs(1);
/// The same, for paired machines.
pub(crate) const FAR_GREETING_MAX: Duration = Duration::from_millis(1_500);
/// How long one asks who is there.
pub(crate) const PRESENCE_MAX: Duration = Duration::from_secs(1);
/// How often a peer looks whether its socket and its list of paired machines are as they were.
pub(crate) const TEND_EVERY: Duration = Duration::from_millis(500);
/// The longest that it waits before it tries again to reach a router, in times of looking.
pub(crate) const ROUTER_REST_MAX: u32 = 8;
/// How long a call to another machine waits for a way that has dropped to come back, and how long a
/// machine that answered is taken for one whose way has dropped: a lease of the transport.
pub(crate) const RESUME_MAX: Duration = Duration::from_secs(5);
/// Between two looks whether it is back.
pub(crate) const RESUME_EVERY: Duration = Duration::from_millis(10);
/// How many targets of other machines are remembered as having answered.
pub(crate) const ANSWERED_MAX: usize = 256;
/// How many keys of calls are kept ready on a link.
pub(crate) const CALLED_KEYS_MAX: usize = 256;
