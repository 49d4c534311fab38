//! Every limit of the service's edge, in one place.

use std::time::Duration;

/// What the service accepts, for how long it waits, and how much it does at once.
///
/// The defaults are the documented ones; tests make them smaller.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Open connections; one more is answered with 503 and closed.
    pub connections_max: usize,
    /// Time a client has to send a request's headers, and the idle time of a kept connection.
    pub header_read_time: Duration,
    /// Bytes of a request's headers.
    pub header_bytes_max: usize,
    /// Time a client has to send a whole body (a streamed one: between two pieces).
    pub body_read_time: Duration,
    /// Bytes of a JSON body.
    pub body_bytes_max: usize,
    /// Bytes of bodies being held in memory, of all requests together.
    pub bodies_bytes_max: usize,
    /// Bytes of a batch.
    pub batch_bytes_max: u64,
    /// Bytes of an import, which is streamed.
    pub import_bytes_max: u64,
    /// Bytes of answer lines that a client of a batch may leave unread.
    pub unread_bytes_max: usize,
    /// Time a client of a streamed answer may leave it unread.
    pub unread_time_max: Duration,
    /// Reading store calls that run at once.
    pub reads_max: usize,
    /// Writing store calls that run at once: they share one sync, so many are good.
    pub writes_max: usize,
    /// Streams (batch, export, import, reindex) that run at once.
    pub streams_max: usize,
    /// Store calls that wait for their turn; one more is answered with 503.
    pub queue_max: usize,
    /// Time a store call may wait and run before its request is answered with 503.
    pub store_time: Duration,
    /// Time that accepted requests have to finish after a signal to stop.
    pub grace: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections_max: 1024,
            header_read_time: Duration::from_secs(30),
            header_bytes_max: 64 * 1024,
            body_read_time: Duration::from_secs(30),
            body_bytes_max: 8 * 1024 * 1024,
            bodies_bytes_max: 256 * 1024 * 1024,
            batch_bytes_max: 64 * 1024 * 1024,
            import_bytes_max: 64 * 1024 * 1024 * 1024,
            unread_bytes_max: 64 * 1024 * 1024,
            unread_time_max: Duration::from_secs(60),
            reads_max: 16,
            writes_max: 64,
            streams_max: 8,
            queue_max: 512,
            store_time: Duration::from_secs(30),
            grace: Duration::from_secs(10),
        }
    }
}
