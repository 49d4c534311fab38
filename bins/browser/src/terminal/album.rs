//! The content of pages' pictures, as far as it was seen.

use std::collections::HashMap;

use waypost_browser::{Color, Frame, PictureKey, Pixels, Seen};

/// The maximum number of stored colours; beyond it, the pictures that were in view longest ago are
/// dropped.
const COLORS_MAX: usize = 8 << 20;
/// How often a frame's pictures are captured again while part of them is missing.
const LOOKS_MAX: u8 = 4;

/// The pictures to capture.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    /// The frame that contains them.
    pub(crate) seen: Seen,
    pub(crate) keys: Vec<PictureKey>,
}

/// Pictures, each with the time when it was last in view.
#[derive(Debug, Default)]
pub(crate) struct Album {
    known: HashMap<PictureKey, (u64, Pixels)>,
    frames: u64,
    looks: u8,
}

impl Album {
    /// Another frame is shown. Returns its unknown pictures to capture.
    pub(crate) fn show(&mut self, frame: &Frame) -> Option<Wanted> {
        self.frames += 1;
        self.looks = 0;
        for picture in &frame.pictures {
            if let Some(known) = self.known.get_mut(&picture.key) {
                known.0 = self.frames;
            }
        }
        self.wanted(frame)
    }

    /// Adds captured pictures. Returns what is still missing of the frame, for a limited number of
    /// times.
    pub(crate) fn take(&mut self, pixels: Vec<Pixels>, frame: Option<&Frame>) -> Option<Wanted> {
        for pixels in pixels {
            let now = self.frames;
            match self.known.get_mut(&pixels.key) {
                Some((_, known)) => known.merge(pixels),
                None => drop(self.known.insert(pixels.key, (now, pixels))),
            }
        }
        self.forget();
        self.looks += 1;
        frame.filter(|_| self.looks < LOOKS_MAX).and_then(|frame| self.wanted(frame))
    }

    /// The upper and the lower half of a picture's cell.
    pub(crate) fn halves(&self, key: PictureKey, place: (u16, u16)) -> Option<(Color, Color)> {
        self.known.get(&key)?.1.halves(place.0, place.1)
    }

    /// The known content of a picture.
    pub(crate) fn pixels(&self, key: PictureKey) -> Option<&Pixels> {
        self.known.get(&key).map(|known| &known.1)
    }

    fn wanted(&self, frame: &Frame) -> Option<Wanted> {
        let mut is_missing = vec![false; frame.pictures.len()];
        for row in 0..frame.view().rows() {
            for column in 0..frame.view().columns() {
                let which = frame.cell(column, row).and_then(|cell| cell.picture);
                let Some(which) = which.map(usize::from) else { continue };
                let Some(picture) = frame.pictures.get(which) else { continue };
                let known = self.pixels(picture.key);
                let place = picture.place(column, row);
                let is_known =
                    known.zip(place).is_some_and(|(it, place)| it.cell(place.0, place.1).is_some());
                is_missing[which] |= !is_known;
            }
        }
        let missing = frame.pictures.iter().zip(is_missing).filter(|pair| pair.1);
        let keys: Vec<PictureKey> = missing.map(|missing| missing.0.key).collect();
        (!keys.is_empty()).then_some(Wanted { seen: frame.seen, keys })
    }

    fn forget(&mut self) {
        let size = |pixels: &Pixels| {
            pixels.known() * usize::from(pixels.dots.0) * usize::from(pixels.dots.1)
        };
        let mut total: usize = self.known.values().map(|value| size(&value.1)).sum();
        while total > COLORS_MAX {
            let now = self.frames;
            let old =
                self.known.iter().filter(|known| known.1.0 < now).min_by_key(|known| known.1.0);
            let Some((key, pixels)) = old.map(|old| (*old.0, size(&old.1.1))) else { return };
            self.known.remove(&key);
            total -= pixels;
        }
    }
}
