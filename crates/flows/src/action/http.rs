//! Posting to a web hook.

use waypost_events::Event;

use super::values::Values;
use crate::command::check_defaults;
use crate::declared::Class;
use crate::encode::{UPPER, event_json, object_json, percent_encoded};
use crate::task::{ActionContext, Call, Unready};
use crate::webhook::Post;
use crate::{DataTypes, MissingKey, Template};

/// Posts to a web hook.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Http {
    /// The URL.
    pub url: Template,
    /// The body, a JSON object; without it the event itself is sent.
    pub body: Option<Values>,
    /// The name of the secret that signs it (Standard Webhooks).
    pub sign: Option<String>,
}

impl Http {
    /// Checks where values of these types occur in the URL. A value is escaped there, so it can
    /// only be part of its path, query or fragment. The parts before may depend only on a list in
    /// the flow.
    pub(super) fn check(&self, types: &DataTypes) -> Result<(), String> {
        let url = &self.url;
        check_defaults(url.placeholders(), types).map_err(|(_, it)| it)?;
        let mut host_ends = false;
        let mut before = String::new();
        for part in url.parts() {
            match part {
                Ok(text) => before.push_str(text),
                Err((_, reference)) => {
                    let host = before.strip_prefix("https://").or(before.strip_prefix("http://"));
                    host_ends = host_ends || host.is_some_and(|it| it.contains(['/', '?', '#']));
                    let is_choice = host.is_some() && types.class(&reference.key) == Class::Choice;
                    if !host_ends && !is_choice {
                        return Err(format!(
                            "data.{} would choose the scheme or the host of the URL; use it after the host's /, or declare it as one of [a, b] in trigger.data",
                            reference.key
                        ));
                    }
                    before.push('x');
                }
            }
        }
        let after = before.split_once("://").map_or("", |(_, after)| after);
        let authority = after.split(['/', '\\', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        if url.parts().any(|it| it.is_err()) && (host.is_empty() || host.starts_with(':')) {
            return Err("the URL has no host, so the event's value would become it".to_owned());
        }
        Ok(())
    }

    pub(super) fn post(
        &self,
        call: &Call<'_>,
        around: &ActionContext<'_>,
    ) -> Result<Post, Unready> {
        let body = self.body(call.event)?;
        let secret = self.sign.as_ref().map(|it| around.secret(it)).transpose()?;
        let url = self.url(call.event)?;
        let (id, timeout) = (call.key.to_owned(), call.action.timeout.0);
        Ok(Post { url, id, body, secret, timeout })
    }

    pub(super) fn body(&self, event: &Event) -> Result<String, MissingKey> {
        let Some(values) = &self.body else { return Ok(event_json(event)) };
        Ok(object_json(&values.render(&event.data)?))
    }

    /// The URL with its values escaped. A value that is a whole segment of the path cannot be `.`
    /// or `..`, which are not names and cannot be escaped (RFC 3986, section 3.3).
    pub(super) fn url(&self, event: &Event) -> Result<String, Unready> {
        let text = self.url.render_with(&event.data, |it| percent_encoded(&it, UPPER))?;
        let path = text.split(['?', '#']).next().unwrap_or_default();
        let is_dots = path.split('/').any(|it| it == "." || it == "..");
        match self.url.references().next() {
            Some(first) if is_dots => Err(Unready::DotSegment(first.key.clone())),
            _ => Ok(text),
        }
    }
}
