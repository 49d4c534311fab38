//! Checks and creates the project's folders before anything in them is opened.

use anyhow::Context;
use waypost_context::Tracked;

use crate::settings::{Approval, Options};

/// Creates missing folders, and closes the store's to other users.
pub(crate) fn prepare(options: &Options) -> anyhow::Result<()> {
    let project = &options.project;
    refuse_tracked(options)?;
    project.prepare().context("failed to prepare the project")?;
    let owners = project.owners();
    // Another process may have created it just now.
    owners.check_folder(&project.dir())?;
    claim_data(options)?;
    let dir = &options.data_dir;
    let done = waypost_project::tighten(dir, owners).context("cannot use the store's folder")?;
    if let Some((first, mode)) = done.first {
        let (changed, mode) = (done.changed, format!("{mode:o}"));
        tracing::warn!(changed, first = %first.display(), mode, "files of the store were accessible to other users; fixed their mode");
    }
    Ok(waypost_project::check_shape(dir)?)
}

/// Rejects a store and tokens that are tracked by git: `git pull` overwrites ignored files.
fn refuse_tracked(options: &Options) -> anyhow::Result<()> {
    let project = &options.project;
    if matches!(options.approval, Approval::Off) {
        return Ok(());
    }
    let paths = project.private_paths(&options.data_dir, &options.token_file);
    let tracked = waypost_context::tracked_below(project.root(), &paths)
        .context("cannot check whether git tracks files of the store")?;
    match tracked {
        Tracked::Files(files) if files.is_empty() => Ok(()),
        Tracked::Files(files) => Err(waypost_project::Error::Tracked { files }.into()),
        Tracked::Unknown(why) => {
            tracing::warn!(why, "cannot check whether git tracks files of the store");
            Ok(())
        }
    }
}

/// Creates the store's folder, or checks that it is registered as this project's.
fn claim_data(options: &Options) -> anyhow::Result<()> {
    let dir = &options.data_dir;
    let claimed = match &options.approval {
        Approval::Off => {
            tracing::info!("the project is trusted: its files need no approval");
            waypost_project::create_data_dir(dir)
        }
        Approval::In(state) => {
            waypost_project::claim_data(&options.project, dir, state).map(|_| ())
        }
        Approval::Nowhere => Err(waypost_project::Error::NoState),
    };
    claimed.map_err(|error| match error {
        waypost_project::Error::Io { action: "create", ref path, .. } if path == dir => anyhow::Error::new(error).context(format!(
            "failed to create the folder {}; make its parent writable or choose another data_dir",
            dir.display()
        )),
        error => error.into(),
    })
}
