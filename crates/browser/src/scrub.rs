//! Changes every text of a result, so that it contains only what its receiver may see.

use serde_json::Value;
use url::Url;

/// Members whose values are references and names of our own. Whoever sees that one of them is
/// masked knows what a secret contains.
const OWN: &[&str] = &[
    "engine",
    "mode",
    "partial",
    "reason",
    "ref",
    "refs",
    "reordered",
    "signals",
    "state",
    "trust",
    "type",
];

/// Changes every text in a value. A selector that would change is left out: it would find another
/// element, or none. An address loses its name and password.
pub(crate) fn scrub(value: &mut Value, change: &dyn Fn(&str) -> String) {
    let is_same = |selector: &str| change(selector).trim() == selector.trim();
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(values) => values.iter_mut().for_each(|value| scrub(value, change)),
        Value::Object(members) => {
            members.retain(|name, value| name != "selector" || value.as_str().is_none_or(is_same));
            for (name, value) in members {
                match (name.as_str(), value) {
                    ("selector", _) => {}
                    ("selectors", Value::Array(selectors)) => {
                        for it in selectors {
                            if !it.as_str().is_none_or(is_same) {
                                *it = Value::Null;
                            }
                        }
                    }
                    ("url", Value::String(url)) => *url = without_login(&change(url)),
                    (name, value) if !OWN.contains(&name) => scrub(value, change),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}
/// An address without the name and the password that it may have.
pub(crate) fn without_login(url: &str) -> String {
    let Some(mut parsed) = Url::parse(url).ok().filter(|value| value.has_authority()) else {
        return url.to_owned();
    };
    if parsed.username().is_empty() && parsed.password().is_none() {
        return url.to_owned();
    }
    let removed = parsed.set_username("").and_then(|()| parsed.set_password(None));
    removed.map_or_else(|()| url.to_owned(), |()| parsed.into())
}

#[cfg(test)]
mod tests {
    use super::without_login;

    #[test]
    fn an_address_is_shown_without_name_and_password() {
        for (url, shown) in [
            ("http://user:pass@a.example/b?c=d@e#f", "http://a.example/b?c=d@e#f"),
            ("https://user@a.example:8443/", "https://a.example:8443/"),
            ("http://:pass@127.0.0.1/", "http://127.0.0.1/"),
            ("http://a.example/@b:c@d", "http://a.example/@b:c@d"),
            ("about:blank", "about:blank"),
            ("", ""),
        ] {
            assert_eq!(without_login(url), shown);
        }
    }
}
