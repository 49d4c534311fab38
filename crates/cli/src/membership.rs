//! Whether the tokens of a data folder are those of a cluster, from the files that `cluster` writes there.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use waypost_auth::TokenStore;

use crate::failure::{Failure, Result};

/// The file of a member of a cluster, and the one of a creation that has begun.
const MEMBER: &str = "cluster-member";
const BEGUN: &str = "cluster-begun";

/// Whether the member file exists, whatever it has.
pub fn is_member(data: &Path) -> bool {
    data.join(MEMBER).symlink_metadata().is_ok()
}

/// Whether other machines may have joined a store that was begun in this data folder: also if its file
/// cannot be read.
fn may_have_others(data: &Path) -> bool {
    match fs::read_to_string(data.join(BEGUN)) {
        Ok(text) => !text.lines().any(|line| line == "joinable false"),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// Why the service does not start, if the creation of a cluster was interrupted after its tokens became
/// those of the cluster.
pub fn interrupted(data: &Path) -> Option<Failure> {
    let is_begun = data.join(BEGUN).symlink_metadata().is_ok();
    (is_begun && !is_member(data)).then(|| {
        Failure::new("`ctl cluster init` was interrupted in this project")
            .with_hint("run it again; or, to continue without a cluster, run `ctl cluster leave`")
    })
}

/// Why the tokens of a data folder cannot be changed without the service, if they are not those of the
/// cluster of which it is a member.
pub fn unshared(tokens: &TokenStore) -> Result<Option<Failure>> {
    let data = tokens.path().parent().unwrap_or(Path::new("."));
    let belongs = is_member(data) || may_have_others(data);
    Ok((belongs && !tokens.is_shared()?).then(|| {
        if let Some(failure) = interrupted(data) {
            return failure;
        }
        Failure::new(format!(
            "{} does not have the tokens of the cluster of which this project is a member",
            tokens.path().display()
        ))
        .with_hint("if `ctl cluster leave` was interrupted, run it again; otherwise start the service, which restores them")
    }))
}
