//! Why a call failed.

use std::error::Error as StdError;
use std::io;

use crate::Problem;

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is not one of a service.
    #[error("{url:?} is not an address of a service, such as https://waypost.example:4747")]
    Address {
        /// What was given.
        url: String,
    },
    /// Others on the way could read the token.
    #[error("{url} is another machine's, and plain http would send the token there in the clear")]
    Plain {
        /// What was given.
        url: String,
    },
    /// The certificates of the authorities are none.
    #[error("the certificates of the authorities cannot be used: {reason}")]
    Authorities {
        /// Why.
        reason: String,
    },
    /// Another user of this machine answers there; no token was sent.
    #[error("what answers at {url} is not trusted, and no token was sent")]
    Untrusted {
        /// The address.
        url: String,
        /// Whose it is.
        source: crate::local::Error,
    },
    /// The token has characters that no token has.
    #[error("the token is empty or has characters that no token has")]
    Token,
    /// Nothing answers there, or not in time.
    #[error("no service answers at {url}")]
    NotReachable {
        /// The address.
        url: String,
        /// What the network says.
        source: Box<dyn StdError + Send + Sync>,
    },
    /// The service refused: the problem says why.
    #[error("{}", described(.0))]
    Refused(Box<Problem>),
    /// What answers there does not talk like a service.
    #[error("what answers at {url} is not a service of this kind: {reason}")]
    NotUnderstood {
        /// The address.
        url: String,
        /// What it said.
        reason: String,
    },
    /// The answer ended before it was whole.
    #[error("the answer broke off")]
    BrokenOff {
        /// What the network says.
        source: io::Error,
    },
    /// What should have been sent could not be read.
    #[error("the request could not be read")]
    Input {
        /// Why.
        source: io::Error,
    },
    /// What came could not be written where the caller wants it.
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

    /// The problem that the service answered with, if it did.
    pub fn problem(&self) -> Option<&Problem> {
        match self {
            Self::Refused(problem) => Some(problem),
            _ => None,
        }
    }
}

fn described(problem: &Problem) -> &str {
    if problem.detail.is_empty() { &problem.title } else { &problem.detail }
}
