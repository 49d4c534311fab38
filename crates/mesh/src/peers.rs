//! The present peers.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::Origin;
use crate::envelope::About;
use crate::mesh::Inner;
use crate::remote::{Failure, Remote};

/// A present peer; its name and targets are its own claim.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Peer {
    /// The name that it gives itself.
    pub name: String,
    /// 32 hexadecimal digits, generated when it joined.
    pub id: String,
    /// Where it is, as the connection proved it.
    pub origin: Origin,
    /// The targets that it serves, in alphabetical order.
    pub targets: Vec<String>,
    /// Whether it is the one that queried.
    pub is_self: bool,
}

/// What peers say when all are asked at once.
pub(crate) struct Asking(JoinSet<(Arc<Remote>, Result<About, Failure>)>);

impl Asking {
    pub(crate) fn begin(remotes: impl IntoIterator<Item = Arc<Remote>>) -> Self {
        let ask = |remote: Arc<Remote>| async move {
            let about = remote.meet().await;
            (remote, about)
        };
        Self(remotes.into_iter().map(ask).collect())
    }

    /// The next answer.
    pub(crate) async fn next(&mut self) -> Option<(Arc<Remote>, Result<About, Failure>)> {
        // A task that panicked has no answer.
        while let Some(asked) = self.0.join_next().await {
            if let Ok(asked) = asked {
                return Some(asked);
            }
        }
        None
    }
}

impl Inner {
    /// The peers that respond, including this one, sorted by name and then by id.
    pub(crate) async fn peers(&self) -> Vec<Peer> {
        let mut asking = Asking::begin(self.near().into_iter().chain(self.far()));
        let mut peers: BTreeMap<String, Peer> = BTreeMap::new();
        while let Some((remote, answer)) = asking.next().await {
            let (Ok(About { id, name, mut targets, .. }), Some(origin)) = (answer, remote.origin())
            else {
                continue;
            };
            targets.sort();
            let is_self = id == self.id;
            let peer = Peer { name, id: id.clone(), origin, targets, is_self };
            // A peer that is reached in two ways is one peer; its nearer origin comes first.
            let known = peers.entry(id).or_insert_with(|| peer.clone());
            if peer.origin < known.origin {
                *known = peer;
            }
        }
        let mut peers: Vec<Peer> = peers.into_values().collect();
        peers.sort_by(|a, b| (&a.name, &a.id).cmp(&(&b.name, &b.id)));
        peers
    }
}
