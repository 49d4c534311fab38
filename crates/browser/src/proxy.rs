//! The way out: an HTTP proxy in this process that carries the traffic of every engine.
//!
//! It resolves a name once, checks every address with the [`Policy`], and connects to the address
//! that it checked, so that a second resolution cannot return another address. Redirects,
//! subresources and WebSockets are requests like any other. Requests that no page made (a browser's
//! own background traffic) are rejected.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use url::Url;

use crate::{Policy, Problem, ProblemKind};

/// The maximum number of concurrent connections; more of them wait.
const CONNECTIONS_MAX: usize = 512;
/// The time limit for receiving the head of a request.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// The time limit for resolving a name and connecting.
const CONNECT_TIME: Duration = Duration::from_secs(15);
/// The time limit for a page's request to be announced; its connection may arrive first.
const ANNOUNCE_TIME: Duration = Duration::from_secs(2);
/// The longest accepted head.
const HEAD_BYTES_MAX: usize = 64 << 10;
/// The maximum number of remembered refusals.
const REFUSALS_MAX: usize = 64;

/// A running proxy. It ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Proxy {
    address: SocketAddr,
    ways: Arc<Ways>,
    task: JoinHandle<()>,
}

/// The state of the proxy.
#[derive(Debug)]
pub(crate) struct Ways {
    policy: Arc<Policy>,
    /// Hosts and ports that pages requested.
    announced: Mutex<BTreeSet<(String, u16)>>,
    news: Notify,
    refusals: Mutex<VecDeque<(String, u16, Problem)>>,
}

impl Ways {
    /// Records that a page requests something from there.
    pub(crate) fn announce(&self, host: &str, port: u16) {
        if self.announced.lock().insert((host.to_ascii_lowercase(), port)) {
            self.news.notify_waiters();
        }
    }

    /// Why the last request to this host was rejected, if it was.
    pub(crate) fn refusal(&self, host: &str, port: u16) -> Option<Problem> {
        let refusals = self.refusals.lock();
        let last = refusals.iter().rev().find(|refusal| refusal.0 == host && refusal.1 == port);
        last.map(|last| last.2.clone())
    }

    /// Forgets earlier refusals.
    pub(crate) fn forget_refusals(&self) {
        self.refusals.lock().clear();
    }

    fn refuse(&self, host: &str, port: u16, problem: &Problem) {
        let mut refusals = self.refusals.lock();
        if refusals.len() == REFUSALS_MAX {
            refusals.pop_front();
        }
        refusals.push_back((host.to_owned(), port, problem.clone()));
    }

    async fn is_announced(&self, host: &str, port: u16) -> bool {
        let wanted = (host.to_ascii_lowercase(), port);
        let come = async {
            loop {
                let mut news = std::pin::pin!(self.news.notified());
                news.as_mut().enable();
                if self.announced.lock().contains(&wanted) {
                    return;
                }
                news.await;
            }
        };
        timeout(ANNOUNCE_TIME, come).await.is_ok()
    }

    async fn connect(&self, host: &str, port: u16) -> Result<TcpStream, Problem> {
        if !self.is_announced(host, port).await {
            let detail = format!("no page requested {host}:{port}");
            return Err(Problem::new(ProblemKind::Forbidden, detail));
        }
        let unreachable =
            |what: &str| Problem::new(ProblemKind::Unreachable, format!("{host}:{port}: {what}"));
        // An IPv6 literal has brackets, which resolvers do not accept.
        let name = host.trim_start_matches('[').trim_end_matches(']');
        let connect = async {
            let found = match name.parse::<IpAddr>() {
                Ok(address) => vec![SocketAddr::new(address, port)],
                Err(_) => lookup_host((name, port)).await?.collect(),
            };
            let addresses: Vec<IpAddr> = found.iter().map(SocketAddr::ip).collect();
            if let Err(problem) = self.policy.admit(host, port, &addresses) {
                return Ok(Err(problem));
            }
            let mut last = io::Error::from(io::ErrorKind::NotFound);
            for address in found {
                match TcpStream::connect(address).await {
                    Ok(stream) => return Ok(Ok(stream)),
                    Err(error) => last = error,
                }
            }
            Err(last)
        };
        match timeout(CONNECT_TIME, connect).await {
            Ok(Ok(Ok(stream))) => Ok(stream),
            Ok(Ok(Err(problem))) => Err(problem),
            Ok(Err(error)) => Err(unreachable(&error.to_string())),
            Err(_) => Err(unreachable("no connection in time")),
        }
    }
}

impl Proxy {
    /// Starts listening, on a local port that the system chooses.
    pub(crate) async fn start(policy: Arc<Policy>) -> Result<Self, Problem> {
        let failed = |error: io::Error| {
            let detail = format!("cannot open a port for the proxy: {error}");
            Problem::new(ProblemKind::Unavailable, detail)
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        policy.add_own_port(address.port());
        let ways = Arc::new(Ways {
            policy,
            announced: Mutex::default(),
            news: Notify::new(),
            refusals: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, address, ways.clone()));
        Ok(Self { address, ways, task })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn ways(&self) -> &Arc<Ways> {
        &self.ways
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, address: SocketAddr, ways: Arc<Ways>) {
    let slots = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let Ok(slot) = slots.clone().acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        // An error affects only that connection, or file descriptors have run out for a while.
        let Ok((client, from)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        if !ways.policy.serves(address, from) {
            continue;
        }
        let ways = ways.clone();
        connections.spawn(async move {
            // If a connection breaks, there is no one to report it to.
            serve(client, &ways).await.unwrap_or_default();
            drop(slot);
        });
    }
}

/// Serves one request on one connection; whatever follows on it is between both ends.
async fn serve(mut client: TcpStream, ways: &Ways) -> io::Result<()> {
    let Ok(read) = timeout(HEAD_TIME, read_head(&mut client)).await else { return Ok(()) };
    let Some((head, rest)) = read? else {
        return client.write_all(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n").await;
    };
    let mut server = match ways.connect(&head.host, head.port).await {
        Ok(server) => server,
        Err(problem) => {
            ways.refuse(&head.host, head.port, &problem);
            return client.write_all(&refused(&problem)).await;
        }
    };
    match &head.forwarded {
        None => client.write_all(b"HTTP/1.1 200 Connection Established\r\n\r\n").await?,
        Some(forwarded) => server.write_all(forwarded).await?,
    }
    server.write_all(&rest).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

async fn read_head(client: &mut TcpStream) -> io::Result<Option<(Head, Vec<u8>)>> {
    let mut read = Vec::with_capacity(2048);
    loop {
        if let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
            let rest = read.split_off(end + 4);
            return Ok(Head::parse(&read).map(|head| (head, rest)));
        }
        if read.len() > HEAD_BYTES_MAX || client.read_buf(&mut read).await? == 0 {
            return Ok(None);
        }
    }
}

fn refused(problem: &Problem) -> Vec<u8> {
    let status = match problem.kind {
        ProblemKind::Forbidden => "403 Forbidden",
        _ => "502 Bad Gateway",
    };
    let text = &problem.detail;
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
         x-waypost: refused\r\nconnection: close\r\n\r\n{text}",
        text.len()
    )
    .into_bytes()
}

/// Where a request goes, and the head that is sent there instead.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    /// The host as in an address; an IPv6 literal has its brackets.
    host: String,
    port: u16,
    /// The head for the server; `None` for a tunnel.
    forwarded: Option<Vec<u8>>,
}

impl Head {
    /// Parses a head including the empty line at its end; `None` if it is invalid.
    fn parse(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?.strip_suffix("\r\n\r\n")?;
        let mut lines = text.split("\r\n");
        let mut request = lines.next()?.split(' ');
        let (method, target, version) = (request.next()?, request.next()?, request.next()?);
        if request.next().is_some() || !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            let url = Url::parse(&format!("https://{target}")).ok()?;
            let port = url.port_or_known_default()?;
            return Some(Self { host: url.host_str()?.to_owned(), port, forwarded: None });
        }
        let url = Url::parse(target).ok().filter(|value| value.scheme() == "http")?;
        let (host, port) = (url.host_str()?.to_owned(), url.port_or_known_default()?);
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let authority = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let mut forwarded = format!("{method} {path} {version}\r\nHost: {authority}\r\n");
        for line in lines {
            let name = line.split(':').next()?.trim().to_ascii_lowercase();
            // One request per connection: the next one may be for another host.
            if !matches!(name.as_str(), "host" | "connection" | "keep-alive")
                && !name.starts_with("proxy-")
            {
                forwarded.push_str(line);
                forwarded.push_str("\r\n");
            }
        }
        forwarded.push_str("Connection: close\r\n\r\n");
        Some(Self { host, port, forwarded: Some(forwarded.into_bytes()) })
    }
}

#[cfg(test)]
mod tests {
    use super::Head;

    #[test]
    fn requests_become_those_of_the_server_alone() {
        let given = b"GET http://a.example:8080/x?y=1 HTTP/1.1\r\nHost: evil\r\nProxy-Connection: keep-alive\r\n\
            Accept: */*\r\nConnection: keep-alive\r\n\r\n";
        let head = Head::parse(given).expect("a request");
        assert_eq!((head.host.as_str(), head.port), ("a.example", 8080));
        let forwarded = String::from_utf8(head.forwarded.expect("a head")).expect("text");
        assert_eq!(
            forwarded,
            "GET /x?y=1 HTTP/1.1\r\nHost: a.example:8080\r\nAccept: */*\r\nConnection: close\r\n\r\n"
        );
        let tunnel = Head::parse(b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n").expect("a tunnel");
        assert_eq!((tunnel.host.as_str(), tunnel.port, tunnel.forwarded), ("[::1]", 443, None));
        for bad in [
            "",
            "GET\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET ftp://a/ HTTP/1.1\r\n\r\n",
            "CONNECT :0 HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1 x\r\n\r\n",
        ] {
            assert_eq!(Head::parse(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
