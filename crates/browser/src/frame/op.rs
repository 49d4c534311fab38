//! Drawing operations, in CSS pixels or in the unit of the cell size.

use serde::Deserialize;

use super::Area;

/// A picture and its identity.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Shown {
    /// The visible part.
    pub(super) seen: Area,
    /// The whole area.
    pub(super) whole: Area,
    pub(super) target: i64,
    /// The number of its element; 0 if there is nothing to show or pictures are not wanted.
    pub(super) number: u64,
    pub(super) version: u64,
    pub(crate) alt: String,
}

impl Shown {
    /// The same, with this description.
    pub(crate) fn said(&self, alt: String) -> Self {
        Self { alt, ..self.clone() }
    }
}

/// A drawing operation. A target is its index in the accompanying list, or -1.
#[derive(Debug, Clone, Deserialize)]
pub(crate) enum Op {
    /// A fill colour, with its opacity in the last byte.
    #[serde(rename = "f")]
    Fill(Area, u32, i64),
    /// The area of a target.
    #[serde(rename = "a")]
    Own(Area, i64),
    /// Left edge, middle of the line, colour, style, text, horizontal range of the visible part;
    /// target.
    #[serde(rename = "t")]
    Text(f64, f64, u32, u8, String, f64, f64, i64),
    /// A picture.
    #[serde(rename = "m")]
    Picture(Shown),
    /// A horizontal line.
    #[serde(rename = "l")]
    Line(Area, u32),
    /// A selected area.
    #[serde(rename = "s")]
    Selected(Area),
    /// An inner page: its left and top, its visible part, and the number of its element.
    #[serde(rename = "i")]
    Inner(f64, f64, Area, u64),
}

/// The position of a page in the view, and the index of the frame's targets at which its own start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pane {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) clip: Area,
    pub(crate) targets: usize,
    /// The number of its document.
    pub(crate) document: u64,
}
