//! Fitting items into a budget of tokens.

use crate::Item;
use crate::text::tokens;

/// No item takes more than this share of the budget while others wait.
const SHARE: u32 = 4;
/// A content that would be cut to less than this is left out instead.
const TOKENS_MIN: u32 = 16;

/// Keeps the best items that fit, cutting contents at line ends; titles stay whole. Returns whether
/// anything was left out or cut.
pub(crate) fn fit(items: &mut Vec<Item>, tokens_max: usize) -> bool {
    let budget = u32::try_from(tokens_max).unwrap_or(u32::MAX);
    let mut left = budget;
    let mut truncated = false;
    let alone = items.len() == 1;
    items.retain_mut(|item| {
        let share = if alone { budget } else { (budget / SHARE).max(TOKENS_MIN) };
        let room = left.min(share);
        if item.tokens > room {
            truncated = true;
            let title = tokens(item.title.len());
            if title + TOKENS_MIN > room {
                return false;
            }
            cut(item, (room as usize) * 4 - item.title.len());
        }
        left -= item.tokens;
        true
    });
    truncated
}

/// Cuts a content to this many bytes, after a line, or after a word if the first line is longer.
fn cut(item: &mut Item, bytes_max: usize) {
    let head = crate::text::head(&item.content, bytes_max);
    let end = head.rfind('\n').or_else(|| head.rfind(' ')).unwrap_or(head.len());
    item.content.truncate(end);
    item.truncated = true;
    item.tokens = tokens(item.title.len() + item.content.len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn item(title: &str, lines: usize) -> Item {
        let content = "a line of this text\n".repeat(lines);
        Item {
            source: Kind::Guide.source(),
            kind: Kind::Guide,
            tokens: tokens(title.len() + content.len()),
            title: title.to_owned(),
            content,
            path: "a.md".to_owned(),
            line: 1,
            end_line: lines as u32,
            score: 1.0,
            updated_at: None,
            truncated: false,
            why: Vec::new(),
        }
    }

    #[test]
    fn what_fits_stays_whole() {
        let mut items = vec![item("one", 2), item("two", 2)];
        let before = items.clone();
        assert!(!fit(&mut items, 1000));
        assert_eq!(items, before);
    }

    #[test]
    fn the_budget_is_never_exceeded_and_lines_stay_whole() {
        for budget in [0, 1, 10, 17, 40, 100, 150, 400] {
            let mut items: Vec<Item> = (1..9).map(|number| item("title", number * 3)).collect();
            assert!(fit(&mut items, budget));
            let used: usize = items.iter().map(|item| item.title.len() + item.content.len()).sum();
            assert!(used.div_ceil(4) <= budget, "{used} bytes in {budget} tokens");
            for item in &items {
                assert_eq!(item.title, "title");
                assert!(item.content.lines().all(|it| it == "a line of this text"));
            }
        }
    }

    #[test]
    fn one_long_item_leaves_room_for_the_others() {
        let mut items = vec![item("long", 100), item("short", 2), item("short", 2)];
        assert!(fit(&mut items, 120));
        assert_eq!(items.len(), 3);
        assert_eq!(items.iter().map(|it| it.truncated).collect::<Vec<_>>(), [true, false, false]);
    }
}
