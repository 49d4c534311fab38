//! Fits a page into a token budget.

use serde_json::Value;

use super::budget::{cost, cut_text, fit, grants, tokens_in};
use super::diff::{Known, reduce};
use super::extract::{Extract, Place};
use super::page::{Content, Cut, Flag, Login, Mode, Part, Summary};
use super::wire;
use crate::clean::unseen;
use crate::engine::{Capabilities, ReadScope, TabId, Target};
use crate::scrub::Scrub as _;
use crate::{clean, clean_line};

/// The longest address and title in a summary, in letters.
const LINE_MAX: usize = 500;
/// Phrases of a text that is addressed to a program and not to a reader.
const ADDRESSED: &[&str] = &[
    "ignore all previous",
    "ignore previous instructions",
    "ignore the above",
    "disregard all previous",
    "disregard previous",
    "you are an ai",
    "as an ai",
    "system prompt",
    "ai assistant",
    "ai agent",
];

/// What is known besides the page.
pub(crate) struct Around<'a> {
    pub(crate) mode: Mode,
    pub(crate) tokens: usize,
    pub(crate) tab: TabId,
    pub(crate) capabilities: Capabilities,
    pub(crate) auth: Login,
    /// Masks what was typed into secret fields.
    pub(crate) mask: &'a dyn Fn(&str) -> String,
    /// The page as it was last read.
    pub(crate) before: Option<&'a Known>,
    /// Whether a diff without an earlier reading is an outline, and not the whole page.
    pub(crate) is_brief: bool,
}

/// Which part of a page is worth reading for this mode and budget.
pub(crate) fn reach(mode: Mode, tokens: usize, scope: Option<Target>, viewport: bool) -> ReadScope {
    // An entry costs some 20 tokens, a token is some four letters; a diff compares more than it
    // shows.
    let characters_max = match mode {
        Mode::Outline | Mode::Interactive => 0,
        Mode::Full => tokens * 5,
        Mode::Diff => tokens * 10,
    };
    let tokens_max = (mode != Mode::Diff).then_some(tokens);
    let items_max = (tokens / 20).clamp(40, 5_000);
    ReadScope { scope, viewport, items_max, characters_max, tokens_max, known: Vec::new() }
}

/// Where an entry is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Seen {
    /// It existed when the page was last read.
    pub(super) met: bool,
    pub(super) in_view: bool,
}

/// The content of a page before it is truncated.
#[derive(Debug, Default)]
pub(super) struct Parts {
    pub(super) content: Content,
    /// The entries of each list, on the wire.
    pub(super) entries: [Vec<Value>; 6],
    /// How important each entry is.
    importance: [Vec<u8>; 6],
    /// The number of entries on the page.
    pub(super) totals: [u64; 6],
    /// Where each entry of a list with locations is.
    pub(super) seen: [Vec<Seen>; 6],
    /// Which lists were cut before they were read to their end.
    pub(super) is_cut: [bool; 6],
    /// Not all of the text was read.
    pub(super) is_text_cut: bool,
    /// The approximate number of letters in the whole text.
    letters: u64,
}

impl Parts {
    pub(super) fn retain(&mut self, list: usize, kept: &[bool]) {
        let mut is_kept = kept.iter();
        self.entries[list].retain(|_| is_kept.next() == Some(&true));
        let mut is_kept = kept.iter();
        self.importance[list].retain(|_| is_kept.next() == Some(&true));
        self.content.retain(Part::LISTS[list], kept);
    }
}

/// The summary, and the page to compare the next reading with.
pub(crate) fn show(mut extract: Extract, around: Around<'_>) -> (Summary, Known) {
    let line = |text: &str| -> String {
        (around.mask)(&clean_line(text)).chars().take(LINE_MAX).collect()
    };
    let mut summary = Summary {
        url: line(&extract.url),
        title: line(&extract.title),
        status: extract.status,
        loading: extract.loading,
        tab: around.tab,
        mode: around.mode,
        engine: around.capabilities.engine,
        content: Content::default(),
        cuts: Vec::new(),
        limit: extract.truncated.clone(),
        removed: None,
        frames: extract.frames.clone(),
        dialogs: extract.dialogs.clone(),
        downloads: extract.downloads.clone(),
        auth: around.auth,
        flags: flags(&extract),
        tokens: 0,
    };
    let (document, present) = (extract.document, std::mem::take(&mut extract.present));
    let mut parts = parts(extract, around.mask);
    let known = Known::of(&summary, &parts, document);
    if around.mode == Mode::Diff {
        if let Some(before) = around.before.filter(|it| it.url == summary.url) {
            summary.removed = Some(reduce(&mut parts, before, &known, &present));
            // Entries that are left out here were shown before: they are not missing.
            parts.totals = std::array::from_fn(|at| parts.entries[at].len() as u64);
            parts.letters = 0;
        } else if around.is_brief {
            summary.mode = Mode::Outline;
        }
    }
    if summary.mode == Mode::Outline {
        for at in [2, 4] {
            parts.retain(at, &[]);
        }
    }
    if matches!(summary.mode, Mode::Outline | Mode::Interactive) {
        parts.content.text.clear();
        parts.letters = 0;
    }
    summary.scrub(&|text| (around.mask)(&clean(text)));
    fill(&mut summary, parts, around.tokens);
    (summary, known)
}

/// The content of a page, cleaned and masked.
fn parts(extract: Extract, mask: &dyn Fn(&str) -> String) -> Parts {
    let mut parts = Parts {
        totals: [
            extract.headings.total,
            extract.forms.total,
            extract.links.total,
            extract.tables.total,
            extract.controls.total,
            extract.errors.len() as u64,
        ],
        // A mask changes the length: only what is known to be cut has more letters.
        letters: if extract.text_cut { extract.letters } else { 0 },
        is_cut: cut(&extract),
        is_text_cut: extract.text_cut || extract.truncated.is_some(),
        ..Parts::default()
    };
    let mut content = Content {
        headings: extract.headings.kept,
        forms: extract.forms.kept,
        links: extract.links.kept,
        tables: extract.tables.kept,
        controls: extract.controls.kept,
        errors: extract.errors,
        text: String::new(),
    };
    let weight = |view: bool, text: &str| u8::from(view) * 2 + u8::from(!text.is_empty());
    parts.importance = [
        content.headings.iter().map(|it| 6 - it.level.min(6)).collect(),
        vec![0; content.forms.len()],
        content.links.iter().map(|it| u8::from(it.place.in_view)).collect(),
        vec![0; content.tables.len()],
        content.controls.iter().map(|it| weight(it.place.in_view, &it.text)).collect(),
        vec![0; content.errors.len()],
    ];
    let seen = |place: &Place| Seen { met: place.met, in_view: place.in_view };
    parts.seen[1] = content.forms.iter().map(|it| seen(&it.place)).collect();
    parts.seen[2] = content.links.iter().map(|it| seen(&it.place)).collect();
    parts.seen[3] = content.tables.iter().map(|it| seen(&it.place)).collect();
    parts.seen[4] = content.controls.iter().map(|it| seen(&it.place)).collect();
    content.scrub(&|it| mask(&clean_line(it)));
    parts.entries = wire::entries(&content);
    content.text = mask(&clean(&extract.text));
    parts.content = content;
    parts
}

/// Which lists were not read to their end.
fn cut(extract: &Extract) -> [bool; 6] {
    let lists = [
        extract.headings.cut,
        extract.forms.cut,
        extract.links.cut,
        extract.tables.cut,
        extract.controls.cut,
        false,
    ];
    lists.map(|it| it || extract.truncated.is_some())
}

/// Adds what fits to the summary, and reports what did not.
fn fill(summary: &mut Summary, mut parts: Parts, tokens: usize) {
    // The names of the lists and the report of what was left out also have a cost.
    let reserve = tokens_in(&wire::head(summary).to_string()) + 110;
    let tokens = tokens.saturating_sub(reserve);
    let costs: [Vec<usize>; 6] =
        std::array::from_fn(|at| parts.entries[at].iter().map(cost).collect());
    let wants = std::array::from_fn(|at| costs[at].iter().sum());
    let in_json = tokens_in(&Value::from(parts.content.text.as_str()).to_string());
    let (granted, for_text) = grants(tokens, &wants, in_json);
    for (at, part) in Part::LISTS.into_iter().enumerate() {
        let kept = fit(&costs[at], &parts.importance[at], granted[at]);
        parts.retain(at, &kept);
        let (shown, of) = (parts.entries[at].len() as u64, parts.totals[at]);
        if shown < of {
            summary.cuts.push(Cut { part, shown, of });
        }
    }
    let text = cut_text(&parts.content.text, for_text).to_owned();
    let letters = |it: &str| it.chars().count() as u64;
    let (shown, of) = (letters(&text), parts.letters.max(letters(&parts.content.text)));
    if shown < of {
        summary.cuts.push(Cut { part: Part::Text, shown, of });
    }
    summary.content = Content { text, ..parts.content };
    summary.tokens = tokens_in(&wire::summary(summary).to_string());
}

/// Hints at what a reader would not notice.
fn flags(extract: &Extract) -> Vec<Flag> {
    let hidden = |(reason, count): (&String, &u64)| {
        let (reason, count) = (reason.clone(), *count);
        Flag::HiddenText { reason, count }
    };
    let mut flags: Vec<Flag> = extract.left.iter().map(hidden).collect();
    let count = unseen(&extract.text);
    if count > 0 {
        flags.push(Flag::UnseenCharacters(count));
    }
    let lower = extract.text.to_lowercase();
    if ADDRESSED.iter().any(|it| lower.contains(it)) {
        flags.push(Flag::AddressesAssistants);
    }
    flags
}
