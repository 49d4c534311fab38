//! How tests wait for the end of a process that they started.

use std::process::{Child, ExitStatus};

use crate::wait::until;

/// How the process ended. Fails if it does not end.
#[track_caller]
pub(crate) fn end_of(child: &mut Child) -> ExitStatus {
    until(|| child.try_wait().expect("a child").ok_or("the process does not end"))
}
