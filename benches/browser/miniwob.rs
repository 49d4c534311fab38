//! Whether what can be used on the pages of MiniWoB++ is listed by a selector that finds it alone.
//!
//! The pages are those of `miniwob/html` in a copy of Farama-Foundation/miniwob-plusplus (MIT). A script
//! put before theirs sees what they listen on, and judges with the browser's own `querySelectorAll`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result, anyhow};
use serde_json::{Value, json};

use crate::exchange::Exchange;
use crate::serve::{self, Reply, Request};
use crate::world::World;

const JUDGE: &str = include_str!("judge.js");

/// Reads the tasks in a folder. What is told of each that is not whole, and then of all.
pub(crate) async fn measure(folder: &Path) -> Result<Vec<String>> {
    let html = folder.join("miniwob/html");
    let mut tasks: Vec<String> = fs::read_dir(html.join("miniwob"))
        .with_context(|| format!("{}: no tasks", html.display()))?
        .filter_map(|it| it.ok()?.file_name().into_string().ok())
        .filter(|it| Path::new(it).extension().is_some_and(|it| it == "html"))
        .collect();
    tasks.sort();
    let exchange = Arc::new(Exchange::default());
    let port = serve(html, Arc::clone(&exchange))?;
    let world = World::start().await?;
    let mut lines = Vec::new();
    let (mut whole, mut controls, mut missed) = (0, 0, 0);
    for task in &tasks {
        let path = format!("/miniwob/{task}");
        match judge(&world, &exchange, port, &path).await {
            Ok(verdict) => {
                let missing = verdict["missing"].as_array().map_or(0, Vec::len);
                let unclear = verdict["unclear"].as_array().map_or(0, Vec::len);
                controls += verdict["controls"].as_u64().unwrap_or_default();
                missed += missing;
                if missing + unclear == 0 {
                    whole += 1;
                } else {
                    let what = json!([verdict["missing"], verdict["unclear"]]).to_string();
                    let what: String = what.chars().take(300).collect();
                    lines.push(format!("- {task}: {missing} missing, {unclear} unclear: {what}"));
                }
            }
            Err(error) => lines.push(format!("- {task}: {error:#}")),
        }
    }
    world.end().await?;
    let share = 100.0 * f64::from(whole) / tasks.len() as f64;
    lines.push(format!(
        "{whole} of {} tasks ({share:.1} %) have all their controls listed; {missed} of {controls} \
         controls are missing",
        tasks.len()
    ));
    Ok(lines)
}

fn serve(html: PathBuf, exchange: Arc<Exchange>) -> Result<u16> {
    serve::start(move |Request { path, body }: &Request| {
        let path = path.split('?').next().unwrap_or_default();
        if path.starts_with("/listed/") {
            let listed = exchange.hear(path).unwrap_or_else(|| "[]".to_owned());
            return Reply::file("listed.json", listed.into_bytes());
        }
        if path.starts_with("/verdict/") {
            exchange.say(path.to_owned(), body.clone());
            return Reply::page("");
        }
        let file = html.join(path.trim_start_matches('/'));
        let content = fs::read(&file).unwrap_or_default();
        if path.starts_with("/miniwob/") {
            let page = String::from_utf8_lossy(&content);
            return Reply::page(page.replacen(
                "<head>",
                &format!("<head><script>{JUDGE}</script>"),
                1,
            ));
        }
        Reply::file(path, content)
    })
}

async fn judge(world: &World, exchange: &Exchange, port: u16, path: &str) -> Result<Value> {
    world.go(&format!("http://127.0.0.1:{port}{path}")).await?;
    world.ask("click", json!({ "selector": "#sync-task-cover" })).await?;
    let summary = world.ask("read", json!({ "mode": "interactive" })).await?;
    let dom = &summary["dom_summary"];
    let lists = ["interactive", "links"].map(|it| dom[it].as_array().cloned().unwrap_or_default());
    let listed: Vec<Value> = lists.concat().iter().map(|it| it["selector"].clone()).collect();
    exchange.say(format!("/listed{path}"), Value::from(listed).to_string());
    let verdict = exchange.hear(&format!("/verdict{path}")).ok_or(anyhow!("no verdict came"))?;
    Ok(serde_json::from_str(&verdict)?)
}
