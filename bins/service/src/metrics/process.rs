//! Metrics of this process, with the names that Prometheus' own clients use.

use std::fs;
use std::sync::LazyLock;

use rustix::process::{Resource, getrlimit};

/// Ticks per second in `/proc`, the same on every Linux architecture that Rust supports.
const TICKS: f64 = 100.0;

/// A metric: name, kind, help, and the value if the system reports it.
type Value = (&'static str, &'static str, &'static str, Option<f64>);

/// When the machine was started, in seconds since 1970.
static BOOTED: LazyLock<Option<f64>> = LazyLock::new(|| {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
});

/// The values at the moment.
pub(crate) fn values() -> [Value; 6] {
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name before it may contain any character.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // As numbered in proc_pid_stat(5), which counts the first one here as the third.
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let memory = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kilobytes * 1024.0)
    };
    let processor = field(14).zip(field(15)).map(|(user, system)| (user + system) / TICKS);
    let started = BOOTED.zip(field(22)).map(|(booted, ticks)| booted + ticks / TICKS);
    // Listing them opens one itself.
    let open =
        fs::read_dir("/proc/self/fd").ok().map(|entry| entry.count().saturating_sub(1) as f64);
    let limit = getrlimit(Resource::Nofile).current.map(|files| files as f64);
    [
        ("cpu_seconds_total", "counter", "Processor time used.", processor),
        ("start_time_seconds", "gauge", "Start, since 1970.", started),
        ("virtual_memory_bytes", "gauge", "Virtual memory.", memory("VmSize:")),
        ("resident_memory_bytes", "gauge", "Memory in use.", memory("VmRSS:")),
        ("open_fds", "gauge", "Open files.", open),
        ("max_fds", "gauge", "Files that may be open.", limit),
    ]
}
