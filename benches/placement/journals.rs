//! What the journals of all stores ask of PostgreSQL, and how many clusters that takes.

/// What one cluster of PostgreSQL, a primary and its standbys, does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Database {
    /// Appends of different stores per second.
    pub(crate) appends: f64,
    /// Reads of a head row per second.
    pub(crate) reads: f64,
    /// Sessions at a time.
    pub(crate) sessions: f64,
    /// Bytes that it may hold: what is restored within an hour.
    pub(crate) bytes: f64,
}

/// How processes reach the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Two sessions for each open store, which are notified.
    Direct,
    /// Through PgBouncer: few sessions, and no notifications.
    Pooled,
    /// On paper: one follower for each machine and cluster.
    Shared,
}

/// What the journals ask for, per second where it is a rate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Demand {
    pub(crate) appends: f64,
    pub(crate) bytes: f64,
    pub(crate) open: f64,
    pub(crate) machines: f64,
}

impl Demand {
    /// Reads of head rows by followers that have nothing to apply.
    pub(crate) fn reads(&self, access: Access) -> f64 {
        match access {
            // Every 2 s, and every 250 ms without notifications (docs/cluster.md).
            Access::Direct => self.open / 2.0,
            Access::Pooled => self.open * 4.0,
            Access::Shared => self.machines / 2.0,
        }
    }

    pub(crate) fn sessions(&self, access: Access) -> f64 {
        match access {
            Access::Direct => self.open * 2.0,
            // A pool of 8 for each machine.
            Access::Pooled | Access::Shared => self.machines * 8.0,
        }
    }

    /// The clusters that appends, reads, sessions and bytes need, each alone.
    pub(crate) fn clusters(&self, database: &Database, access: Access) -> [u64; 4] {
        [
            (self.appends, database.appends),
            (self.reads(access), database.reads),
            (self.sessions(access), database.sessions),
            (self.bytes, database.bytes),
        ]
        .map(|(asked, given)| (asked / given).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::{Access, Database, Demand};

    #[test]
    fn each_resource_needs_its_clusters() {
        let database = Database { appends: 100.0, reads: 1_000.0, sessions: 400.0, bytes: 1e9 };
        let demand = Demand { appends: 101.0, bytes: 3e9, open: 1_000.0, machines: 10.0 };
        assert_eq!(demand.clusters(&database, Access::Direct), [2, 1, 5, 3]);
        assert_eq!(demand.clusters(&database, Access::Pooled), [2, 4, 1, 3]);
        assert_eq!(demand.clusters(&database, Access::Shared), [2, 1, 1, 3]);
    }
}
