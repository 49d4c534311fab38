//! A request as handlers take it: who sends it, to which service, and its parts.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::response::Response;
use http::StatusCode;
use http::request::Parts;
use serde::Serialize;
use serde::de::DeserializeOwned;
use waypost_api::{Check, parse_query};

use crate::app::App;
use crate::http::body::Held;
use crate::http::failure::Failure;
use crate::http::guard::Caller;
use crate::http::pool::Pool;
use crate::http::reply::json;
use crate::http::request::parse;
use crate::http::scoped::Scoped;

/// A request of an authenticated caller.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) app: Arc<App>,
    pub(crate) caller: Caller,
    /// What stands in the path for the part that the route leaves open, such as an id.
    pub(crate) name: String,
    pub(crate) parts: Parts,
    body: Body,
}

impl FromRequest<Arc<App>> for Call {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Failure> {
        let (mut parts, body) = request.into_parts();
        let caller = Caller::from_request_parts(&mut parts, app).await?;
        let name = Option::<Path<String>>::from_request_parts(&mut parts, app).await;
        let invalid = |_| Failure::new(StatusCode::BAD_REQUEST, "the path is not valid UTF-8");
        let name = name.map_err(invalid)?.map(|Path(name)| name).unwrap_or_default();
        Ok(Self { app: Arc::clone(app), caller, name, parts, body })
    }
}

impl Call {
    /// The caller's view of the store and the bus.
    pub(crate) fn scoped(&self) -> Scoped {
        self.app.scoped(&self.caller)
    }

    pub(crate) fn query(&self) -> &str {
        self.parts.uri.query().unwrap_or_default()
    }

    /// The query as the type of the route.
    pub(crate) fn parsed_query<T: DeserializeOwned + Check>(&self) -> Result<T, Failure> {
        Ok(parse_query(self.query())?)
    }

    /// The whole body, within the limits; empty from the second time on.
    pub(crate) async fn body(&mut self) -> Result<Held, Failure> {
        self.app.bodies.read(std::mem::take(&mut self.body), &self.app.limits).await
    }

    /// A small JSON body as the type of the route.
    pub(crate) async fn parsed_body<T: DeserializeOwned + Check>(&mut self) -> Result<T, Failure> {
        parse(&self.body().await?.bytes)
    }

    /// Answers, in that pool, a request that has no body.
    pub(crate) async fn answer<R: Serialize>(
        self,
        pool: fn(&App) -> &Pool,
        work: impl FnOnce(&Self) -> Result<R, Failure> + Send + 'static,
    ) -> Result<Response, Failure> {
        let app = Arc::clone(&self.app);
        pool(&app).run(move || Ok(json(StatusCode::OK, &work(&self)?))).await?
    }

    /// Answers, in that pool, a request with a JSON body.
    pub(crate) async fn answer_body<T: DeserializeOwned + Check, R: Serialize>(
        mut self,
        pool: fn(&App) -> &Pool,
        work: impl FnOnce(&Self, T) -> Result<R, Failure> + Send + 'static,
    ) -> Result<Response, Failure> {
        let body = self.body().await?;
        self.answer(pool, move |call| work(call, parse(&body.bytes)?)).await
    }
}
