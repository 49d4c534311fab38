//! Whether what can be used on the pages of MiniWoB++ is listed by a selector that finds it alone.
//!
//! The pages are those of `miniwob/html` in a copy of Farama-Foundation/miniwob-plusplus (MIT). A script
//! put before theirs sees what they listen on, and judges with the browser's own `querySelectorAll`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, Result};
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
        .filter_map(|context| context.ok()?.file_name().into_string().ok())
        .filter(|text| Path::new(text).extension().is_some_and(|extension| extension == "html"))
        .collect();
    tasks.sort();
    let exchange = Arc::new(Exchange::default());
    let port = serve(html, Arc::clone(&exchange))?;
    let world = World::start().await?;
    let mut lines = Vec::new();
    let (mut whole, mut controls, mut missed) = (0, 0, 0);
    for task in &tasks {
        let path = format!("/miniwob/{task}");
        let verdict = match listed(&world, port, &path).await {
            Ok(listed) => judge(&exchange, &path, &listed),
            Err(error) => Err(error),
        };
        match verdict {
            Ok(verdict) => {
                let count = |text: &str| verdict[text].as_array().map_or(0, Vec::len);
                let (missing, unclear) = (count("missing"), count("unclear"));
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

/// The selectors that are told of a task that has begun.
async fn listed(world: &World, port: u16, path: &str) -> Result<Vec<String>> {
    world.go(&format!("http://127.0.0.1:{port}{path}")).await?;
    world.ask("click", json!({ "selector": "#sync-task-cover" })).await?;
    let summary = world.ask("read", json!({ "mode": "interactive" })).await?;
    let dom = &summary["dom_summary"];
    let lists = ["interactive", "links"].map(|it| dom[it].as_array().cloned().unwrap_or_default());
    let selector = |value: &Value| value["selector"].as_str().unwrap_or_default().to_owned();
    Ok(lists.concat().iter().map(selector).collect())
}

/// What the task says of such a list: how many `controls` there are, the beginning of each that is
/// `missing` because no selector finds it alone, and each selector that is `unclear` because it finds
/// nothing, or more than one.
fn judge(exchange: &Exchange, path: &str, listed: &[String]) -> Result<Value> {
    exchange.say(format!("/listed{path}"), Value::from(listed).to_string());
    let verdict = exchange.hear(&format!("/verdict{path}")).context("no verdict came")?;
    Ok(serde_json::from_str(&verdict)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use serde_json::json;

    use super::{judge, listed, measure, serve};
    use crate::exchange::Exchange;
    use crate::world::World;

    /// As the tasks are: a cover that begins it, and what can be used by itself, by a listener, or by
    /// an attribute.
    const TASK: &str = "<!doctype html><html><head><script>var core = {};</script></head><body>
        <button class=twice>One</button><button class=twice>Two</button><input type=hidden>
        <p id=own>Listens</p><p>Does not</p><p onclick='0'>By attribute</p><a href=#>Link</a>
        <div id=sync-task-cover onclick='this.remove()' style='position:fixed;inset:0'>Start</div>
        <script>own.addEventListener('click', () => 0);</script></body></html>";

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_list_that_is_not_whole_fails() {
        let folder = tempfile::tempdir().expect("a folder");
        let html = folder.path().join("miniwob/html");
        fs::create_dir_all(html.join("miniwob")).expect("a folder");
        fs::write(html.join("miniwob/task.html"), TASK).expect("a file");
        let told = measure(folder.path()).await.expect("it is measured");
        assert_eq!(
            told,
            ["1 of 1 tasks (100.0 %) have all their controls listed; 0 of 5 controls are missing"]
        );

        let exchange = Arc::new(Exchange::default());
        let port = serve(html, Arc::clone(&exchange)).expect("a port");
        let world = World::start().await.expect("it starts");
        let path = "/miniwob/task.html";
        let whole = listed(&world, port, path).await.expect("a list");
        let verdict = |list: &[String]| judge(&exchange, path, list).expect("a verdict");
        assert_eq!(verdict(&whole), json!({ "controls": 5, "missing": [], "unclear": [] }));
        // The second button is told by another selector, or by none.
        for (other, unclear) in [
            (Some(".twice"), true),
            (Some("#none"), true),
            (Some("p["), true),
            (Some("#own"), false),
            (None, false),
        ] {
            let mut list = listed(&world, port, path).await.expect("a list");
            list.splice(1..2, other.map(str::to_owned));
            let unclear = other.filter(|_| unclear).map_or(json!([]), |other| json!([other]));
            let second = "<button class=\"twice\">Two</button>";
            let expected = json!({ "controls": 5, "missing": [second], "unclear": unclear });
            assert_eq!(verdict(&list), expected, "{other:?}");
        }
        // Nothing is missing, and one finds two nevertheless.
        let mut list = listed(&world, port, path).await.expect("a list");
        list.push(".twice".to_owned());
        let expected = json!({ "controls": 5, "missing": [], "unclear": [".twice"] });
        assert_eq!(verdict(&list), expected);
        world.end().await.expect("it ends");
    }
}
