//! What a word becomes, as far as the flow says it.

use super::super::marks::{HERE, Kind};
use super::scope::is_identifier;
use super::words::Shown;
use super::{BYTES_MIN, Check, DOLLAR, INSTEAD, VALUES_MAX, has_dollar};
use crate::command::pieces::{Piece, expands};

/// Why the value of a variable is not known.
const UNKNOWN: &str = "a variable whose value is not known (known are $x and ${x} of env:, or assigned exactly once, literally, earlier, and not within another command)";

/// Why the current folder in a variable is no relative path.
const NOT_HERE: &str = "the current folder ($PWD) within other text";

/// Why the value of a placeholder is not known.
const OF_EVENT: &str = "a value of the event that is not one of a list (one of [a, b])";

/// Which values of the event may be a part of a text that is read as code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    No,
    Numbers,
    All,
}

const COLON: Piece = Piece::Char(':', false);

impl Check<'_> {
    /// The values of a word that decides what runs.
    pub(super) fn decided(&mut self, word: &Shown) -> Result<Vec<String>, String> {
        let values = self.values_of(word).map_err(|what| {
            format!("{} is {what}, where it decides which program runs; {INSTEAD}", word.quoted())
        })?;
        self.spend(values.iter().map(String::len).sum())?;
        Ok(values)
    }

    /// The values of a word that names a program or a script.
    pub(super) fn file(&mut self, word: &Shown) -> Result<Vec<String>, String> {
        let values = self.decided(word)?;
        if self.is_first || !has_dollar(word, &values) {
            return Ok(values);
        }
        Err(format!("{} is {DOLLAR}; rename the file", word.quoted()))
    }

    /// What a word becomes; an error says why that is not known.
    pub(super) fn values_of(&self, word: &Shown) -> Result<Vec<String>, &'static str> {
        self.texts_of(word, Kept::No)
    }

    fn texts_of(&self, word: &Shown, kept: Kept) -> Result<Vec<String>, &'static str> {
        let values = match expands(&word.pieces) {
            Some(what) => Err(what),
            None => self.keeping(word, kept).and_then(relative),
        };
        match values {
            Err(_) if self.is_first => Ok(vec![word.text()]),
            values => values,
        }
    }

    /// What a word becomes as the value of an assignment: in it, a shell expands no patterns.
    pub(super) fn assigned_values(&self, word: &Shown) -> Result<Vec<String>, &'static str> {
        self.keeping(word, Kept::No)
    }

    /// What a word becomes that is code in another language. A number in it is data.
    pub(super) fn foreign_codes_of(&self, word: &Shown) -> Result<Vec<String>, &'static str> {
        self.texts_of(word, Kept::Numbers)
    }

    /// What a word becomes that is the text of a command. A value of the event stays one in it, and
    /// is checked where that text has it.
    pub(super) fn codes_of(&self, word: &Shown) -> Result<Vec<String>, &'static str> {
        self.texts_of(word, Kept::All)
    }

    /// The values with the character of each value of the event that is kept.
    fn keeping(&self, word: &Shown, kept: Kept) -> Result<Vec<String>, &'static str> {
        let mut values = vec![String::new()];
        for (idx, piece) in word.pieces.iter().enumerate() {
            let next = match piece {
                Piece::Char('~', false) if idx > 0 && word.pieces[idx - 1] == COLON => {
                    return Err("a home after a colon");
                }
                Piece::Char('~', false) if idx == 0 => self.home(word)?,
                Piece::Char(it, _) => {
                    for value in &mut values {
                        value.push(*it);
                    }
                    continue;
                }
                Piece::Value(mark, _) => match (self.marks.kind(*mark), kept) {
                    (Kind::Choice(all), _) => all.to_vec(),
                    (_, Kept::All) | (Kind::Number, Kept::Numbers) => vec![mark.to_string()],
                    (Kind::Number | Kind::Name { .. } | Kind::Text, _) => return Err(OF_EVENT),
                },
                Piece::Computed(what) => return Err(what),
                Piece::Variable(text, is_quoted) => {
                    let next = plain_name(text).and_then(|it| self.value(it)).ok_or(UNKNOWN)?;
                    if !is_quoted && next.iter().any(|it| it.contains(['*', '?', '['])) {
                        return Err("a pattern");
                    }
                    let splits = |it: &String| it.contains(char::is_whitespace);
                    if !is_quoted && word.pieces.len() > 1 && next.iter().any(splits) {
                        return Err("a value with a space, without quotes, within a word");
                    }
                    next
                }
            };
            match next.as_slice() {
                [one] => {
                    for value in &mut values {
                        value.push_str(one);
                    }
                }
                all => {
                    let pairs = values.iter().flat_map(|it| all.iter().map(move |end| (it, end)));
                    let joined = pairs.map(|(it, end)| format!("{it}{end}"));
                    values = joined.take(VALUES_MAX + 1).collect();
                }
            }
            if values.len() > VALUES_MAX
                || values.iter().map(String::len).sum::<usize>() > BYTES_MIN
            {
                return Err("a word with too many values");
            }
        }
        let is_in_hole =
            |it: &String| self.hole.as_ref().is_some_and(|hole| it.contains(hole.as_str()));
        if values.iter().any(is_in_hole) {
            return Err("a name that is inserted when the command runs");
        }
        Ok(values)
    }

    /// Checks that a word that decides nothing stays one word: the next ones would have another
    /// meaning.
    pub(super) fn single(&self, program: &str, word: &Shown) -> Result<(), String> {
        if self.is_first || word.is_one() {
            return Ok(());
        }
        Err(format!(
            "{} may become several words, and {program} would take one of them for an option or a program; put it in double quotes (\"$1\" for \"$@\"), or write each word",
            word.quoted()
        ))
    }

    /// Checks that a variable without quotes that decides what runs is one word.
    pub(super) fn check_one(&self, word: &Shown, values: &[String]) -> Result<(), String> {
        let is_one = |it: &String| !it.is_empty() && !it.contains(char::is_whitespace);
        if self.is_first || !word.is_split() || values.iter().all(is_one) {
            return Ok(());
        }
        Err(format!(
            "{} has no value or one of several words, where it decides which program runs; write the words themselves",
            word.quoted()
        ))
    }

    /// Whether a word could become an option of the program.
    pub(super) fn could_be_option(&self, word: &Shown) -> bool {
        if let Some(Piece::Value(mark, _)) = word.pieces.first()
            && let Some(could) = self.value_could_be_option(*mark, word)
        {
            return could;
        }
        let values = if word.begins_unknown() { self.values_of(word) } else { Ok(Vec::new()) };
        word.begins_pattern() || !values.is_ok_and(|all| all.iter().all(|it| !it.starts_with('-')))
    }

    /// Whether a value of the event at the beginning of a word could make it an option; nothing if
    /// its values are known.
    fn value_could_be_option(&self, mark: char, word: &Shown) -> Option<bool> {
        let is_value = |it: &Piece| matches!(it, Piece::Value(..));
        match self.marks.kind(mark) {
            Kind::Choice(_) => None,
            Kind::Name { has_dash: false } => Some(false),
            Kind::Name { .. } | Kind::Number => Some(!self.is_guarded),
            // It may be empty.
            Kind::Text => Some(!self.is_guarded || !word.pieces.iter().all(is_value)),
        }
    }

    /// Checks that a word that begins with a variable cannot become an option.
    pub(super) fn no_option(
        &self,
        program: &str,
        word: &Shown,
        instead: &str,
    ) -> Result<(), String> {
        if self.is_first || !self.could_be_option(word) {
            return Ok(());
        }
        Err(format!(
            "{} may be an option of {program}, which can run a program; {instead}",
            word.quoted()
        ))
    }

    /// Checks that an option is written literally.
    pub(super) fn literal_option(&self, program: &str, word: &Shown) -> Result<(), String> {
        if self.is_first || (word.is_literal() && word.is_one()) {
            return Ok(());
        }
        Err(format!(
            "{} is an option of {program} with a computed part; write its argument as a word of its own, in double quotes",
            word.quoted()
        ))
    }

    /// What stands for `~` at the beginning of a word.
    fn home(&self, word: &Shown) -> Result<Vec<String>, &'static str> {
        match word.pieces.get(1) {
            None | Some(Piece::Char('/', _)) => {
                self.value("HOME").ok_or("below a home that is not known (HOME)")
            }
            Some(_) => Err("another user's home"),
        }
    }

    /// Whether a text gets a value of which only a part is a word: that word is in no other text.
    pub(super) fn mixes(&self, text: &Shown) -> bool {
        let is_end = |it: char| it.is_whitespace() || ";|&()<>'\"\\`$".contains(it);
        text.pieces.len() > 1
            && text.pieces.iter().any(|it| match it {
                Piece::Variable(text, _) => {
                    let values = plain_name(text).and_then(|it| self.value(it));
                    values.is_some_and(|all| all.iter().any(|it| it.contains(is_end)))
                }
                Piece::Char(..) | Piece::Value(..) | Piece::Computed(_) => false,
            })
    }
}

/// The values with a relative path in place of the current folder.
fn relative(values: Vec<String>) -> Result<Vec<String>, &'static str> {
    let is_end = |it: &str| it.is_empty() || it.starts_with('/');
    let all = values.into_iter().map(|it| match it.strip_prefix(HERE) {
        Some(rest) if is_end(rest) && !rest.contains(HERE) => Ok(format!(".{rest}")),
        _ if it.contains(HERE) => Err(NOT_HERE),
        _ => Ok(it),
    });
    all.collect()
}

/// The name in `$x` and `${x}`.
fn plain_name(text: &str) -> Option<&str> {
    let rest = text.strip_prefix('$')?;
    let name = match rest.strip_prefix('{') {
        Some(inside) => inside.strip_suffix('}')?,
        None => rest,
    };
    is_identifier(name).then_some(name)
}

/// The name of the variable at the beginning of a reference.
pub(super) fn name_of(text: &str) -> &str {
    let name = text.trim_start_matches(['$', '{']);
    let end = name.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
    &name[..end.unwrap_or(name.len())]
}
