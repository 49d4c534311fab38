//! Why a call failed.

use std::error::Error as StdError;
use std::io;

use crate::Problem;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is not a valid address of a service.
    #[error("{url:?} is not an address of a service, such as https://waypost.example:4747")]
    Address {
        /// The given address.
        url: String,
    },
    /// The token could be read in transit.
    #[error("{url} is another machine's, and plain http would send the token there in the clear")]
    Plain {
        /// The given address.
        url: String,
    },
    /// The certificates of the authorities are invalid.
    #[error("the certificates of the authorities cannot be used: {reason}")]
    Authorities {
        /// Why.
        reason: String,
    },
    /// Another user of this machine listens there; no token was sent.
    #[error("what answers at {url} is not trusted, and no token was sent")]
    Untrusted {
        /// The address.
        url: String,
        /// Whose process it is.
        source: crate::local::Error,
    },
    /// The token contains characters that are not valid in a token.
    #[error("the token is empty or has characters that no token has")]
    Token,
    /// Nothing responds there, or not in time.
    #[error("no service answers at {url}")]
    NotReachable {
        /// The address.
        url: String,
        /// The network error.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The connection was made, and closed before an answer came. The service may have done what was asked.
    #[error("the service at {url} closed the connection before it answered")]
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
    #[error("what answers at {url} is not a service of this kind: {reason}")]
    NotUnderstood {
        /// The address.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The response ended before it was complete.
    #[error("the answer broke off")]
    BrokenOff {
        /// The network error.
        source: io::Error,
    },
    /// The input to be sent could not be read.
    #[error("the request could not be read")]
    Input {
        /// Why.
        source: io::Error,
    },
    /// The response could not be written to the caller's output.
    #[error("the answer could not be written")]
    Output {
        /// Why.
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
