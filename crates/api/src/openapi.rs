//! The OpenAPI document, from [`ROUTES`] and the wire's structs.

use serde_json::{Map, Value, json};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, OneOfBuilder, Schema, Type};

use crate::limits::IDEMPOTENCY_KEY_BYTES_MAX;
use crate::routes::{Access, Answer, Payload, ROUTES, Repeat, Route, Shape, shape};
use crate::{
    ANSWERABLE_HEADER, FORGOTTEN_HEADER, NDJSON, NEXT_AFTER_HEADER, PROBLEM_JSON, Problem,
    RERANK_HEADER, SEARCH_MODE_HEADER, STOP_WORDS_HEADER, SearchMode, Vocabulary,
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
    for route in ROUTES {
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        methods[route.method.to_ascii_lowercase()] = operation(route);
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
    let answers = ROUTES.iter().flat_map(|it| it.answers).map(|it| it.body);
    let bodies = ROUTES.iter().map(|it| it.body).chain(answers);
    let problem = shape::<Problem>();
    let mut found = Vec::new();
    for it in bodies.flat_map(shapes).chain([problem]) {
        found.push(((it.name)().into_owned(), (it.schema)()));
        (it.parts)(&mut found);
    }
    let schemas =
        found.into_iter().filter_map(|(name, it)| Some((name, serde_json::to_value(it).ok()?)));
    Value::Object(schemas.collect())
}

fn shapes(body: Payload) -> Vec<Shape> {
    match body {
        Payload::Json(it) | Payload::OptionalJson(it) | Payload::Array(it) | Payload::Lines(it) => {
            vec![it]
        }
        Payload::Events(data) => data.to_vec(),
        Payload::None
        | Payload::Export
        | Payload::Backup
        | Payload::Metrics
        | Payload::Object
        | Payload::OptionalObject => Vec::new(),
    }
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": route.operation,
        "summary": route.summary,
        "tags": [tag(route.path)],
        "responses": responses(route),
    });
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    if let Some(content) = content(route.body) {
        let required = !matches!(route.body, Payload::OptionalJson(_) | Payload::OptionalObject);
        operation["requestBody"] = json!({ "required": required, "content": content });
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

fn parameters(route: &Route) -> Vec<Value> {
    let mut parameters = Vec::new();
    for name in route.path.split('/').filter_map(|it| it.strip_prefix('{')?.strip_suffix('}')) {
        let schema = match (tag(route.path), name) {
            ("memory" | "events", "id") => {
                json!({ "type": "integer", "format": "int64", "minimum": 1, "maximum": crate::limits::ID_MAX })
            }
            _ => json!({ "type": "string" }),
        };
        parameters.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
    let query = route.query.map(|it| it()).unwrap_or_default();
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

fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    for Answer { status, when, body } in route.answers {
        let response =
            responses.entry(status.to_string()).or_insert_with(|| json!({ "description": when }));
        if let Some(Value::Object(added)) = content(*body) {
            for (media, schema) in added {
                response["content"][media] = schema;
            }
        }
        if route.operation == "searchMemories" {
            response["headers"][SEARCH_MODE_HEADER] = json!({
                "description": "The search mode that was used",
                "schema": { "type": "string", "enum": SearchMode::ALL },
            });
        }
        if route.operation == "searchMemories" && *status == 200 {
            response["headers"][ANSWERABLE_HEADER] = json!({
                "description": "How likely the memory answers the query: the score of the best hit",
                "schema": { "type": "number", "minimum": 0, "maximum": 1 },
            });
        }
        if route.operation == "searchMemories" && *status == 200 {
            response["headers"][FORGOTTEN_HEADER] = json!({
                "description": "With `asOf`: the number of memories of that time whose text was removed or lost",
                "schema": { "type": "integer", "minimum": 0 },
            });
            response["headers"][STOP_WORDS_HEADER] = json!({
                "description": "If the query has only stop words: by words, it finds only memories whose title or content has only stop words",
                "schema": { "type": "string", "enum": ["only"] },
            });
            response["headers"][RERANK_HEADER] = json!({
                "description": "With a cross-encoder: whether it ordered the best results, or was too slow or failed",
                "schema": { "type": "string", "enum": ["applied", "skipped"] },
            });
        }
        if route.operation == "listEvents" {
            response["headers"][NEXT_AFTER_HEADER] = json!({
                "description": "The last event examined; continue after it to miss nothing",
                "schema": { "type": "integer" },
            });
        }
        if matches!(route.operation, "listMemories" | "listEvents") {
            response["headers"]["Link"] =
                json!({ "description": "The next page", "schema": { "type": "string" } });
        }
    }
    let common: &[u16] = match route.access {
        Access::Open => &[],
        _ => &[400, 401, 403, 422, 429, 503],
    };
    let body: &[u16] = if matches!(route.body, Payload::None) { &[] } else { &[408, 413] };
    let repeat: &[u16] = match route.repeat {
        Repeat::Once | Repeat::AtMostOnce => &[409],
        Repeat::Reads | Repeat::Harmless => &[],
    };
    for status in common.iter().chain(body).chain(repeat).chain(route.problems) {
        responses.insert(
            status.to_string(),
            json!({
                "description": Problem::new(*status, "").title,
                "content": { PROBLEM_JSON: { "schema": reference(shape::<Problem>()) } },
            }),
        );
    }
    Value::Object(responses)
}

fn reference(shape: Shape) -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", (shape.name)()) })
}

fn content(body: Payload) -> Option<Value> {
    let (media, schema) = match body {
        Payload::None => return None,
        Payload::Json(it) | Payload::OptionalJson(it) => ("application/json", reference(it)),
        Payload::Array(it) => {
            ("application/json", json!({ "type": "array", "items": reference(it) }))
        }
        // OpenAPI 3.1 cannot express "one per line"; the schema is that of a line.
        Payload::Lines(it) => (NDJSON, reference(it)),
        Payload::Export => (NDJSON, json!({ "type": "object" })),
        Payload::Backup => {
            (crate::backup::MEDIA_TYPE, json!({ "type": "string", "format": "binary" }))
        }
        Payload::Events(_) => (crate::EVENT_STREAM, json!({ "type": "string" })),
        Payload::Metrics => ("text/plain", json!({ "type": "string" })),
        Payload::Object | Payload::OptionalObject => {
            ("application/json", json!({ "type": "object" }))
        }
    };
    Some(json!({ media: { "schema": schema } }))
}
