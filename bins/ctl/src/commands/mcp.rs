//! `mcp`: tools for agents, on standard input and output.

mod install;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use clap::{Args, Subcommand, ValueEnum};
use http::{Extensions, Request, Response, StatusCode};
use waypost_api::client::{Client, Error};
use waypost_cli::Global;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::output::Output;
use waypost_cli::program::Program;
use waypost_cli::span;
use waypost_mcp::{Service, Unavailable};

use crate::client_files::{Action, ClientPlaceArgs};
use crate::start::{Started, Starter};

/// Serve the Model Context Protocol on standard input and output, for agents
///
/// Calls the service of the project. If none runs, it starts one that ends after a time without use, and says so on
/// standard error and in the next result. While the project waits for approval, each call fails with the remedy. Ends
/// when its input ends.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  ctl mcp\n  claude mcp add waypost -- ctl --project ~/notes mcp\n  ctl mcp install --client cursor"
)]
pub(crate) struct McpArgs {
    /// Do not start a service: without one, each call fails with the remedy
    #[arg(long)]
    no_start: bool,
    /// Time without use after which a service that was started here ends
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = idle_time)]
    exit_idle: String,
    #[command(subcommand)]
    pub(crate) command: Option<McpCommand>,
}

/// Checks the time, which the service reads.
fn idle_time(text: &str) -> Result<String, String> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    waypost_project::parse_time(text, Duration::from_secs(1), 30 * DAY).map(|_| text.to_owned())
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add `ctl mcp` to a client's configuration file
    ///
    /// Replaces an entry that an earlier `install` wrote, whatever its name. Another one that runs `ctl mcp` or is called
    /// `waypost`, or has other members (`env`, `cwd`), is shown, and nothing is changed without `--keep`. The rest of the
    /// file stays as it is, with comments. No token is written: `ctl mcp` reads it from the token file.
    #[command(
        after_help = "Examples:\n  ctl mcp install --client claude-code\n  ctl --project ~/notes mcp install --client claude-desktop --dry-run"
    )]
    Install {
        #[command(flatten)]
        args: McpClientArgs,
        /// Keep what `install` did not write: members beside our command line, and an entry with another command line
        /// instead of ours
        #[arg(long)]
        keep: bool,
    },
    /// Remove `ctl mcp` from a client's configuration file
    #[command(after_help = "Example:\n  ctl mcp remove --client claude-code")]
    Remove(McpClientArgs),
}

#[derive(Debug, Args)]
pub(crate) struct McpClientArgs {
    /// The client
    #[arg(long, value_enum)]
    client: McpClient,
    #[command(flatten)]
    place: ClientPlaceArgs,
}

/// A client of the Model Context Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum McpClient {
    /// Claude Code: `.mcp.json`, `~/.claude.json`
    ClaudeCode,
    /// Claude Desktop: only the user's `claude_desktop_config.json`
    ClaudeDesktop,
    /// Cursor: `.cursor/mcp.json`, `~/.cursor/mcp.json`
    Cursor,
    /// VS Code: `.vscode/mcp.json`, the user's `mcp.json`
    Vscode,
    /// Codex: `.codex/config.toml`, `~/.codex/config.toml`
    Codex,
    /// Zed: `.zed/settings.json`, the user's `settings.json`
    Zed,
    /// Gemini CLI: `.gemini/settings.json`, `~/.gemini/settings.json`
    Gemini,
}

pub(super) fn run(program: &Program, args: McpArgs, output: &mut Output) -> Result<()> {
    match args.command {
        None => serve(program, &args),
        Some(McpCommand::Install { args, keep }) => {
            install::edit(program, &args, Action::Install { is_keeping: keep }, output)
        }
        Some(McpCommand::Remove(args)) => install::edit(program, &args, Action::Remove, output),
    }
}

/// Serves until standard input ends.
fn serve(program: &Program, args: &McpArgs) -> Result<()> {
    let cannot = |it| Failure::from(it).while_doing("cannot serve on standard input and output");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot)?;
    let state = State {
        global: program.global().clone(),
        client: Mutex::new(None),
        starter: (!args.no_start).then(|| Starter::new(args.exit_idle.clone())),
        notice: Mutex::new(None),
        name: name(),
    };
    let served = runtime.block_on(waypost_mcp::stdio(Near(Arc::new(state))));
    // A call that is still waiting for the service does not delay the end.
    runtime.shutdown_background();
    served.map_err(cannot)
}

/// The service of the project.
#[derive(Clone)]
struct Near(Arc<State>);

struct State {
    global: Global,
    /// Kept while it works. Settings, token and address are read again after a failure: the service may have been
    /// started, or the project approved.
    client: Mutex<Option<Client>>,
    /// Starts a service if none runs, unless the user does not want it.
    starter: Option<Starter>,
    /// What the next result says about the service.
    notice: Mutex<Option<String>>,
    /// The name of this client.
    name: String,
}

impl Service for Near {
    async fn call(
        &self,
        _caller: &Extensions,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Bytes>, Unavailable> {
        let state = Arc::clone(&self.0);
        let called = tokio::task::spawn_blocking(move || state.exchange(&request));
        match called.await {
            Ok(Ok(response)) => Ok(response.map(Bytes::from)),
            Ok(Err(failure)) => Err(unavailable(&failure)),
            Err(error) => Err(Unavailable { what: error.to_string(), remedy: None }),
        }
    }

    fn client(&self) -> Option<String> {
        Some(self.0.name.clone())
    }

    fn notice(&self) -> Option<String> {
        self.0.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl State {
    fn exchange(&self, request: &Request<Vec<u8>>) -> Result<Response<Vec<u8>>> {
        let kept = self.kept().clone();
        if let Some(client) = kept {
            match client.exchange(request.clone()) {
                Ok(response) if response.status() != StatusCode::UNAUTHORIZED => {
                    return Ok(response);
                }
                // The token file may have a new token.
                Ok(_) => {}
                // The service has stopped, and another one may run.
                Err(Error::NotReachable { .. }) => {}
                Err(error) => {
                    *self.kept() = None;
                    return Err(error.into());
                }
            }
            *self.kept() = None;
        }
        let program = Program::of_agent(self.global.clone())?;
        let client = program.client()?;
        let answered = match (client.exchange(request.clone()), &self.starter) {
            (Err(Error::NotReachable { .. }), Some(starter)) => {
                self.start(&program, starter)?;
                // The start may have created the token.
                let client = program.client()?;
                (client.exchange(request.clone()), client)
            }
            (answered, _) => (answered, client),
        };
        let (answered, client) = answered;
        let response = answered?;
        if response.status() != StatusCode::UNAUTHORIZED {
            *self.kept() = Some(client);
        }
        Ok(response)
    }

    fn start(&self, program: &Program, starter: &Starter) -> Result<()> {
        let responds = || {
            let asked = Request::get("/healthz").body(Vec::new());
            let answered = program.client().ok().zip(asked.ok());
            answered.is_some_and(|(client, asked)| client.exchange(asked).is_ok())
        };
        if let Started::Here(notice) = starter.start(program, responds)? {
            let global = &self.global;
            Output::new(global.json, global.color).note(&notice);
            *self.notice.lock().unwrap_or_else(PoisonError::into_inner) = Some(notice);
        }
        Ok(())
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Client>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name that no other client of the project has, nor had.
fn name() -> String {
    let (id, now) = (std::process::id(), span::now().as_millis());
    format!("{id}-{now}")
}

fn unavailable(failure: &Failure) -> Unavailable {
    let causes = failure.causes().iter().map(String::as_str);
    let what: Vec<&str> = std::iter::once(failure.message()).chain(causes).collect();
    Unavailable { what: what.join(": "), remedy: failure.hint().map(str::to_owned) }
}
