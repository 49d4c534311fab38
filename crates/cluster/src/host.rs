/// The name of this machine in its network, as the kernel has it, at most 64 bytes; the name that
/// people see unless they choose another one.
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let is_right = |c: &char| c.is_ascii_alphanumeric() || "-._".contains(*c);
    let name: String = name.trim().chars().filter(is_right).take(64).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}
