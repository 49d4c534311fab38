//! The processes of this machine.

use std::fs;

/// A running process.
pub(crate) struct Process {
    pub(crate) id: i32,
    pub(crate) group: i32,
    pub(crate) command: String,
}

/// All of them.
pub(crate) fn processes() -> Vec<Process> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("there is /proc").flatten() {
        let id = entry.file_name().to_str().and_then(|text| text.parse().ok());
        let Some(id) = id else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        // One that has ended and waits for its parent does not count as running.
        let (state, group) = (fields.next(), fields.nth(1).and_then(|field| field.parse().ok()));
        let Some(group) = group.filter(|_| state != Some("Z")) else { continue };
        let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        found.push(Process { id, group, command });
    }
    found
}
