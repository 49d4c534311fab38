//! What the program's exit status says.

/// It is done; also when the reader of the output went away.
pub const DONE: u8 = 0;
/// It failed.
pub const FAILED: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// What was named is not there: a memory, a flow, a file.
pub const NOT_FOUND: u8 = 3;
/// The token is missing, does not work, or lacks the scope; or a file waits for approval.
pub const NOT_ALLOWED: u8 = 4;
/// No service answers, or it closed the connection before it answered.
pub const NOT_REACHABLE: u8 = 5;

/// Every status with its meaning, for the reference.
pub const TABLE: [(u8, &str); 6] = [
    (DONE, "done"),
    (FAILED, "failed"),
    (USAGE, "usage: the command line is wrong"),
    (NOT_FOUND, "not found: what was named is not there"),
    (
        NOT_ALLOWED,
        "not allowed: the token is missing, does not work, or lacks the scope; or a file waits for approval or is not trusted",
    ),
    (
        NOT_REACHABLE,
        "not reachable: no service answers, or it closed the connection before it answered",
    ),
];

/// What a status says, in a few words.
pub(crate) fn meaning(code: u8) -> &'static str {
    TABLE.iter().find(|it| it.0 == code).map_or("failed", |it| it.1)
}
