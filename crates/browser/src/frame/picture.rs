//! Pictures of a page: their positions in a frame, and their content.

use std::collections::HashMap;

use super::Color;
use crate::protocol::Reference;

/// The maximum number of colours per cell of a picture, horizontally and vertically.
pub const DOTS_MAX: (u16, u16) = (8, 16);

/// Identifies the content of a picture: one element in its present look and size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PictureKey {
    pub(crate) element: Reference,
    /// Increases when the element shows another picture.
    pub(crate) version: u64,
    /// The number of columns.
    pub columns: u16,
    /// The number of rows.
    pub rows: u16,
}

/// A picture in a frame. [`Cell::picture`](super::Cell) marks the cells in which it is visible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Identifies its content.
    pub key: PictureKey,
    /// Its first column; negative if it starts before the view.
    pub column: i32,
    /// Its first row.
    pub row: i32,
    /// Its alternative text.
    pub alt: String,
}

impl Picture {
    /// Which of its own cells is shown in a cell of the view.
    #[must_use]
    pub fn place(&self, column: u16, row: u16) -> Option<(u16, u16)> {
        let own = |at: u16, first: i32, cells: u16| {
            u16::try_from(i32::from(at).saturating_sub(first)).ok().filter(|number| *number < cells)
        };
        let (columns, rows) = (self.key.columns, self.key.rows);
        Some((own(column, self.column, columns)?, own(row, self.row, rows)?))
    }
}

/// The content of a picture, as far as it was seen, with a number of colours per cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pixels {
    /// The identity of the picture.
    pub key: PictureKey,
    /// Colours per cell: horizontally, vertically.
    pub dots: (u16, u16),
    cells: HashMap<(u16, u16), Box<[Color]>>,
}

impl Pixels {
    /// A picture with no known content. The number of dots is at least 1 and at most [`DOTS_MAX`].
    #[must_use]
    pub fn new(key: PictureKey, dots: (u16, u16)) -> Self {
        let dots = (dots.0.clamp(1, DOTS_MAX.0), dots.1.clamp(1, DOTS_MAX.1));
        Self { key, dots, cells: HashMap::new() }
    }

    /// The colours of one of its own cells, row by row; `None` if it was not seen yet.
    #[must_use]
    pub fn cell(&self, column: u16, row: u16) -> Option<&[Color]> {
        self.cells.get(&(column, row)).map(AsRef::as_ref)
    }

    /// The mean colours of a cell's upper and lower half; `None` if it was not seen yet.
    #[must_use]
    pub fn halves(&self, column: u16, row: u16) -> Option<(Color, Color)> {
        let colors = self.cell(column, row)?;
        let (upper, lower) = colors.split_at(colors.len() / 2);
        // A single row is both halves.
        let upper = if upper.is_empty() { lower } else { upper };
        Some((mean(upper), mean(lower)))
    }

    /// The number of known cells.
    #[must_use]
    pub fn known(&self) -> usize {
        self.cells.len()
    }

    /// Adds the cells of another capture of the same picture.
    pub fn merge(&mut self, other: Self) {
        if (other.key, other.dots) == (self.key, self.dots) {
            self.cells.extend(other.cells);
        }
    }

    /// Takes the colours of a cell from a screenshot: `area` is the position of the cell in it, as
    /// left, top, right, bottom. Each colour is the mean of the area that it stands for.
    pub(crate) fn take(&mut self, cell: (u16, u16), shot: &Shot, area: [f64; 4]) {
        let [left, top, right, bottom] = area;
        let (across, down) = self.dots;
        let step = |low: f64, high: f64, at: u16, of: u16| {
            low + (high - low) * f64::from(at) / f64::from(of)
        };
        let mut colors = Vec::with_capacity(usize::from(across) * usize::from(down));
        for y in 0..down {
            let rows = (step(top, bottom, y, down), step(top, bottom, y + 1, down));
            for x in 0..across {
                let columns = (step(left, right, x, across), step(left, right, x + 1, across));
                let Some(color) = shot.mean(columns, rows) else { return };
                colors.push(color);
            }
        }
        self.cells.insert(cell, colors.into());
    }
}

fn mean(colors: &[Color]) -> Color {
    let count = colors.len().max(1) as u64;
    let of = |part: fn(&Color) -> u8| {
        let sum: u64 = colors.iter().map(|color| u64::from(part(color))).sum();
        u8::try_from((sum + count / 2) / count).unwrap_or(u8::MAX)
    };
    Color(of(|pair| pair.0), of(|pair| pair.1), of(|it| it.2))
}

/// A screenshot of a whole view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shot {
    pub(crate) width: usize,
    pub(crate) height: usize,
    /// Red, green, blue, row by row.
    pub(crate) bytes: Vec<u8>,
}

impl Shot {
    /// The mean colour of an area; `None` outside the screenshot.
    fn mean(&self, columns: (f64, f64), rows: (f64, f64)) -> Option<Color> {
        let whole = |(low, high): (f64, f64), most: usize| {
            // A pixel belongs to the area that contains its middle; to one of the areas if they are
            // smaller than a pixel.
            let first = (low - 0.5).ceil().max(0.0) as usize;
            let last = ((high - 0.5).ceil().max(0.0) as usize).max(first + 1).min(most);
            (first < last).then_some(first..last)
        };
        let (columns, rows) = (whole(columns, self.width)?, whole(rows, self.height)?);
        let count = (columns.len() * rows.len()) as u64;
        let mut sums = [0_u64; 3];
        for row in rows {
            let from = (row * self.width + columns.start) * 3;
            for pixel in self.bytes[from..from + columns.len() * 3].chunks_exact(3) {
                for (sum, part) in sums.iter_mut().zip(pixel) {
                    *sum += u64::from(*part);
                }
            }
        }
        let [red, green, blue] = sums.map(|sum| u8::try_from((sum + count / 2) / count));
        Some(Color(red.ok()?, green.ok()?, blue.ok()?))
    }
}

#[cfg(test)]
mod tests {
    use super::{Color, Picture, PictureKey, Pixels, Shot};
    use crate::protocol::Reference;

    fn key(columns: u16, rows: u16) -> PictureKey {
        PictureKey { element: Reference { document: 1, element: 2 }, version: 1, columns, rows }
    }

    #[test]
    fn a_colour_is_the_mean_of_what_it_stands_for() {
        // Two rows of four: dark on the left, light on the right, in the last row twice as light.
        let grey = |byte: u8| [byte, byte, byte];
        let bytes: Vec<u8> =
            [0, 10, 100, 110, 20, 30, 120, 130].into_iter().flat_map(grey).collect();
        let shot = Shot { width: 4, height: 2, bytes };
        let mut pixels = Pixels::new(key(1, 1), (2, 1));
        pixels.take((0, 0), &shot, [0.0, 0.0, 4.0, 2.0]);
        assert_eq!(pixels.cell(0, 0), Some(&[Color(15, 15, 15), Color(115, 115, 115)][..]));
        // An area smaller than a pixel has the colour of that pixel; outside there is none.
        let mut one = Pixels::new(key(9, 9), (1, 1));
        one.take((0, 0), &shot, [2.1, 1.2, 2.2, 1.3]);
        one.take((1, 0), &shot, [4.0, 0.0, 8.0, 2.0]);
        one.take((2, 0), &shot, [f64::NAN, 0.0, f64::INFINITY, 2.0]);
        assert_eq!(one.cell(0, 0), Some(&[Color(120, 120, 120)][..]));
        assert_eq!((one.cell(1, 0), one.known()), (None, 2));
    }

    #[test]
    fn a_picture_that_begins_before_the_view_has_its_later_cells_in_it() {
        let picture = Picture { key: key(4, 3), column: -2, row: 5, alt: String::new() };
        let cases = [
            ((0, 5), Some((2, 0))),
            ((1, 7), Some((3, 2))),
            ((2, 5), None),
            ((0, 4), None),
            ((0, 8), None),
        ];
        for ((column, row), expected) in cases {
            assert_eq!(picture.place(column, row), expected, "{column} {row}");
        }
    }
}
