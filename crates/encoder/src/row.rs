//! The tokens of texts, as the networks read them.

/// The tokens of one text or pair of texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The number of each token's word in the vocabulary.
    pub words: Vec<u32>,
    /// Which text of a pair each token is of.
    pub types: Vec<u32>,
    /// The number of each token's position.
    pub positions: Vec<u32>,
}

impl Row {
    /// Positions count from 0, or from the one behind `padding`, which then has no other position.
    pub fn new(words: Vec<u32>, types: Vec<u32>, padding: Option<u32>) -> Self {
        let mut last = padding;
        let position = |&word: &u32| {
            if padding == Some(word) {
                return word;
            }
            let here = last.map_or(0, |last| last.saturating_add(1));
            last = Some(here);
            here
        };
        let positions = words.iter().map(position).collect();
        Self { words, types, positions }
    }

    /// The number of tokens.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether it has no token.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_from_behind_the_padding_and_leave_it_out() {
        let positions = |padding| Row::new(vec![0, 1, 7, 1, 9], vec![0; 5], padding).positions;
        assert_eq!(positions(None), [0, 1, 2, 3, 4]);
        assert_eq!(positions(Some(1)), [2, 1, 3, 1, 4]);
        assert_eq!(positions(Some(5)), [6, 7, 8, 9, 10]);
    }
}
