//! The protocol over standard input and output: one message per line, until the input ends.

use std::io;
use std::pin::Pin;

use rmcp::ServiceExt;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, GetMeta, JsonRpcError, JsonRpcMessage, ProtocolVersion,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::{Transport, stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite, Empty};

use crate::invalid;
use crate::lines::{LINE_BYTES_MAX, Line, Lines};
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
    let transport = Messages {
        input: Lines::new(input),
        output: AsyncRwTransport::new_server(tokio::io::empty(), output),
        reply: None,
        is_open: false,
    };
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

/// The messages of a client, one per line. What is not a message is answered with an error: the SDK's own reader drops
/// most of it.
///
/// Before the first request that opens an era of the protocol, it passes on requests only: the SDK would end at anything
/// else, such as the cancellation of a probe.
struct Messages<R, W: AsyncWrite> {
    input: Lines<R>,
    /// Writes only.
    output: AsyncRwTransport<RoleServer, Empty, W>,
    /// An error that is being written. It is kept here because `receive` may be cancelled.
    reply: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
    is_open: bool,
}

impl<R, W> Messages<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// The next message, or the error for a line that is none; nothing at the end of the input.
    async fn next(&mut self) -> Option<Result<RxJsonRpcMessage<RoleServer>, JsonRpcError>> {
        loop {
            // An input that cannot be read has ended.
            let line = match self.input.next().await.ok()?? {
                Line::Whole(line) => line,
                Line::TooLong => return Some(Err(invalid::too_long(LINE_BYTES_MAX))),
            };
            let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line);
            if !line.trim_ascii().is_empty() {
                if let Some(error) = invalid::repeated(line) {
                    return Some(Err(error));
                }
                return Some(serde_json::from_slice(line).map_err(|_| invalid::error(line)));
            }
        }
    }
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

impl<R, W> Transport<RoleServer> for Messages<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.output.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(reply) = &mut self.reply {
                let written = reply.await;
                self.reply = None;
                written.ok()?;
            }
            match self.next().await? {
                Err(error) => {
                    self.reply = Some(Box::pin(self.output.send(JsonRpcMessage::Error(error))));
                }
                Ok(message) => {
                    if let ClientJsonRpcMessage::Request(it) = &message {
                        self.is_open |= opens(&it.request);
                        return Some(message);
                    }
                    if self.is_open {
                        return Some(message);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output.close().await
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
