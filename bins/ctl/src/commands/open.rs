//! `open`: the dashboard, with a one-time code in a file that only this user can read. The code is
//! in no argument of a program, which other users can list.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::json;
use waypost_api::{DashboardCodeRequest, Scope, routes};
use waypost_cli::failure::Result;
use waypost_cli::output::Output;
use waypost_cli::program::Program;
use waypost_project::{Owners, create_data_dir, open_file, write_private};

use super::names;

/// Open the dashboard in the browser
///
/// Writes a file that only you can read, and that leads to the dashboard with a code. The code is valid once and for 60
/// seconds; the page exchanges it for a token that is valid in one tab, for 12 hours or until the service stops.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  ctl open\n  ctl open --scope memory:read --space work")]
pub(crate) struct OpenArgs {
    /// Print the path of the file, and do not open it
    #[arg(long)]
    print: bool,
    /// Scope of the page; may be repeated or separated by commas [default: those of your token]
    #[arg(long = "scope", value_name = "SCOPE", value_delimiter = ',', value_parser = names::<Scope>())]
    scopes: Vec<Scope>,
    /// The only space that the page can access; needs scopes without `admin` [default: all]
    #[arg(long, requires = "scopes")]
    space: Option<String>,
}

/// How long to wait for an error of the program that opens the file.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn open(program: &Program, args: OpenArgs, output: &mut Output) -> Result<()> {
    let client = program.client()?;
    let request = DashboardCodeRequest { scopes: args.scopes, space: args.space };
    let code = client.call(&routes::CREATE_DASHBOARD_CODE, &request)?;
    // The address with which this command reached the service is the one that works from here. But
    // a browser may take `localhost` for `::1`, where another user can listen.
    let named = client.base_url();
    let is_certain = named.starts_with("http") && !named.starts_with("http://localhost:");
    let page = if is_certain { format!("{named}/") } else { code.url.clone() };
    let url = format!("{page}#code={}", code.code);
    let data_dir = &program.settings()?.data_dir;
    let file = open_file(data_dir, &|name| std::env::var_os(name));
    write(&file, data_dir, &url)?;
    let seconds = code.expires_at.saturating_duration_since(waypost_cli::span::now()).as_secs();
    if output.json(&json!({"file": file, "url": url, "expiresAt": code.expires_at}))? {
        return Ok(());
    }
    if !args.print && start(&file) {
        output.note(&format!(
            "opened {page} in the browser; if no page appears, open {} within {seconds} seconds",
            file.display()
        ));
        return Ok(());
    }
    output.line(&file.display().to_string())?;
    output.note(&format!(
        "open this file in a browser within {seconds} seconds; it is valid once. `ctl --json open` also prints the address, for a browser that cannot read the file"
    ));
    Ok(())
}

/// Writes a page that leads to the address.
fn write(file: &Path, data_dir: &Path, url: &str) -> Result<()> {
    let folder = file.parent().unwrap_or(data_dir);
    create_data_dir(folder)?;
    Owners::own_only().check_folder(folder)?;
    // Addresses and codes have none of these characters; a name from --url could.
    let shown = url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    let page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>Waypost</title>\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0;url={shown}\">\n\
         <p><a href=\"{shown}\">Open the dashboard</a>. The link is valid once and for 60 seconds; \
         <code>ctl open</code> creates another one.</p>\n</html>\n"
    );
    Ok(write_private(file, page.as_bytes())?)
}

/// Starts the system's program for opening files. Returns whether it seems to work.
fn start(file: &Path) -> bool {
    let is_macos = cfg!(target_os = "macos");
    let has_screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|it| std::env::var_os(it).is_some());
    if !is_macos && !has_screen {
        return false;
    }
    let mut command = Command::new(if is_macos { "open" } else { "xdg-open" });
    command.arg(file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let end = Instant::now() + PATIENCE;
    // It may end as soon as the browser has the file, or together with the browser.
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}
