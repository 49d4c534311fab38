//! Metrics of this process, with the names that Prometheus' own clients use.

use std::fs;
use std::sync::LazyLock;

/// `None` if the system does not report the value.
#[derive(Debug, Default)]
pub(crate) struct Process {
    cpu_seconds: Option<f64>,
    start_time_seconds: Option<f64>,
    virtual_bytes: Option<u64>,
    resident_bytes: Option<u64>,
    open_fds: Option<u64>,
    max_fds: Option<u64>,
}

/// Ticks per second in `/proc`, the same on every Linux architecture that Rust supports.
const TICKS: f64 = 100.0;

/// A metric: name, kind, help, value.
type Value = (&'static str, &'static str, &'static str, Option<f64>);

/// When the machine was started, in seconds since 1970.
static BOOTED: LazyLock<Option<f64>> = LazyLock::new(|| {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|it| it.strip_prefix("btime "))?.trim().parse().ok()
});

impl Process {
    pub(crate) fn now() -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        let folder = fs::read_dir("/proc/self/fd").ok();
        // Listing them opens one itself.
        let open_fds = folder.map(|it| (it.count() as u64).saturating_sub(1));
        let process = Self { open_fds, max_fds: limit.current, ..Self::default() };
        process.with_stat().unwrap_or_default()
    }

    fn with_stat(self) -> Option<Self> {
        let Ok(stat) = fs::read_to_string("/proc/self/stat") else { return Some(self) };
        // The name before it may contain any character.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        // As numbered in proc_pid_stat(5), which counts the first one here as the third.
        let field = |number: usize| fields.get(number - 3).and_then(|it| it.parse::<u64>().ok());
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let memory = |name: &str| {
            let line = status.lines().find_map(|it| it.strip_prefix(name))?;
            let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            Some(kilobytes * 1024)
        };
        Some(Self {
            cpu_seconds: Some((field(14)? + field(15)?) as f64 / TICKS),
            start_time_seconds: BOOTED.map(|it| it + field(22).unwrap_or(0) as f64 / TICKS),
            virtual_bytes: memory("VmSize:"),
            resident_bytes: memory("VmRSS:"),
            ..self
        })
    }

    pub(crate) fn values(&self) -> [Value; 6] {
        let whole = |it: Option<u64>| it.map(|it| it as f64);
        [
            ("cpu_seconds_total", "counter", "Processor time used.", self.cpu_seconds),
            ("start_time_seconds", "gauge", "Start, since 1970.", self.start_time_seconds),
            ("virtual_memory_bytes", "gauge", "Virtual memory.", whole(self.virtual_bytes)),
            ("resident_memory_bytes", "gauge", "Memory in use.", whole(self.resident_bytes)),
            ("open_fds", "gauge", "Open files.", whole(self.open_fds)),
            ("max_fds", "gauge", "Files that may be open.", whole(self.max_fds)),
        ]
    }
}
