//! The environment in which actions run.

use std::path::PathBuf;

use waypost_flows::ActionContext;

use crate::umask::Umask;

/// The environment in which actions run.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) project: PathBuf,
    pub(super) programs: PathBuf,
    pub(super) environment: Vec<(String, String)>,
    pub(super) url: String,
    pub(super) boot: String,
    pub(super) umask: Option<Umask>,
}

impl Place {
    pub(super) fn context<'a>(
        &'a self,
        token: &'a str,
        secret: &'a dyn Fn(&str) -> Option<String>,
    ) -> ActionContext<'a> {
        ActionContext {
            project: &self.project,
            programs: &self.programs,
            inherited: &self.environment,
            url: &self.url,
            token,
            secret,
            grace: waypost_flows::GRACE,
        }
    }

    /// A secret is the variable of its name in the service's own environment.
    pub(super) fn secret(&self, name: &str) -> Option<String> {
        self.environment.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone())
    }
}
