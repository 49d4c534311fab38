//! What requests and responses carry: their types in the table of routes, and their content in the OpenAPI document.

use std::marker::PhantomData;

use serde_json::{Map, Value, json};
use utoipa::openapi::path::Parameter;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{IntoParams, ToSchema};

use crate::{EVENT_STREAM, NDJSON, backup};

/// What a route takes: parameters, a body, both or nothing.
pub trait Input {
    /// What a client gives.
    type Value;
    /// Whether the client sends it as a body, and not as the query string.
    const IS_BODY: bool;

    /// Its query parameters.
    fn parameters() -> Vec<Parameter> {
        Vec::new()
    }

    /// Its body.
    fn body() -> Option<Content> {
        None
    }
}

/// What a route returns.
pub trait Output {
    /// What a client gets.
    type Value;

    /// The bodies of its successful responses; the last one stands for all further ones.
    fn answers() -> Vec<Option<Content>>;
}

/// The body of a request or of a response.
pub trait Body {
    /// What it is in a program.
    type Value;

    /// What it is in the OpenAPI document.
    fn content() -> Content;
}

/// A body in the OpenAPI document.
#[expect(missing_debug_implementations, reason = "a schema has none")]
pub struct Content {
    pub(crate) media: &'static str,
    pub(crate) schema: Value,
    /// The schemas that it refers to.
    pub(crate) parts: Vec<(String, RefOr<Schema>)>,
    pub(crate) is_optional: bool,
}

impl Content {
    fn new(media: &'static str, schema: Value) -> Self {
        Self { media, schema, parts: Vec::new(), is_optional: false }
    }

    /// The same with the schemas of a struct and of the structs in it.
    fn with<T: ToSchema>(mut self) -> Self {
        self.parts.push((T::name().into_owned(), T::schema()));
        T::schemas(&mut self.parts);
        self
    }
}

pub(crate) fn reference<T: ToSchema>() -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", T::name()) })
}

const JSON: &str = "application/json";

/// Query parameters.
#[derive(Debug)]
pub struct Query<T>(PhantomData<T>);

impl<T: IntoParams> Input for Query<T> {
    type Value = T;
    const IS_BODY: bool = false;

    fn parameters() -> Vec<Parameter> {
        T::into_params(|| None)
    }
}

/// JSON of that struct.
#[derive(Debug)]
pub struct Json<T>(PhantomData<T>);

impl<T: ToSchema> Body for Json<T> {
    type Value = T;

    fn content() -> Content {
        Content::new(JSON, reference::<T>()).with::<T>()
    }
}

/// A JSON array.
impl<T: ToSchema> Body for Vec<T> {
    type Value = Self;

    fn content() -> Content {
        Content::new(JSON, json!({ "type": "array", "items": reference::<T>() })).with::<T>()
    }
}

/// A JSON object that is described elsewhere.
pub type Object = Map<String, Value>;

impl Body for Object {
    type Value = Self;

    fn content() -> Content {
        Content::new(JSON, json!({ "type": "object" }))
    }
}

/// That body, or nothing, which means all defaults.
#[derive(Debug)]
pub struct Optional<B>(PhantomData<B>);

impl<B: Body> Body for Optional<B> {
    type Value = B::Value;

    fn content() -> Content {
        Content { is_optional: true, ..B::content() }
    }
}

/// One JSON value of that struct per line.
#[derive(Debug)]
pub struct Lines<T>(PhantomData<T>);

impl<T: ToSchema> Body for Lines<T> {
    type Value = Vec<T>;

    // OpenAPI 3.1 cannot express "one per line"; the schema is that of a line.
    fn content() -> Content {
        Content::new(NDJSON, reference::<T>()).with::<T>()
    }
}

/// Server-sent events with data of these structs, named in the description.
#[derive(Debug)]
pub struct Events<T, More = T>(PhantomData<(T, More)>);

impl<T: ToSchema, More: ToSchema> Body for Events<T, More> {
    type Value = T;

    fn content() -> Content {
        Content::new(EVENT_STREAM, json!({ "type": "string" })).with::<T>().with::<More>()
    }
}

/// Lines of the export format.
#[derive(Debug)]
pub struct Export;

impl Body for Export {
    type Value = Vec<u8>;

    fn content() -> Content {
        Content::new(NDJSON, json!({ "type": "object" }))
    }
}

/// A backup.
#[derive(Debug)]
pub struct Backup;

impl Body for Backup {
    type Value = Vec<u8>;

    fn content() -> Content {
        Content::new(backup::MEDIA_TYPE, json!({ "type": "string", "format": "binary" }))
    }
}

/// Metrics in the Prometheus text format.
#[derive(Debug)]
pub struct Metrics;

impl Body for Metrics {
    type Value = String;

    fn content() -> Content {
        Content::new("text/plain", json!({ "type": "string" }))
    }
}

impl Input for () {
    type Value = ();
    const IS_BODY: bool = false;
}

impl Output for () {
    type Value = ();

    fn answers() -> Vec<Option<Content>> {
        vec![None]
    }
}

impl<B: Body> Input for B {
    type Value = B::Value;
    const IS_BODY: bool = true;

    fn body() -> Option<Content> {
        Some(B::content())
    }
}

impl<B: Body> Output for B {
    type Value = B::Value;

    fn answers() -> Vec<Option<Content>> {
        vec![Some(B::content())]
    }
}

/// Parameters and a body; the client sends the parameters.
impl<P: Input, B: Body> Input for (P, B) {
    type Value = P::Value;
    const IS_BODY: bool = false;

    fn parameters() -> Vec<Parameter> {
        P::parameters()
    }

    fn body() -> Option<Content> {
        Some(B::content())
    }
}

/// Two responses; the client gets the first.
impl<First: Output, Second: Output> Output for (First, Second) {
    type Value = First::Value;

    fn answers() -> Vec<Option<Content>> {
        let mut answers = First::answers();
        answers.extend(Second::answers());
        answers
    }
}
