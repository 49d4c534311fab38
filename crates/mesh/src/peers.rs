//! The present peers.

use std::collections::BTreeMap;

use crate::Origin;
use crate::name::Keys;

/// A present peer; its name and targets are its own claim.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The name that it gives itself.
    pub name: String,
    /// 32 hexadecimal digits, generated when it joined.
    pub id: String,
    /// Where it is, as the transport proved it.
    pub origin: Origin,
    /// The targets that it serves, in alphabetical order.
    pub targets: Vec<String>,
    /// Whether it is the one that queried.
    pub is_self: bool,
}

/// Builds peers from presence keys. A target of a peer without a key for its name belongs to one
/// that is just joining or leaving, and is left out.
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
        // A peer seen on two links is one peer; its nearer origin comes first.
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
