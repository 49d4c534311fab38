//! Fields and their content.

use std::collections::HashSet;

use scraper::ElementRef;

use super::{FIELD, Flow, Span, Style, cells_of};
use crate::TargetKind;
use crate::frame::glyphs;
use crate::plain::page::{name_of, option_value, options_of, text_of};

impl Flow<'_> {
    pub(super) fn field(&mut self, field: ElementRef<'_>, mut style: Style) {
        let kind = field.attr("type").unwrap_or_default().to_ascii_lowercase();
        let is_on = || self.open.is_checked(field);
        let size = field.attr("size").or(field.attr("cols")).and_then(|attr| attr.parse().ok());
        let size: usize = size.unwrap_or(FIELD).clamp(1, self.width);
        let (target, text, is_faint, size) = match (name_of(field), kind.as_str()) {
            ("input", "checkbox") => {
                (TargetKind::Check, if is_on() { "[x]" } else { "[ ]" }.to_owned(), false, 3)
            }
            ("input", "radio") => {
                (TargetKind::Check, if is_on() { "(•)" } else { "( )" }.to_owned(), false, 3)
            }
            ("input", "submit" | "button" | "reset" | "image") => {
                let label = self.open.label(field);
                let label = if label.is_empty() { "Submit".to_owned() } else { label };
                let size = cells_of(&label);
                (TargetKind::Button, label, false, size)
            }
            ("input", "file") => (TargetKind::Other, "no file".to_owned(), true, 7),
            ("select", _) => {
                let chosen: HashSet<String> = self.open.chosen(field).into_iter().collect();
                let options = options_of(field);
                let shown =
                    options.iter().filter(|option| chosen.contains(&option_value(**option)));
                let shown: Vec<String> = shown.map(|shown| text_of(*shown)).collect();
                let text = format!("{} ▾", shown.join(", "));
                let size = cells_of(&text).min(self.width);
                (TargetKind::Select, text, false, size)
            }
            _ => {
                let value = self.open.value(field);
                let is_secret = self.open.is_secret(field);
                let target = if is_secret { TargetKind::Secret } else { TargetKind::Text };
                let placeholder = field.attr("placeholder").unwrap_or_default();
                match (value.is_empty(), is_secret) {
                    (true, _) => (target, placeholder.to_owned(), true, size),
                    (false, true) => {
                        (target, "•".repeat(value.chars().count().min(64)), false, size)
                    }
                    (false, false) => (target, crate::clean_line(&value), false, size),
                }
            }
        };
        self.begin(target, field, &mut style);
        style.is_faint = is_faint;
        self.make_room(size, style);
        let shown =
            tail(&text, size, target.is_field() && !is_faint && target != TargetKind::Select);
        let span = Span { column: self.column, cells: size, text: shown, style };
        self.column += size;
        self.line.push(span);
    }
}

/// The part of a text that fits: its end while it is being edited, its start otherwise.
fn tail(text: &str, cells: usize, is_written: bool) -> String {
    let letters = glyphs(text);
    let mut total: usize = letters.iter().map(|letter| usize::from(letter.1)).sum();
    let mut first = 0;
    while is_written && total > cells.saturating_sub(1) && first < letters.len() {
        total -= usize::from(letters[first].1);
        first += 1;
    }
    let mut room = cells;
    let fits = letters[first..].iter().take_while(|letter| {
        let is_in = usize::from(letter.1) <= room;
        room = room.saturating_sub(usize::from(letter.1));
        is_in
    });
    fits.map(|fit| fit.0.as_str()).collect()
}
