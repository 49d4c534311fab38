//! Finds the primary among the servers of the URL and refuses servers that cannot keep a journal.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;

use crate::error::{Error, Result};
use crate::limits::POSTGRES_MIN;
use crate::link::{Failure, Link, chain};
use crate::password::Wanted;
use crate::settings::{Host, Server, Settings};
use crate::tls::Tls;
use crate::until::Until;

/// What every server must be. `set_config` also shows that synchronous commits can be asked for.
const CHECK: &str = "SELECT pg_is_in_recovery(), current_setting('server_version_num')::int4, \
     current_setting('fsync'), set_config('synchronous_commit', 'on', true)";

/// After this time without an answer of the network, a connection is over.
const SILENCE: Duration = Duration::from_secs(15);

/// Connects to the primary. Asks the servers in turn, beginning with number `first`.
pub(crate) fn connect(settings: &Settings, first: usize, until: &Until) -> Result<Link> {
    let mut failed = Vec::new();
    let (before, from) = settings.servers.split_at(first % settings.servers.len());
    for server in from.iter().chain(before) {
        if until.is_over() {
            return Err(Error::Stopped);
        }
        match connect_to(server, settings, until) {
            Ok(link) => return Ok(link),
            Err(error) => failed.push(error),
        }
    }
    // What a person has to change comes first; a primary may be about to be promoted.
    if failed.len() == 1 {
        return failed.pop().map_or(Err(Error::Stopped), Err);
    }
    let at = failed.iter().position(|it| {
        !matches!(it, Error::Unreachable(_) | Error::Standby(_) | Error::Connection(_))
    });
    if let Some(at) = at {
        return Err(failed.swap_remove(at));
    }
    let reasons: Vec<String> = failed.iter().map(ToString::to_string).collect();
    Err(Error::Unreachable(reasons.join("; ")))
}

fn connect_to(server: &Server, settings: &Settings, until: &Until) -> Result<Link> {
    let wanted = Wanted {
        host: &server.host,
        port: server.port,
        database: &settings.database,
        user: &settings.user,
    };
    let mut config = Config::new();
    config
        .user(&settings.user)
        .dbname(&settings.database)
        .port(server.port)
        .application_name(&settings.application)
        .connect_timeout(settings.connect)
        .keepalives_idle(SILENCE / 3)
        .keepalives_interval(SILENCE / 3)
        .keepalives_retries(3)
        .tcp_user_timeout(SILENCE)
        .ssl_mode(if server.tls.is_some() { SslMode::Require } else { SslMode::Disable });
    match &server.host {
        Host::Tcp(host) => config.host(host),
        Host::Unix(folder) => config.host_path(folder),
    };
    if let Some(password) = settings.passwords.find(&wanted)? {
        config.password(password);
    }
    let tls = server.tls.clone().map_or_else(Tls::none, Ok)?;
    let host = server.to_string();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|it| Error::Unreachable(format!("{host}: {it}")))?;
    let limit = until.at_most(2 * settings.connect);
    let connected = runtime.block_on(async {
        let mut connecting = std::pin::pin!(config.connect(tls));
        loop {
            match tokio::time::timeout_at(limit.look().into(), connecting.as_mut()).await {
                Ok(connected) => return connected.map_err(|it| refused(&host, &it)),
                Err(_) if limit.is_over() => {
                    return Err(Error::Unreachable(format!("{host}: it did not answer in time")));
                }
                Err(_) => {}
            }
        }
    });
    match connected {
        Ok((client, connection)) => checked(Link::new(runtime, client, connection, host), &limit),
        Err(error) => {
            runtime.shutdown_background();
            Err(error)
        }
    }
}

/// Why there is no connection. The server's messages name users and databases, never passwords.
fn refused(host: &str, error: &tokio_postgres::Error) -> Error {
    let settings = [
        SqlState::INVALID_PASSWORD,
        SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
        SqlState::INVALID_CATALOG_NAME,
        SqlState::INSUFFICIENT_PRIVILEGE,
    ];
    let text = format!("{host}: {}", chain(error));
    match error.code() {
        Some(code) if settings.contains(code) => Error::Setting(text),
        _ => Error::Unreachable(text),
    }
}

/// Refuses a server that would lose acknowledged writes.
fn checked(mut link: Link, until: &Until) -> Result<Link> {
    let rows = link.query(CHECK, &[], until).map_err(unsent)?;
    let answer = || Error::Answer("no row about the server".to_owned());
    let row = rows.first().ok_or_else(answer)?;
    let malformed = |it: tokio_postgres::Error| Error::Answer(it.to_string());
    let number: i32 = row.try_get(1).map_err(malformed)?;
    let host = link.host.clone();
    link.version = u32::try_from(number / 10_000).unwrap_or(0);
    if link.version < POSTGRES_MIN {
        return Err(Error::TooOld { host, found: link.version });
    }
    if row.try_get::<_, bool>(0).map_err(malformed)? {
        return Err(Error::Standby(host));
    }
    for (at, setting) in [(2, "fsync"), (3, "synchronous_commit")] {
        let value: String = row.try_get(at).map_err(malformed)?;
        if value != "on" {
            return Err(Error::Unsafe { host, setting, value });
        }
    }
    Ok(link)
}

/// The error for a statement that changes nothing.
pub(crate) fn unsent(failure: Failure) -> Error {
    match failure {
        Failure::Stopped => Error::Stopped,
        Failure::Ended(why) | Failure::Unknown(why) => Error::Connection(why),
        Failure::Refused { code, message } if code == SqlState::INSUFFICIENT_PRIVILEGE => {
            Error::Privilege(message)
        }
        Failure::Refused { code, message } => {
            Error::Database { code: code.code().to_owned(), message }
        }
    }
}
