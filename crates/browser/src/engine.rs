//! What an engine does, whichever it is.

use crate::protocol::{
    Action, Arrival, Condition, Done, Evidence, Hit, Navigation, ReadScope, TabId, TabInfo, Target,
    unsupported,
};
use crate::summary::Extract;
use crate::{Chromium, Deadline, Frame, PictureKey, Pixels, Plain, Problem, Seen, View};

/// Shows pages. Every call returns by its deadline, whatever the page does.
#[derive(Debug)]
pub enum Engine {
    /// One that runs scripts.
    Chromium(Chromium),
    /// One that runs none.
    Plain(Plain),
}

impl From<Chromium> for Engine {
    fn from(engine: Chromium) -> Self {
        Self::Chromium(engine)
    }
}

impl From<Plain> for Engine {
    fn from(engine: Plain) -> Self {
        Self::Plain(engine)
    }
}

impl Engine {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Chromium(_) => "chromium",
            Self::Plain(_) => "static",
        }
    }

    /// Ends the engine; everything that it stores is written to disk.
    ///
    /// # Errors
    /// [`ProblemKind::Timeout`](crate::ProblemKind::Timeout) if it does not end in time.
    pub async fn end(&self, by: Deadline) -> Result<(), Problem> {
        match self {
            Self::Chromium(engine) => engine.end(by).await,
            Self::Plain(_) => Ok(()),
        }
    }

    /// The text with everything masked that was typed into a secret field.
    #[must_use]
    pub fn mask(&self, text: &str) -> String {
        match self {
            Self::Chromium(engine) => engine.mask(text),
            Self::Plain(engine) => engine.mask(text),
        }
    }

    /// All tabs, oldest first.
    pub(crate) fn tabs(&self) -> Vec<TabInfo> {
        match self {
            Self::Chromium(engine) => engine.tabs(),
            Self::Plain(engine) => engine.tabs(),
        }
    }

    /// The address of a tab.
    pub(crate) fn url(&self, tab: TabId) -> Option<String> {
        self.tabs().into_iter().find(|other| other.tab == tab).map(|tab| tab.url)
    }

    /// Opens an empty tab.
    pub(crate) async fn open(&self, by: Deadline) -> Result<TabId, Problem> {
        match self {
            Self::Chromium(engine) => engine.open(by).await,
            Self::Plain(engine) => Ok(engine.open()),
        }
    }

    pub(crate) async fn close(&self, tab: TabId, by: Deadline) -> Result<(), Problem> {
        match self {
            Self::Chromium(engine) => engine.close(tab, by).await,
            Self::Plain(engine) => engine.close(tab),
        }
    }

    /// Navigates, and returns once the page is there.
    pub(crate) async fn go(
        &self,
        tab: TabId,
        journey: Navigation,
        by: Deadline,
    ) -> Result<Arrival, Problem> {
        match self {
            Self::Chromium(engine) => engine.go(tab, journey, by).await,
            Self::Plain(engine) => engine.go(tab, journey, by).await,
        }
    }

    /// The content of the page.
    pub(crate) async fn read(
        &self,
        tab: TabId,
        reach: ReadScope,
        by: Deadline,
    ) -> Result<Extract, Problem> {
        match self {
            Self::Chromium(engine) => engine.read(tab, reach, by).await,
            Self::Plain(engine) => engine.read(tab, &reach),
        }
    }

    /// Performs an action on an element or at the focus.
    pub(crate) async fn act(
        &self,
        tab: TabId,
        target: Option<Target>,
        action: Action,
        by: Deadline,
    ) -> Result<Done, Problem> {
        match self {
            Self::Chromium(engine) => engine.act(tab, target, action, by).await,
            Self::Plain(engine) => engine.act(tab, target, action, by).await,
        }
    }

    /// Whether a condition holds now.
    pub(crate) async fn holds(
        &self,
        tab: TabId,
        condition: &Condition,
        by: Deadline,
    ) -> Result<bool, Problem> {
        match self {
            Self::Chromium(engine) => engine.holds(tab, condition, by).await,
            Self::Plain(engine) => engine.holds(tab, condition),
        }
    }

    pub(crate) async fn evidence(&self, tab: TabId, by: Deadline) -> Result<Evidence, Problem> {
        match self {
            Self::Chromium(engine) => engine.evidence(tab, by).await,
            Self::Plain(engine) => engine.evidence(tab),
        }
    }

    /// The element at a position in the view, or the focused one if no position is given.
    pub(crate) async fn hit(
        &self,
        tab: TabId,
        place: Option<(f64, f64)>,
        by: Deadline,
    ) -> Result<Option<Hit>, Problem> {
        match self {
            Self::Chromium(engine) => engine.hit(tab, place, by).await,
            Self::Plain(engine) => engine.hit(tab, place),
        }
    }

    /// The view, drawn; `None` if it is still unchanged half a second later.
    pub(crate) async fn frame(
        &self,
        tab: TabId,
        view: View,
        seen: Option<Seen>,
        by: Deadline,
    ) -> Result<Option<Frame>, Problem> {
        match self {
            Self::Chromium(engine) => engine.frame(tab, view, seen, by).await,
            Self::Plain(engine) => engine.frame(tab, view, seen, by).await,
        }
    }

    /// The content of the pictures of a seen frame, as far as they are visible now, with this many
    /// colours per cell. For the person only: programs do not get them.
    pub(crate) async fn pictures(
        &self,
        tab: TabId,
        seen: Seen,
        wanted: (&[PictureKey], (u16, u16)),
        by: Deadline,
    ) -> Result<Vec<Pixels>, Problem> {
        match self {
            Self::Chromium(engine) => engine.pictures(tab, seen, wanted, by).await,
            Self::Plain(_) => Ok(Vec::new()),
        }
    }

    /// A screenshot of the view, scaled by this factor: PNG in base64.
    pub(crate) async fn screenshot(
        &self,
        tab: TabId,
        scale: f64,
        by: Deadline,
    ) -> Result<String, Problem> {
        match self {
            Self::Chromium(engine) => engine.capture(tab, scale, false, by).await,
            Self::Plain(_) => Err(unsupported("a screenshot")),
        }
    }
}
