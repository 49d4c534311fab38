use anyhow::Result;

use crate::Options;
use crate::rig::Report;

pub fn run(_options: &Options, _report: &mut Report) -> Result<()> {
    Ok(())
}
