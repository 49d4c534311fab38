//! Reading a file.

use std::fs::File;
use std::io::Read;

use crate::discover::{skip, state};
use crate::{Found, Limits, Root, Skip, Stat};

/// The bytes of a file, and its state when they were read, which may be newer than [`Found::stat`].
/// Of a change log above the limit, the first lines that fit.
///
/// It opens only a regular file below the root, follows no link, and never blocks: a FIFO that
/// replaced the file is rejected. The size is that of the open file, and reading ends at the limit
/// even if the file grows.
///
/// # Errors
///
/// [`Skip::Gone`], [`Skip::Link`], [`Skip::Special`], [`Skip::Unreadable`] or [`Skip::TooLarge`].
pub fn read(root: &Root, found: &Found, limits: &Limits) -> Result<(Vec<u8>, Stat), Skip> {
    let (bytes_max, first_part) = limits.of(found.class);
    let (mut bytes, stat) = read_at_most(root, &found.path, bytes_max.saturating_add(1))?;
    if bytes.len() as u64 > bytes_max {
        if !first_part {
            return Err(Skip::TooLarge);
        }
        let end = memchr::memrchr(b'\n', &bytes).ok_or(Skip::TooLarge)?;
        bytes.truncate(end + 1);
    }
    Ok((bytes, stat))
}

/// The first bytes of a file, at most this many, and its state.
pub(crate) fn read_at_most(
    root: &Root,
    path: &str,
    bytes_max: u64,
) -> Result<(Vec<u8>, Stat), Skip> {
    let file = root.file(path)?;
    let stat = state(&rustix::fs::fstat(&file).map_err(skip)?);
    let mut bytes = Vec::with_capacity(stat.bytes.min(bytes_max) as usize + 1);
    File::from(file).take(bytes_max).read_to_end(&mut bytes).map_err(|error| {
        error
            .raw_os_error()
            .map_or(Skip::Unreadable, |code| skip(rustix::io::Errno::from_raw_os_error(code)))
    })?;
    Ok((bytes, stat))
}
