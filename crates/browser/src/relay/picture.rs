//! Screenshots that programs may take if a person allowed it, and the pictures that the person
//! sees.

use std::sync::atomic::Ordering;

use super::{COMMAND_TIME, Relay};
use crate::command::Outcome;
use crate::engine::TabId;
use crate::{Deadline, PictureKey, Pixels, Problem, ProblemKind, Seen};

/// Screenshots are scaled down until they have at most this many bytes: the mesh carries responses
/// of up to 1 MiB.
const PICTURE_BYTES_MAX: usize = 1_000_000;
/// The smallest scale.
const SCALE_MIN: f64 = 0.1;

impl Relay {
    /// The content of pictures of a frame of the current tab, with this many colours per cell; for
    /// the person who sees the page, whether or not programs may take screenshots. Pictures that
    /// have changed since are left out.
    ///
    /// # Errors
    /// As [`handle`](Self::handle).
    pub async fn pictures(
        &self,
        seen: Seen,
        wanted: &[PictureKey],
        dots: (u16, u16),
    ) -> Result<Vec<Pixels>, Problem> {
        let by = Deadline::after(COMMAND_TIME);
        let tab = self.tab(None, by).await?;
        self.engine.pictures(tab, seen, wanted, dots, by).await
    }

    /// A screenshot for a program.
    pub(super) async fn screenshot(&self, tab: TabId, by: Deadline) -> Result<Outcome, Problem> {
        let forbidden = |detail: &str| Problem::new(ProblemKind::Forbidden, detail);
        if !self.screenshots.load(Ordering::Relaxed) {
            return Err(forbidden(
                "screenshots are not allowed; `read` returns the content of the page",
            ));
        }
        let seen = self.engine.evidence(tab, by).await?;
        if seen.secret_focused || seen.secret_revealed {
            return Err(forbidden(
                "no screenshot is taken while a secret field has the focus or shows its content",
            ));
        }
        let mut scale = 1.0;
        let mut data = self.engine.screenshot(tab, scale, by).await?;
        while data.len() > PICTURE_BYTES_MAX && scale > SCALE_MIN {
            // The bytes of a screenshot grow with its area, or a little less.
            let share = (PICTURE_BYTES_MAX as f64 / data.len() as f64).sqrt();
            scale = (scale * share * 0.95).max(SCALE_MIN);
            data = self.engine.screenshot(tab, scale, by).await?;
        }
        Ok(Outcome::Screenshot { scale, data })
    }
}
