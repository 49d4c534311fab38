use std::collections::BTreeSet;

use expect_test::expect_file;
use serde_json::Value;
use waypost_api::openapi::document;
use waypost_api::routes::ROUTES;

/// `UPDATE_EXPECT=1` rewrites the file.
#[test]
fn the_committed_document_is_fresh() {
    let text = serde_json::to_string_pretty(&document()).unwrap();
    expect_file![concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json")]
        .assert_eq(&(text + "\n"));
}

#[test]
fn every_route_is_described_once() {
    let document = document();
    let mut described = 0;
    for methods in document["paths"].as_object().unwrap().values() {
        described += methods.as_object().unwrap().len();
    }
    assert_eq!(described, ROUTES.len());
    let operations: BTreeSet<_> = ROUTES.iter().map(|route| route.operation()).collect();
    assert_eq!(operations.len(), ROUTES.len(), "an operation's name is there twice");
    for route in ROUTES {
        let operation = &document["paths"][route.path][route.method.to_lowercase()];
        assert_eq!(operation["operationId"], route.operation());
        assert_eq!(
            route.path.contains('{'),
            operation["parameters"][0]["in"] == "path",
            "{}",
            route.path
        );
    }
}

#[test]
fn every_reference_leads_to_a_schema() {
    let document = document();
    let mut seen = 0;
    each_reference(&document, &mut |reference| {
        seen += 1;
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{reference} leads nowhere");
    });
    assert!(seen > 40, "only {seen} references");
}

#[test]
fn the_schemas_say_what_the_parser_does() {
    let document = document();
    let search = &document["components"]["schemas"]["SearchRequest"];
    assert_eq!(search["additionalProperties"], false);
    assert_eq!(search["required"], serde_json::json!(["query"]));
    assert!(search["properties"]["minScore"].is_object());
    assert_eq!(search["properties"]["type"]["oneOf"][1]["type"], "array");
}

fn each_reference(value: &Value, visit: &mut impl FnMut(&str)) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(reference) if key == "$ref" => visit(reference),
                    other => each_reference(other, visit),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| each_reference(item, visit)),
        _ => {}
    }
}
