//! The service's certificate, reloaded when its files change.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use parking_lot::Mutex;
use rustix::fs::OFlags;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use crate::settings::TlsFiles;

/// How often the files are checked, while there are connections.
const CHECK_EVERY: Duration = Duration::from_secs(2);
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Accepts connections with the certificate in these files.
pub(crate) fn acceptor(files: &TlsFiles) -> anyhow::Result<TlsAcceptor> {
    let provider = Arc::new(ring::default_provider());
    let shown = Shown::read(files)?;
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("failed to set up TLS")?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(Certificate {
            files: files.clone(),
            shown: Mutex::new(shown),
        }));
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[derive(Debug)]
struct Certificate {
    files: TlsFiles,
    shown: Mutex<Shown>,
}

#[derive(Debug)]
struct Shown {
    key: Arc<CertifiedKey>,
    stamps: [Stamp; 2],
    looked: Instant,
}

/// Identifies the content of a file, to detect changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    bytes: u64,
    changed: (i64, i64),
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut shown = self.shown.lock();
        if shown.looked.elapsed() >= CHECK_EVERY {
            shown.looked = Instant::now();
            let stamps = stamps(&self.files);
            if stamps.as_ref().is_ok_and(|stamp| *stamp != shown.stamps) {
                match Shown::read(&self.files) {
                    Ok(new) => {
                        tracing::info!(file = %self.files.cert.display(), "reloaded the certificate");
                        *shown = new;
                    }
                    Err(error) => {
                        // Both files are replaced one after the other: the next check may find a
                        // matching pair.
                        tracing::warn!("kept the old certificate: {error:#}");
                    }
                }
            }
        }
        Some(Arc::clone(&shown.key))
    }
}

impl Shown {
    fn read(files: &TlsFiles) -> anyhow::Result<Self> {
        // Before the files are read, so that the next check detects a change in between.
        let stamps = stamps(files)?;
        let key = read(files)?;
        Ok(Self { key: Arc::new(key), stamps, looked: Instant::now() })
    }
}

fn stamps(files: &TlsFiles) -> anyhow::Result<[Stamp; 2]> {
    Ok([stamp("tls.cert", &files.cert)?, stamp("tls.key", &files.key)?])
}

fn stamp(setting: &str, path: &Path) -> anyhow::Result<Stamp> {
    let metadata = fs::metadata(path).with_context(|| unusable(setting, path))?;
    let changed = (metadata.ctime(), metadata.ctime_nsec());
    Ok(Stamp { inode: metadata.ino(), bytes: metadata.len(), changed })
}

fn read(files: &TlsFiles) -> anyhow::Result<CertifiedKey> {
    let TlsFiles { cert, key } = files;
    let pem = read_file("tls.cert", cert, 0o022)?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<_, _>>()
        .with_context(|| unusable("tls.cert", cert))?;
    if chain.is_empty() {
        bail!("{}: the file contains no certificate (PEM)", unusable("tls.cert", cert));
    }
    // A group may read the key, as Debian's `ssl-cert` does.
    let pem = read_file("tls.key", key, 0o027)?;
    let private = PrivateKeyDer::from_pem_slice(&pem)
        .with_context(|| format!("{}: it holds no private key (PEM)", unusable("tls.key", key)))?;
    CertifiedKey::from_der(chain, private, &ring::default_provider()).with_context(|| {
        format!("{} does not go with the certificate in {}", key.display(), cert.display())
    })
}

/// A file that belongs to this user or root and has none of these mode bits.
fn read_file(setting: &str, path: &Path, closed: u32) -> anyhow::Result<Vec<u8>> {
    let open = || {
        // Opening a pipe would wait for a writer.
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
        let metadata = file.metadata()?;
        Ok::<_, std::io::Error>((file, metadata))
    };
    let (file, metadata) = open().with_context(|| unusable(setting, path))?;
    if !metadata.is_file() {
        bail!("{}: not a regular file", unusable(setting, path));
    }
    waypost_api::local::check_uid(metadata.uid()).with_context(|| unusable(setting, path))?;
    let mode = metadata.mode() & 0o777;
    // A group with the user's own number contains only that user.
    let closed = if metadata.gid() == metadata.uid() { closed & 0o007 } else { closed };
    if mode & closed != 0 {
        bail!(
            "{}: other users can read or write it (mode {mode:o}); fix it with: chmod 600",
            unusable(setting, path)
        );
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).with_context(|| unusable(setting, path))?;
    Ok(bytes)
}

fn unusable(setting: &str, path: &Path) -> String {
    format!("{setting}: cannot use {}", path.display())
}
