//! A page as a person sees it in a terminal: a grid of cells, and what each of them belongs to.

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
use crate::engine::Reference;

/// The most columns of a view.
pub const COLUMNS_MAX: u16 = 1_000;
/// The most rows of a view.
pub const ROWS_MAX: u16 = 500;
/// The smallest zoom, in percent.
pub const ZOOM_MIN: u16 = 25;
/// The largest zoom, in percent.
pub const ZOOM_MAX: u16 = 400;
/// A cell without zoom, in CSS pixels.
const CELL: (f64, f64) = (8.0, 16.0);
/// Pages are laid out for no less than this, in cells: a terminal may be of one.
const CELLS_MIN: (u16, u16) = (20, 6);
/// And for no more than this, in CSS pixels: an engine keeps a picture of all of it.
const PIXELS_MAX: (u32, u32) = (8_192, 4_096);

/// How much of a page is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct View {
    columns: u16,
    rows: u16,
    zoom: u16,
    pictures: bool,
}

impl View {
    /// A view of so many cells, at a zoom in percent. What is beyond the limits is brought to them.
    #[must_use]
    pub fn new(columns: u16, rows: u16, zoom: u16) -> Self {
        Self {
            columns: columns.clamp(1, COLUMNS_MAX),
            rows: rows.clamp(1, ROWS_MAX),
            zoom: zoom.clamp(ZOOM_MIN, ZOOM_MAX),
            pictures: false,
        }
    }

    /// The same, with pictures told apart, so that they can be shown; or with what is said of them.
    #[must_use]
    pub fn with_pictures(self, pictures: bool) -> Self {
        Self { pictures, ..self }
    }

    /// Whether pictures are told apart.
    #[must_use]
    pub fn pictures(self) -> bool {
        self.pictures
    }

    /// Cells from left to right.
    #[must_use]
    pub fn columns(self) -> u16 {
        self.columns
    }

    /// Cells from top to bottom.
    #[must_use]
    pub fn rows(self) -> u16 {
        self.rows
    }

    /// Width and height of a cell in CSS pixels. A letter always takes one cell; zoom changes how much
    /// of the page's own measures fit beside it.
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
    /// The colour of one number: red, green, blue and opacity, a byte each; over another.
    pub(crate) fn over(packed: u32, below: Self) -> Self {
        let [red, green, blue, opacity] = packed.to_be_bytes();
        let mix = |top: u8, below: u8| {
            let opacity = u32::from(opacity);
            let sum = u32::from(top) * opacity + u32::from(below) * (255 - opacity);
            u8::try_from((sum + 127) / 255).unwrap_or(u8::MAX)
        };
        Self(mix(red, below.0), mix(green, below.1), mix(blue, below.2))
    }

    /// Half this and half the other.
    pub(crate) fn halfway(self, other: Self) -> Self {
        let mix = |a: u8, b: u8| a.midpoint(b);
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }
}

/// A place for one letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// What stands there, clean of everything that steers terminals; empty for nothing.
    pub text: String,
    /// How many cells the text takes: 1, 2, or 0 for the second cell of a wide letter.
    pub width: u8,
    /// The colour of the text.
    pub foreground: Color,
    /// The colour behind it.
    pub background: Color,
    /// Thick letters.
    pub bold: bool,
    /// A line under it.
    pub underline: bool,
    /// Selected: both colours change places.
    pub inverse: bool,
    /// Which of the frame's targets it belongs to.
    pub target: Option<u16>,
    /// Which of the frame's pictures is seen here, and nothing else.
    pub picture: Option<u16>,
}

/// What a target is to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TargetKind {
    /// It leads somewhere.
    Link,
    /// It does something.
    Button,
    /// It takes text.
    Text,
    /// It takes what nobody else may know.
    Secret,
    /// It is a list to choose from.
    Select,
    /// It is on or off.
    Check,
    /// A script makes something of it.
    Other,
}

impl TargetKind {
    /// It holds something that is written or chosen.
    #[must_use]
    pub fn is_field(self) -> bool {
        matches!(self, Self::Text | Self::Secret | Self::Select)
    }
}

/// A part of the view, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(missing_docs, reason = "they are what they are called")]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    /// What both have in common.
    pub(crate) fn within(self, other: Self) -> Self {
        Self {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }

    fn is_nothing(self) -> bool {
        self.right <= self.left || self.bottom <= self.top
    }

    /// The place in it that is nearest to another.
    fn nearest(self, (x, y): (f64, f64)) -> (f64, f64) {
        let between = |at: f64, low: f64, high: f64| {
            // Not on its edge: that may be its neighbour's.
            let edge = ((high - low) / 4.0).min(1.0);
            at.max(low + edge).min(high - edge)
        };
        (between(x, self.left, self.right), between(y, self.top, self.bottom))
    }
}

/// Something that a person can use.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameTarget {
    /// What it is.
    pub kind: TargetKind,
    /// The element.
    pub reference: Reference,
    /// What a list has to choose from.
    pub options: Vec<String>,
    /// Where it is.
    pub areas: Vec<Area>,
}

/// What has the focus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Focus {
    /// Something that takes text.
    Text,
    /// Something that takes what nobody else may know.
    Secret,
    /// Something else: a link, a button, a list.
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

/// Which frame somebody has seen, so that the next is made only if it is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    pub(crate) view: View,
    pub(crate) version: u64,
    /// Frames of the page are in it, which tell of no changes.
    pub(crate) has_inner: bool,
}

/// A page, drawn. What was typed into a secret field is nowhere in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    pub(crate) seen: Seen,
    pub(crate) cells: Vec<Cell>,
    pub(crate) targets: Vec<FrameTarget>,
    pub(crate) pictures: Vec<Picture>,
    pub(crate) caret: Option<(u16, u16)>,
    pub(crate) focus: Option<Focus>,
    pub(crate) scrolled: Scrolled,
}

impl Frame {
    /// The view that it was made for.
    #[must_use]
    pub fn view(&self) -> View {
        self.seen.view
    }

    /// Which one it is.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// A cell; nothing outside of the view.
    #[must_use]
    pub fn cell(&self, column: u16, row: u16) -> Option<&Cell> {
        let View { columns, rows, .. } = self.view();
        let at = usize::from(row) * usize::from(columns) + usize::from(column);
        (column < columns && row < rows).then(|| self.cells.get(at)).flatten()
    }

    /// Everything in it that can be used; [`Cell::target`] says which.
    #[must_use]
    pub fn targets(&self) -> &[FrameTarget] {
        &self.targets
    }

    /// Every picture of it; [`Cell::picture`] says which.
    #[must_use]
    pub fn pictures(&self) -> &[Picture] {
        &self.pictures
    }

    /// The first cell of each target that is to be seen, in reading order: column, row, target.
    #[must_use]
    pub fn places(&self) -> Vec<(u16, u16, u16)> {
        let mut met = vec![false; self.targets.len()];
        let mut places = Vec::new();
        for row in 0..self.view().rows {
            for column in 0..self.view().columns {
                let target = self.cell(column, row).and_then(|it| it.target);
                if let Some(target) = target
                    && let Some(met) = met.get_mut(usize::from(target)).filter(|it| !**it)
                {
                    *met = true;
                    places.push((column, row, target));
                }
            }
        }
        places
    }

    /// Where the caret is, if a field shows one: column, row.
    #[must_use]
    pub fn caret(&self) -> Option<(u16, u16)> {
        self.caret
    }

    /// What has the focus, if something has it.
    #[must_use]
    pub fn focus(&self) -> Option<Focus> {
        self.focus
    }

    /// How far the page is scrolled.
    #[must_use]
    pub fn scrolled(&self) -> Scrolled {
        self.scrolled
    }

    /// The place of the view, in CSS pixels, that a click on a cell means: in what the cell belongs
    /// to, where that is a little beside the cell's middle.
    #[must_use]
    pub fn point(&self, column: u16, row: u16) -> (f64, f64) {
        let (width, height) = self.view().cell();
        let middle = ((f64::from(column) + 0.5) * width, (f64::from(row) + 0.5) * height);
        let target = self.cell(column, row).and_then(|it| it.target);
        let target = target.and_then(|it| self.targets.get(usize::from(it)));
        let far = |(x, y): (f64, f64)| (x - middle.0).hypot(y - middle.1);
        let areas = target.map(|it| it.areas.as_slice()).unwrap_or_default();
        let points = areas.iter().map(|it| it.nearest(middle));
        let nearest = points.min_by(|a, b| far(*a).total_cmp(&far(*b)));
        // What belongs to a target far away is a letter that hangs out of it.
        nearest.filter(|it| far(*it) < 4.0 * height).unwrap_or(middle)
    }

    /// The text of a row, without spaces at its end.
    #[must_use]
    pub fn row_text(&self, row: u16) -> String {
        let cells = (0..self.view().columns).filter_map(|it| self.cell(it, row));
        let letters = cells.filter(|it| it.width > 0);
        let text: String =
            letters.map(|it| if it.text.is_empty() { " " } else { it.text.as_str() }).collect();
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
