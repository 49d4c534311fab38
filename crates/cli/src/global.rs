//! The options of every command.

use std::path::PathBuf;

use clap::Args;

use crate::output::Color;

/// Global options.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Project folder [default: the nearest parent folder with `.waypost`, else `.git`]
    #[arg(long, global = true, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Print JSON, for scripts
    #[arg(long, global = true)]
    pub json: bool,
    /// Address of the service [default: the setting `url`, else the socket of the project's service]
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// File with the access token [default: the setting `token_file`]
    #[arg(long, global = true, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// File with the certificate authorities to trust over https, in PEM [default: the system's]
    #[arg(long, global = true, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Treat everything in the project as approved, for containers and CI
    #[arg(long, global = true)]
    pub trust_project: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}
