//! Names, and the keys built from them. Only a valid name becomes part of a key, so no sender can
//! send a wildcard.

use crate::error::{Error, Result};
use crate::limits::NAME_BYTES_MAX;

/// The name for all processes with the credentials of the runtime folder.
pub(crate) const LOCAL: &str = "local";

/// The default mesh.
pub(crate) const REALM: &str = "waypost";

/// Checks a name of a target, a command, a peer, a machine or a mesh: `[a-z0-9_.-]+`.
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
    let fits = |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || others.contains(it);
    match name.chars().find(|it| !fits(*it)) {
        Some(wrong) => Err(format!(
            "{what} may contain only a-z, 0-9 and {}; {:?} contains {wrong:?}",
            others.chars().map(String::from).collect::<Vec<_>>().join(" "),
            shown()
        )),
        None => Ok(name),
    }
}

/// The keys of one mesh.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    root: String,
}

/// The content of a call key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CallKey<'a> {
    pub(crate) target: &'a str,
    pub(crate) command: &'a str,
    pub(crate) origin: &'a str,
}

/// The content of an event key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EventKey<'a> {
    pub(crate) source: &'a str,
    pub(crate) kind: &'a str,
    pub(crate) origin: &'a str,
}

/// The content of a presence key: a peer, or a target that it serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LiveKey<'a> {
    pub(crate) is_target: bool,
    pub(crate) name: &'a str,
    pub(crate) peer: &'a str,
    pub(crate) origin: &'a str,
}

impl Keys {
    pub(crate) fn new(realm: &str) -> Result<Self> {
        let realm = check("the name of a mesh", realm).map_err(Error::Invalid)?;
        Ok(Self { root: format!("mesh/{realm}") })
    }

    pub(crate) fn call(&self, target: &str, command: &str, origin: &str) -> String {
        format!("{}/call/{target}/{command}/{origin}", self.root)
    }

    /// The keys of all calls to a target.
    pub(crate) fn calls(&self, target: &str) -> String {
        self.call(target, "*", "*")
    }

    /// The key for asking a target what a paired machine may call.
    pub(crate) fn hello(&self, target: &str, origin: &str) -> String {
        format!("{}/hello/{target}/{origin}", self.root)
    }

    pub(crate) fn event(&self, source: &str, kind: &str, origin: &str) -> String {
        format!("{}/event/{source}/{kind}/{origin}", self.root)
    }

    pub(crate) fn live_peer(&self, name: &str, peer: &str, origin: &str) -> String {
        format!("{}/live/peer/{name}/{peer}/{origin}", self.root)
    }

    pub(crate) fn live_target(&self, target: &str, peer: &str, origin: &str) -> String {
        format!("{}/live/target/{target}/{peer}/{origin}", self.root)
    }

    pub(crate) fn live_all(&self) -> String {
        self.live_any("*")
    }

    /// All presence keys of one machine.
    pub(crate) fn live_any(&self, origin: &str) -> String {
        format!("{}/live/*/*/*/{origin}", self.root)
    }

    /// All presence keys, and all queries for them.
    pub(crate) fn live_under(&self) -> String {
        format!("{}/live/**", self.root)
    }

    /// All event keys, and all subscriptions.
    pub(crate) fn event_under(&self) -> String {
        format!("{}/event/**", self.root)
    }

    pub(crate) fn read_call<'a>(&self, key: &'a str) -> Option<CallKey<'a>> {
        let [target, command, origin] = self.parts(key, "call")?;
        check("a target", target).ok()?;
        check("a command", command).ok()?;
        check("an origin", origin).ok()?;
        Some(CallKey { target, command, origin })
    }

    pub(crate) fn read_event<'a>(&self, key: &'a str) -> Option<EventKey<'a>> {
        let [source, kind, origin] = self.parts(key, "event")?;
        check("a source", source).ok()?;
        check_kind(kind).ok()?;
        check("an origin", origin).ok()?;
        Some(EventKey { source, kind, origin })
    }

    pub(crate) fn read_live<'a>(&self, key: &'a str) -> Option<LiveKey<'a>> {
        let [what, name, peer, origin] = self.parts(key, "live")?;
        [name, peer, origin].iter().try_for_each(|it| check("a name", it).map(drop)).ok()?;
        let is_target = match what {
            "target" => true,
            "peer" => false,
            _ => return None,
        };
        Some(LiveKey { is_target, name, peer, origin })
    }

    /// The target and the origin in a greeting key.
    pub(crate) fn read_hello<'a>(&self, key: &'a str) -> Option<[&'a str; 2]> {
        let [target, origin] = self.parts(key, "hello")?;
        check("a target", target).ok()?;
        check("an origin", origin).ok()?;
        Some([target, origin])
    }

    fn parts<'a, const N: usize>(&self, key: &'a str, section: &str) -> Option<[&'a str; N]> {
        let rest = key.strip_prefix(&self.root)?.strip_prefix('/')?;
        let rest = rest.strip_prefix(section)?.strip_prefix('/')?;
        rest.split('/').collect::<Vec<_>>().try_into().ok()
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
        Self { source: "*".into(), kind: "*".into() }
    }

    /// Parses a pattern such as `human_*`, `mesh:task` or `browser.relay/*`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let (source, kind) = text.split_once('/').unwrap_or(("*", text));
        // The star is not a valid character of a name, and the transport's own star matches a whole
        // segment.
        let plain = |part: &str| part.replace('*', "x");
        check("the source of an event", &plain(source)).map_err(Error::Invalid)?;
        check_kind(&plain(kind)).map_err(Error::Invalid)?;
        Ok(Self { source: starred(source), kind: starred(kind) })
    }

    /// The pattern in the transport's language.
    pub(crate) fn key(&self, keys: &Keys) -> String {
        keys.event(&self.source, &self.kind, "*")
    }
}

/// `human_*` is `human_$*` in the transport, and `*` alone stays.
fn starred(part: &str) -> String {
    let mut out = String::with_capacity(part.len() + 4);
    for piece in part.split_inclusive('*') {
        match piece.strip_suffix('*') {
            // Two stars in a row mean the same as one.
            Some("") if out.ends_with("$*") => {}
            Some(text) => {
                out.push_str(text);
                out.push_str("$*");
            }
            None => out.push_str(piece),
        }
    }
    if out == "$*" { "*".into() } else { out }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_the_keys_can_hold() {
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
    fn a_key_is_read_as_it_was_made_and_nothing_else_is_read() {
        let keys = Keys::new("home").unwrap();
        let key = keys.call("browser.relay", "click", LOCAL);
        let read = keys.read_call(&key);
        assert_eq!(
            read,
            Some(CallKey { target: "browser.relay", command: "click", origin: LOCAL })
        );
        for other in [
            "mesh/home/call/browser.relay/*/local",
            "mesh/home/call/**",
            "mesh/home/call/browser.relay/click",
            "mesh/home/call/browser.relay/click/local/more",
            "mesh/other/call/browser.relay/click/local",
            "mesh/homecall/browser.relay/click/local",
        ] {
            assert_eq!(keys.read_call(other), None, "{other}");
        }
    }

    #[test]
    fn patterns_become_the_transport_s() {
        let keys = Keys::new("home").unwrap();
        let key = |text| Pattern::parse(text).map(|it| it.key(&keys)).ok();
        assert_eq!(key("human_*").as_deref(), Some("mesh/home/event/*/human_$*/*"));
        assert_eq!(key("*").as_deref(), Some("mesh/home/event/*/*/*"));
        assert_eq!(key("**").as_deref(), Some("mesh/home/event/*/*/*"));
        assert_eq!(key("a**b").as_deref(), Some("mesh/home/event/*/a$*b/*"));
        assert_eq!(key("ctl/mesh:task").as_deref(), Some("mesh/home/event/ctl/mesh:task/*"));
        for bad in ["", "a/b/c", "/", "a/", "A", "$*", "a#", "a b"] {
            assert_eq!(key(bad), None, "{bad:?}");
        }
    }
}
