//! Chromium, driven by its debugging protocol over two pipes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::child::end_of;
use crate::wait::until;

/// Every response arrives long before this.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Moves both pipes to where Chromium expects them.
const SCRIPT: &str = "exec \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1";
/// Tests run as root in containers, where the sandbox refuses to start, and their pages are ours.
const FLAGS: [&str; 8] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-proxy-server",
    "--remote-debugging-pipe",
    "about:blank",
];

/// A browser with a profile of its own. It ends with the test.
pub(crate) struct Chrome {
    child: Child,
    to: ChildStdin,
    pub(crate) from: Receiver<Value>,
    next: u64,
    /// What pages reported that they should not: exceptions, refused scripts, dialogs.
    pub(crate) complaints: Vec<String>,
    _profile: TempDir,
}

/// A tab.
#[derive(Debug, Clone)]
pub(crate) struct Tab(String);

impl Chrome {
    pub(crate) fn start() -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("sh");
        command.args(["-c", SCRIPT, "sh", "chromium"]).args(FLAGS);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("there is a shell");
        let to = child.stdin.take().expect("a pipe");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, from) = channel();
        thread::spawn(move || {
            let mut message = Vec::new();
            while lines.read_until(0, &mut message).is_ok_and(|until| until > 0) {
                message.pop();
                let parsed = serde_json::from_slice(&message).expect("messages are JSON");
                if sender.send(parsed).is_err() {
                    return;
                }
                message.clear();
            }
        });
        let complaints = Vec::new();
        Self { child, to, from, next: 1, complaints, _profile: profile }
    }

    pub(crate) fn call(&mut self, tab: Option<&Tab>, method: &str, params: &Value) -> Value {
        let answer = self.try_call(tab, method, params);
        assert!(answer.is_ok(), "{method}: {answer:?}");
        answer.unwrap_or_default()
    }

    /// The result, or the error of Chromium.
    fn try_call(
        &mut self,
        tab: Option<&Tab>,
        method: &str,
        params: &Value,
    ) -> Result<Value, Value> {
        let id = self.next;
        self.next += 1;
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(Tab(session)) = tab {
            message["sessionId"] = json!(session);
        }
        let sent = self.to.write_all(format!("{message}\0").as_bytes());
        sent.expect("Chromium runs: scripts/prepare installs it");
        loop {
            let answer = self.from.recv_timeout(PATIENCE).expect("Chromium answers");
            if answer["id"] == id {
                return match answer.get("error") {
                    None => Ok(answer["result"].clone()),
                    Some(error) => Err(error.clone()),
                };
            }
            self.hear(&answer);
        }
    }

    pub(crate) fn hear(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Page.javascriptDialogOpening") => {
                self.complaints.push(params.to_string());
            }
            // A request that the service refused is no fault of the page.
            Some("Log.entryAdded") if params["entry"]["source"] != "network" => {
                self.complaints.push(params["entry"]["text"].to_string());
            }
            _ => {}
        }
    }

    pub(crate) fn tab(&mut self) -> Tab {
        let target = self.call(None, "Target.createTarget", &json!({"url": "about:blank"}));
        let params = json!({"targetId": target["targetId"], "flatten": true});
        let session = self.call(None, "Target.attachToTarget", &params)["sessionId"].clone();
        let tab = Tab(session.as_str().expect("a session").to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            self.call(Some(&tab), domain, &json!({}));
        }
        tab
    }

    pub(crate) fn go(&mut self, tab: &Tab, url: &str) {
        self.call(Some(tab), "Page.navigate", &json!({ "url": url }));
    }

    /// The value of an expression; waits for a promise.
    pub(crate) fn value(&mut self, tab: &Tab, expression: &str) -> Value {
        let asked = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call(Some(tab), "Runtime.evaluate", &asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    #[track_caller]
    pub(crate) fn until(&mut self, tab: &Tab, expression: &str) {
        until(|| {
            // While the page is being left, there is nothing to evaluate in, and that is an error.
            let mut ask = |asked: &str| {
                let asked = json!({"expression": asked, "returnByValue": true});
                let answer = self.try_call(Some(tab), "Runtime.evaluate", &asked);
                answer.unwrap_or_default()["result"]["value"].clone()
            };
            if ask(&format!("Boolean({expression})")) == true {
                return Ok(());
            }
            Err(format!("not {expression}: {}", ask("document.body?.innerText")))
        });
    }
}

impl Drop for Chrome {
    fn drop(&mut self) {
        // It may have ended.
        drop(self.child.kill());
        end_of(&mut self.child);
    }
}
