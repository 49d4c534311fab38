//! The service, without a model, in a process that holds as much memory as it is told, in pages of
//! the smallest size: what it costs a process that copies its page tables for each program that it
//! starts. This program is that process, too, when its first argument says so.

use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result, bail};
use rustix::thread::disable_transparent_huge_pages;
use waypost_service::Options;

/// The first argument; then come the project, the address, and how many bytes.
pub const NAME: &str = "laden-service";

const PAGE_BYTES: usize = 4096;

/// What follows the name, if this process is to be that service.
pub fn arguments() -> Option<Vec<String>> {
    let mut arguments = std::env::args().skip(1);
    (arguments.next().as_deref() == Some(NAME)).then(|| arguments.collect())
}

/// Serves until a signal to stop.
pub fn serve(arguments: &[String]) -> Result<()> {
    let [project, address, bytes] = arguments else { bail!("{NAME} PROJECT ADDRESS BYTES") };
    disable_transparent_huge_pages(true)?;
    let mut load = vec![0_u8; bytes.parse().context("BYTES")?];
    for page in load.chunks_mut(PAGE_BYTES) {
        page[0] = 1;
    }
    let mut options = Options::for_project(Path::new(project))?;
    options.listen = address.parse::<SocketAddr>().context("ADDRESS")?;
    options.flows.environment = std::env::vars().collect();
    waypost_service::run(&options)?;
    drop(std::hint::black_box(load));
    Ok(())
}
