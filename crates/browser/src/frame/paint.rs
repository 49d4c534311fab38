//! Paints operations in pixels into cells, the lowest layer first.

use std::ops::Range;

use super::glyph::glyphs;
use super::op::{Op, Pane, Shown};
use super::{
    Area, Cell, Color, Focus, Frame, FrameTarget, Picture, PictureKey, Scrolled, Seen, View,
};
use crate::protocol::Reference;

/// The owner of cells that belong to no target.
const NOBODY: i64 = -1;
/// Text styles.
const BOLD: u8 = 1;
const UNDERLINED: u8 = 2;
const FAINT: u8 = 4;
/// The shade of a picture's area.
const SHADE: u32 = 0x8080_8040;

/// Paints a frame.
#[derive(Debug)]
pub(crate) struct Painter {
    view: View,
    /// The cell size, in the unit of the operations.
    cell: (f64, f64),
    cells: Vec<Cell>,
    targets: Vec<FrameTarget>,
    pictures: Vec<Picture>,
    /// Where the last text of each row ended: exactly, and in cells.
    ends: Vec<(f64, usize)>,
}

impl Painter {
    /// An empty frame, for operations with this cell size.
    pub(crate) fn new(view: View, cell: (f64, f64), ground: Color) -> Self {
        let blank = Cell {
            text: String::new(),
            width: 1,
            foreground: Color(0, 0, 0),
            background: ground,
            bold: false,
            underline: false,
            inverse: false,
            target: None,
            picture: None,
        };
        let rows = usize::from(view.rows);
        Self {
            view,
            cell,
            cells: vec![blank; usize::from(view.columns) * rows],
            targets: Vec::new(),
            pictures: Vec::new(),
            ends: vec![(f64::NEG_INFINITY, usize::MAX); rows],
        }
    }

    /// Adds the targets of a page; returns the index of the first.
    pub(crate) fn add_targets(&mut self, targets: impl IntoIterator<Item = FrameTarget>) -> usize {
        let first = self.targets.len();
        // Cells refer to their target by a small number.
        let room = usize::from(u16::MAX) - first;
        self.targets.extend(targets.into_iter().take(room));
        first
    }

    /// Paints one operation of a page. Inner pages are painted by the caller.
    pub(crate) fn paint(&mut self, op: &Op, pane: &Pane) {
        let moved = |area: Area| area.moved(pane.left, pane.top).within(pane.clip);
        match *op {
            Op::Fill(area, color, target) => {
                self.fill(moved(area), color, self.owner(target, pane));
            }
            Op::Own(area, target) => self.own(moved(area), self.owner(target, pane)),
            Op::Text(x, middle, color, how, ref text, left, right, target) => {
                let line = Area { left, top: f64::NEG_INFINITY, right, bottom: f64::INFINITY };
                let at = (x + pane.left, middle + pane.top);
                if at.1 >= pane.clip.top && at.1 < pane.clip.bottom {
                    self.text(at, (color, how), text, moved(line), self.owner(target, pane));
                }
            }
            Op::Picture(ref shown) => {
                let picture = self.picture(shown, pane);
                self.shade(moved(shown.seen), self.owner(shown.target, pane), picture);
            }
            Op::Line(area, color) => self.line(moved(area), color),
            Op::Selected(area) => self.each(moved(area), |cell| cell.inverse = true),
            Op::Inner(..) => {}
        }
    }

    /// The finished frame.
    pub(crate) fn finish(
        self,
        (version, has_inner): (u64, bool),
        caret: Option<(f64, f64)>,
        focus: Option<Focus>,
        scrolled: Scrolled,
    ) -> Frame {
        let (width, height) = self.cell;
        let place = |(x, y): (f64, f64)| {
            // A caret at the end of a line may be slightly beyond it.
            let (column, row) = ((x / width).round().max(0.0), (y / height).floor());
            let is_inside = row >= 0.0
                && row < f64::from(self.view.rows)
                && column <= f64::from(self.view.columns);
            is_inside.then(|| ((column as u16).min(self.view.columns - 1), row as u16))
        };
        let caret = caret.and_then(place);
        let seen = Seen { view: self.view, version, has_inner };
        let Self { cells, targets, pictures, .. } = self;
        Frame { seen, cells, targets, pictures, caret, focus, scrolled }
    }

    fn owner(&self, target: i64, pane: &Pane) -> Option<u16> {
        let at = usize::try_from(target).ok()? + pane.targets;
        u16::try_from(at).ok().filter(|_| target > NOBODY && at < self.targets.len())
    }

    /// The columns and rows whose middle is in an area.
    fn spread(&self, area: Area) -> (Range<usize>, Range<usize>) {
        let range = |low: f64, high: f64, size: f64, most: u16| {
            let most = f64::from(most);
            let first = (low / size - 0.5).ceil().clamp(0.0, most);
            let last = (high / size - 0.5).ceil().clamp(first, most);
            first as usize..last as usize
        };
        (
            range(area.left, area.right, self.cell.0, self.view.columns),
            range(area.top, area.bottom, self.cell.1, self.view.rows),
        )
    }

    fn at(&self, column: usize, row: usize) -> usize {
        row * usize::from(self.view.columns) + column
    }

    fn each(&mut self, area: Area, mut change: impl FnMut(&mut Cell)) {
        let (columns, rows) = self.spread(area);
        for row in rows {
            for column in columns.clone() {
                let at = self.at(column, row);
                change(&mut self.cells[at]);
            }
        }
    }

    fn fill(&mut self, area: Area, color: u32, owner: Option<u16>) {
        let is_dense = color & 0xFF > 127;
        if is_dense {
            self.wipe(area);
        }
        self.each(area, |cell| {
            cell.background = Color::over(color, cell.background);
            if is_dense {
                cell.target = owner;
            } else {
                cell.foreground = Color::over(color, cell.foreground);
            }
        });
    }

    /// Removes the text of an area, and halves of wide letters that extend out of it.
    fn wipe(&mut self, area: Area) {
        let (columns, rows) = self.spread(area);
        for row in rows.filter(|_| !columns.is_empty()) {
            for column in [columns.start, columns.end - 1] {
                self.part(column, row);
            }
            if self.ends[row].1 > columns.start {
                self.ends[row] = (f64::NEG_INFINITY, usize::MAX);
            }
        }
        self.each(area, |cell| {
            cell.text.clear();
            cell.width = 1;
            (cell.bold, cell.underline, cell.inverse) = (false, false, false);
            cell.picture = None;
        });
    }

    /// Replaces a wide letter that covers this cell by two empty cells.
    fn part(&mut self, column: usize, row: usize) {
        let at = self.at(column, row);
        let is_second = self.cells[at].width == 0;
        let first = if is_second { at.saturating_sub(1) } else { at };
        if is_second || self.cells[at].width == 2 {
            let last = self.at(usize::from(self.view.columns) - 1, row);
            for cell in &mut self.cells[first..=(first + 1).min(last)] {
                cell.text.clear();
                cell.width = 1;
            }
        }
    }

    fn own(&mut self, area: Area, owner: Option<u16>) {
        let Some(target) = owner.and_then(|owner| self.targets.get_mut(usize::from(owner))) else {
            return;
        };
        if area.is_nothing() {
            return;
        }
        target.areas.push(area);
        let is_field = target.kind.is_field();
        self.each(self.no_less(area), |cell| {
            cell.target = owner;
            cell.underline |= is_field;
        });
    }

    /// The area, or the cell in its middle if it covers the middle of no cell.
    fn no_less(&self, area: Area) -> Area {
        let grown = |low: f64, high: f64, size: f64| {
            if ((high / size - 0.5).ceil() - (low / size - 0.5).ceil()) >= 1.0 {
                return (low, high);
            }
            let first = (f64::midpoint(low, high) / size).floor() * size;
            (first, first + size)
        };
        let (left, right) = grown(area.left, area.right, self.cell.0);
        let (top, bottom) = grown(area.top, area.bottom, self.cell.1);
        Area { left, top, right, bottom }
    }

    fn shade(&mut self, area: Area, owner: Option<u16>, picture: Option<u16>) {
        self.wipe(area);
        self.each(area, |cell| {
            cell.background = Color::over(SHADE, cell.background);
            cell.target = owner;
            cell.picture = picture;
        });
    }

    /// Records a picture that can be shown.
    fn picture(&mut self, shown: &Shown, pane: &Pane) -> Option<u16> {
        let number = u16::try_from(self.pictures.len()).ok().filter(|_| shown.number > 0)?;
        let Area { left, top, right, bottom } = shown.whole.moved(pane.left, pane.top);
        let first = |at: f64, size: f64| (at / size - 0.5).ceil() as i32;
        let (column, row) = (first(left, self.cell.0), first(top, self.cell.1));
        let cells = |far: f64, size: f64, near: i32| {
            u16::try_from(first(far, size).saturating_sub(near)).ok()
        };
        let columns = cells(right, self.cell.0, column)?;
        let rows = cells(bottom, self.cell.1, row)?;
        let element = Reference { document: pane.document, element: shown.number };
        let key = PictureKey { element, version: shown.version, columns, rows };
        self.pictures.push(Picture { key, column, row, alt: shown.alt.clone() });
        Some(number)
    }

    fn line(&mut self, area: Area, color: u32) {
        if area.right <= area.left {
            return;
        }
        let middle = f64::midpoint(area.top, area.bottom);
        let row = (middle / self.cell.1).floor() * self.cell.1;
        self.each(Area { top: row, bottom: row + self.cell.1, ..area }, |cell| {
            if cell.text.is_empty() && cell.width == 1 {
                "─".clone_into(&mut cell.text);
                cell.picture = None;
                cell.foreground = Color::over(color, cell.background);
            }
        });
    }

    fn text(
        &mut self,
        (x, middle): (f64, f64),
        (color, how): (u32, u8),
        text: &str,
        clip: Area,
        owner: Option<u16>,
    ) {
        let row = (middle / self.cell.1).floor();
        if row < 0.0 || row >= f64::from(self.view.rows) {
            return;
        }
        let row = row as usize;
        let (columns, _) = self.spread(Area { top: 0.0, bottom: 0.0, ..clip });
        let mut column = (x / self.cell.0).round() as i64;
        let (end, end_column) = self.ends[row];
        // A gap of less than half a cell is still a gap.
        let is_joined = usize::try_from(column).is_ok_and(|number| number == end_column);
        if is_joined && x - end > self.cell.0 * 0.15 {
            column += 1;
        }
        let is_field = owner.is_some_and(|owner| self.targets[usize::from(owner)].kind.is_field());
        let letters = glyphs(text);
        let cells: u32 = letters.iter().map(|letter| u32::from(letter.1)).sum();
        for (letter, width) in letters {
            let place = usize::try_from(column).ok().filter(|number| *number >= columns.start);
            column += i64::from(width);
            let Some(place) = place else { continue };
            if place + usize::from(width) > columns.end {
                break;
            }
            for second in 0..usize::from(width) {
                self.part(place + second, row);
                let at = self.at(place + second, row);
                let cell = &mut self.cells[at];
                if second == 0 && letter != " " {
                    cell.text.clone_from(&letter);
                } else {
                    cell.text.clear();
                }
                cell.width = if second == 0 { width } else { 0 };
                cell.foreground = Color::over(color, cell.background);
                if how & FAINT != 0 {
                    cell.foreground = cell.foreground.halfway(cell.background);
                }
                cell.bold = how & BOLD != 0;
                cell.underline = how & UNDERLINED != 0 || is_field;
                cell.target = owner;
                cell.picture = None;
            }
        }
        self.ends[row] =
            (x + f64::from(cells) * self.cell.0, usize::try_from(column).unwrap_or(usize::MAX));
    }
}
