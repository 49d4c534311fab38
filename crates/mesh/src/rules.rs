//! Access rules for TLS, in the transport's terms: everything is denied that is not allowed here.
//!
//! A rule names the certificate and the keys together, and every key of a call, an event or a
//! presence ends with the name of the machine that it comes from. So a machine can send nothing
//! under another's name, and what a target learns about its caller is what the certificate says.
//!
//! A router is the exception, only on the link to it: it may send under the name of each machine on
//! the list, and can do no more than those machines may do.

use serde_json::{Value, json};

use crate::name::Keys;
use crate::paired::{Machine, Paired};

/// What is allowed: direction, message types, keys.
pub(crate) type Grant = (&'static str, &'static [&'static str], Vec<String>);

/// The queries for presence.
pub(crate) const LIVE_QUESTIONS: &[&str] = &["liveliness_query", "declare_liveliness_subscriber"];

/// The `access_control` of a session of that machine, with at least one paired machine: the
/// transport does not accept an empty list. Includes the router at the other end of the session, if
/// it is one.
pub(crate) fn access_control(keys: &Keys, paired: &Paired, router: Option<&str>) -> Value {
    let machines = paired.machines.iter();
    allow(machines.map(|it| {
        let routes = router == Some(&it.name) && it.router && !it.revoked;
        (it.name.as_str(), grants(keys, paired, it, routes))
    }))
}

/// An `access_control` that denies everything but these grants to these certificates.
pub(crate) fn allow<'a>(granted: impl Iterator<Item = (&'a str, Vec<Grant>)>) -> Value {
    let mut rules = Vec::new();
    let mut subjects = Vec::new();
    let mut policies = Vec::new();
    for (name, grants) in granted {
        let mut ids = Vec::new();
        for (idx, (flow, messages, key_exprs)) in grants.into_iter().enumerate() {
            // An empty list, which the transport does not accept, allows nothing.
            if key_exprs.is_empty() {
                continue;
            }
            let id = format!("{name}-{idx}");
            rules.push(json!({
                "id": id,
                "permission": "allow",
                "flows": [flow],
                "messages": messages,
                "key_exprs": key_exprs,
            }));
            ids.push(id);
        }
        subjects.push(json!({
            "id": name,
            "cert_common_names": [name],
            "link_protocols": ["tls"],
        }));
        policies.push(json!({ "rules": ids, "subjects": [name] }));
    }
    json!({
        "enabled": true,
        "default_permission": "deny",
        "rules": rules,
        "subjects": subjects,
        "policies": policies,
    })
}

/// What is allowed from and to a machine and, if it routes, from and to all others.
fn grants(keys: &Keys, paired: &Paired, machine: &Machine, routes: bool) -> Vec<Grant> {
    let own = paired.name.as_str();
    let speaks = |it: &&Machine| routes || it.name == machine.name;
    let speakers: Vec<&Machine> = paired.machines.iter().filter(speaks).collect();
    let trusted: Vec<&Machine> = speakers.iter().filter(|it| !it.revoked).copied().collect();
    // Any machine with a certificate may ask what it may call, and may learn that it is nothing.
    let mut hello: Vec<String> = speakers.iter().map(|it| keys.hello("*", &it.name)).collect();
    if routes {
        // A router shows the peers of one machine to each other. A peer that asks there gets the
        // same response.
        hello.push(keys.hello("*", own));
    }
    let mut grants: Vec<Grant> = vec![
        ("ingress", &["query"], hello.clone()),
        ("egress", &["reply"], hello),
        ("egress", &["declare_queryable"], vec![keys.hello("*", "*")]),
    ];
    if machine.revoked {
        return grants;
    }
    let called: Vec<String> = trusted
        .iter()
        .flat_map(|it| it.calls.iter().map(move |allow| (it, allow)))
        .map(|(it, allow)| keys.call(allow.target(), allow.command(), &it.name))
        .collect();
    let any_call = vec![keys.call("*", "*", "*"), keys.hello("*", "*")];
    let own_calls = vec![keys.call("*", "*", own), keys.hello("*", own)];
    let live = trusted.iter().map(|it| keys.live_any(&it.name)).collect();
    grants.extend::<[Grant; 10]>([
        ("ingress", &["query"], called.clone()),
        ("egress", &["reply"], called),
        ("egress", &["query"], own_calls.clone()),
        ("ingress", &["reply"], own_calls),
        ("ingress", &["declare_queryable"], any_call.clone()),
        ("egress", &["declare_queryable"], any_call),
        ("ingress", &["liveliness_token"], live),
        ("egress", &["liveliness_token"], vec![keys.live_any(own)]),
        ("ingress", LIVE_QUESTIONS, vec![keys.live_under()]),
        ("egress", LIVE_QUESTIONS, vec![keys.live_under()]),
    ]);
    if machine.events {
        let heard = trusted.iter().filter(|it| it.events);
        let heard = heard.map(|it| keys.event("*", "*", &it.name)).collect();
        grants.extend::<[Grant; 4]>([
            ("ingress", &["put"], heard),
            ("egress", &["put"], vec![keys.event("*", "*", own)]),
            ("ingress", &["declare_subscriber"], vec![keys.event_under()]),
            ("egress", &["declare_subscriber"], vec![keys.event_under()]),
        ]);
    }
    grants
}
