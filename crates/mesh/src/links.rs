//! Links to paired machines: HTTP over TLS, with the certificates of the pairing.
//!
//! Calls and events to a machine with an address go over connections to it. A machine without one is
//! called over connections that it offers: it connects, and then answers requests instead of sending
//! them. The protocol that both sides agree on during the handshake says which.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;
use tokio_rustls::{TlsAcceptor, TlsConnector};

use crate::caller::Origin;
use crate::envelope::About;
use crate::error::{Error, Result};
use crate::http::{self, Answers, Side};
use crate::limits::{
    CONNECT_MAX, CONNECTIONS_MAX, LEASE, LINK_MAX, MACHINE_CONNECTIONS_MAX, OFFERS_MAX,
    PRESENCE_MAX, RETRY_MAX, RETRY_MIN, TEND_EVERY,
};
use crate::paired::{self, Paired, host_of};
use crate::pairing::Pairing;
use crate::remote::{Failure, OTHER_RELEASE, Remote, Way};

/// The side that connects sends requests.
pub(crate) const CALLS: &[u8] = b"waypost-mesh/2";
/// The side that connects answers requests.
const OFFER: &[u8] = b"waypost-mesh-offer/2";

/// How a peer connects to paired machines.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Far {
    /// The pairing folder. On a machine that is not paired it is missing or empty.
    pub folder: PathBuf,
    /// Whether this peer listens on the machine's address. Only one peer of a machine can; others
    /// that are configured to listen only connect, and [`Mesh::trouble`](crate::Mesh::trouble)
    /// reports it.
    pub listens: bool,
}

impl Far {
    /// Connects by the pairing in this folder, and does not listen.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), listens: false }
    }

    /// The same, listening on the machine's address or not.
    #[must_use]
    pub fn with_listens(self, listens: bool) -> Self {
        Self { listens, ..self }
    }
}

/// The links for one state of the list of machines. Dropping them ends their connections.
#[derive(Debug)]
pub(crate) struct Links {
    pub(crate) rules: Arc<Paired>,
    /// The peers that listen on the addresses of the list.
    dialed: Vec<Arc<Remote>>,
    /// The peers that offer connections, by their machine and id.
    offered: Mutex<HashMap<(String, String), Arc<Remote>>>,
    /// The connections that each machine may still make; those that are not on the list share them.
    places: Mutex<HashMap<String, Arc<Semaphore>>>,
    /// What does not work, by address or machine.
    troubles: Mutex<BTreeMap<String, String>>,
    runtime: Handle,
    tasks: Mutex<JoinSet<()>>,
}

/// A listener, which outlives a change of the list.
pub(crate) type Bound = (String, Arc<TcpListener>);

impl Links {
    /// Opens the links of a pairing; `None` if the machine is not paired.
    pub(crate) fn open(
        answers: &Answers,
        runtime: &Handle,
        far: &Far,
        bound: &mut Option<Bound>,
    ) -> Result<Option<Arc<Self>>> {
        let pairing = Pairing::open(&far.folder)?.filter(|pairing| !pairing.machines().is_empty());
        let Some(pairing) = pairing else { return Ok(None) };
        let rules = Arc::new(pairing.paired().clone());
        let (dialer, acceptor) = tls(&pairing, &rules)?;
        let dialer = Arc::new(dialer);
        let dial = |address: &String| {
            let way = Way::Address(Arc::clone(&dialer), address.clone());
            Remote::new(way, Some(Arc::clone(&rules)), None)
        };
        let links = Arc::new(Self {
            dialed: rules.connect.iter().map(dial).collect(),
            rules: Arc::clone(&rules),
            offered: Mutex::default(),
            places: Mutex::default(),
            troubles: Mutex::default(),
            runtime: runtime.clone(),
            tasks: Mutex::default(),
        });
        for router in rules.machines.iter().filter(|machine| machine.router && !machine.revoked) {
            let why = "this release connects to no routers; remove it from paired.json";
            links.note(&router.name, Some(why.to_owned()));
        }
        for address in &rules.connect {
            links.start(offer(
                answers.clone(),
                Arc::clone(&links),
                Arc::clone(&dialer),
                address.clone(),
            ));
        }
        if let Some(address) = pairing.address().filter(|_| far.listens) {
            match listen(address, bound) {
                Ok(listener) => {
                    let (answers, own) = (answers.clone(), Arc::clone(&links));
                    links.start(accept(answers, own, listener, acceptor));
                }
                Err(error) => links.note(address, Some(format!("cannot listen there: {error}"))),
            }
        }
        Ok(Some(links))
    }

    fn start(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(task, &self.runtime);
    }

    /// Ends all connections.
    pub(crate) fn end(&self) {
        self.tasks.lock().abort_all();
    }

    /// The peers of other machines.
    pub(crate) fn remotes(&self) -> Vec<Arc<Remote>> {
        self.dialed.iter().chain(self.offered.lock().values()).map(Arc::clone).collect()
    }

    pub(crate) fn trouble(&self) -> Option<String> {
        self.troubles.lock().iter().next().map(|(at, why)| format!("{at}: {why}"))
    }

    fn note(&self, at: &str, why: Option<String>) {
        let mut troubles = self.troubles.lock();
        match why {
            Some(why) => drop(troubles.insert(at.to_owned(), why)),
            None => drop(troubles.remove(at)),
        }
    }

    /// Calls a peer over a connection that it offers, until that ends.
    async fn welcome(
        self: &Arc<Self>,
        machine: String,
        io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ) {
        let Ok((mut lane, run)) = http::handshake(io).await else { return };
        let introduce = async {
            let ask = lane.exchange(hyper::Method::GET, "/peer", bytes::Bytes::new());
            let (_, about) = timeout(PRESENCE_MAX, ask).await.ok()?.ok()?;
            let key = (machine.clone(), About::read(&about)?.id);
            let mut offered = self.offered.lock();
            if offered.len() >= CONNECTIONS_MAX {
                return None;
            }
            let offers = || {
                let origin = Some(Origin::Machine(machine));
                let remote = Remote::new(Way::Offered, Some(Arc::clone(&self.rules)), origin);
                self.start(watch(Arc::clone(self), key.clone(), Arc::clone(&remote)));
                remote
            };
            let remote = offered.entry(key.clone()).or_insert_with(offers);
            remote.keep(lane);
            Some(())
        };
        drop(tokio::join!(timeout(LINK_MAX, run), introduce));
    }
}

/// Forgets a peer when it offers no connection that works.
async fn watch(links: Arc<Links>, key: (String, String), remote: Arc<Remote>) {
    remote.silence().await;
    links.offered.lock().remove(&key);
}

/// Offers connections to a machine: always one that is not in use by a call.
async fn offer(answers: Answers, links: Arc<Links>, dialer: Arc<Dialer>, address: String) {
    let mut open = JoinSet::new();
    let mut pause = RETRY_MIN;
    loop {
        match dialer.dial(&address, OFFER).await {
            Ok((machine, stream)) => {
                links.note(&address, None);
                pause = RETRY_MIN;
                let (used, ended) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
                let side = Side { origin: Origin::Machine(machine), used: Some(Arc::clone(&used)) };
                let (answers, ends) = (answers.clone(), Arc::clone(&ended));
                open.spawn(async move {
                    drop(timeout(LINK_MAX, http::serve(answers, stream, side)).await);
                    ends.notify_one();
                });
                tokio::select! {
                    () = used.notified() => {}
                    () = ended.notified() => sleep(TEND_EVERY).await,
                }
                while open.try_join_next().is_some() {}
                if open.len() >= OFFERS_MAX {
                    open.join_next().await;
                }
            }
            Err(failure) => {
                if let Failure::Mute(why) = failure {
                    links.note(&address, Some(why));
                }
                sleep(pause).await;
                pause = RETRY_MAX.min(2 * pause);
            }
        }
    }
}

async fn accept(
    answers: Answers,
    links: Arc<Links>,
    listener: Arc<TcpListener>,
    acceptor: TlsAcceptor,
) {
    let next = || listener.accept();
    let serve = |(stream, _): (TcpStream, _)| {
        serve(answers.clone(), Arc::clone(&links), acceptor.clone(), stream)
    };
    http::accept(next, serve).await;
}

/// Serves a machine that connects. Without the certificate of one, the handshake fails.
async fn serve(answers: Answers, links: Arc<Links>, acceptor: TlsAcceptor, stream: TcpStream) {
    // Without it responses are a little slower.
    stream.set_nodelay(true).unwrap_or_default();
    let Ok(Ok(stream)) = timeout(LEASE, acceptor.accept(stream)).await else { return };
    let session = stream.get_ref().1;
    let protocol = session.alpn_protocol().map(<[u8]>::to_vec);
    let Some(machine) = machine_of(session.peer_certificates()) else { return };
    let is_paired = links.rules.machine(&machine).is_some();
    let name = if is_paired { machine.clone() } else { String::new() };
    let new = || Arc::new(Semaphore::new(MACHINE_CONNECTIONS_MAX));
    let places = Arc::clone(links.places.lock().entry(name).or_insert_with(new));
    let Ok(_place) = places.try_acquire() else { return };
    let is_known = [CALLS, OFFER].contains(&protocol.as_deref().unwrap_or_default());
    links.note(&machine, (!is_known).then(|| OTHER_RELEASE.to_owned()));
    match protocol.as_deref() {
        Some(CALLS) => {
            let side = Side { origin: Origin::Machine(machine), used: None };
            // One that is not on the list is told so.
            let life = if is_paired { LINK_MAX } else { LEASE };
            drop(timeout(life, http::serve(answers, stream, side)).await);
        }
        Some(OFFER) if is_paired => links.welcome(machine, stream).await,
        _ => {}
    }
}

/// Listens on an address, with the listener that does so already, if there is one.
fn listen(address: &str, bound: &mut Option<Bound>) -> std::io::Result<Arc<TcpListener>> {
    if let Some((_, listener)) = bound.as_ref().filter(|(at, _)| at == address) {
        return Ok(Arc::clone(listener));
    }
    *bound = None;
    let listener = std::net::TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let listener = Arc::new(TcpListener::from_std(listener)?);
    *bound = Some((address.to_owned(), Arc::clone(&listener)));
    Ok(listener)
}

/// Connects to machines.
pub(crate) struct Dialer {
    connector: TlsConnector,
    rules: Arc<Paired>,
}

impl Dialer {
    /// Connects to the address of a machine on the list; returns its name with the connection.
    pub(crate) async fn dial(
        &self,
        address: &str,
        protocol: &[u8],
    ) -> Result<(String, TlsStream<TcpStream>), Failure> {
        let mute = |why: String| Failure::Mute(why);
        let stream = timeout(CONNECT_MAX, TcpStream::connect(address)).await;
        let Ok(Ok(stream)) = stream else { return Err(Failure::Gone) };
        stream.set_nodelay(true).unwrap_or_default();
        let host = ServerName::try_from(host_of(address).to_owned());
        let host = host.map_err(|error| mute(error.to_string()))?;
        let connector = self.connector.with_alpn(vec![protocol.to_vec()]);
        let stream = timeout(CONNECT_MAX, connector.connect(host, stream)).await;
        let stream = stream.map_err(|_| mute("it does not respond".to_owned()))?;
        let stream = stream.map_err(|error| mute(error.to_string()))?;
        let session = stream.get_ref().1;
        if session.alpn_protocol() != Some(protocol) {
            return Err(mute(OTHER_RELEASE.to_owned()));
        }
        match machine_of(session.peer_certificates()) {
            Some(machine) if self.rules.machine(&machine).is_some() => Ok((machine, stream)),
            _ => Err(mute("its certificate is not of a machine on the list".to_owned())),
        }
    }
}

impl std::fmt::Debug for Dialer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dialer").field("rules", &self.rules).finish_non_exhaustive()
    }
}

/// Both roles of TLS, with this machine's certificate: the other side must have one of the same
/// authority.
fn tls(pairing: &Pairing, rules: &Arc<Paired>) -> Result<(Dialer, TlsAcceptor)> {
    let [authority, certificate, key] = pairing.files();
    let damaged = |path: &Path, why: String| Error::Damaged { path: path.to_owned(), reason: why };
    let read = |path: &Path| {
        let read: Result<Vec<_>, _> =
            CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
        read.map_err(|error| damaged(path, error.to_string()))
    };
    let mut roots = RootCertStore::empty();
    for root in read(&authority)? {
        roots.add(root).map_err(|error| damaged(&authority, error.to_string()))?;
    }
    let chain = read(&certificate)?;
    let private =
        || PrivateKeyDer::from_pem_file(&key).map_err(|error| damaged(&key, error.to_string()));
    let wrong = |error: rustls::Error| damaged(&key, error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots.clone()), Arc::clone(&provider))
            .build()
            .map_err(|error| damaged(&authority, error.to_string()))?;
    let versions = [&rustls::version::TLS13];
    let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&versions)
        .map_err(wrong)?
        .with_client_cert_verifier(verifier)
        .with_single_cert(chain.clone(), private()?)
        .map_err(wrong)?;
    server.alpn_protocols = vec![CALLS.to_vec(), OFFER.to_vec()];
    // A resumed session would not check whether a certificate has expired.
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    let client = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions)
        .map_err(wrong)?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain, private()?)
        .map_err(wrong)?;
    let connector = TlsConnector::from(Arc::new(client));
    let dialer = Dialer { connector, rules: Arc::clone(rules) };
    Ok((dialer, TlsAcceptor::from(Arc::new(server))))
}

/// The name in a machine's certificate, whose subject is one common name. The certificate has been
/// verified: it is of this machine's authority.
fn machine_of(certificates: Option<&[CertificateDer<'_>]>) -> Option<String> {
    /// After SET and SEQUENCE with their lengths: the type `commonName`, and UTF8String.
    const NAME: [u8; 6] = [6, 3, 0x55, 4, 3, 0x0c];
    // rustls reads subjects of authorities only; it reads any certificate as one.
    let mut store = RootCertStore::empty();
    store.add(certificates?.first()?.clone().into_owned()).ok()?;
    let subject = store.roots.first()?.subject.as_ref();
    let (length, name) = subject.get(4..)?.strip_prefix(&NAME)?.split_first()?;
    let name = std::str::from_utf8(name).ok().filter(|text| text.len() == usize::from(*length))?;
    paired::check_machine(name).ok().map(str::to_owned)
}

/// The state of the list of paired machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl Stamp {
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let metadata = fs::metadata(folder.join(paired::FILE)).ok()?;
        Some(Self {
            inode: metadata.ino(),
            bytes: metadata.len(),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}
