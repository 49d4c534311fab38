//! What is checked and made in the project before anything in it is opened.

use anyhow::Context;

use crate::settings::{Approval, Options};

/// Makes the folders that are missing, and closes the store's to others, before anything in it is
/// opened.
pub(crate) fn prepare(options: &Options) -> anyhow::Result<()> {
    let project = &options.project;
    refuse_tracked(options)?;
    project.prepare().context("failed to prepare the project")?;
    let owners = project.owners();
    // It may have been made just now, by whoever was faster.
    owners.check_folder(&project.dir())?;
    claim_data(options)?;
    let dir = &options.data_dir;
    let done = waypost_project::tighten(dir, owners).context("cannot use the store's folder")?;
    if let Some((first, mode)) = done.first {
        let (changed, mode) = (done.changed, format!("{mode:o}"));
        tracing::warn!(changed, first = %first.display(), mode, "files of the store were accessible to other users; fixed their mode");
    }
    Ok(())
}

/// Refuses a store and tokens that a repository has: `git pull` overwrites files that are ignored.
fn refuse_tracked(options: &Options) -> anyhow::Result<()> {
    let project = &options.project;
    if matches!(options.approval, Approval::Off) {
        return Ok(());
    }
    let paths = project.private_paths(&options.data_dir, &options.token_file);
    let tracked = waypost_context::tracked_below(project.root(), &paths)
        .context("cannot check whether git tracks files of the store")?;
    match tracked {
        Some(files) if files.is_empty() => Ok(()),
        Some(files) => Err(waypost_project::Error::Tracked { files }.into()),
        None => {
            tracing::warn!(
                "cannot check whether git tracks files of the store: its index has an unsupported format"
            );
            Ok(())
        }
    }
}

/// Makes the store's folder, or makes sure that nobody else brought it.
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
        waypost_project::Error::Io { .. } => anyhow::Error::new(error).context(format!(
            "failed to create the folder {}; make its parent writable or choose another data_dir",
            dir.display()
        )),
        error => error.into(),
    })
}
