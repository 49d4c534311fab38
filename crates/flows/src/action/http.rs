//! Posting to a web hook.

use waypost_events::Event;

use super::values::Values;
use crate::Template;
use crate::encode::{event_json, object_json, percent_encoded};
use crate::task::{ActionContext, Call, Unready};
use crate::webhook::Post;

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
    /// The file names the host literally. A value is escaped, so it can only be part of the path,
    /// the query or the fragment.
    pub(super) fn new(
        url: Template,
        body: Option<Values>,
        sign: Option<String>,
    ) -> Result<Self, String> {
        let Some(reference) = url.references().first() else {
            return Ok(Self { url, body, sign });
        };
        let before = &url.as_str()[..reference.span.start];
        let after = before.strip_prefix("https://").or(before.strip_prefix("http://"));
        let authority =
            after.and_then(|after| after.find(['/', '?', '#']).map(|end| &after[..end]));
        let host = authority.and_then(|authority| authority.rsplit('@').next());
        if host.is_none_or(|host| host.is_empty() || host.starts_with(':')) {
            return Err(format!(
                "data.{} would choose the scheme or the host of the URL; use it after the host's /",
                reference.key
            ));
        }
        Ok(Self { url, body, sign })
    }

    pub(super) fn post(
        &self,
        call: &Call<'_>,
        around: &ActionContext<'_>,
    ) -> Result<Post, Unready> {
        let body = self.body(call.event)?;
        let secret = self.sign.as_ref().map(|sign| around.secret(sign)).transpose()?;
        let url = self.url(call.event)?;
        let (id, timeout) = (call.key.to_owned(), call.action.timeout.0);
        Ok(Post { url, id, body, secret, timeout })
    }

    pub(super) fn body(&self, event: &Event) -> Result<String, Unready> {
        let Some(values) = &self.body else { return Ok(event_json(event)) };
        Ok(object_json(&values.render(&event.data)?))
    }

    /// The URL with its values escaped. A value that is a whole segment of the path cannot be `.`
    /// or `..`, which are not names and cannot be escaped (RFC 3986, section 3.3).
    pub(super) fn url(&self, event: &Event) -> Result<String, Unready> {
        let text =
            self.url.render_with(&event.data, |value| percent_encoded(&value).to_string())?;
        let path = text.split(['?', '#']).next().unwrap_or_default();
        let is_dots = path.split('/').any(|part| part == "." || part == "..");
        match self.url.references().first() {
            Some(first) if is_dots => Err(Unready(format!(
                "data.{} is a dot segment of the URL, which would change its path",
                first.key
            ))),
            _ => Ok(text),
        }
    }
}
