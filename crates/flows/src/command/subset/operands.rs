//! The words of `[` and `test`.

use super::Word;
use crate::command::pieces::{Piece, pieces};

const BARE: &str = "is a test with a computed word that is not quoted, which can become several words; write it in double quotes";
const VARIABLE: &str =
    "is a test with -v or -R, which can run a command in a subscript; write [ -n \"$NAME\" ]";
const COMPUTED: &str = "is a test whose operator is computed, or which combines several tests with computed words; write the operator literally, and [ … ] && [ … ]";

/// A word of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operand {
    Literal(String),
    Computed,
    /// It can become several words.
    Bare,
}

impl Operand {
    pub(super) fn of(word: Word<'_>) -> Self {
        let literal = |it: Piece| match it {
            Piece::Char(it, _) => Some(it),
            Piece::Value(..) | Piece::Variable(..) | Piece::Computed(_) => None,
        };
        let text: Option<String> = pieces(word.written).into_iter().map(literal).collect();
        match text {
            _ if word.is_bare => Self::Bare,
            Some(text) => Self::Literal(text),
            None => Self::Computed,
        }
    }

    fn literal(&self) -> Option<&str> {
        match self {
            Self::Literal(it) => Some(it),
            Self::Computed | Self::Bare => None,
        }
    }
}

/// Whether a test compares by `==`.
pub(super) fn has_double_equals(words: &[Operand]) -> bool {
    words.iter().skip(1).any(|it| it.literal() == Some("=="))
}

/// Checks that the operator of a test is known, whatever its computed words become.
pub(crate) fn check_operands(words: &[Operand]) -> Result<(), &'static str> {
    const BINARY: &[&str] = &[
        "!=", "-a", "-ef", "-eq", "-ge", "-gt", "-le", "-lt", "-ne", "-nt", "-o", "-ot", "=", "==",
    ];

    if words.contains(&Operand::Bare) {
        return Err(BARE);
    }
    if words.iter().any(|it| matches!(it.literal(), Some("-v" | "-R"))) {
        return Err(VARIABLE);
    }
    let words = match words {
        [Operand::Literal(it), rest @ ..] if it == "!" && !rest.is_empty() => rest,
        words => words,
    };
    let is_known = match words {
        [] | [_] => true,
        [operator, _] => operator.literal().is_some(),
        [_, operator, _] => operator.literal().is_some_and(|it| BINARY.contains(&it)),
        words => words.iter().all(|it| it.literal().is_some()),
    };
    if is_known { Ok(()) } else { Err(COMPUTED) }
}
