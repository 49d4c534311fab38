//! `token`: uses the service, or, if none is running, the token file.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde_json::json;
use waypost_api::{NewTokenRequest, Scope, TokenCreated, TokenInfo, Vocabulary, client, routes};
use waypost_auth::{NewToken, TokenStore};
use waypost_cli::exit;
use waypost_cli::failure::{Failure, Result};
use waypost_cli::membership;
use waypost_cli::output::{Look, Output};
use waypost_cli::program::Program;
use waypost_cli::show;
use waypost_cli::span;
use waypost_time::Timestamp;

use super::names;

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
    scopes: Vec<Scope>,
    /// Expiry: in `30d`, on `2030-01-31`, or RFC 3339 [default: never]
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
    /// The only space that the token can access [default: all]
    #[arg(long)]
    space: Option<String>,
    /// Note about its purpose
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

/// How long to wait for a service that may hang.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(3);

pub(super) fn run(program: &Program, command: TokenCommand, output: &mut Output) -> Result<()> {
    match command {
        TokenCommand::Create(args) => create(program, args, output),
        TokenCommand::List => list(program, output),
        TokenCommand::Revoke { ids } => revoke(program, &ids, output),
    }
}

/// Sends the request to the service; if none responds, works on this project's token file. Both
/// lock the file, so a service that starts meanwhile does no harm.
fn either<T>(
    program: &Program,
    output: &mut Output,
    ask: impl FnOnce(&client::Client) -> client::Result<T>,
    alone: impl FnOnce(&TokenStore) -> Result<T>,
) -> Result<T> {
    let is_shared = has_shared_tokens(program);
    let client = program.client()?;
    // For a change of shared tokens, a service waits for the cluster's database.
    let client = if is_shared { client } else { client.with_answer_time_max(ANSWER_TIME_MAX) };
    match ask(&client) {
        Err(error @ client::Error::NoAnswer { .. }) if is_shared => Err(Failure::from(error)),
        Err(error @ (client::Error::NotReachable { .. } | client::Error::NoAnswer { .. })) => {
            let file = program.tokens_file()?;
            if !file.exists() {
                return Err(Failure::from(error));
            }
            let value = alone(&TokenStore::open(&file)?).map_err(|failure| {
                let data = file.parent().filter(|_| is_shared);
                data.and_then(membership::interrupted).unwrap_or(failure)
            })?;
            output.note(&format!("no service responds; using {} directly", file.display()));
            if is_shared {
                output.note("another machine of the cluster may have revoked more tokens since");
            }
            Ok(value)
        }
        answered => Ok(answered?),
    }
}

/// Refuses a change that the cluster of this project would undo.
fn changeable(store: &TokenStore) -> Result<()> {
    membership::unshared(store)?.map_or(Ok(()), Err)
}

/// Whether this project's tokens are those of a cluster, which only a service can change.
fn has_shared_tokens(program: &Program) -> bool {
    let file = program.tokens_file().ok().filter(|file| file.exists());
    file.and_then(|file| TokenStore::open(&file).ok())
        .is_some_and(|store| store.is_shared().unwrap_or(false))
}

fn create(program: &Program, args: TokenCreateArgs, output: &mut Output) -> Result<()> {
    let now = span::now();
    let request = NewTokenRequest {
        scopes: args.scopes,
        expires_at: args
            .expires
            .filter(|expires| expires != "never")
            .map(|expires| span::future("--expires", &expires, now))
            .transpose()?,
        space: args.space,
        note: args.note,
    };
    let created = either(
        program,
        output,
        |client| client.call(&routes::CREATE_TOKEN, &request),
        |store| {
            changeable(store)?;
            let mut new = NewToken::new(
                request.scopes.iter().filter_map(|scope| scope.as_str().parse().ok()),
            );
            new.expires = request.expires_at;
            new.space.clone_from(&request.space);
            new.note.clone_from(&request.note);
            let (secret, info) = store.create(new, now)?;
            Ok(TokenCreated { token: secret.expose().to_owned(), info: wire(&info) })
        },
    )?;
    if output.json(&created)? {
        return Ok(());
    }
    output.line(&created.token)?;
    let until = created
        .info
        .expires_at
        .map_or("never expires".to_owned(), |time| format!("is valid until {time}"));
    output.note(&format!("token {} {until}; it is shown only once", created.info.id));
    Ok(())
}

fn wire(info: &waypost_auth::TokenInfo) -> TokenInfo {
    TokenInfo {
        id: info.id.as_str().to_owned(),
        scopes: info.scopes.iter().filter_map(|scope| Scope::from_name(scope.as_str())).collect(),
        created_at: info.created,
        expires_at: info.expires,
        space: info.space.clone(),
        note: info.note.clone(),
        last_used_at: info.last_used,
        revoked_at: info.revoked,
        parent: info.parent.map(|parent| parent.to_string()),
    }
}

fn list(program: &Program, output: &mut Output) -> Result<()> {
    let tokens = either(
        program,
        output,
        |client| client.call(&routes::LIST_TOKENS, ()),
        |store| Ok(store.list()?.iter().map(wire).collect::<Vec<_>>()),
    )?;
    if output.json(&tokens)? {
        return Ok(());
    }
    let now = span::now();
    let day = |time: Option<Timestamp>, none: &str| {
        time.map_or(none.to_owned(), |time| show::day(&time.to_string()))
    };
    let rows: Vec<_> = tokens
        .iter()
        .map(|token| {
            let (look, state) = match (token.revoked_at, token.expires_at) {
                (Some(_), _) => (Look::Bad, "revoked"),
                (None, Some(end)) if end <= now => (Look::Bad, "expired"),
                _ => (Look::Good, "valid"),
            };
            let scopes: Vec<_> = token.scopes.iter().map(|scope| scope.as_str()).collect();
            vec![
                (Look::Name, token.id.clone()),
                (look, state.to_owned()),
                (Look::Plain, scopes.join(", ")),
                (Look::Plain, token.space.clone().unwrap_or_else(|| "all".to_owned())),
                (Look::Plain, day(token.expires_at, "never")),
                (Look::Plain, day(token.last_used_at, "never")),
                (Look::Plain, token.parent.clone().unwrap_or_default()),
                (Look::Dim, token.note.clone().unwrap_or_default()),
            ]
        })
        .collect();
    output.table(&["ID", "STATE", "SCOPES", "SPACE", "EXPIRES", "USED", "PARENT", "NOTE"], &rows)
}

fn revoke(program: &Program, ids: &[String], output: &mut Output) -> Result<()> {
    let mut derived = Vec::new();
    for id in ids {
        // A whole token works as its id: a person who found a leaked token may have nothing else.
        let id = id.strip_prefix("wp_").and_then(|rest| rest.split('_').next()).unwrap_or(id);
        let revoked = either(
            program,
            output,
            |client| Ok(client.revoke_token(id)?.derived),
            |store| {
                changeable(store)?;
                let known = id.parse().map_err(|_| no_token(id))?;
                let revoked = store.revoke(known, span::now())?;
                Ok(revoked.derived.iter().map(ToString::to_string).collect())
            },
        )
        .map_err(
            |failure| if failure.code() == exit::NOT_FOUND { no_token(id) } else { failure },
        )?;
        if !output.is_json() {
            output.line(&format!("revoked {id}"))?;
            for other in &revoked {
                output.line(&format!("revoked {other}, which was derived from {id}"))?;
            }
        }
        derived.extend(revoked);
    }
    if output.is_json() {
        output.document(&json!({ "revoked": ids, "derived": derived }))?;
    }
    Ok(())
}

fn no_token(id: &str) -> Failure {
    Failure::not_found(format!("no token {id:?}")).with_hint("`ctl token list` shows all tokens")
}
