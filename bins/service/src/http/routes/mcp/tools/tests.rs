//! The list of tools as a whole.

use serde_json::{Value, json};
use tiktoken_rs::o200k_base_singleton;
use waypost_api::{Scope, TokenGrants, Vocabulary};

use super::{ALL, events};

/// Tokens of the whole list, which every session of a client pays for.
const LIST_TOKENS_MAX: usize = 1500;
/// Some clients cut descriptions and instructions here.
const DESCRIPTION_BYTES_MAX: usize = 2048;

fn everything() -> TokenGrants {
    TokenGrants { scopes: Scope::ALL.to_vec(), space: None }
}

fn list() -> Vec<Value> {
    let tools = ALL.into_iter().map(|it| it.listed(&everything()));
    tools.map(|tool| serde_json::to_value(tool).expect("JSON")).collect()
}

#[test]
fn the_list_costs_at_most_1500_tokens() {
    let mut total = 0;
    let mut each = Vec::new();
    for tool in list() {
        let shown = json!({
            "name": tool["name"],
            "description": tool["description"],
            "inputSchema": tool["inputSchema"],
        });
        let tokens = o200k_base_singleton().encode_ordinary(&shown.to_string()).len();
        each.push((tool["name"].clone(), tokens));
        total += tokens;
    }
    assert!(total <= LIST_TOKENS_MAX, "{total}: {each:?}");
}

#[test]
fn the_estimate_of_tokens_is_not_below_the_count_for_usual_text() {
    let texts = [
        "We decided to use PostgreSQL for the orders service, because SQLite locks the whole file.",
        "fn head(text: &str, tokens_max: usize) -> &str { let mut left = tokens_max * 3; }",
        "#12 0.66 2026-11-02 decision: Deploys run on Fridays at 14:30 UTC, never later",
        "{\"id\":12,\"score\":0.66,\"tags\":[\"a\",\"b\"]}",
        "Wir haben uns für die größere Datenbank entschieden, weil die Übersicht fehlte.",
        "データベースはPostgreSQLを使います。理由は並行書き込みです。",
        "Мы решили использовать PostgreSQL для службы заказов.",
        "🦀🎉👩‍👩‍👧‍👦 🇩🇪",
    ];
    for text in texts {
        let counted = o200k_base_singleton().encode_ordinary(text).len();
        let estimated = waypost_quote::tokens(text);
        assert!(estimated >= counted, "{estimated} < {counted}: {text}");
    }
}

#[test]
fn descriptions_say_when_to_use_a_tool() {
    for tool in list() {
        let text = tool["description"].as_str().expect("a description");
        assert!(text.starts_with("Use when "), "{text}");
        assert!(text.len() <= DESCRIPTION_BYTES_MAX);
        assert!(tool.get("outputSchema").is_none(), "{tool}");
    }
}

/// Some clients reject unions, references and `null` in schemas.
#[test]
fn schemas_are_plain() {
    for tool in list() {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["type"], "object");
        let text = schema.to_string();
        for word in ["anyOf", "oneOf", "allOf", "$ref", "$schema", "\"null\"", "\"type\":["] {
            assert!(!text.contains(word), "{word} in {text}");
        }
        let properties = schema["properties"].as_object().expect("properties");
        for (name, rule) in properties {
            assert!(rule["type"].is_string(), "{name}: {rule}");
            if rule["type"] == "array" {
                assert!(rule["items"]["type"].is_string(), "{name}: {rule}");
            }
        }
        for name in schema["required"].as_array().expect("required") {
            assert!(properties.contains_key(name.as_str().expect("a name")), "{name}");
        }
    }
}

#[test]
fn a_token_sees_the_tools_that_it_can_use() {
    let names = |scopes: &[Scope], space: Option<&str>| -> Vec<&str> {
        let grants = TokenGrants { scopes: scopes.to_vec(), space: space.map(str::to_owned) };
        ALL.into_iter().filter(|it| it.is_for(&grants)).map(|tool| tool.name).collect()
    };
    assert_eq!(names(&[Scope::Admin], None).len(), ALL.len());
    assert_eq!(names(&[Scope::MemoryRead], None), ["memory_search", "memory_get"]);
    assert_eq!(names(&[Scope::MemoryWrite], Some("a")), ["memory_add", "memory_link"]);
    assert_eq!(names(&[Scope::FlowsRead], None), ["flows"]);
    // Flows concern all spaces.
    assert!(names(&[Scope::FlowsRead], Some("a")).is_empty());
    assert!(names(&[Scope::FlowsRun], None).is_empty());
    let publisher = TokenGrants { scopes: vec![Scope::EventsPublish], space: None };
    let schema = events::TOOL.listed(&publisher).input_schema;
    assert_eq!(schema["properties"]["action"]["enum"], json!(["publish"]));
    assert!(schema["properties"].get("pattern").is_none());
}
