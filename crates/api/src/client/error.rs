//! Why a call failed.

use std::error::Error as StdError;
use std::io;

use crate::Problem;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is not a valid address of a service.
    #[error("{url:?} is not a valid service address, such as https://waypost.example:4747")]
    Address {
        /// The given address.
        url: String,
    },
    /// The token could be read in transit.
    #[error("{url} is on another machine, and plain http would send the token in the clear")]
    Plain {
        /// The given address.
        url: String,
    },
    /// The certificates of the authorities are invalid.
    #[error("cannot use the certificate authorities: {reason}")]
    Authorities {
        /// The cause.
        reason: String,
    },
    /// Another user of this machine listens there; no token was sent.
    #[error("the program at {url} is not trusted, and no token was sent")]
    Untrusted {
        /// The address.
        url: String,
        /// Whose process it is.
        source: crate::local::Error,
    },
    /// The certificate of the service cannot be verified; nothing was sent.
    #[error("the certificate of {url} cannot be verified")]
    Certificate {
        /// The address.
        url: String,
        /// Why.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// One end speaks TLS and the other does not.
    #[error("{}", if url.starts_with("https:") { format!("the program at {url} does not speak TLS") } else { format!("the program at {url} speaks TLS") })]
    Scheme {
        /// The address.
        url: String,
    },
    /// The token contains characters that are not valid in a token.
    #[error("the token is empty or contains invalid characters")]
    Token,
    /// Nothing listens there.
    #[error("no service responds at {url}")]
    NotReachable {
        /// The address.
        url: String,
        /// The network error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// A program accepted the connection, and did not answer in time. The request may have taken effect.
    #[error("the service at {url} did not answer in time")]
    NoAnswer {
        /// The address.
        url: String,
    },
    /// The connection was closed before a response arrived. The request may have taken effect.
    #[error("the service at {url} closed the connection before it responded")]
    Closed {
        /// The address.
        url: String,
        /// What the network says.
        source: io::Error,
    },
    /// The service refused: the problem says why.
    #[error("{}", described(.0))]
    Refused(Box<Problem>),
    /// The response is not one of a service.
    #[error("the program at {url} is not a Waypost service: {reason}")]
    NotUnderstood {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The response ended before it was complete.
    #[error("the response ended early")]
    BrokenOff {
        /// The network error.
        source: io::Error,
    },
    /// The input to be sent could not be read.
    #[error("failed to read the request")]
    Input {
        /// The cause.
        source: io::Error,
    },
    /// The response could not be written to the caller's output.
    #[error("failed to write the response")]
    Output {
        /// The cause.
        source: io::Error,
    },
}

impl Error {
    pub(super) fn broken_off(source: io::Error) -> Self {
        Self::BrokenOff { source }
    }

    /// The problem that the service returned, if any.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            _ => None,
        }
    }
}

/// Whether that is what a connection says whose other end went away.
pub(super) fn is_closed(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
}

fn described(problem: &Problem) -> &str {
    if problem.detail.is_empty() { &problem.title } else { &problem.detail }
}
