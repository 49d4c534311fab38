//! Values with their version and checksum.

/// The bytes that are stored for a value.
pub(crate) fn wrap(version: u8, key: &[u8], value: &[u8]) -> Vec<u8> {
    let mut wrapped = Vec::with_capacity(value.len() + 5);
    wrapped.push(version);
    wrapped.extend_from_slice(value);
    let sum = checksum(key, &wrapped);
    wrapped.extend_from_slice(&sum.to_le_bytes());
    wrapped
}

/// Decodes stored bytes, or returns what is wrong with them.
pub(crate) fn unwrap(version: u8, key: &[u8], wrapped: &[u8]) -> Result<Vec<u8>, &'static str> {
    let (value, sum) = wrapped.split_last_chunk::<4>().ok_or("it is cut short")?;
    if checksum(key, value) != u32::from_le_bytes(*sum) {
        return Err("its checksum is wrong");
    }
    match value.split_first() {
        Some((found, value)) if *found == version => Ok(value.to_vec()),
        Some((found, _)) if *found > version => Err("a newer release wrote it"),
        _ => Err("its version is unknown"),
    }
}

fn checksum(key: &[u8], value: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(key), value)
}
