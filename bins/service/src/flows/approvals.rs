//! The user's approvals, as the interface that flows require.

use std::io;

use waypost_flows::ContentHash;
use waypost_project::Approvals;

#[derive(Debug)]
struct OfProject(Approvals);

pub(super) fn boxed(approvals: Approvals) -> Box<dyn waypost_flows::Approvals> {
    Box::new(OfProject(approvals))
}

impl waypost_flows::Approvals for OfProject {
    fn has(&self, file: &str, hash: &ContentHash) -> io::Result<bool> {
        self.0.has(file, hash.as_str()).map_err(io::Error::other)
    }

    fn last(&self, file: &str) -> io::Result<Option<Vec<u8>>> {
        self.0.last(file).map_err(io::Error::other)
    }

    fn allow(&self, contents: &[(&str, &[u8])]) -> io::Result<()> {
        self.0.allow(contents).map_err(io::Error::other)
    }
}
