//! Letters beside everything that can be used, so that it can be used by typing them.

use waypost_browser::Frame;

/// Those under the fingers come first.
const LETTERS: &[u8] = b"asdfghjklqwertyuiopzxcvbnm";

/// A label at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) label: String,
    pub(crate) column: u16,
    pub(crate) row: u16,
}

/// A label for everything in the frame that can be used, as far as two letters go.
pub(crate) fn hints(frame: &Frame) -> Vec<Hint> {
    let places = frame.places();
    let labels = labels(places.len());
    let hint = |(label, (column, row, _))| Hint { label, column, row };
    labels.into_iter().zip(places).map(hint).collect()
}

/// So many labels, none of which begins with another.
fn labels(count: usize) -> Vec<String> {
    let letter = |at: usize| char::from(LETTERS[at]);
    let total = LETTERS.len();
    if count <= total {
        return (0..count).map(|it| letter(it).to_string()).collect();
    }
    let pair = |it: usize| [letter(it / total), letter(it % total)].iter().collect();
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
            let clashes = labels.iter().filter(|it| {
                labels.iter().filter(|other| other.starts_with(it.as_str())).count() > 1
            });
            assert_eq!(clashes.count(), 0, "{asked}");
        }
    }
}
