//! Draws pictures with half blocks, and the descriptions of unknown ones.

use ratatui::buffer::{Buffer, Cell as Place};
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use waypost_browser::{Color, Frame};

use super::Pen;
use crate::terminal::album::Album;

/// The upper half of a cell has the text colour; the rest has the background colour.
const UPPER_HALF: &str = "▀";
const DARK: Color = Color(0, 0, 0);
const LIGHT: Color = Color(255, 255, 255);

impl Pen {
    /// The content of a picture in a cell, if one is visible there and known.
    pub(super) fn picture(
        &self,
        place: &mut Place,
        frame: &Frame,
        (column, row): (u16, u16),
        album: &Album,
    ) {
        let cell = frame.cell(column, row);
        let which = cell.and_then(|cell| cell.picture);
        let picture = which.and_then(|which| frame.pictures.get(usize::from(which)));
        let halves =
            picture.and_then(|picture| album.halves(picture.key, picture.place(column, row)?));
        let Some((upper, lower)) = halves else { return };
        let (Some(front), Some(back)) = (self.depth.ink(upper), self.depth.ink(lower)) else {
            return;
        };
        // If both are the same, copying text next to it copies no block.
        place.set_symbol(if front == back { " " } else { UPPER_HALF });
        place.set_fg(front).set_bg(back);
    }

    /// The descriptions of pictures whose content is still unknown, at their first cells.
    pub(super) fn said(&self, buffer: &mut Buffer, area: Rect, frame: &Frame, album: &Album) {
        let mut is_said: Vec<bool> = frame
            .pictures
            .iter()
            .map(|picture| picture.alt.is_empty() || album.pixels(picture.key).is_some())
            .collect();
        if is_said.iter().all(|said| *said) {
            return;
        }
        for row in 0..area.height.min(frame.view().rows()) {
            for column in 0..area.width.min(frame.view().columns()) {
                let Some(cell) = frame.cell(column, row) else { continue };
                let Some(which) = cell.picture.map(usize::from) else { continue };
                let Some(is_said) = is_said.get_mut(which).filter(|said| !**said) else { continue };
                *is_said = true;
                let same = |it: &u16| {
                    frame.cell(*it, row).is_some_and(|other| other.picture == cell.picture)
                };
                let room = (column..area.width).take_while(same).count();
                let parts = [cell.background.0, cell.background.1, cell.background.2];
                let is_light = parts.iter().map(|part| u32::from(*part)).sum::<u32>() > 384;
                let front = if is_light { DARK } else { LIGHT };
                let style = self.style((front, cell.background), false).add_modifier(Modifier::DIM);
                let text = format!("[{}]", frame.pictures[which].alt);
                buffer.set_stringn(area.x + column, area.y + row, text, room, style);
            }
        }
    }
}
