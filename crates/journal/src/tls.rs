//! TLS to the database, by rustls.

use std::fmt;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;

use crate::error::Result;
use crate::settings::wrong;

/// Which certificates a server must have.
#[derive(Clone)]
pub(crate) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Trusts servers with the right name whose certificate one of those in a file has signed.
    pub(crate) fn verify_full(file: &Path) -> Result<Self> {
        let failed = |why: String| {
            wrong(format!("failed to read the certificates in {}: {why}", file.display()))
        };
        let mut roots = RootCertStore::empty();
        for certificate in
            CertificateDer::pem_file_iter(file).map_err(|it| failed(it.to_string()))?
        {
            let certificate = certificate.map_err(|it| failed(it.to_string()))?;
            roots.add(certificate).map_err(|it| failed(it.to_string()))?;
        }
        if roots.is_empty() {
            return Err(failed("it has no certificate in PEM".to_owned()));
        }
        Self::with_roots(roots)
    }

    /// For connections without TLS.
    pub(crate) fn none() -> Result<Self> {
        Self::with_roots(RootCertStore::empty())
    }

    fn with_roots(roots: RootCertStore) -> Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|it| wrong(format!("TLS cannot be used: {it}")))?;
        Ok(Self(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("verify-full")
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Connect> {
        Ok(Connect { config: Arc::clone(&self.0), domain: domain.to_owned() })
    }
}

pub(crate) struct Connect {
    config: Arc<ClientConfig>,
    domain: String,
}

impl TlsConnect<Socket> for Connect {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.domain).map_err(io::Error::other)?;
            let connector = TlsConnector::from(self.config);
            Ok(Stream(Box::new(connector.connect(name, socket).await?)))
        })
    }
}

/// A connection in TLS.
pub(crate) struct Stream(Box<tokio_rustls::client::TlsStream<Socket>>);

impl tokio_postgres::tls::TlsStream for Stream {
    /// None: the name and the certificate of the server are verified.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
