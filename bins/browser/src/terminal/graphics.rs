//! How a terminal shows pictures: with half blocks in two colours, or as pixels where it supports
//! them. Detecting the support never blocks for long.

mod ask;

use anyhow::Context;
use image::imageops::{FilterType, resize};
use image::{DynamicImage, Rgb, RgbImage};
use ratatui::buffer::Buffer;
use ratatui::layout::{Rect, Size};
use ratatui::widgets::Widget;
use ratatui_image::Image;
use ratatui_image::protocol::Protocol;
use ratatui_image::protocol::iterm2::Iterm2;
use ratatui_image::protocol::kitty::Kitty;
use ratatui_image::protocol::sixel::Sixel;
use waypost_browser::{DOTS_MAX, Frame, PictureKey, Pixels};
use waypost_project::BrowserPictures;

pub(crate) use self::ask::{Answers, ask};
use super::album::Album;
use super::color::Depth;

/// Pictures are sent as pixels once they have not moved for this long, in milliseconds: meanwhile
/// they are drawn as blocks.
const STILL_MS: u64 = 120;
/// The size of a cell in pixels, if the terminal does not report it.
const CELL: (u16, u16) = (8, 16);
/// The largest accepted cell size, in pixels.
const CELL_MAX: u16 = 64;

/// How pictures are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Not at all: their descriptions are shown.
    Off,
    /// Two colours per cell.
    Blocks,
    /// As pixels.
    Pixels(Sent),
}

/// How pixels are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    kind: Kind,
    /// The size of a cell in pixels.
    cell: (u16, u16),
    /// Through tmux, which must be told to pass them on to the terminal.
    in_tmux: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Kitty,
    Sixel,
    Iterm,
}

impl Way {
    /// The way that the person chose and the terminal supports. `answers` queries the terminal, if
    /// that helps.
    pub(crate) fn of(
        wish: BrowserPictures,
        depth: Depth,
        variable: impl Fn(&str) -> Option<String>,
        answers: impl FnOnce() -> Answers,
    ) -> Self {
        if depth == Depth::None {
            return Self::Off;
        }
        let is = |name: &str, values: &[&str]| {
            variable(name)
                .is_some_and(|variable| values.iter().any(|value| variable.contains(value)))
        };
        let in_tmux = is("TMUX", &["/"]);
        let hint = if in_tmux || is("TERM", &["tmux", "screen"]) {
            // The terminal around it cannot be queried, and may change at any time.
            None
        } else if is("TERM", &["kitty", "ghostty"]) || is("TERM_PROGRAM", &["ghostty"]) {
            Some(Kind::Kitty)
        } else if is("TERM_PROGRAM", &["iTerm", "WezTerm", "mintty"])
            || is("LC_TERMINAL", &["iTerm"])
        {
            Some(Kind::Iterm)
        } else {
            Some(Kind::Sixel)
        };
        let wished = match wish {
            BrowserPictures::Off => return Self::Off,
            BrowserPictures::Blocks => return Self::Blocks,
            BrowserPictures::Auto => None,
            BrowserPictures::Kitty => Some(Kind::Kitty),
            BrowserPictures::Sixel => Some(Kind::Sixel),
            BrowserPictures::Iterm => Some(Kind::Iterm),
        };
        let Some(kind) = wished.or(hint) else { return Self::Blocks };
        let answers = if in_tmux { Answers::default() } else { answers() };
        let fits = |pair: &(u16, u16)| {
            (1..=CELL_MAX).contains(&pair.0) && (1..=CELL_MAX).contains(&pair.1)
        };
        let cell = answers.cell.filter(fits);
        let is_sure =
            wished.is_some() || (cell.is_some() && (kind != Kind::Sixel || answers.sixel));
        if !is_sure {
            return Self::Blocks;
        }
        Self::Pixels(Sent { kind, cell: cell.unwrap_or(CELL), in_tmux })
    }

    /// The number of colours needed per cell.
    pub(crate) fn dots(self) -> (u16, u16) {
        if matches!(self, Self::Pixels(_)) { DOTS_MAX } else { (1, 2) }
    }
}

/// A part of a picture in an area of the page's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    key: PictureKey,
    /// Column and row in the view, and the number of each.
    area: Rect,
    /// Column and row in the picture.
    from: (u16, u16),
}

/// The pictures of a view that are sent as pixels.
#[derive(Default)]
pub(crate) struct Gallery {
    parts: Vec<Part>,
    /// Since when they have been at their positions.
    since: u64,
    hung: Vec<(Rect, Protocol)>,
    is_hung: bool,
}

impl Gallery {
    /// Updates the positions of pictures, and prepares those that have not moved for long enough.
    pub(crate) fn tend(&mut self, sent: Sent, frame: &Frame, album: &Album, now: u64) {
        let parts = parts(frame, album);
        if parts != self.parts {
            *self = Self { parts, since: now, ..Self::default() };
        } else if !self.is_hung && now >= self.since + STILL_MS {
            let hang = |part: &Part| {
                let made = make(album.pixels(part.key)?, *part, sent);
                // A picture that cannot be prepared stays as blocks.
                made.ok().map(|made| (part.area, made))
            };
            self.hung = self.parts.iter().filter_map(hang).collect();
            self.is_hung = true;
        }
    }

    /// Draws them over a page whose first row is `top`.
    pub(crate) fn draw(&self, buffer: &mut Buffer, page: Rect) {
        for (area, picture) in &self.hung {
            let place = Rect { x: page.x + area.x, y: page.y + area.y, ..*area };
            if place == place.intersection(page) {
                Image::new(picture).render(place, buffer);
            }
        }
    }
}

impl std::fmt::Debug for Gallery {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Gallery").field("parts", &self.parts).finish_non_exhaustive()
    }
}

/// Pictures whose visible part is known completely and not covered.
fn parts(frame: &Frame, album: &Album) -> Vec<Part> {
    let view = frame.view();
    let mut parts = Vec::new();
    for (which, picture) in (0_u16..).zip(&frame.pictures) {
        let range = |first: i32, cells: u16, most: u16| {
            let end = first.saturating_add(i32::from(cells)).clamp(0, i32::from(most)) as u16;
            first.clamp(0, i32::from(most)) as u16..end
        };
        let columns = range(picture.column, picture.key.columns, view.columns());
        let rows = range(picture.row, picture.key.rows, view.rows());
        let Some(from) = picture.place(columns.start, rows.start) else { continue };
        let is_whole = |column, row| {
            let is_seen = frame.cell(column, row).is_some_and(|cell| cell.picture == Some(which));
            let place = picture.place(column, row).filter(|_| is_seen);
            place.is_some_and(|place| album.halves(picture.key, place).is_some())
        };
        let area = Rect::new(
            columns.start,
            rows.start,
            columns.end.saturating_sub(columns.start),
            rows.end.saturating_sub(rows.start),
        );
        let mut cells = rows.flat_map(|row| columns.clone().map(move |column| (column, row)));
        // The first cell carries all the data, and the cursor then moves to the next one: so there
        // must be at least two.
        if area.width > 1 && area.height > 0 && cells.all(|cell| is_whole(cell.0, cell.1)) {
            parts.push(Part { key: picture.key, area, from });
        }
    }
    parts
}

fn make(pixels: &Pixels, part: Part, sent: Sent) -> anyhow::Result<Protocol> {
    let (across, down) = pixels.dots;
    let of = |cells: u16, dots: u16| u32::from(cells) * u32::from(dots);
    let (width, height) = (of(part.area.width, across), of(part.area.height, down));
    let mut picture = RgbImage::new(width, height);
    for row in 0..part.area.height {
        for column in 0..part.area.width {
            let colors = pixels.cell(part.from.0 + column, part.from.1 + row);
            let colors = colors.context("a cell is not known any more")?;
            let dots =
                (0..u32::from(down)).flat_map(|y| (0..u32::from(across)).map(move |x| (x, y)));
            for ((x, y), color) in dots.zip(colors) {
                let place = (of(column, across) + x, of(row, down) + y);
                picture.put_pixel(place.0, place.1, Rgb([color.0, color.1, color.2]));
            }
        }
    }
    let wanted = (of(part.area.width, sent.cell.0), of(part.area.height, sent.cell.1));
    if wanted != (width, height) {
        picture = resize(&picture, wanted.0, wanted.1, FilterType::Triangle);
    }
    let (picture, in_tmux) = (DynamicImage::ImageRgb8(picture), sent.in_tmux);
    let size = Size::new(part.area.width, part.area.height);
    Ok(match sent.kind {
        Kind::Kitty => {
            let mut number = [0; 4];
            getrandom::fill(&mut number)
                .map_err(|error| anyhow::anyhow!("no random bytes: {error}"))?;
            // The data may be compressed: every terminal with these placeholders decompresses it.
            Protocol::Kitty(Kitty::new(picture, size, u32::from_le_bytes(number), in_tmux, true)?)
        }
        Kind::Sixel => Protocol::Sixel(Sixel::new(picture, size, in_tmux)?),
        Kind::Iterm => Protocol::ITerm2(Iterm2::new(picture, size, in_tmux)?),
    })
}

#[cfg(test)]
mod tests {
    use waypost_project::BrowserPictures::{Auto, Blocks, Iterm, Kitty, Off};

    use super::{Answers, CELL, Depth, Kind, Sent, Way};

    #[test]
    fn the_way_is_what_the_person_wishes_or_the_terminal_is_known_to_show() {
        let told = Answers { sixel: true, cell: Some((9, 18)) };
        let no_sixel = Answers { sixel: false, ..told };
        let huge = Answers { sixel: true, cell: Some((9, 999)) };
        let pixels = |kind, cell, in_tmux| Way::Pixels(Sent { kind, cell, in_tmux });
        let tmux = ("TMUX", "/tmp/tmux-0/default,1,0");
        let cases = [
            (Auto, Depth::All, vec![], told, pixels(Kind::Sixel, (9, 18), false)),
            (Auto, Depth::All, vec![], no_sixel, Way::Blocks),
            (Auto, Depth::All, vec![], huge, Way::Blocks),
            (
                Auto,
                Depth::All,
                vec![("TERM", "xterm-kitty")],
                no_sixel,
                pixels(Kind::Kitty, (9, 18), false),
            ),
            (Auto, Depth::All, vec![("TERM", "xterm-kitty")], Answers::default(), Way::Blocks),
            (
                Auto,
                Depth::All,
                vec![("LC_TERMINAL", "iTerm2")],
                told,
                pixels(Kind::Iterm, (9, 18), false),
            ),
            (Auto, Depth::All, vec![tmux], told, Way::Blocks),
            (Auto, Depth::All, vec![("TERM", "screen-256color")], told, Way::Blocks),
            (Auto, Depth::None, vec![], told, Way::Off),
            (Kitty, Depth::None, vec![], told, Way::Off),
            (Off, Depth::All, vec![], told, Way::Off),
            (Blocks, Depth::All, vec![("TERM", "xterm-kitty")], told, Way::Blocks),
            (Kitty, Depth::All, vec![tmux], told, pixels(Kind::Kitty, CELL, true)),
            (Iterm, Depth::Sixteen, vec![], Answers::default(), pixels(Kind::Iterm, CELL, false)),
        ];
        for (wish, depth, set, answers, expected) in cases {
            let variable =
                |name: &str| set.iter().find(|set| set.0 == name).map(|set| set.1.to_owned());
            let way = Way::of(wish, depth, variable, || answers);
            assert_eq!(way, expected, "{wish:?} {depth:?} {set:?} {answers:?}");
        }
    }
}
