//! Names, which may become parts of paths, and patterns of events.

use crate::error::{Error, Result};
use crate::limits::NAME_BYTES_MAX;

/// The name for all processes of this user on this machine.
pub(crate) const LOCAL: &str = "local";

/// Checks a name of a target, a command, a peer or a machine: `[a-z0-9_.-]+`.
pub(crate) fn check<'a>(what: &str, name: &'a str) -> Result<&'a str, String> {
    check_with(what, name, "-_.")
}

/// Checks a type of event: like other names, with `:` allowed, as in `mesh:task`.
pub(crate) fn check_kind(kind: &str) -> Result<&str, String> {
    check_with("the type of an event", kind, "-_.:")
}

fn check_with<'a>(what: &str, name: &'a str, others: &str) -> Result<&'a str, String> {
    let shown = || name.chars().take(NAME_BYTES_MAX).collect::<String>();
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err(format!(
            "{what} has 1 to {NAME_BYTES_MAX} characters, {:?} has {}",
            shown(),
            name.len()
        ));
    }
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || others.contains(c);
    match name.chars().find(|c| !fits(*c)) {
        Some(wrong) => Err(format!(
            "{what} may contain only a-z, 0-9 and {}; {:?} contains {wrong:?}",
            others.chars().map(String::from).collect::<Vec<_>>().join(" "),
            shown()
        )),
        None => Ok(name),
    }
}

/// Which events a listener receives: `TYPE` or `SOURCE/TYPE`, with `*` for any run of characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    source: String,
    kind: String,
}

impl Pattern {
    /// Every event.
    pub fn all() -> Self {
        Self { source: "*".to_owned(), kind: "*".to_owned() }
    }

    /// Parses a pattern such as `human_*`, `mesh:task` or `browser.relay/*`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let (source, kind) = text.split_once('/').unwrap_or(("*", text));
        // The star is not a valid character of a name.
        let plain = |part: &str| part.replace('*', "x");
        check("the source of an event", &plain(source)).map_err(Error::Invalid)?;
        check_kind(&plain(kind)).map_err(Error::Invalid)?;
        Ok(Self { source: source.to_owned(), kind: kind.to_owned() })
    }

    /// Whether it matches events of this type and source.
    pub(crate) fn matches(&self, source: &str, kind: &str) -> bool {
        fits(&self.source, source) && fits(&self.kind, kind)
    }
}

/// Whether a text has the parts between the stars of a pattern, in their order.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = text.split_once(part) else { return false };
        text = after;
    }
    text.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_no_characters_with_a_meaning() {
        for good in ["browser.relay", "click", "a", "0", "x-1_y.z", &"n".repeat(NAME_BYTES_MAX)] {
            assert_eq!(check("a name", good), Ok(good));
        }
        let long = "n".repeat(NAME_BYTES_MAX + 1);
        for bad in [
            "", "*", "**", "a/b", "a*", "$*", "a?b", "#", "@a", "A", "é", "a b", "a\0", "a:b",
            &long,
        ] {
            assert!(check("a name", bad).is_err(), "{bad:?}");
        }
        assert!(check_kind("mesh:task").is_ok());
        assert!(check_kind("mesh:*").is_err());
    }

    #[test]
    fn patterns_match_the_source_and_the_type() {
        for (pattern, source, kind, is_match) in [
            ("human_*", "browser.relay", "human_click", true),
            ("human_*", "browser.relay", "a_human_click", false),
            ("*", "ctl", "mesh:task", true),
            ("**", "ctl", "mesh:task", true),
            ("a**b*c", "ctl", "a-b-b-c", true),
            ("a*b", "ctl", "ab", true),
            ("ab*ba", "ctl", "aba", false),
            ("ctl/mesh:task", "ctl", "mesh:task", true),
            ("ctl/mesh:task", "other", "mesh:task", false),
            ("browser.*/*", "browser.relay", "tick", true),
        ] {
            let parsed = Pattern::parse(pattern).unwrap();
            assert_eq!(parsed.matches(source, kind), is_match, "{pattern} {source} {kind}");
        }
        for bad in ["", "a/b/c", "/", "a/", "A", "$*", "a#", "a b"] {
            assert!(Pattern::parse(bad).is_err(), "{bad:?}");
        }
    }
}
