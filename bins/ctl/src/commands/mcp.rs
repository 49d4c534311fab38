//! `mcp`: tools for agents, on standard input and output.

mod install;

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Extensions, Request, Response, StatusCode};
use waypost_api::client::Client;
use waypost_mcp::{Service, Unavailable};

use crate::cli::{Global, McpArgs, McpCommand};
use crate::client_files::Action;
use crate::failure::{Failure, Result};
use crate::output::Output;
use crate::program::Program;

pub(super) fn run(program: &Program, args: McpArgs, output: &mut Output) -> Result<()> {
    match args.command {
        None => serve(program),
        Some(McpCommand::Install(args)) => install::edit(program, &args, Action::Install, output),
        Some(McpCommand::Remove(args)) => install::edit(program, &args, Action::Remove, output),
    }
}

/// Serves until standard input ends.
fn serve(program: &Program) -> Result<()> {
    let cannot = |it| Failure::from(it).while_doing("cannot serve on standard input and output");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(cannot)?;
    let state = State { global: program.global().clone(), client: Mutex::new(None) };
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
}

impl Service for Near {
    async fn call(
        &self,
        _caller: &Extensions,
        request: Request<Vec<u8>>,
    ) -> std::result::Result<Response<Bytes>, Unavailable> {
        let state = Arc::clone(&self.0);
        let called = tokio::task::spawn_blocking(move || state.exchange(&request));
        match called.await {
            Ok(Ok(response)) => Ok(response.map(Bytes::from)),
            Ok(Err(failure)) => Err(unavailable(&failure)),
            Err(error) => Err(Unavailable { what: error.to_string(), remedy: None }),
        }
    }
}

impl State {
    fn exchange(&self, request: &Request<Vec<u8>>) -> Result<Response<Vec<u8>>> {
        let kept = self.kept().clone();
        let is_kept = kept.is_some();
        let client = match kept {
            Some(client) => client,
            None => Program::new(self.global.clone())?.client()?,
        };
        let answered = client.exchange(request.clone());
        match answered {
            // The token file may have a new token.
            Ok(response) if response.status() == StatusCode::UNAUTHORIZED => {
                *self.kept() = None;
                if is_kept { self.exchange(request) } else { Ok(response) }
            }
            Ok(response) => {
                *self.kept() = Some(client);
                Ok(response)
            }
            Err(error) => {
                *self.kept() = None;
                Err(error.into())
            }
        }
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Option<Client>> {
        self.client.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unavailable(failure: &Failure) -> Unavailable {
    let causes = failure.causes().iter().map(String::as_str);
    let what: Vec<&str> = std::iter::once(failure.message()).chain(causes).collect();
    Unavailable { what: what.join(": "), remedy: failure.hint().map(str::to_owned) }
}
