//! Stores of several machines on one journal in a real PostgreSQL.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "the number of cases is a variable")]

#[path = "../../../../tests/child.rs"]
mod child;
mod machine;
mod one_order;
#[path = "../../../journal/tests/it/proxy.rs"]
mod proxy;
mod random;
mod restart;
#[path = "../../../journal/tests/it/server.rs"]
#[expect(dead_code, reason = "the tests of the journal need more of it")]
mod server;
mod suspended;
#[path = "../../../../tests/wait.rs"]
mod wait;

use std::time::Duration;

use waypost_journal::{Journal, Settings, StoreId, Until};

/// Long enough for a busy machine; this time passes only if a test fails.
fn long() -> Until {
    Until::within(Duration::from_secs(60))
}

/// Returns from a test if PostgreSQL is not installed.
#[macro_export]
macro_rules! server {
    () => {
        match $crate::server::Server::start() {
            Some(server) => server,
            None => return,
        }
    };
}
