//! Calls of the service's routes, typed.

use http::{Extensions, HeaderMap, Method, Request};
use serde::Serialize;
use serde::de::DeserializeOwned;
use waypost_api::{Problem, TokenGrants, with_query};

use crate::outcome::Failure;
use crate::service::{Service, Unavailable};

/// A service, as one caller uses it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Api<'a, S> {
    service: &'a S,
    caller: &'a Extensions,
}

/// A successful response.
#[derive(Debug)]
pub(crate) struct Reply<T> {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) value: T,
}

impl<T> Reply<T> {
    /// A header's value, if it is there and can be parsed.
    pub(crate) fn header<V: std::str::FromStr>(&self, name: &str) -> Option<V> {
        self.headers.get(name)?.to_str().ok()?.parse().ok()
    }
}

impl<'a, S: Service> Api<'a, S> {
    pub(crate) fn new(service: &'a S, caller: &'a Extensions) -> Self {
        Self { service, caller }
    }

    /// The name of the client, if it is the only one.
    pub(crate) fn client(&self) -> Option<String> {
        self.service.client()
    }

    /// What the caller's token permits.
    pub(crate) async fn grants(&self) -> Result<TokenGrants, Failure> {
        Ok(self.get("/api/tokens/current", &()).await?.value)
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &(impl Serialize + Sync),
    ) -> Result<Reply<T>, Failure> {
        self.send(Method::GET, &with_query(path, query), Vec::new()).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
    ) -> Result<Reply<T>, Failure> {
        let body = serde_json::to_vec(body).map_err(|error| broken(path, &error))?;
        self.send(Method::POST, path, body).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Reply<T>, Failure> {
        let request = Request::builder().method(method).uri(path).body(body);
        let request = request.map_err(|error| broken(path, &error))?;
        let response = self.service.call(self.caller, request).await?;
        let (head, body) = response.into_parts();
        if !head.status.is_success() {
            let status = head.status.as_u16();
            let problem = serde_json::from_slice::<Problem>(&body).unwrap_or_else(|_| {
                Problem::new(status, format!("the service responded with status {status}"))
            });
            return Err(Failure::Refused(Box::new(problem)));
        }
        let value = serde_json::from_slice(&body).map_err(|error| broken(path, &error))?;
        Ok(Reply { status: head.status.as_u16(), headers: head.headers, value })
    }
}

/// A service of another version, for example.
fn broken(path: &str, error: &dyn std::error::Error) -> Failure {
    let path = path.split('?').next().unwrap_or_default();
    Failure::Unavailable(Unavailable {
        what: format!("cannot exchange {path} with the service: {error}"),
        remedy: Some("use the same release of the service and of `ctl`".to_owned()),
    })
}
