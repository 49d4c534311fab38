//! The exit statuses of the program.

/// Success, also if the reader of the output has closed it.
pub const DONE: u8 = 0;
/// Failure.
pub const FAILED: u8 = 1;
/// Invalid command line.
pub const USAGE: u8 = 2;
/// Something that the command names does not exist: a memory, a flow, a file.
pub const NOT_FOUND: u8 = 3;
/// The token is missing, invalid or lacks the scope; or a file is pending approval.
pub const NOT_ALLOWED: u8 = 4;
/// No service responds, or it closed the connection before it responded.
pub const NOT_REACHABLE: u8 = 5;

/// Every status with its meaning, for the reference.
pub const TABLE: [(u8, &str); 6] = [
    (DONE, "done"),
    (FAILED, "failed"),
    (USAGE, "usage: invalid command line"),
    (NOT_FOUND, "not found: what the command names does not exist"),
    (
        NOT_ALLOWED,
        "not allowed: the token is missing, invalid or lacks the scope; or a file is pending approval or not trusted",
    ),
    (
        NOT_REACHABLE,
        "not reachable: no service responds, or it closed the connection before it responded",
    ),
];

/// The short meaning of a status.
pub(crate) fn meaning(code: u8) -> &'static str {
    TABLE.iter().find(|table| table.0 == code).map_or("failed", |table| table.1)
}
