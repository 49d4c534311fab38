//! The stores, their sizes, and who works with them.

use crate::random::{Random, hash};

/// How large stores are and how they are used.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) stores: usize,
    /// Sizes are log-normal: most projects are small, a few are a hundred times as large.
    pub(crate) memories_median: f64,
    pub(crate) memories_sigma: f64,
    /// The same for use. With 2, and the influence of size, a tenth of the stores has about
    /// four fifths of the sessions.
    pub(crate) use_sigma: f64,
    /// Sessions that begin in all stores together, per second.
    pub(crate) sessions_rate: f64,
    pub(crate) session_seconds: f64,
    /// Between two requests of a session.
    pub(crate) pause_seconds: f64,
    /// The share of requests that add a memory: each is an append to the journal.
    pub(crate) adds_share: f64,
}

impl Workload {
    /// 10,000 stores in a busy hour: each project has three sessions of half an hour in eight hours,
    /// with a request every ten seconds.
    pub(crate) fn of(stores: usize, memories_median: f64) -> Self {
        Self {
            stores,
            memories_median,
            memories_sigma: 1.55,
            use_sigma: 2.0,
            sessions_rate: stores as f64 * 3.0 / (8.0 * 3_600.0),
            session_seconds: 1_800.0,
            pause_seconds: 10.0,
            adds_share: 0.2,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Store {
    /// What placement hashes.
    pub(crate) key: u64,
    pub(crate) memories: u64,
    /// Its share of all sessions.
    pub(crate) share: f64,
    /// How likely it is used in eight hours; a placement of real stores would count that.
    pub(crate) used: f64,
}

/// Draws the stores.
pub(crate) fn draw(workload: &Workload, seed: u64) -> Vec<Store> {
    let mut random = Random::new(seed);
    let mut stores: Vec<Store> = (0..workload.stores as u64)
        .map(|number| {
            let size = workload.memories_sigma * random.normal();
            let memories = (workload.memories_median * size.exp()).max(1.0) as u64;
            let share = (0.5 * size + workload.use_sigma * random.normal()).exp();
            Store { key: hash(seed, number), memories, share, used: 0.0 }
        })
        .collect();
    let total: f64 = stores.iter().map(|store| store.share).sum();
    for store in &mut stores {
        store.share /= total;
        let sessions = store.share * workload.sessions_rate * 8.0 * 3_600.0;
        store.used = 1.0 - (-sessions).exp();
    }
    stores
}

#[cfg(test)]
mod tests {
    use super::{Workload, draw};

    #[test]
    fn a_tenth_of_the_stores_has_most_sessions() {
        let stores = draw(&Workload::of(10_000, 30_000.0), 1);
        let mut shares: Vec<f64> = stores.iter().map(|store| store.share).collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        let tenth: f64 = shares[..1_000].iter().sum();
        assert!((0.75..0.87).contains(&tenth), "{tenth}");
    }

    #[test]
    fn ten_thousand_stores_have_a_billion_memories() {
        let stores = draw(&Workload::of(10_000, 30_000.0), 1);
        let memories: u64 = stores.iter().map(|store| store.memories).sum();
        assert!((850_000_000..1_200_000_000).contains(&memories), "{memories}");
    }
}
