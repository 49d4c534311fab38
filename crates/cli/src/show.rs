//! Days and counts as a person reads them.

/// The day of a formatted time.
pub fn day(time: &str) -> String {
    time.split('T').next().unwrap_or_default().to_owned()
}

/// `1 memory`, `2 memories`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
