//! One connection, used by one thread at a time.

use std::error::Error as _;
use std::fmt;
use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll};

use tokio::runtime::Runtime;
use tokio_postgres::error::{Severity, SqlState};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Connection, Row, Socket};

use crate::cleartext::Stream;
use crate::deadline::Until;
use crate::sql::Parameter;

/// One connection. It is read and written only during a call: there is no thread behind it.
pub(crate) struct Link {
    /// `None` only while it is dropped.
    runtime: Option<Runtime>,
    client: Client,
    line: Line,
    /// The schema of the tables: statements have `{schema}` in its place.
    schema: String,
    /// The server, for messages.
    pub(crate) host: String,
    /// The major version of the server.
    pub(crate) version: u32,
}

/// The connection and what the server said without being asked.
struct Line {
    connection: Connection<Socket, Stream>,
    warnings: Vec<String>,
    notifications: Vec<String>,
    /// It has ended, or an answer is outstanding that nobody will read.
    is_over: bool,
}

/// The connection has ended, with the reason if there is one.
struct Ended(Option<tokio_postgres::Error>);

/// Why a statement has no result.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It was not sent: the connection had ended.
    Ended(String),
    /// It was not sent: the deadline had passed.
    Stopped,
    /// The server refused it, and its transaction had no effect.
    Refused { code: SqlState, message: String },
    /// Whether the server carried it out is unknown.
    Unknown(String),
}

impl Link {
    pub(crate) fn new(
        runtime: Runtime,
        (client, connection): (Client, Connection<Socket, Stream>),
        schema: &str,
        host: String,
    ) -> Self {
        let line =
            Line { connection, warnings: Vec::new(), notifications: Vec::new(), is_over: false };
        Self { runtime: Some(runtime), client, line, schema: schema.to_owned(), host, version: 0 }
    }

    /// Whether it can be used for another statement.
    pub(crate) fn is_usable(&self) -> bool {
        !self.line.is_over
    }

    /// The result of `work`. A warning beside an answer means that the answer may be wrong: a wait for
    /// the standbys that was cancelled ends with a warning and with the usual success.
    pub(crate) fn warned<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.line.warnings.clear();
        let answer = work(self)?;
        let warnings = std::mem::take(&mut self.line.warnings);
        if warnings.is_empty() { Ok(answer) } else { Err(Failure::Unknown(warnings.join("; "))) }
    }

    /// The payloads of notifications since the last call.
    pub(crate) fn take_notifications(&mut self) -> Vec<String> {
        std::mem::take(&mut self.line.notifications)
    }

    /// Runs one statement. Returns its rows when the server is ready for the next statement: then
    /// everything that it says about the commit has been read.
    pub(crate) fn query(
        &mut self,
        sql: &str,
        parameters: &[&dyn Parameter],
        until: &Until,
    ) -> Result<Vec<Row>, Failure> {
        let (sql, parameters) = (self.sql(sql), typed(parameters));
        self.run(until, async |client| client.query_typed(&sql, &parameters).await)
    }

    /// The same for a statement without rows; returns how many it has written.
    pub(crate) fn execute(
        &mut self,
        sql: &str,
        parameters: &[&dyn Parameter],
        until: &Until,
    ) -> Result<u64, Failure> {
        let (sql, parameters) = (self.sql(sql), typed(parameters));
        self.run(until, async |client| client.execute_typed(&sql, &parameters).await)
    }

    /// Runs statements without parameters and then a query, in one round trip.
    pub(crate) fn query_after(
        &mut self,
        before: &str,
        sql: &str,
        parameters: &[&dyn Parameter],
        until: &Until,
    ) -> Result<Vec<Row>, Failure> {
        let (sql, parameters) = (self.sql(sql), typed(parameters));
        self.run(until, async |client| {
            let (before, rows) = tokio::join!(
                biased;
                client.batch_execute(before),
                client.query_typed(&sql, &parameters)
            );
            before.and(rows)
        })
    }

    /// Runs a statement without rows and then COMMIT, in one round trip; returns how many rows it has
    /// written. If it fails, the server ends the transaction without a commit.
    pub(crate) fn execute_and_commit(
        &mut self,
        sql: &str,
        parameters: &[&dyn Parameter],
        until: &Until,
    ) -> Result<u64, Failure> {
        let (sql, parameters) = (self.sql(sql), typed(parameters));
        self.run(until, async |client| {
            let (count, commit) = tokio::join!(
                biased;
                client.execute_typed(&sql, &parameters),
                client.batch_execute("COMMIT")
            );
            count.and_then(|count| commit.map(|()| count))
        })
    }

    /// Runs statements without parameters in one round trip.
    pub(crate) fn simple(&mut self, sql: &str, until: &Until) -> Result<(), Failure> {
        let sql = self.sql(sql);
        self.run(until, async |client| client.batch_execute(&sql).await)
    }

    fn sql(&self, template: &str) -> String {
        template.replace("{schema}", &self.schema)
    }

    fn run<T>(
        &mut self,
        until: &Until,
        work: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, Failure> {
        let (client, line) = (&self.client, &mut self.line);
        block_on(self.runtime.as_ref(), async {
            let mut work = pin!(work(client));
            line.run(until, |cx, _| work.as_mut().poll(cx)).await
        })
    }

    /// Sends statements without parameters and does not wait for the answer: the next call does.
    pub(crate) fn post(&mut self, sql: &str) {
        let (client, line) = (&self.client, &mut self.line);
        // A failure shows in the next call.
        drop(block_on(self.runtime.as_ref(), async {
            let mut work = pin!(client.batch_execute(sql));
            std::future::poll_fn(|cx| {
                // The first call queues the statement, the second one writes it.
                let done = work.as_mut().poll(cx).is_ready();
                line.is_over |= line.read(cx).is_some();
                Poll::Ready(if done { Ok(()) } else { Err(Failure::Stopped) })
            })
            .await
        }));
    }

    /// Waits for a notification, until the deadline at the latest. Keeps those that it gets.
    pub(crate) fn listen(&mut self, until: &Until) -> Result<(), Failure> {
        let line = &mut self.line;
        let heard = block_on(self.runtime.as_ref(), async {
            line.watch(until, |_, line| {
                if line.notifications.is_empty() { Poll::Pending } else { Poll::Ready(Ok(())) }
            })
            .await
        });
        heard.map(|_| ())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Not waiting for a lookup of a name that may still run.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Line {
    /// Does the work of a statement, after a look whether the connection still exists.
    async fn run<T>(
        &mut self,
        until: &Until,
        poll: impl FnMut(&mut Context<'_>, &Self) -> Poll<Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        if until.is_over() {
            return Err(Failure::Stopped);
        }
        if self.is_over {
            return Err(Failure::Ended(ENDED.to_owned()));
        }
        // Lets the runtime see what has arrived since the last call.
        tokio::task::yield_now().await;
        let ended = std::future::poll_fn(|cx| Poll::Ready(self.read(cx))).await;
        if let Some(Ended(why)) = ended {
            self.is_over = true;
            return Err(Failure::Ended(why.as_ref().map_or_else(|| ENDED.to_owned(), chain)));
        }
        match self.watch(until, poll).await {
            Ok(Some(value)) => Ok(value),
            // The answer may still come, but not to us: the connection is of no more use.
            Ok(None) => {
                self.is_over = true;
                Err(Failure::Unknown("the database did not answer in time".to_owned()))
            }
            Err(failure) => {
                self.is_over |= !matches!(failure, Failure::Refused { .. });
                Err(failure)
            }
        }
    }

    /// Reads and writes until `poll` is done; `None` if the deadline passes.
    async fn watch<T>(
        &mut self,
        until: &Until,
        mut poll: impl FnMut(&mut Context<'_>, &Self) -> Poll<Result<T, tokio_postgres::Error>>,
    ) -> Result<Option<T>, Failure> {
        loop {
            let step = std::future::poll_fn(|cx| {
                // Queue a request first, then write it and read; at last see what was answered.
                if let Poll::Ready(done) = poll(cx, self) {
                    return Poll::Ready(done.map_err(|error| failure(Some(&error))));
                }
                let ended = self.read(cx);
                match (poll(cx, self), ended) {
                    (Poll::Ready(done), _) => {
                        Poll::Ready(done.map_err(|error| failure(Some(&error))))
                    }
                    (Poll::Pending, Some(Ended(why))) => Poll::Ready(Err(failure(why.as_ref()))),
                    (Poll::Pending, None) => Poll::Pending,
                }
            });
            match tokio::time::timeout_at(until.look().into(), step).await {
                Ok(done) => return done.map(Some),
                Err(_) if until.is_over() => return Ok(None),
                Err(_) => {}
            }
        }
    }

    /// Takes what has arrived, in the order in which the server sent it, and writes what is
    /// queued.
    fn read(&mut self, cx: &mut Context<'_>) -> Option<Ended> {
        loop {
            match self.connection.poll_message(cx) {
                Poll::Ready(Some(Ok(AsyncMessage::Notice(notice)))) => {
                    if is_warning(notice.parsed_severity()) {
                        self.warnings.push(notice.to_string());
                    }
                }
                Poll::Ready(Some(Ok(AsyncMessage::Notification(it)))) => {
                    self.notifications.push(it.payload().to_owned());
                }
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(Some(Err(error))) => return Some(Ended(Some(error))),
                Poll::Ready(None) => return Some(Ended(None)),
                Poll::Pending => return None,
            }
        }
    }
}

const ENDED: &str = "the connection to the database ended";

fn block_on<T>(
    runtime: Option<&Runtime>,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    match runtime {
        Some(runtime) => runtime.block_on(work),
        None => Err(Failure::Ended(ENDED.to_owned())),
    }
}

/// A severity that is not known counts as a warning: it could be about the commit.
fn is_warning(severity: Option<Severity>) -> bool {
    !matches!(severity, Some(Severity::Notice | Severity::Debug | Severity::Info | Severity::Log))
}

/// What is known after an error of the server or of the connection.
fn failure(error: Option<&tokio_postgres::Error>) -> Failure {
    let Some(error) = error else { return Failure::Unknown(ENDED.to_owned()) };
    match error.as_db_error() {
        Some(it) if it.parsed_severity() == Some(Severity::Error) && is_refusal(it.code()) => {
            Failure::Refused { code: it.code().clone(), message: one_line(it.message()) }
        }
        _ => Failure::Unknown(chain(error)),
    }
}

/// Whether an error with this code means that the transaction had no effect. A statement that is
/// cancelled (57014) may have been committed: the cancellation can arrive behind the commit. The
/// same holds for everything that is about the server and not about the statement.
fn is_refusal(code: &SqlState) -> bool {
    // P0 is an error that a trigger raises.
    const CLASSES: [&str; 12] =
        ["0A", "21", "22", "23", "25", "26", "28", "40", "42", "44", "55", "P0"];
    *code != SqlState::T_R_STATEMENT_COMPLETION_UNKNOWN
        && code.code().get(..2).is_some_and(|code| CLASSES.contains(&code))
}

fn typed<'a>(parameters: &[&'a dyn Parameter]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    parameters.iter().map(|parameter| parameter.typed()).collect()
}

/// A text of the server, which may not begin a line of its own in a message.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}

/// An error and its causes, with the code of the server.
pub(crate) fn chain(error: &tokio_postgres::Error) -> String {
    if let Some(it) = error.as_db_error() {
        return format!("{} (SQLSTATE {})", one_line(it.message()), it.code().code());
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_about_the_statement_mean_that_it_had_no_effect() {
        let check = |code, expected| {
            assert_eq!(is_refusal(&SqlState::from_code(code)), expected, "{code}");
        };
        for code in
            ["23505", "42501", "25006", "40001", "40P01", "55P03", "22P02", "44000", "P0001"]
        {
            check(code, true);
        }
        for code in
            ["57014", "57P01", "57P03", "40003", "08006", "08P01", "53100", "58030", "XX000"]
        {
            check(code, false);
        }
        assert!(is_warning(Some(Severity::Warning)) && is_warning(None));
        assert!(!is_warning(Some(Severity::Notice)));
    }
}
