//! Which rows of the terminal belong to what. The page has its own rows and can draw on no others.

use waypost_browser::{TabId, TabInfo};

/// Rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) tabs: Option<u16>,
    pub(crate) address: Option<u16>,
    /// The page's first row, and its number of rows.
    pub(crate) page: (u16, u16),
    pub(crate) status: Option<u16>,
}

impl Layout {
    /// The rows of a terminal of this height. In a very low one there is only the page.
    pub(crate) fn of(height: u16) -> Self {
        match height {
            0 | 1 => Self { tabs: None, address: None, page: (0, 1), status: None },
            2 => Self { tabs: None, address: Some(0), page: (1, 1), status: None },
            3..=5 => Self {
                tabs: None,
                address: Some(0),
                page: (1, height - 2),
                status: Some(height - 1),
            },
            _ => Self {
                tabs: Some(0),
                address: Some(1),
                page: (2, height - 3),
                status: Some(height - 1),
            },
        }
    }

    /// The page's row at a row of the terminal.
    pub(crate) fn page_row(self, row: u16) -> Option<u16> {
        let (first, rows) = self.page;
        row.checked_sub(first).filter(|difference| *difference < rows)
    }
}

/// The columns of each tab's name: from, to.
pub(crate) fn tab_spans(tabs: &[TabInfo], width: u16) -> Vec<(u16, u16, TabId)> {
    let each = (width / u16::try_from(tabs.len()).unwrap_or(u16::MAX).max(1)).clamp(1, 28);
    let spans = (0_u16..).zip(tabs).map(|(at, tab)| (at.saturating_mul(each), tab.tab));
    spans
        .filter(|span| span.0 < width)
        .map(|(from, tab)| (from, (from + each).min(width), tab))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Layout;

    #[test]
    fn every_height_has_a_page_and_no_duplicate_row() {
        for height in 0..12 {
            let layout = Layout::of(height);
            let (first, rows) = layout.page;
            assert!(rows >= 1 && first + rows <= height.max(1), "{layout:?}");
            for row in [layout.tabs, layout.address, layout.status].into_iter().flatten() {
                assert!(row < height && layout.page_row(row).is_none(), "{layout:?}");
            }
        }
    }
}
