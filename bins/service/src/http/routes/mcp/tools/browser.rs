//! `browser`.

mod entry;
mod page;

use rmcp::model::{JsonObject, ToolAnnotations};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use waypost_api::{Check, Faults, Problem, Scope, TokenGrants};

use self::page::{done, show, tabs};
use super::{Description, Tool, action, only};
use crate::http::failure::Failure as Refused;
use crate::http::routes::browser;
use crate::http::routes::mcp::arguments;
use crate::http::routes::mcp::asker::Asker;
use crate::http::routes::mcp::outcome::{Answer, Failure};
use crate::http::routes::mcp::text::{RESULT_TOKENS, RESULT_TOKENS_MAX};

/// The smallest budget that has room for what every page has.
const RESULT_TOKENS_MIN: u64 = 300;

/// The actions, which are the browser's commands, with their arguments and those that they require. The browser checks
/// the rest.
const ACTIONS: &[(&str, &[&str], &[&str])] = &[
    ("read", &["whole"], &[]),
    ("navigate", &["url"], &["url"]),
    ("click", &["ref", "selector"], &[]),
    ("type", &["ref", "selector", "text", "submit"], &["text"]),
    ("select", &["ref", "selector", "value"], &["value"]),
    ("press", &["ref", "selector", "key"], &["key"]),
    ("scroll", &["ref", "selector", "direction"], &[]),
    ("wait", &["selector", "text", "url"], &[]),
    ("back", &[], &[]),
    ("forward", &[], &[]),
    ("reload", &[], &[]),
    ("tabs", &[], &[]),
];

pub(crate) static TOOL: Tool = Tool {
    name: "browser",
    scopes: &[Scope::BrowserUse],
    is_in_spaces: false,
    describe,
    call: |asker, schema, given| Box::pin(call(asker, schema, given)),
};

fn describe(_: &TokenGrants) -> Description {
    let actions: Vec<&str> = ACTIONS.iter().map(|action| action.0).collect();
    Description {
        text: "Use when a task needs the web page that the user sees in Waypost's browser: acts on it and returns what changed since your last call.",
        // A click can do anything that a page offers.
        annotations: ToolAnnotations::new().read_only(false).open_world(true),
        schema: json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": actions},
                "ref": {"type": "string", "description": "element, from a result"},
                "selector": {"type": "string", "description": "CSS instead"},
                "url": {"type": "string"},
                "text": {"type": "string", "description": "to type, or to wait for"},
                "submit": {"type": "boolean", "description": "Enter after typing"},
                "value": {"type": "string", "description": "option to select"},
                "key": {"type": "string", "description": "to press: Enter, Control+a"},
                "direction": {"type": "string", "description": "up, down, top, bottom"},
                "whole": {"type": "boolean", "description": "read the whole page"},
                "tab": {"type": "integer"},
                "maxTokens": {"type": "integer"},
            },
            "required": ["action"],
        }),
    }
}

/// What an action needs, as the browser takes it.
#[serde_with::skip_serializing_none]
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Asked {
    r#ref: Option<String>,
    selector: Option<String>,
    url: Option<String>,
    text: Option<String>,
    submit: Option<bool>,
    value: Option<String>,
    key: Option<String>,
    direction: Option<String>,
    tab: Option<u64>,
    #[serde(default, skip_serializing)]
    whole: bool,
    #[serde(skip_serializing)]
    max_tokens: Option<u64>,
}

impl Check for Asked {
    fn check(&self, faults: &mut Faults) {
        if let Some(it) = self.max_tokens
            && !(RESULT_TOKENS_MIN..=RESULT_TOKENS_MAX).contains(&it)
        {
            let rule =
                format!("must be between {RESULT_TOKENS_MIN} and {RESULT_TOKENS_MAX}, not {it}");
            faults.add("maxTokens", rule);
        }
    }
}

/// Whether a browser is on the mesh.
pub(crate) async fn has_browser(asker: &Asker) -> bool {
    browser::present(&asker.app, &asker.caller).await.is_ok_and(|found| !found.is_empty())
}

async fn call(
    asker: &Asker,
    schema: &JsonObject,
    mut given: JsonObject,
) -> Result<Answer, Failure> {
    if asker.key.is_some() {
        let detail = "the tool `browser` takes no Idempotency-Key: what a page does is not kept";
        return Err(Refused::from(Problem::new(422, detail)).into());
    }
    let action = action(schema, &mut given)?;
    let known = ACTIONS.iter().find(|other| other.0 == action);
    let (names, required) = known.map_or((&[][..], &[][..]), |known| (known.1, known.2));
    let names = [names, &["tab", "maxTokens"]].concat();
    let asked: Asked = arguments::read(&only(schema, &names, required), given)?;
    let budget =
        asked.max_tokens.and_then(|token| usize::try_from(token).ok()).unwrap_or(RESULT_TOKENS);
    if action == "read" {
        return Ok(show(&read(asker, &asked, budget).await?, None, budget));
    }
    let answer = command(asker, &action, json!(asked)).await?;
    if action == "tabs" {
        return Ok(tabs(&answer, budget));
    }
    match read(asker, &asked, budget).await {
        Ok(page) => Ok(show(&page, Some(done(&action, &answer)), budget)),
        Err(failure) => {
            Err(failure.after(&format!("`{action}` was done, but the page was not read")))
        }
    }
}

/// The page, or what changed on it since this client read it last.
async fn read(asker: &Asker, asked: &Asked, budget: usize) -> Result<Value, Failure> {
    // The browser counts the JSON of a page, which is longer than what is shown of it.
    let mut reading = json!({
        "mode": if asked.whole { "full" } else { "diff" },
        "budget": budget,
    });
    if let Some(client) = &asker.client {
        reading["reader"] = client.as_str().into();
    }
    if let Some(tab) = asked.tab {
        reading["tab"] = tab.into();
    }
    command(asker, "read", reading).await
}

async fn command(asker: &Asker, name: &str, given: Value) -> Result<Value, Failure> {
    let given = super::object(given);
    Ok(browser::send(&asker.app, &asker.caller, name.to_owned(), given).await?)
}
