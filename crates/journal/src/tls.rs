//! TLS to the database, by rustls, and connections without it.

use std::fmt;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect};
use tokio_rustls::TlsConnector;

use crate::cleartext::Stream;
use crate::error::Result;
use crate::settings::wrong;

/// How a connection is protected.
#[derive(Clone)]
pub(crate) enum Tls {
    /// By TLS, with which certificates a server must have.
    VerifyFull(Arc<ClientConfig>),
    /// Only the password is.
    Plain,
}

impl Tls {
    /// Trusts servers with the right name whose certificate one of those in a file has signed.
    pub(crate) fn verify_full(file: &Path) -> Result<Self> {
        let failed = |why: String| {
            wrong(format!("failed to read the certificates in {}: {why}", file.display()))
        };
        let mut roots = RootCertStore::empty();
        for certificate in
            CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))?
        {
            let certificate = certificate.map_err(|error| failed(error.to_string()))?;
            roots.add(certificate).map_err(|error| failed(error.to_string()))?;
        }
        if roots.is_empty() {
            return Err(failed("it has no certificate in PEM".to_owned()));
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(format!("TLS cannot be used: {error}")))?;
        Ok(Self::VerifyFull(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::VerifyFull(_) => "verify-full",
            Self::Plain => "disable",
        })
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Stream;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Connect> {
        Ok(Connect { tls: self.clone(), domain: domain.to_owned() })
    }
}

pub(crate) struct Connect {
    tls: Tls,
    domain: String,
}

impl TlsConnect<Socket> for Connect {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let Tls::VerifyFull(config) = self.tls else {
                return Ok(Stream::guarded(socket));
            };
            let name = ServerName::try_from(self.domain).map_err(io::Error::other)?;
            let connector = TlsConnector::from(config);
            Ok(Stream::encrypted(connector.connect(name, socket).await?))
        })
    }
}

impl tokio_postgres::tls::TlsStream for Stream {
    /// None: the name and the certificate of the server are verified.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}
