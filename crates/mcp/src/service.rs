//! How the tools reach a service.

use bytes::Bytes;
use http::{Extensions, Request, Response};

/// Sends requests to the routes of a service.
pub trait Service: Clone + Send + Sync + 'static {
    /// Sends a request, whose URI is a path and a query, and returns the response whatever its status is.
    ///
    /// `caller` has the extensions of the HTTP request that carried the message, with which the service identifies the
    /// caller; it is empty over standard input.
    ///
    /// # Errors
    /// If no response arrives.
    fn call(
        &self,
        caller: &Extensions,
        request: Request<Vec<u8>>,
    ) -> impl Future<Output = Result<Response<Bytes>, Unavailable>> + Send;

    /// The name of the client among those with the same token, if it is the only one of this `Service`: letters and
    /// digits. What changed on a page is what is new to that
    /// client, and it is told when its list of tools changes.
    fn client(&self) -> Option<String> {
        None
    }

    /// What the user of the tools should know about the service, once: the next result has it.
    fn notice(&self) -> Option<String> {
        None
    }
}

/// Why a service did not respond.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Unavailable {
    /// What went wrong.
    pub what: String,
    /// What the user can do about it.
    pub remedy: Option<String>,
}
