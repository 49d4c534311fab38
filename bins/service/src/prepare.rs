//! What is checked and made in the project before anything in it is opened.

use anyhow::Context;

use crate::settings::{Approval, Options};

/// Makes the folders that are missing, and closes the store's to others, before anything in it is
/// opened.
pub(crate) fn prepare(options: &Options) -> anyhow::Result<()> {
    let project = &options.project;
    refuse_tracked(options)?;
    project.prepare().context("the project cannot be prepared")?;
    let owners = project.owners();
    // It may have been made just now, by whoever was faster.
    owners.check_folder(&project.dir())?;
    claim_data(options)?;
    let dir = &options.data_dir;
    let done = waypost_project::tighten(dir, owners).context("the store's folder is not used")?;
    if let Some((first, mode)) = done.first {
        let (changed, mode) = (done.changed, format!("{mode:o}"));
        tracing::warn!(changed, first = %first.display(), mode, "others could reach files of the store until now");
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
        .context("whether git tracks files of the store is not known")?;
    match tracked {
        Some(files) if files.is_empty() => Ok(()),
        Some(files) => Err(waypost_project::Error::Tracked { files }.into()),
        None => {
            tracing::warn!(
                "whether git tracks files of the store is not known: its index is of a form that is not read here"
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
            tracing::info!("the project is trusted: none of its files waits for approval");
            waypost_project::create_data_dir(dir)
        }
        Approval::In(state) => {
            waypost_project::claim_data(&options.project, dir, state).map(|_| ())
        }
        Approval::Nowhere => Err(waypost_project::Error::NoState),
    };
    claimed.map_err(|error| match error {
        waypost_project::Error::Io { .. } => anyhow::Error::new(error).context(format!(
            "cannot make the folder {}; make its parent writable or choose another data_dir",
            dir.display()
        )),
        error => error.into(),
    })
}
