//! Who may do what over TLS, in the transport's words: everything is denied but what is said here.
//!
//! A rule names the certificate and the keys together, and every key of a call, an event or a
//! presence ends with the name of the machine that it comes from. So a machine can send nothing
//! under another's name, and what a target is told about its caller is what the certificate says.

use serde_json::{Value, json};

use crate::name::Keys;
use crate::paired::{Machine, Paired};

/// The `access_control` of a session of that machine, with which at least one other is paired: the
/// transport takes no empty list.
pub(crate) fn access_control(keys: &Keys, paired: &Paired) -> Value {
    let mut rules = Vec::new();
    let mut subjects = Vec::new();
    let mut policies = Vec::new();
    for machine in &paired.machines {
        let mut ids = Vec::new();
        for (idx, (flow, messages, key_exprs)) in
            grants(keys, paired, machine).into_iter().enumerate()
        {
            // An empty list, and the transport takes none, allows nothing.
            if key_exprs.is_empty() {
                continue;
            }
            let id = format!("{}-{idx}", machine.name);
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
            "id": machine.name,
            "cert_common_names": [machine.name],
            "link_protocols": ["tls"],
        }));
        policies.push(json!({ "rules": ids, "subjects": [machine.name] }));
    }
    json!({
        "enabled": true,
        "default_permission": "deny",
        "rules": rules,
        "subjects": subjects,
        "policies": policies,
    })
}

type Grant = (&'static str, &'static [&'static str], Vec<String>);

/// What goes in from a machine and out to it.
fn grants(keys: &Keys, paired: &Paired, machine: &Machine) -> Vec<Grant> {
    let own = paired.name.as_str();
    // A router speaks for every machine on the list, and for itself.
    let speakers: Vec<&Machine> = paired
        .machines
        .iter()
        .filter(|it| it.name == machine.name || (machine.router && !machine.revoked))
        .collect();
    let each =
        |key: &dyn Fn(&str) -> String| speakers.iter().map(|it| key(&it.name)).collect::<Vec<_>>();
    // Anybody with a certificate may ask what it may call, and hears that it is nothing.
    let hello = |name: &str| keys.hello("*", name);
    let mut grants: Vec<Grant> = vec![
        ("ingress", &["query"], each(&hello)),
        ("egress", &["reply"], each(&hello)),
        ("egress", &["declare_queryable"], vec![keys.hello("*", "*")]),
    ];
    if machine.revoked {
        return grants;
    }
    let called: Vec<String> = speakers
        .iter()
        .filter(|it| !it.revoked)
        .flat_map(|it| it.calls.iter().map(move |allow| (it, allow)))
        .map(|(it, allow)| keys.call(allow.target(), allow.command(), &it.name))
        .collect();
    let any_call = vec![keys.call("*", "*", "*"), keys.hello("*", "*")];
    let own_calls = vec![keys.call("*", "*", own), keys.hello("*", own)];
    grants.extend::<[Grant; 8]>([
        ("ingress", &["query"], called.clone()),
        ("egress", &["reply"], called),
        ("egress", &["query"], own_calls.clone()),
        ("ingress", &["reply"], own_calls),
        ("ingress", &["declare_queryable"], any_call.clone()),
        ("egress", &["declare_queryable"], any_call),
        ("ingress", &["liveliness_token"], each(&|name| keys.live_any(name))),
        ("egress", &["liveliness_token"], vec![keys.live_any(own)]),
    ]);
    let live: &[&str] = &["liveliness_query", "declare_liveliness_subscriber"];
    grants.push(("ingress", live, vec![keys.live_under()]));
    grants.push(("egress", live, vec![keys.live_under()]));
    if machine.events {
        let from_it = each(&|name| keys.event("*", "*", name));
        grants.extend::<[Grant; 4]>([
            ("ingress", &["put"], from_it),
            ("egress", &["put"], vec![keys.event("*", "*", own)]),
            ("ingress", &["declare_subscriber"], vec![keys.event_under()]),
            ("egress", &["declare_subscriber"], vec![keys.event_under()]),
        ]);
    }
    grants
}
