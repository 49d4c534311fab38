//! Commands about everything except memories.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;
use waypost_api::{ImportIds, Scope, Vocabulary};

use super::names::names;

/// Export memories, links and history as one JSON object per line
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  ctl export memories.ndjson")]
pub(crate) struct ExportArgs {
    /// Output file, created once the export is complete; `-` (the default) writes to standard output
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
}

/// Import an export, ids included
///
/// Existing memories are not changed. The checksum of a file is verified before anything is imported; standard input is
/// imported as it arrives, and its checksum is compared at the end. For a file of `add` bodies use `ctl batch`, for a
/// backup `ctl restore`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  ctl import memories.ndjson\n  ctl import --ids map other-project.ndjson"
)]
pub(crate) struct ImportArgs {
    /// The file; `-` reads standard input
    pub(crate) file: PathBuf,
    /// What to do if another memory already has the id
    #[arg(long, value_name = "HOW", default_value = ImportIds::default().as_str(), value_parser = names::<ImportIds>())]
    pub(crate) ids: ImportIds,
}

/// Open the dashboard in the browser
///
/// Writes a file that only you can read, and that leads to the dashboard with a code. The code is valid once and for 60
/// seconds; the page exchanges it for a token that is valid in one tab, for 12 hours or until the service stops.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ctl open\n  ctl open --scope memory:read --space work")]
pub(crate) struct OpenArgs {
    /// Print the path of the file, and do not open it
    #[arg(long)]
    pub(crate) print: bool,
    /// Scope of the page; may be repeated or separated by commas [default: those of your token]
    #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',', value_parser = names::<Scope>())]
    pub(crate) scopes: Vec<Scope>,
    /// The only space that the page can access; needs scopes without `admin` [default: all]
    #[arg(long, requires = "scopes")]
    pub(crate) space: Option<String>,
}

/// Print shell completions
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl completions bash > ~/.local/share/bash-completion/completions/ctl"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    Create(TokenCreateArgs),
    /// List tokens
    #[command(after_help = "Example:\n  ctl token list")]
    List,
    /// Revoke tokens, and those derived from them, at once
    ///
    /// The token of a dashboard is derived from the one that `ctl open` used.
    #[command(after_help = "Example:\n  ctl token revoke aB3dE5fG7h")]
    Revoke {
        /// Ids of the tokens: the middle part of each token
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
}

/// Create a token, which is shown only once
///
/// If no service is running, the token is written to the store's token file directly.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  ctl token create --scope memory:read --expires 30d --note 'the editor'"
)]
pub(crate) struct TokenCreateArgs {
    /// Scope; may be repeated or separated by commas
    #[arg(long = "scope", required = true, value_name = "SCOPE", value_delimiter = ',', value_parser = names::<Scope>())]
    pub(crate) scopes: Vec<Scope>,
    /// Expiry: in `30d`, on `2030-01-31`, or RFC 3339 [default: never]
    #[arg(long, value_name = "TIME")]
    pub(crate) expires: Option<String>,
    /// The only space that the token can access [default: all]
    #[arg(long)]
    pub(crate) space: Option<String>,
    /// Note about its purpose
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Show the value of each setting and its origin
    #[command(after_help = "Example:\n  ctl config show")]
    Show,
}
