//! The configuration with which a router of the transport must be started, so that machines can
//! meet there and none can send under another's name: a router does not know that keys end with a
//! name, and without these rules it forwards everything.

use serde_json::{Value, json};

use crate::limits::PAYLOAD_BYTES_MAX;
use crate::name::Keys;
use crate::paired::Paired;
use crate::rules::{Grant, LIVE_QUESTIONS, allow};

/// The configuration of a router with this address, for the machine that has this list and the
/// machines on it. `files` are the authority's certificate, the router's certificate, and its key.
pub(crate) fn config(keys: &Keys, paired: &Paired, address: &str, files: [&str; 3]) -> Value {
    let [authority, certificate, key] = files;
    let machines = paired.machines.iter().filter(|it| !it.revoked && !it.router);
    // Events are forwarded if any machine receives them.
    let own = (paired.name.as_str(), paired.machines.iter().any(|it| it.events));
    let machines = [own].into_iter().chain(machines.map(|it| (it.name.as_str(), it.events)));
    let access = allow(machines.map(|(name, events)| (name, grants(keys, name, events))));
    json!({
        "mode": "router",
        "listen": { "endpoints": [format!("tls/{address}")] },
        "scouting": { "multicast": { "enabled": false }, "gossip": { "enabled": false } },
        "access_control": access,
        "transport": { "link": {
            "protocols": ["tls"],
            "rx": { "max_message_size": 2 * PAYLOAD_BYTES_MAX },
            "tx": { "lease": 5000 },
            "tls": {
                "root_ca_certificate": authority,
                "listen_certificate": certificate,
                "listen_private_key": key,
                "enable_mtls": true,
                "close_link_on_expiration": true,
            },
        } },
    })
}

/// A machine calls, broadcasts and is present under its own name only. The called machine decides
/// what may be called: here, each machine may call every other.
fn grants(keys: &Keys, name: &str, events: bool) -> Vec<Grant> {
    let own = vec![keys.call("*", "*", name), keys.hello("*", name)];
    let any = vec![keys.call("*", "*", "*"), keys.hello("*", "*")];
    let live = vec![keys.live_under()];
    let mut grants: Vec<Grant> = vec![
        ("ingress", &["query"], own.clone()),
        ("egress", &["reply"], own),
        ("egress", &["query"], any.clone()),
        ("ingress", &["reply"], any.clone()),
        ("ingress", &["declare_queryable"], any.clone()),
        ("egress", &["declare_queryable"], any),
        ("ingress", &["liveliness_token"], vec![keys.live_any(name)]),
        ("egress", &["liveliness_token"], vec![keys.live_all()]),
        ("ingress", LIVE_QUESTIONS, live.clone()),
        ("egress", LIVE_QUESTIONS, live),
    ];
    if events {
        let any = vec![keys.event_under()];
        grants.extend::<[Grant; 4]>([
            ("ingress", &["put"], vec![keys.event("*", "*", name)]),
            ("egress", &["put"], any.clone()),
            ("ingress", &["declare_subscriber"], any.clone()),
            ("egress", &["declare_subscriber"], any),
        ]);
    }
    grants
}
