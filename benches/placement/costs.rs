//! What a store costs, from measurements. docs/scale.md names the source of each number.

/// Bytes of a gigabyte, as memory and disks are sold.
pub(crate) const GB: f64 = 1e9;

/// Points between which a cost is interpolated: memories, and the cost there.
type Points = [(f64, f64)];

/// Bytes of a service that it shares with no other, with the model and all vectors. Without memories
/// it has 51 MB and the model 39 MB.
const RESIDENT: &Points =
    &[(0.0, 90e6), (10e3, 137e6), (30e3, 186e6), (104e3, 433e6), (1e6, 2.09e9)];

/// Seconds from the start of a process to its first search, with files in the page cache.
const OPEN: &Points = &[(0.0, 0.08), (100e3, 0.344), (1e6, 4.2)];

/// Seconds of processor time of a hybrid search with a new query, with its embedding.
const SEARCH: &Points = &[(0.0, 0.003_5), (100e3, 0.007_3), (1e6, 0.023_6)];

/// Seconds of processor time of an add of 97 terms, with its embedding.
pub(crate) const ADD_SECONDS: f64 = 0.012_3;

/// Bytes of log, state, index and vectors on disk for each memory.
const DISK: f64 = 687.0 + 169.0 + 181.0 + 1_620.0;

/// Bytes of log and vectors: what a new owner copies, because they are slow or impossible to derive.
const COPIED: f64 = 687.0 + 1_620.0;

/// Seconds to derive state and index of one memory from the log, and to add its vector.
const REBUILD: f64 = 45.7e-6 + 7.4e-6;

/// Bytes of a memory's record in PostgreSQL, with its index entry.
const JOURNAL: f64 = 750.0;

/// Bytes per second that a cold store is read at; an assumption: one NVMe drive reads more.
const DISK_RATE: f64 = 1e9;

/// Bytes per second of a copy between two machines; an assumption: a quarter of a 10 Gbit/s link.
pub(crate) const COPY_RATE: f64 = 300e6;

/// Bytes per second that a database sends, by `COPY`.
pub(crate) const DATABASE_RATE: f64 = 280e6;

pub(crate) fn resident_bytes(memories: u64) -> u64 {
    interpolate(RESIDENT, memories) as u64
}

/// Seconds until a store that is on the disk answers its first search.
pub(crate) fn load_seconds(memories: u64) -> f64 {
    open_seconds(memories) + disk_bytes(memories) / DISK_RATE
}

pub(crate) fn search_seconds(memories: u64) -> f64 {
    interpolate(SEARCH, memories)
}

pub(crate) fn disk_bytes(memories: u64) -> f64 {
    memories as f64 * DISK
}

pub(crate) fn copied_bytes(memories: u64) -> f64 {
    memories as f64 * COPIED
}

pub(crate) fn journal_bytes(memories: u64) -> f64 {
    memories as f64 * JOURNAL
}

/// Seconds until a store whose log and vectors were copied is open.
pub(crate) fn rebuild_seconds(memories: u64) -> f64 {
    memories as f64 * REBUILD
}

/// Seconds until a store whose files were all copied, and are in the page cache, is open.
pub(crate) fn open_seconds(memories: u64) -> f64 {
    interpolate(OPEN, memories)
}

/// On the line between the two points around it, or on the continuation of the last one.
fn interpolate(points: &Points, memories: u64) -> f64 {
    let memories = memories as f64;
    let is_below = |it: &&[(f64, f64)]| memories < it[1].0;
    let pair = points.windows(2).find(is_below).unwrap_or(&points[points.len() - 2..]);
    let (from, to) = (pair[0], pair[1]);
    from.1 + (memories - from.0) / (to.0 - from.0) * (to.1 - from.1)
}

#[cfg(test)]
mod tests {
    use super::{load_seconds, resident_bytes};

    #[test]
    fn costs_pass_through_the_measured_points_and_continue_beyond() {
        assert_eq!(resident_bytes(0), 90_000_000);
        assert_eq!(resident_bytes(5_000), 113_500_000);
        assert_eq!(resident_bytes(104_000), 433_000_000);
        assert_eq!(resident_bytes(1_000_000), 2_090_000_000);
        let beyond = resident_bytes(2_000_000) - resident_bytes(1_000_000);
        assert!((1_800_000_000..1_900_000_000).contains(&beyond), "{beyond}");
    }

    #[test]
    fn a_larger_store_takes_longer_to_load() {
        let sizes = [0, 1_000, 100_000, 1_000_000, 10_000_000];
        assert!(sizes.windows(2).all(|it| load_seconds(it[0]) < load_seconds(it[1])));
    }
}
