//! The transport's configuration: no multicast, no gossip, no listeners except the given ones, no
//! administration.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::folder::Credentials;
use crate::limits::{FAR_GREETING_MAX, PAYLOAD_BYTES_MAX};
use crate::name::Keys;
use crate::pairing::Pairing;
use crate::rules::access_control;

/// Listens on a socket and connects to the others.
pub(crate) fn near(credentials: &Credentials, socket: &Path, others: &[PathBuf]) -> Value {
    let mut config = closed();
    let endpoint = |socket: &Path| format!("unixsock-stream/{}", socket.display());
    config["listen"]["endpoints"] = json!([endpoint(socket)]);
    config["connect"]["endpoints"] = others.iter().map(|it| endpoint(it)).collect();
    config["transport"]["auth"]["usrpwd"] = json!({
        "user": credentials.user,
        "password": credentials.password,
        "dictionary_file": credentials.file,
    });
    config
}

/// Connects to paired machines, and listens on this machine's address if requested.
pub(crate) fn far(pairing: &Pairing, keys: &Keys, listens: bool) -> Value {
    let mut config = paired(pairing, keys, None);
    if listens {
        config["listen"]["endpoints"] = pairing.address().into_iter().map(endpoint).collect();
    }
    let connect = &pairing.paired().connect;
    config["connect"]["endpoints"] = connect.iter().map(|it| endpoint(it)).collect();
    config["scouting"]["delay"] = json!(FAR_GREETING_MAX.as_millis());
    config
}

/// Connects to one router. A router forwards messages of clients only: it assumes that peers are
/// connected to each other. A client listens nowhere, and has one link.
pub(crate) fn routed(pairing: &Pairing, keys: &Keys, name: &str, address: &str) -> Value {
    let mut config = paired(pairing, keys, Some(name));
    config["mode"] = json!("client");
    config["connect"]["endpoints"] = json!([endpoint(address)]);
    // Opening tries once and reports the result; a peer would keep trying in the background.
    config["connect"]["timeout_ms"] = json!(0);
    config
}

fn endpoint(address: &str) -> String {
    format!("tls/{address}")
}

/// The common configuration of the links to other machines.
fn paired(pairing: &Pairing, keys: &Keys, router: Option<&str>) -> Value {
    let mut config = closed();
    config["access_control"] = access_control(keys, pairing.paired(), router);
    let [authority, certificate, key] = pairing.files();
    config["transport"]["link"]["tls"] = json!({
        "root_ca_certificate": authority,
        "listen_certificate": certificate,
        "listen_private_key": key,
        "connect_certificate": certificate,
        "connect_private_key": key,
        "enable_mtls": true,
        "verify_name_on_connect": true,
        "close_link_on_expiration": true,
    });
    config
}

/// The common configuration of all sessions.
fn closed() -> Value {
    json!({
        "mode": "peer",
        "listen": { "endpoints": [], "timeout_ms": 0, "exit_on_failure": true },
        "connect": {
            "endpoints": [],
            "timeout_ms": -1,
            "exit_on_failure": false,
            "retry": { "period_init_ms": 100, "period_max_ms": 4000, "period_increase_factor": 2 },
        },
        "open": { "return_conditions": { "connect_scouted": true, "declares": true } },
        "scouting": {
            "delay": 500,
            "multicast": { "enabled": false },
            "gossip": { "enabled": false },
        },
        "adminspace": { "enabled": false },
        "transport": {
            "unicast": { "open_timeout": 5000, "accept_timeout": 5000, "max_sessions": 256 },
            "link": {
                "rx": { "max_message_size": 2 * PAYLOAD_BYTES_MAX },
                "tx": { "lease": 5000 },
            },
            "auth": {},
        },
    })
}
