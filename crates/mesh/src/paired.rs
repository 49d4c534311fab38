//! Which machines are paired, and the rights of each: the file `paired.json` of a pairing folder.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::folder::{refuse_exposed, write_private};
use crate::name::{self, LOCAL};

/// The version of the file. A newer one is rejected with an error that names it.
const FORMAT: u32 = 1;

/// The list of one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paired {
    pub(crate) format: u32,
    /// This machine's name, the same as in its certificate.
    pub(crate) name: String,
    /// The address of this machine, as `HOST:PORT`; `None` if it only connects.
    #[serde(default)]
    pub(crate) listen: Option<String>,
    /// Addresses of machines that it connects to.
    #[serde(default)]
    pub(crate) connect: Vec<String>,
    #[serde(default)]
    pub(crate) machines: Vec<Machine>,
}

/// What every format of the file has.
#[derive(Debug, Deserialize)]
struct Head {
    format: u32,
}

/// A paired machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Machine {
    /// The name in its certificate.
    pub name: String,
    /// The commands that it may call here, and no others.
    #[serde(default)]
    pub calls: Vec<Allow>,
    /// Whether events are sent to it and accepted from it.
    #[serde(default)]
    pub events: bool,
    /// Whether it is a router, to which earlier releases connected. It has no rights.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) router: bool,
    /// The address of the router.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<String>,
    /// Whether it was revoked: it then has no rights, whatever the other fields contain.
    #[serde(default)]
    pub revoked: bool,
}

/// A command of a target that a machine may call, or with `*` all its commands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Allow {
    target: String,
    command: String,
}

impl Allow {
    /// Parses `TARGET/COMMAND` or `TARGET/*`.
    ///
    /// # Errors
    /// [`Error::Invalid`] for anything else.
    pub fn parse(text: &str) -> Result<Self> {
        let (target, command) = text.split_once('/').ok_or_else(|| {
            Error::Invalid(format!(
                "invalid permission {text:?}: expected TARGET/COMMAND or TARGET/*"
            ))
        })?;
        name::check("a target", target).map_err(Error::Invalid)?;
        if command != "*" {
            name::check("a command", command).map_err(Error::Invalid)?;
        }
        Ok(Self { target: target.to_owned(), command: command.to_owned() })
    }
}

impl TryFrom<String> for Allow {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

impl From<Allow> for String {
    fn from(allow: Allow) -> Self {
        allow.to_string()
    }
}

impl std::fmt::Display for Allow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.target, self.command)
    }
}

impl Machine {
    pub(crate) fn new(name: &str, calls: Vec<Allow>, events: bool) -> Self {
        let name = name.to_owned();
        Self { name, calls, events, router: false, address: None, revoked: false }
    }
}

impl Paired {
    pub(crate) fn new(name: &str) -> Self {
        Self {
            format: FORMAT,
            name: name.to_owned(),
            listen: None,
            connect: Vec::new(),
            machines: Vec::new(),
        }
    }

    /// Reads the list of a pairing folder; `None` if there is none.
    pub(crate) fn read(folder: &Path) -> Result<Option<Self>> {
        let path = folder.join(FILE);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &path, error)),
        };
        refuse_exposed(&path, &metadata, 0o600)?;
        let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
        let damaged = |reason| Error::Damaged { path: path.clone(), reason };
        let invalid = |error: serde_json::Error| damaged(error.to_string());
        // A newer release may have added fields.
        let Head { format: found } = serde_json::from_slice(&bytes).map_err(invalid)?;
        if found > FORMAT {
            return Err(Error::Newer { path, found, known: FORMAT });
        }
        let paired: Self = serde_json::from_slice(&bytes).map_err(invalid)?;
        for name in paired.machines.iter().map(|machine| &machine.name).chain([&paired.name]) {
            check_machine(name).map_err(damaged)?;
        }
        for address in paired.connect.iter().chain(&paired.listen) {
            check_address(address).map_err(damaged)?;
        }
        Ok(Some(paired))
    }

    pub(crate) fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_vec_pretty(self).expect("a list of machines is JSON");
        write_private(&folder.join(FILE), &text)
    }

    /// A machine of the list that has not been revoked.
    pub(crate) fn machine(&self, name: &str) -> Option<&Machine> {
        self.machines
            .iter()
            .find(|machine| machine.name == name && !machine.revoked && !machine.router)
    }

    /// Whether a machine may call a command of a target.
    pub(crate) fn may_call(&self, machine: &str, target: &str, command: &str) -> bool {
        let is_one = |allow: &Allow| {
            allow.target == target && (allow.command == command || allow.command == "*")
        };
        self.machine(machine).is_some_and(|machine| machine.calls.iter().any(is_one))
    }

    /// Whether events are sent to a machine and accepted from it.
    pub(crate) fn may_hear(&self, machine: &str) -> bool {
        self.machine(machine).is_some_and(|machine| machine.events)
    }
}

pub(crate) const FILE: &str = "paired.json";

/// Checks the name of a machine: like other names, but not the one for this machine's own peers.
pub(crate) fn check_machine(name: &str) -> Result<&str, String> {
    if name == LOCAL {
        return Err(format!("{LOCAL:?} is reserved for this machine; choose another name"));
    }
    name::check("the name of a machine", name)
}

/// The host of an address, in the form that a certificate has.
pub(crate) fn host_of(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.trim_start_matches('[').trim_end_matches(']')
}

/// Checks an address of the form `HOST:PORT`, with IPv6 in brackets.
pub(crate) fn check_address(address: &str) -> Result<&str, String> {
    let wrong =
        || format!("invalid address {address:?}: expected HOST:PORT, such as home.lan:7461");
    let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let is_host = if let Some(bare) = bare {
        bare.parse::<std::net::Ipv6Addr>().is_ok()
    } else {
        let fits = |c: char| c.is_ascii_alphanumeric() || ".-".contains(c);
        !host.is_empty() && host.len() <= 253 && host.chars().all(fits)
    };
    match port.parse::<u16>() {
        Ok(1..) if is_host => Ok(address),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_what_may_be_called_are_read_strictly() {
        for good in ["home.lan:7461", "127.0.0.1:1", "[::1]:65535", "HOST-1:7"] {
            assert_eq!(check_address(good), Ok(good));
        }
        for bad in [
            "",
            "home",
            "home:",
            "home:0",
            "home:65536",
            ":1",
            "::1:7",
            "a/b:1",
            "a#x=y:1",
            "a?b:1",
            "a b:1",
        ] {
            assert!(check_address(bad).is_err(), "{bad}");
        }
        assert_eq!(Allow::parse("browser.relay/*").unwrap().to_string(), "browser.relay/*");
        assert_eq!((host_of("home.lan:1"), host_of("[::1]:1")), ("home.lan", "::1"));
        for bad in ["browser.relay", "*/click", "a/b/c", "a/**", "a/b*", "/", "A/b"] {
            assert!(Allow::parse(bad).is_err(), "{bad}");
        }
        assert!(check_machine("local").is_err());
    }
}
