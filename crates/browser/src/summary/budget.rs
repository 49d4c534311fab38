//! Counts tokens, and distributes them.

use serde_json::Value;

/// The default token budget of a summary.
pub const TOKENS_DEFAULT: usize = 4_000;
/// The smallest budget.
pub const TOKENS_MIN: usize = 200;
/// The largest budget.
pub const TOKENS_MAX: usize = 500_000;

/// The weight of each list of a summary when tokens are scarce, and that of the text.
const WEIGHTS: [usize; 6] = [20, 12, 20, 6, 25, 7];
const TEXT_WEIGHT: usize = 20;
/// Headings, forms, controls and errors come first, up to this percentage.
const FIRST: [usize; 4] = [0, 1, 4, 5];
const FIRST_HUNDREDTHS: usize = 65;

/// An estimate of the number of tokens of a text for a language model: one per four plain letters,
/// and one for each other letter. Models differ; the estimate is rather too high than too low.
#[must_use]
pub fn tokens_in(text: &str) -> usize {
    let plain = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().filter(|c| !c.is_ascii()).count();
    plain.div_ceil(4) + others
}

/// The cost of a value in a list.
pub(super) fn cost(value: &Value) -> usize {
    tokens_in(&value.to_string()) + 1
}

/// Distributes `tokens` by weight; what one does not need goes to the others.
pub(super) fn share(tokens: usize, wants: &[(usize, usize)]) -> Vec<usize> {
    let mut given = vec![0; wants.len()];
    let mut open: Vec<usize> = (0..wants.len()).collect();
    let mut left = tokens;
    while !open.is_empty() {
        let weights: usize = open.iter().map(|open| wants[*open].1).sum();
        let part = |number: usize| left * wants[number].1 / weights.max(1);
        let (content, hungry): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|open| wants[**open].0 <= part(**open));
        if content.is_empty() {
            for it in hungry {
                given[it] = part(it);
            }
            break;
        }
        for it in content {
            given[it] = wants[it].0;
            left -= wants[it].0;
        }
        open = hungry;
    }
    given
}

/// How many of `tokens` each list and the text get, given their demands.
pub(super) fn grants(tokens: usize, wants: &[usize; 6], text: usize) -> ([usize; 6], usize) {
    let first: Vec<(usize, usize)> = FIRST.iter().map(|it| (wants[*it], WEIGHTS[*it])).collect();
    let mut granted = [0; 6];
    for (at, given) in FIRST.iter().zip(share(tokens * FIRST_HUNDREDTHS / 100, &first)) {
        granted[*at] = given;
    }
    let left = tokens - granted.iter().sum::<usize>();
    let weight = |at: usize| if FIRST.contains(&at) { 5 } else { WEIGHTS[at] };
    let mut rest: Vec<(usize, usize)> =
        (0..wants.len()).map(|at| (wants[at] - granted[at], weight(at))).collect();
    rest.push((text, TEXT_WEIGHT));
    let given = share(left, &rest);
    (std::array::from_fn(|at| granted[at] + given[at]), given[wants.len()])
}

/// Which entries of a list fit into `tokens`: the most important first, in the list's order.
pub(super) fn fit(costs: &[usize], importance: &[u8], tokens: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|order| {
        (std::cmp::Reverse(importance.get(*order).copied().unwrap_or(0)), *order)
    });
    let mut left = tokens;
    let mut is_kept = vec![false; costs.len()];
    for it in order {
        if costs[it] <= left {
            left -= costs[it];
            is_kept[it] = true;
        }
    }
    is_kept
}

/// The start of a text that fits into `tokens`, cut at the end of a line or else of a word.
pub(super) fn cut_text(text: &str, tokens: usize) -> &str {
    if tokens_in(text) <= tokens {
        return text;
    }
    let mut quarters = 0;
    let mut end = 0;
    for (at, letter) in text.char_indices() {
        // JSON writes a newline as two characters.
        quarters += match letter {
            '\n' | '"' | '\\' => 2,
            _ if letter.is_ascii() => 1,
            _ => 4,
        };
        if quarters > tokens * 4 {
            break;
        }
        end = at + letter.len_utf8();
    }
    let fitting = &text[..end];
    let line = fitting.rfind('\n').filter(|at| *at * 10 > end * 7);
    &fitting[..line.or_else(|| fitting.rfind(' ')).unwrap_or(end)]
}

#[cfg(test)]
mod tests {
    use super::{cut_text, fit, share, tokens_in};

    #[test]
    fn what_one_leaves_goes_to_the_others() {
        assert_eq!(share(100, &[(10, 1), (500, 1), (500, 2)]), [10, 30, 60]);
        assert_eq!(share(100, &[(10, 1), (20, 1)]), [10, 20]);
        assert_eq!(share(0, &[(10, 1)]), [0]);
        assert_eq!(share(10, &[]), Vec::<usize>::new());
    }

    #[test]
    fn the_most_important_stay() {
        assert_eq!(fit(&[5, 5, 5], &[0, 2, 1], 10), [false, true, true]);
        assert_eq!(fit(&[50, 5], &[1, 0], 10), [false, true]);
    }

    #[test]
    fn texts_are_cut_at_lines_or_words() {
        assert_eq!(tokens_in("abcdefgh汉字"), 4);
        assert_eq!(cut_text("short", 10), "short");
        assert_eq!(cut_text("one two three four five six", 4), "one two three");
        assert_eq!(cut_text("汉字汉字", 2), "汉字");
        assert_eq!(cut_text("aaaaaaaaaaaaaaaa\nbbbbbbbb", 5), "aaaaaaaaaaaaaaaa");
    }
}
