//! The protocol over standard input and output: one message per line, until the input ends.

use std::io;

use rmcp::ServiceExt;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetMeta, ProtocolVersion};
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::server::Server;
use crate::service::Service;

/// Answers messages from standard input until it ends. Standard output gets nothing but messages.
///
/// # Errors
/// If a message cannot be written.
pub async fn stdio<S: Service>(service: S) -> io::Result<()> {
    let (input, output) = stdio_pipes();
    serve(service, input, output).await
}

/// Answers the messages of an input.
async fn serve<S, R, W>(service: S, input: R, output: W) -> io::Result<()>
where
    S: Service,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let transport = Messages { inner: AsyncRwTransport::new_server(input, output), is_open: false };
    let running = match Server::new(service).serve(transport).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(io::Error::other(error)),
    };
    match running.waiting().await {
        Ok(_) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// The messages of a client. Before the first request that opens an era of the protocol, it passes on requests only: the
/// SDK would end at anything else, such as the cancellation of a probe.
struct Messages<T> {
    inner: T,
    is_open: bool,
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Messages<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let message = self.inner.receive().await?;
            if let ClientJsonRpcMessage::Request(it) = &message {
                self.is_open |= opens(&it.request);
                return Some(message);
            }
            if self.is_open {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

/// Whether the SDK accepts this as the first request: `initialize`, or one that states a known version.
fn opens(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let version = meta.protocol_version();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && version.is_some_and(|it| ProtocolVersion::KNOWN_VERSIONS.contains(&it))
        }
    }
}
