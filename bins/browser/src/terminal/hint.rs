//! Labels next to all usable elements; typing a label uses its element.

use waypost_browser::Frame;

/// Those on the home row come first.
const LETTERS: &[u8] = b"asdfghjklqwertyuiopzxcvbnm";

/// A label and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) label: String,
    pub(crate) column: u16,
    pub(crate) row: u16,
}

/// A label for each usable element in the frame, as far as two letters suffice.
pub(crate) fn hints(frame: &Frame) -> Vec<Hint> {
    let places = frame.places();
    let labels = labels(places.len());
    let hint = |(label, (column, row, _))| Hint { label, column, row };
    labels.into_iter().zip(places).map(hint).collect()
}

/// This many labels, none of which is a prefix of another.
fn labels(count: usize) -> Vec<String> {
    let letter = |at: usize| char::from(LETTERS[at]);
    let total = LETTERS.len();
    if count <= total {
        return (0..count).map(|number| letter(number).to_string()).collect();
    }
    let pair = |number: usize| [letter(number / total), letter(number % total)].iter().collect();
    (0..count.min(total * total)).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::labels;

    #[test]
    fn no_label_begins_with_another() {
        assert_eq!(labels(3), ["a", "s", "d"]);
        for (asked, given) in [(26, 26), (27, 27), (5_000, 676)] {
            let labels = labels(asked);
            assert_eq!(labels.len(), given);
            let clashes = labels.iter().filter(|label| {
                labels.iter().filter(|other| other.starts_with(label.as_str())).count() > 1
            });
            assert_eq!(clashes.count(), 0, "{asked}");
        }
    }
}
