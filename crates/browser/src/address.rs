//! Addresses as others may see them.

use url::Url;

/// An address without the name and the password that it may have.
pub(crate) fn without_login(url: &str) -> String {
    let Some(mut parsed) = Url::parse(url).ok().filter(|it| it.has_authority()) else {
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
