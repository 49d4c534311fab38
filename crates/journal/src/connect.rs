//! Finds the primary among the servers of the URL and refuses servers that cannot keep a journal.

use std::error::Error as _;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{SslMode, SslNegotiation};
use tokio_postgres::error::SqlState;

use crate::deadline::Until;
use crate::error::{Error, Result};
use crate::limits::POSTGRES_MIN;
use crate::link::{Failure, Link, chain};
use crate::password::Wanted;
use crate::settings::{Host, Server, Settings};
use crate::sql::column;
use crate::tls::Tls;

/// What every server must be. `set_config` also shows that synchronous commits can be asked for.
const CHECK: &str = "SELECT pg_is_in_recovery(), current_setting('server_version_num')::int4, \
     current_setting('fsync'), set_config('synchronous_commit', 'on', true)";

/// After this time without an answer of the network, a connection is over. A server that is slow, or
/// suspended, answers there all the same. Without the limit, a connection continues as long after an
/// interruption of the network as the interruption took, because each repetition of a packet waits
/// twice as long as the last one.
const SILENCE: Duration = Duration::from_secs(3);
/// How often the other end of a connection is asked whether it is there.
const ASK: Duration = Duration::from_secs(1);
/// How long one attempt to reach a server takes: a packet at the beginning, and one after a second.
/// A longer attempt would wait two seconds for the next one, and then four.
const DIAL: Duration = Duration::from_secs(2);
/// How long a server may take to answer, if others can be asked after it.
const SHARE_MIN: Duration = Duration::from_secs(1);

/// Connects to the primary. Asks the servers in turn, beginning with number `first`; returns the
/// number of the one that is it.
pub(crate) fn connect(settings: &Settings, first: usize, until: &Until) -> Result<(Link, usize)> {
    let mut failed = Vec::new();
    let count = settings.servers.len();
    for (left, number) in (1..=count).rev().zip(first % count..) {
        if until.is_over() {
            return Err(Error::Stopped);
        }
        let Some(server) = settings.servers.get(number % count) else { break };
        match connect_to(server, settings, &until.share(left, SHARE_MIN)) {
            Ok(link) => return Ok((link, number % count)),
            Err(error) => failed.push(error),
        }
    }
    // What a person has to change comes first; a primary may be about to be promoted.
    if failed.len() == 1 {
        return failed.pop().map_or(Err(Error::Stopped), Err);
    }
    let at = failed.iter().position(|failed| {
        !matches!(failed, Error::Unreachable(_) | Error::Standby(_) | Error::Connection(_))
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
        .connect_timeout(settings.connect.min(DIAL))
        .keepalives_idle(ASK)
        .keepalives_interval(ASK)
        .keepalives_retries(3)
        .tcp_user_timeout(SILENCE);
    match (&server.host, &server.tls) {
        (Host::Tcp(host), Tls::VerifyFull(_)) => config.host(host).ssl_mode(SslMode::Require),
        // Without a handshake, the connection begins in [`Tls::Plain`].
        (Host::Tcp(host), Tls::Plain) => {
            let config = config.host(host).ssl_mode(SslMode::Require);
            config.ssl_negotiation(SslNegotiation::Direct)
        }
        (Host::Unix(folder), _) => config.host_path(folder).ssl_mode(SslMode::Disable),
    };
    if let Some(password) = settings.passwords.find(&wanted)? {
        config.password(password);
    }
    let tls = server.tls.clone();
    let host = server.to_string();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Unreachable(format!("{host}: {error}")))?;
    let limit = until.at_most(2 * settings.connect);
    let dialling = until.at_most(settings.connect);
    let connected = runtime.block_on(async {
        loop {
            let connected = before(&limit, config.connect(tls.clone())).await;
            match connected {
                Some(Err(error)) if is_silent(&error) && !dialling.is_over() => {}
                Some(connected) => return connected.map_err(|error| refused(&host, &error)),
                None => {
                    return Err(Error::Unreachable(format!("{host}: it did not answer in time")));
                }
            }
        }
    });
    match connected {
        Ok(connected) => checked(Link::new(runtime, connected, &settings.schema, host), &limit),
        Err(error) => {
            runtime.shutdown_background();
            Err(error)
        }
    }
}

/// The result of the work, if it ends before the limit.
async fn before<T>(limit: &Until, work: impl Future<Output = T>) -> Option<T> {
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout_at(limit.look().into(), work.as_mut()).await {
            Ok(done) => return Some(done),
            Err(_) if limit.is_over() => return None,
            Err(_) => {}
        }
    }
}

/// Whether nobody has answered an attempt to reach the server.
fn is_silent(error: &tokio_postgres::Error) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::TimedOut)
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
    let rows = link.query(CHECK, &[], until)?;
    let row = rows.first().ok_or_else(|| Error::Answer("no row about the server".to_owned()))?;
    let number: i32 = column(row, 1)?;
    let host = link.host.clone();
    link.version = u32::try_from(number / 10_000).unwrap_or(0);
    if link.version < POSTGRES_MIN {
        return Err(Error::TooOld { host, found: link.version });
    }
    if column(row, 0)? {
        return Err(Error::Standby(host));
    }
    for (at, setting) in [(2, "fsync"), (3, "synchronous_commit")] {
        let value: String = column(row, at)?;
        if value != "on" {
            return Err(Error::Unsafe { host, setting, value });
        }
    }
    Ok(link)
}

/// The error of a statement that changes nothing, or may be lost.
impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stopped => Self::Stopped,
            Failure::Ended(why) | Failure::Unknown(why) => Self::Connection(why),
            Failure::Refused { code: SqlState::INSUFFICIENT_PRIVILEGE, message } => {
                Self::Privilege(message)
            }
            Failure::Refused { code, message } => {
                Self::Database { code: code.code().to_owned(), message }
            }
        }
    }
}
