//! A page as a person sees it in a terminal: a grid of cells, each with the target that it belongs
//! to.

mod glyph;
mod op;
mod paint;
mod picture;

use std::fmt;

use serde::Deserialize;

pub(crate) use self::glyph::glyphs;
pub(crate) use self::op::{Op, Pane};
pub(crate) use self::paint::Painter;
pub(crate) use self::picture::Shot;
pub use self::picture::{DOTS_MAX, Picture, PictureKey, Pixels};
use crate::protocol::Reference;

/// The maximum number of columns of a view.
pub const COLUMNS_MAX: u16 = 1_000;
/// The maximum number of rows of a view.
pub const ROWS_MAX: u16 = 500;
/// The smallest zoom, in percent.
pub const ZOOM_MIN: u16 = 25;
/// The largest zoom, in percent.
pub const ZOOM_MAX: u16 = 400;
/// The size of a cell without zoom, in CSS pixels.
const CELL: (f64, f64) = (8.0, 16.0);
/// The minimum size that pages are laid out for, in cells: a terminal may have a single cell.
const CELLS_MIN: (u16, u16) = (20, 6);
/// The maximum size that pages are laid out for, in CSS pixels: an engine stores an image of all of
/// it.
const PIXELS_MAX: (u32, u32) = (8_192, 4_096);

/// The part of a page that is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    columns: u16,
    rows: u16,
    zoom: u16,
    pictures: bool,
}

impl View {
    /// A view with this many cells, at a zoom in percent. Values outside the limits are clamped.
    #[must_use]
    pub fn new(columns: u16, rows: u16, zoom: u16) -> Self {
        Self {
            columns: columns.clamp(1, COLUMNS_MAX),
            rows: rows.clamp(1, ROWS_MAX),
            zoom: zoom.clamp(ZOOM_MIN, ZOOM_MAX),
            pictures: false,
        }
    }

    /// The same view, with pictures as pictures (true) or as their descriptions (false).
    #[must_use]
    pub fn with_pictures(self, pictures: bool) -> Self {
        Self { pictures, ..self }
    }

    /// Whether the view has pictures.
    #[must_use]
    pub fn pictures(self) -> bool {
        self.pictures
    }

    /// The number of columns.
    #[must_use]
    pub fn columns(self) -> u16 {
        self.columns
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(self) -> u16 {
        self.rows
    }

    /// Width and height of a cell in CSS pixels. A letter always takes one cell; zoom changes how
    /// many CSS pixels a cell covers.
    #[must_use]
    pub fn cell(self) -> (f64, f64) {
        let scale = 100.0 / f64::from(self.zoom);
        (CELL.0 * scale, CELL.1 * scale)
    }

    /// Width and height that pages are laid out for, in CSS pixels.
    pub(crate) fn pixels(self) -> (u32, u32) {
        let (width, height) = self.cell();
        let whole = |cells: u16, size: f64| (f64::from(cells) * size).round().max(1.0) as u32;
        (
            whole(self.columns.max(CELLS_MIN.0), width).min(PIXELS_MAX.0),
            whole(self.rows.max(CELLS_MIN.1), height).min(PIXELS_MAX.1),
        )
    }
}

/// A colour: red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    /// The packed colour (red, green, blue and opacity, one byte each) drawn over another one.
    pub(crate) fn over(packed: u32, below: Self) -> Self {
        let [red, green, blue, opacity] = packed.to_be_bytes();
        let mix = |top: u8, below: u8| {
            let opacity = u32::from(opacity);
            let sum = u32::from(top) * opacity + u32::from(below) * (255 - opacity);
            u8::try_from((sum + 127) / 255).unwrap_or(u8::MAX)
        };
        Self(mix(red, below.0), mix(green, below.1), mix(blue, below.2))
    }

    /// The mean of both colours.
    pub(crate) fn halfway(self, other: Self) -> Self {
        let mix = |a: u8, b: u8| a.midpoint(b);
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

/// A grid cell for one letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Its text, without terminal control characters; empty if there is none.
    pub text: String,
    /// How many cells the text takes: 1, 2, or 0 for the second cell of a wide letter.
    pub width: u8,
    /// The colour of the text.
    pub foreground: Color,
    /// The background colour.
    pub background: Color,
    /// The text is bold.
    pub bold: bool,
    /// The text is underlined.
    pub underline: bool,
    /// Selected: both colours are swapped.
    pub inverse: bool,
    /// The index of the frame's target that it belongs to.
    pub target: Option<u16>,
    /// The index of the frame's picture that fills the cell.
    pub picture: Option<u16>,
}

/// The kind of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// A link.
    Link,
    /// A button.
    Button,
    /// A text field.
    Text,
    /// A field for a secret.
    Secret,
    /// A list to choose from.
    Select,
    /// A checkbox or radio button.
    Check,
    /// An element that a script makes usable.
    Other,
}

impl TargetKind {
    /// Whether it has a value that is typed or chosen.
    #[must_use]
    pub fn is_field(self) -> bool {
        matches!(self, Self::Text | Self::Secret | Self::Select)
    }
}

/// A part of the view, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "they are what they are called")]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    /// The intersection of both areas.
    pub(crate) fn within(self, other: Self) -> Self {
        Self {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }

    pub(crate) fn moved(self, x: f64, y: f64) -> Self {
        let Self { left, top, right, bottom } = self;
        Self { left: left + x, top: top + y, right: right + x, bottom: bottom + y }
    }

    fn is_nothing(self) -> bool {
        self.right <= self.left || self.bottom <= self.top
    }

    /// The point inside that is nearest to another point.
    fn nearest(self, (x, y): (f64, f64)) -> (f64, f64) {
        let between = |at: f64, low: f64, high: f64| {
            // Not on its edge: the edge may belong to its neighbour.
            let edge = ((high - low) / 4.0).min(1.0);
            at.max(low + edge).min(high - edge)
        };
        (between(x, self.left, self.right), between(y, self.top, self.bottom))
    }
}

/// An element that a person can use.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameTarget {
    /// Its kind.
    pub kind: TargetKind,
    /// The element.
    pub reference: Reference,
    /// The options of a list.
    pub options: Vec<String>,
    /// Its areas.
    pub areas: Vec<Area>,
}

/// The kind of element that has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Focus {
    /// A text field.
    Text,
    /// A field for a secret.
    Secret,
    /// Another control: a link, a button, a list.
    Control,
}

/// How far a page is scrolled, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "they are what they are called")]
pub struct Scrolled {
    pub x: f64,
    pub y: f64,
    pub x_max: f64,
    pub y_max: f64,
}

/// Identifies the frame that was seen, so that the next one is made only if it differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub(crate) view: View,
    pub(crate) version: u64,
    /// It contains frames of other pages, which do not report changes.
    pub(crate) has_inner: bool,
}

/// A drawn page. It contains nothing that was typed into a secret field.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// Its identity.
    pub seen: Seen,
    pub(crate) cells: Vec<Cell>,
    /// All usable elements in it; [`Cell::target`] is an index into them.
    pub targets: Vec<FrameTarget>,
    /// All its pictures; [`Cell::picture`] is an index into them.
    pub pictures: Vec<Picture>,
    /// The position of the caret, if a field shows one: column, row.
    pub caret: Option<(u16, u16)>,
    /// The kind of the focused element, if there is one.
    pub focus: Option<Focus>,
    /// How far the page is scrolled.
    pub scrolled: Scrolled,
}

impl Frame {
    /// The view that it was made for.
    #[must_use]
    pub fn view(&self) -> View {
        self.seen.view
    }

    /// A cell; `None` outside the view.
    #[must_use]
    pub fn cell(&self, column: u16, row: u16) -> Option<&Cell> {
        let View { columns, rows, .. } = self.view();
        let at = usize::from(row) * usize::from(columns) + usize::from(column);
        (column < columns && row < rows).then(|| self.cells.get(at)).flatten()
    }

    /// The first visible cell of each target, in reading order: column, row, target.
    #[must_use]
    pub fn places(&self) -> Vec<(u16, u16, u16)> {
        let mut met = vec![false; self.targets.len()];
        let mut places = Vec::new();
        for row in 0..self.view().rows {
            for column in 0..self.view().columns {
                let target = self.cell(column, row).and_then(|cell| cell.target);
                if let Some(target) = target
                    && let Some(met) = met.get_mut(usize::from(target)).filter(|met| !**met)
                {
                    *met = true;
                    places.push((column, row, target));
                }
            }
        }
        places
    }

    /// The position in the view, in CSS pixels, that a click on a cell means: inside the target of
    /// the cell, even if that is slightly off the cell's middle.
    #[must_use]
    pub fn point(&self, column: u16, row: u16) -> (f64, f64) {
        let (width, height) = self.view().cell();
        let middle = ((f64::from(column) + 0.5) * width, (f64::from(row) + 0.5) * height);
        let target = self.cell(column, row).and_then(|cell| cell.target);
        let target = target.and_then(|target| self.targets.get(usize::from(target)));
        let far = |(x, y): (f64, f64)| (x - middle.0).hypot(y - middle.1);
        let areas = target.map(|target| target.areas.as_slice()).unwrap_or_default();
        let points = areas.iter().map(|area| area.nearest(middle));
        let nearest = points.min_by(|a, b| far(*a).total_cmp(&far(*b)));
        // A cell far from its target shows a letter that overflows from it.
        nearest.filter(|nearest| far(*nearest) < 4.0 * height).unwrap_or(middle)
    }

    /// The text of a row, without trailing spaces.
    #[must_use]
    pub fn row_text(&self, row: u16) -> String {
        let cells = (0..self.view().columns).filter_map(|number| self.cell(number, row));
        let letters = cells.filter(|cell| cell.width > 0);
        let text: String = letters
            .map(|letter| if letter.text.is_empty() { " " } else { letter.text.as_str() })
            .collect();
        text.trim_end().to_owned()
    }
}

impl fmt::Display for Frame {
    /// Its text, row by row.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in 0..self.view().rows {
            writeln!(formatter, "{}", self.row_text(row))?;
        }
        Ok(())
    }
}
