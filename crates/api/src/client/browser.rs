//! The browser on the mesh.

use serde_json::{Map, Value};
use ureq::http::header::CONTENT_TYPE;

use super::{Client, Result, encode, encoded};
use crate::Browser;

impl Client {
    /// `GET /api/browser`.
    pub fn browsers(&self) -> Result<Vec<Browser>> {
        self.read(self.send("GET", "/api/browser")?)
    }

    /// `POST /api/browser/{command}`: the browser's commands, arguments and answers. It waits as long as the browser does:
    /// up to two minutes, if the arguments have that `timeout`.
    pub fn command_browser(&self, command: &str, arguments: &Map<String, Value>) -> Result<Value> {
        let mut path = "/api/browser/".to_owned();
        encode(command, &mut path);
        let request = self.request("POST", &path).header(CONTENT_TYPE, "application/json");
        self.read(self.run(request, &encoded(arguments)?, None)?)
    }
}
