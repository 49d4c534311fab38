//! What is painted, in CSS pixels or in what else a cell has a size in.

use serde::Deserialize;

use super::Area;

/// Left, top, right, bottom.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Sides(pub(super) f64, pub(super) f64, pub(super) f64, pub(super) f64);

/// A picture, and how it is known.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Shown {
    /// The part that is to be seen.
    pub(super) seen: Sides,
    /// All of it.
    pub(super) whole: Sides,
    pub(super) target: i64,
    /// The number of its element; 0 where there is nothing to show, or nothing is wanted.
    pub(super) number: u64,
    pub(super) version: u64,
    pub(crate) alt: String,
}

impl Shown {
    /// The same, with this said of it.
    pub(crate) fn said(&self, alt: String) -> Self {
        Self { alt, ..self.clone() }
    }
}

/// Something to paint. Targets are told by their place in the list that comes with it, or -1.
#[derive(Debug, Clone, Deserialize)]
pub(crate) enum Op {
    /// A colour, with its opacity in the last byte.
    #[serde(rename = "f")]
    Fill(f64, f64, f64, f64, u32, i64),
    /// The place of a target.
    #[serde(rename = "a")]
    Own(f64, f64, f64, f64, i64),
    /// Left, middle of the line, colour, how, text, from where to where it may be seen; target.
    #[serde(rename = "t")]
    Text(f64, f64, u32, u8, String, f64, f64, i64),
    /// A picture.
    #[serde(rename = "m")]
    Picture(Shown),
    /// A line across.
    #[serde(rename = "l")]
    Line(f64, f64, f64, f64, u32),
    /// What is selected.
    #[serde(rename = "s")]
    Selected(Sides),
    /// A page in the page: its left and top, the part that is seen, and the number of its element.
    #[serde(rename = "i")]
    Inner(f64, f64, f64, f64, f64, f64, u64),
}

impl Op {
    /// What is selected: left, top, right, bottom.
    pub(crate) fn selected((left, top, right, bottom): (f64, f64, f64, f64)) -> Self {
        Self::Selected(Sides(left, top, right, bottom))
    }
}

/// Where a page is in the view, and which of the frame's targets its own begin with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pane {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) clip: Area,
    pub(crate) targets: usize,
    /// The number of its document.
    pub(crate) document: u64,
}
