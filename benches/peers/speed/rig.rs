//! Clocks, samples, and the tables that are printed.

use std::fmt::{self, Write as _};
use std::fs;
use std::process::Command;

use rustix::time::{ClockId, clock_gettime};

/// Seconds of processor time that this thread has used.
pub fn thread_seconds() -> f64 {
    seconds(ClockId::ThreadCPUTime)
}

/// Seconds of processor time that this process has used, all its threads together.
pub fn process_seconds() -> f64 {
    seconds(ClockId::ProcessCPUTime)
}

/// Seconds on a clock that only goes forward.
pub fn wall_seconds() -> f64 {
    seconds(ClockId::Monotonic)
}

fn seconds(clock: ClockId) -> f64 {
    let at = clock_gettime(clock);
    at.tv_sec as f64 + at.tv_nsec as f64 * 1e-9
}

/// Thread seconds of one call. What it returns is not optimised away.
pub fn time<T>(call: impl FnOnce() -> T) -> f64 {
    let from = thread_seconds();
    std::hint::black_box(call());
    thread_seconds() - from
}

/// Wall seconds of one call.
pub fn time_wall<T>(call: impl FnOnce() -> T) -> f64 {
    let from = wall_seconds();
    std::hint::black_box(call());
    wall_seconds() - from
}

/// Measured seconds of calls of one kind.
#[derive(Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    pub fn add(&mut self, seconds: f64) {
        self.0.push(seconds);
    }

    /// The sample below which the share `of` (0 to 1) lies, in seconds.
    pub fn quantile(&self, of: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let place = ((sorted.len().max(1) - 1) as f64 * of).round() as usize;
        sorted.get(place).copied().unwrap_or(f64::NAN)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn p50(&self) -> f64 {
        self.quantile(0.5)
    }

    pub fn p99(&self) -> f64 {
        self.quantile(0.99)
    }
}

impl IntoIterator for Samples {
    type Item = f64;
    type IntoIter = std::vec::IntoIter<f64>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl Extend<f64> for Samples {
    fn extend<I: IntoIterator<Item = f64>>(&mut self, seconds: I) {
        self.0.extend(seconds);
    }
}

/// "169 µs (140–210, p99 400)": the median, the middle 80 % and the slowest hundredth.
impl fmt::Display for Samples {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |share| duration(self.quantile(share));
        write!(out, "{} ({}–{}, p99 {})", at(0.5), at(0.1), at(0.9), at(0.99))
    }
}

/// Three digits and a unit.
pub fn duration(seconds: f64) -> String {
    let (number, unit) = match seconds {
        it if it < 1e-3 => (it * 1e6, "µs"),
        it if it < 1.0 => (it * 1e3, "ms"),
        it => (it, "s"),
    };
    let digits = if number < 10.0 { 2 } else { usize::from(number < 100.0) };
    format!("{number:.digits$} {unit}")
}

/// Whole numbers with their thousands apart.
pub fn count(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut out = String::from(if number < 0.0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Whether a measurement meets its target.
pub enum Verdict {
    Met,
    Missed,
    /// It has no target, or its peer is missing.
    Open,
}

impl From<bool> for Verdict {
    fn from(is_met: bool) -> Self {
        if is_met { Self::Met } else { Self::Missed }
    }
}

/// The tables of one run.
pub struct Report {
    text: String,
    started: f64,
}

impl Report {
    pub fn begin() -> Self {
        let mut text = String::new();
        let _ = writeln!(text, "{}\n", machine());
        Self { text, started: wall_seconds() }
    }

    /// Starts a table. `method` says what a figure is, in a sentence or two.
    pub fn table(&mut self, title: &str, method: &str) {
        let _ = write!(
            self.text,
            "### {title}\n\n{method}\n\n\
             | measurement | target | Waypost | compared with | ratio | |\n|---|---|---|---|---|---|\n"
        );
    }

    /// A row of the table. `ratio` is Waypost's figure divided by the peer's.
    pub fn row(
        &mut self,
        measurement: &str,
        target: &str,
        ours: &str,
        peer: &str,
        ratio: Option<f64>,
        verdict: impl Into<Verdict>,
    ) {
        let ratio = ratio.map_or_else(String::new, |ratio| format!("{ratio:.2}"));
        let verdict = match verdict.into() {
            Verdict::Met => "met",
            Verdict::Missed => "**missed**",
            Verdict::Open => "",
        };
        progress(format_args!("{measurement}: {ours}; {peer}; {ratio} {verdict}"));
        let row = [measurement, target, ours, peer, &ratio, verdict].join(" | ");
        let _ = writeln!(self.text, "| {row} |");
    }

    /// Ends a table, with what a reader must know of it.
    pub fn close(&mut self, remark: &str) {
        let gap = if remark.is_empty() { "" } else { "\n\n" };
        let _ = write!(self.text, "\n{remark}{gap}");
    }

    pub fn end(mut self) -> String {
        let minutes = (wall_seconds() - self.started) / 60.0;
        let _ =
            writeln!(self.text, "The run took {minutes:.0} minutes; load at its end: {}.", load());
        self.text
    }
}

/// To stderr: what is going on.
pub fn progress(what: fmt::Arguments<'_>) {
    eprintln!("{what}");
}

/// Bytes of memory that a process holds in RAM.
pub fn resident_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024)
}

fn machine() -> String {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        cpu.lines()
            .find(|line| line.starts_with(name))
            .and_then(|line| line.split_once(':'))
            .map_or("unknown", |(_, value)| value.trim())
            .to_owned()
    };
    let flags = field("flags");
    let features: Vec<&str> = ["avx2", "fma", "f16c", "avx512f", "avx512_vnni", "asimd"]
        .into_iter()
        .filter(|feature| flags.split(' ').any(|part| part == *feature))
        .collect();
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kib: f64 = memory
        .lines()
        .next()
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|word| word.parse().ok())
        .unwrap_or(0.0);
    format!(
        "{}: {} (family {}, model {}; {}), {cores} cores, {:.0} GiB, Linux {}. Load at the start: {}.",
        command("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        field("model name"),
        field("cpu family"),
        field("model\t"),
        features.join(" "),
        kib / 1024.0 / 1024.0,
        command("uname", &["-r"]),
        load(),
    )
}

fn load() -> String {
    let all = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    all.split(' ').next().unwrap_or("unknown").to_owned()
}

fn command(program: &str, arguments: &[&str]) -> String {
    Command::new(program)
        .args(arguments)
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default()
}

/// A generator of reproducible numbers (SplitMix64: Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        it ^ (it >> 31)
    }

    /// From 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 to below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.unit() * end as f64) as usize
    }
}
