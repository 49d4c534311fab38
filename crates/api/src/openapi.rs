//! The OpenAPI document, from [`ROUTES`] and the wire's structs.

use serde_json::{Map, Value, json};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

use crate::content::reference;
use crate::limits::IDEMPOTENCY_KEY_BYTES_MAX;
use crate::routes::{Access, ROUTES, Repeat, Route, TYPES, Types};
use crate::{
    ANSWERABLE_HEADER, FORGOTTEN_HEADER, NEXT_AFTER_HEADER, PROBLEM_JSON, Problem, RERANK_HEADER,
    SEARCH_MODE_HEADER, STOP_WORDS_HEADER, SearchMode, Vocabulary,
};

/// The schema of a field that accepts a string or an array of strings.
pub(crate) fn one_or_many() -> Schema {
    let string = || ObjectBuilder::new().schema_type(Type::String);
    OneOfBuilder::new()
        .description(Some(
            "Only memories of one of these types; one type may be given without an array.",
        ))
        .item(string())
        .item(ArrayBuilder::new().items(string()))
        .into()
}

/// The OpenAPI document of the service.
pub fn document() -> Value {
    let mut paths = Map::new();
    for (route, types) in ROUTES.iter().zip(TYPES) {
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        methods[route.method.to_ascii_lowercase()] = operation(route, types);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Waypost",
            "description": "A local service with memory and hybrid search, project context for a task, a durable event bus, and flows that act on events.",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "MIT OR Apache-2.0" },
        },
        "servers": [{ "url": "http://127.0.0.1:4747" }],
        "paths": paths,
        "components": {
            "schemas": schemas(),
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "A token of the form `wp_<id>_<secret>`." },
            },
        },
    })
}

/// Every struct of the routes, and the structs in it.
fn schemas() -> Value {
    let answers = TYPES.iter().flat_map(|types| (types.answers)());
    let contents = TYPES.iter().map(|types| (types.body)()).chain(answers);
    let mut found: Vec<_> = contents.flatten().flat_map(|content| content.parts).collect();
    found.push((Problem::name().into_owned(), Problem::schema()));
    Problem::schemas(&mut found);
    let schemas =
        found.into_iter().filter_map(|(name, it)| Some((name, serde_json::to_value(it).ok()?)));
    Value::Object(schemas.collect())
}

fn operation(route: &Route, types: &Types) -> Value {
    let body = (types.body)();
    let mut operation = json!({
        "operationId": route.operation(),
        "summary": route.summary,
        "tags": [tag(route.path)],
        "responses": responses(route, types, body.is_some()),
    });
    let parameters = parameters(route, types);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some(body) = body {
        let content = json!({ body.media: { "schema": body.schema } });
        operation["requestBody"] = json!({ "required": !body.is_optional, "content": content });
    }
    operation["security"] = match route.access {
        Access::Open => json!([]),
        Access::Token => json!([{ "token": [] }]),
        Access::Scope(scope) => json!([{ "token": [scope] }]),
        Access::SocketOrScope(scope) => json!([{}, { "token": [scope] }]),
    };
    operation
}

fn tag(path: &str) -> &'static str {
    match path.split('/').nth(2) {
        Some("memory") => "memory",
        Some("context") => "context",
        Some("events") => "events",
        Some("flows") => "flows",
        Some("recall") => "recall",
        Some("browser") => "browser",
        Some("mesh") => "mesh",
        Some("tokens") => "tokens",
        _ => "operation",
    }
}

fn parameters(route: &Route, types: &Types) -> Vec<Value> {
    let mut parameters = Vec::new();
    for name in route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
        let schema = match (tag(route.path), name) {
            ("memory" | "events", "id") => {
                json!({ "type": "integer", "format": "int64", "minimum": 1, "maximum": crate::limits::ID_MAX })
            }
            _ => json!({ "type": "string" }),
        };
        parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    let query = (types.parameters)();
    parameters.extend(query.iter().filter_map(|parameter| serde_json::to_value(parameter).ok()));
    parameters.extend(repeating(route.repeat).map(|description| {
        json!({
            "name": "Idempotency-Key",
            "in": "header",
            "description": description,
            "schema": { "type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_BYTES_MAX, "pattern": "^[!-~]+$" },
        })
    }));
    parameters
}

/// What the header does; nothing for a route that only reads.
fn repeating(repeat: Repeat) -> Option<&'static str> {
    match repeat {
        Repeat::Reads => None,
        Repeat::Once => Some(
            "Makes it safe to send the request again: the same request with the same key returns the first outcome, another request is 409",
        ),
        Repeat::AtMostOnce => Some(
            "Makes it safe to send the request again: it is carried out at most once, and the same request with the same key gets the first response, or 409 if that cannot be returned; another request is 409",
        ),
        Repeat::Harmless => Some("Accepted and not stored: sending the request again does no harm"),
    }
}

fn responses(route: &Route, types: &Types, has_body: bool) -> Value {
    let mut responses = Map::new();
    let contents = (types.answers)();
    for (at, (status, when)) in route.answers.iter().flatten().enumerate() {
        let response =
            responses.entry(status.to_string()).or_insert_with(|| json!({ "description": when }));
        if let Some(Some(content)) = contents.get(at).or(contents.last()) {
            response["content"][content.media] = json!({ "schema": content.schema });
        }
    }
    for (name, description, schema) in headers(route.name) {
        responses["200"]["headers"][name] = json!({ "description": description, "schema": schema });
    }
    let common: &[u16] = match route.access {
        Access::Open => &[],
        _ => &[400, 401, 403, 422, 429, 503],
    };
    let body: &[u16] = if has_body { &[408, 413] } else { &[] };
    let repeat: &[u16] = match route.repeat {
        Repeat::Once | Repeat::AtMostOnce => &[409],
        Repeat::Reads | Repeat::Harmless => &[],
    };
    for status in common.iter().chain(body).chain(repeat).chain(route.problems) {
        responses.insert(
            status.to_string(),
            json!({
                "description": Problem::new(*status, "").title,
                "content": { PROBLEM_JSON: { "schema": reference::<Problem>() } },
            }),
        );
    }
    Value::Object(responses)
}

/// The headers of a route's responses that carry information: name, description, schema.
fn headers(route: &str) -> Vec<(&'static str, &'static str, Value)> {
    let next_page = ("Link", "The next page", json!({ "type": "string" }));
    match route {
        "SEARCH_MEMORIES" => vec![
            (
                SEARCH_MODE_HEADER,
                "The search mode that was used",
                json!({ "type": "string", "enum": SearchMode::ALL }),
            ),
            (
                ANSWERABLE_HEADER,
                "How likely the memory answers the query: the score of the best hit",
                json!({ "type": "number", "minimum": 0, "maximum": 1 }),
            ),
            (
                FORGOTTEN_HEADER,
                "With `asOf`: the number of memories of that time whose text was removed or lost",
                json!({ "type": "integer", "minimum": 0 }),
            ),
            (
                STOP_WORDS_HEADER,
                "If the query has only stop words: by words, it finds only memories whose title or content has only stop words",
                json!({ "type": "string", "enum": ["only"] }),
            ),
            (
                RERANK_HEADER,
                "With a cross-encoder: whether it ordered the best results, or was too slow or failed",
                json!({ "type": "string", "enum": ["applied", "skipped"] }),
            ),
        ],
        "LIST_MEMORIES" => vec![next_page],
        "LIST_EVENTS" => vec![
            next_page,
            (
                NEXT_AFTER_HEADER,
                "The last event examined; continue after it to miss nothing",
                json!({ "type": "integer" }),
            ),
        ],
        _ => Vec::new(),
    }
}
