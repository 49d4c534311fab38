//! Who is there.

use std::collections::BTreeMap;

use crate::Origin;
use crate::name::Keys;

/// A peer that is there, by its own word.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// What it calls itself.
    pub name: String,
    /// 32 hexadecimal digits, made when it joined.
    pub id: String,
    /// Where it is, as the transport proved it.
    pub origin: Origin,
    /// The targets that it serves, in alphabetical order.
    pub targets: Vec<String>,
    /// Whether it is the one that asked.
    pub is_self: bool,
}

/// Makes peers of keys of presence. A target of a peer that did not say its own name belongs to
/// one that is just coming or going, and is left out.
pub(crate) fn gather(keys: &Keys, own_id: &str, found: &[String]) -> Vec<Peer> {
    let read: Vec<_> = found.iter().filter_map(|key| keys.read_live(key)).collect();
    let mut peers = BTreeMap::new();
    for key in read.iter().filter(|key| !key.is_target) {
        let peer = Peer {
            name: key.name.to_owned(),
            id: key.peer.to_owned(),
            origin: Origin::of(key.origin),
            targets: Vec::new(),
            is_self: key.peer == own_id,
        };
        // Heard on two links, it is one peer; the nearer origin comes first.
        peers
            .entry(key.peer)
            .and_modify(|it: &mut Peer| {
                if peer.origin < it.origin {
                    it.origin = peer.origin.clone();
                }
            })
            .or_insert(peer);
    }
    for key in read.iter().filter(|key| key.is_target) {
        if let Some(peer) = peers.get_mut(key.peer)
            && !peer.targets.iter().any(|it| it == key.name)
        {
            peer.targets.push(key.name.to_owned());
        }
    }
    let mut peers: Vec<Peer> = peers.into_values().collect();
    for peer in &mut peers {
        peer.targets.sort();
    }
    peers.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
    peers
}
