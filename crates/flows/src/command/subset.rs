//! The forms of shell text that every shell reads in one way, and the grammar, too.
//!
//! The reader knows quotes, substitutions, here-documents, comments and the places of commands. It
//! rejects every form that dash, bash and the grammar could read differently, whatever it contains.

mod assignment;
mod heredoc;
mod operands;
mod param;
#[cfg(test)]
mod tests;

use self::assignment::Prefix;
use self::heredoc::Here;
use self::operands::has_double_equals;
pub(crate) use self::operands::{Operand, check_operands};
use super::pieces::{LAST_MARK, is_mark};

/// The position of a form, and what is wrong with it.
pub(crate) type Unclear = (usize, &'static str);

type Checked<T = ()> = Result<T, Unclear>;

/// How deeply quotes, substitutions and subshells may be nested.
const DEPTH_MAX: usize = 64;

const NESTED: &str = "is nested too deeply; put it into a script of the project";
const CONTROL: &str = "contains a control character other than a line break and a tab; remove it";
const BLANK: &str =
    "contains a blank that is no space, tab or line break; write a space, or put it into quotes";
const BACKTICKS: &str = "contains backticks, which shells read differently; write $(…)";
const CONTINUED: &str = "continues a line directly after a word, an operator or a quote; write a space before the backslash at the end of the line, and no comment after it";
const ESCAPED_TAB: &str = "contains a backslash before a tab; put the tab into quotes";
const UNCLOSED: &str = "contains a quote, bracket or parenthesis that is not closed";
const DOLLAR_QUOTE: &str = "contains $'…' or $\"…\", which not every shell knows; write '…' or \"…\", and printf for escapes";
const DIGITS: &str = "contains $ before two digits; write ${10}";
const BASH_ARITHMETIC: &str = "contains $[…] or ((…)), which not every shell knows; write $((…)) with numbers, or [ … ], and separate subshells with spaces";
const ARITHMETIC: &str = "is arithmetic that contains more than numbers and operators: bash evaluates the values of names in it; declare the value as integer in trigger.data and write $(({{data.n}} + 1)), or put the arithmetic into a script of the project";
const KEYWORD: &str = "is a keyword that not every shell knows; write [ … ] for [[ … ]], or put it into a script of the project";
const DOUBLE_BRACKET: &str = "is a keyword that not every shell knows; write [ \"$x\" = a ] for an equal text, and case \"$x\" in a*) …;; esac for a pattern";
const DOUBLE_EQUALS: &str = "is a test with ==, which not every shell knows; write = for an equal text, and case \"$x\" in a*) …;; esac for a pattern";
const PROCESS: &str = "contains <(…) or >(…), which not every shell knows; write a pipe or a temporary file (mktemp), or put the command into bash -c '…'";
const HERE_STRING: &str = "contains <<<, which not every shell knows; write printf '%s\\n' \"$x\" | program, or a here-document";
const BRACES: &str = "contains a brace expansion, which not every shell knows; write each word, or quotes around the braces";
const MISPLACED: &str = "is a keyword after an assignment, a redirection or time, which shells read differently; put the keyword first, or put the command into a script of the project";
const FUNCTION: &str = "contains a ( directly after a word, as functions, arrays and extended patterns do; put them into a script of the project";
const MISPLACED_PAREN: &str = "contains a parenthesis where no command begins; put it into quotes";
const OPERATOR: &str = "contains &>, |&, ;& or >& before a name, which not every shell knows; write >FILE 2>&1, 2>&1 |, or put it into a script of the project";
const DESCRIPTOR: &str = "contains a redirection of a descriptor above 9 or with a name, which not every shell knows; use 0 to 9";
const NO_TARGET: &str =
    "contains a redirection without a target; write the target on the same line";
const NAMED: &str = "contains a $ or a name of a variable directly before a value of the event, which would choose the variable; write \\$ for the character, or end the name: ${NAME}";
const IN_DOCUMENT: &str = "is a here-document with a value of the event in a text that a shell reads, where a line of it could end the document; pass the value as an argument: sh -c '… \"$1\"' _ {{data.key}}";
const PATTERN: &str = "is a case in which patterns are more than words before ); write case WORD in, and PATTERN) on a line of its own";
const BRACKET: &str = "begins a [ without a ] before the next operator; write [ … ] && [ … ], and quotes around characters that are operators";

/// What a text is for.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Use {
    /// Whether the characters of the values of the event are a part of the text when a shell reads
    /// it. They are variables otherwise.
    pub(crate) has_values: bool,
    /// Whether only bash reads it.
    pub(crate) is_bash: bool,
}

/// Checks that all shells read a text in the same way.
pub(crate) fn check(text: &str, used: Use) -> Checked {
    let is_control = |it: char| it.is_control() && !matches!(it, '\n' | '\t');
    if let Some((at, _)) = text.char_indices().find(|(_, it)| is_control(*it)) {
        return Err((at, CONTROL));
    }
    Reader { text, used, at: 0, depth: 0, here: None }.commands(false)
}

struct Reader<'a> {
    text: &'a str,
    used: Use,
    at: usize,
    depth: usize,
    /// A here-document that begins after this line.
    here: Option<Here<'a>>,
}

/// A word, as it is written.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    written: &'a str,
    /// Whether it has an expansion outside quotes that can become several words.
    is_bare: bool,
}

/// What a word has before its next character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Braces {
    None,
    Open,
    /// An open brace, and a separator after it.
    List,
}

impl Braces {
    fn next(self, it: char, rest: &str) -> Self {
        match it {
            '{' if self == Self::None => Self::Open,
            ',' if self == Self::Open => Self::List,
            '.' if self == Self::Open && rest.starts_with("..") => Self::List,
            _ => self,
        }
    }
}

/// Where a `case` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    Word,
    In,
    Pattern,
    Body,
}

/// What a list of commands has before its next word.
struct Place {
    /// Whether a command begins here.
    is_start: bool,
    /// Whether an assignment, a redirection or `time` is before the command.
    is_prefixed: bool,
    cases: Vec<Case>,
}

impl Place {
    fn begin(&mut self) {
        (self.is_start, self.is_prefixed) = (true, false);
    }

    fn is_in(&self, case: Case) -> bool {
        self.cases.last() == Some(&case)
    }

    fn set(&mut self, case: Case) {
        if let Some(it) = self.cases.last_mut() {
            *it = case;
        }
    }
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn starts(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Reads commands, to the end of the text or the closing parenthesis.
    fn commands(&mut self, is_inner: bool) -> Checked {
        let begin = self.at;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err((begin, NESTED));
        }
        // Where its text begins, shells do not agree.
        if let Some(here) = self.here.as_ref().filter(|_| is_inner) {
            return Err((here.at, heredoc::LINE));
        }
        let mut place = Place { is_start: true, is_prefixed: false, cases: Vec::new() };
        while let Some(it) = self.peek() {
            let at = self.at;
            let is_word = place.is_in(Case::Word) || place.is_in(Case::In);
            let is_pattern = place.is_in(Case::Pattern);
            let is_odd = is_pattern && matches!(it, ';' | '&' | '<' | '>' | '(');
            if is_odd || (is_word && "\n;&|<>()#".contains(it)) {
                return Err((at, PATTERN));
            }
            match it {
                ' ' | '\t' => self.at += 1,
                '\\' if self.starts("\\\n") => self.continued()?,
                '\n' => {
                    self.at += 1;
                    self.document()?;
                    place.begin();
                }
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                ')' if is_pattern => {
                    self.at += 1;
                    place.set(Case::Body);
                    place.begin();
                }
                ')' if is_inner => {
                    if let Some(here) = &self.here {
                        return Err((here.at, heredoc::LINE));
                    }
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                '(' if self.starts("((") => return Err((at, BASH_ARITHMETIC)),
                '(' if self.rest()[1..].trim_start_matches([' ', '\t']).starts_with(')') => {
                    return Err((at, FUNCTION));
                }
                '(' if place.is_start && !place.is_prefixed => {
                    self.at += 1;
                    self.commands(true)?;
                    place.is_start = false;
                }
                '(' | ')' => return Err((at, MISPLACED_PAREN)),
                ';' | '&' | '|' => self.operator(&mut place)?,
                it if matches!(it, '<' | '>') || self.is_descriptor() => {
                    self.redirect()?;
                    place.is_prefixed |= place.is_start;
                }
                _ => self.next_word(&mut place)?,
            }
        }
        match (&self.here, is_inner) {
            (Some(here), _) => Err((here.at, heredoc::END)),
            (None, true) => Err((begin, UNCLOSED)),
            (None, false) => Ok(()),
        }
    }

    /// Reads `;`, `&`, `|` and what they are together.
    fn operator(&mut self, place: &mut Place) -> Checked {
        let has = |all: &[&str]| all.iter().any(|it| self.rest().starts_with(it));
        if has(&["&>", "|&", ";&", ";;&"]) {
            return Err((self.at, OPERATOR));
        }
        let is_end = has(&[";;"]);
        self.at += if has(&[";;", "&&", "||"]) { 2 } else { 1 };
        if is_end && place.is_in(Case::Body) {
            place.set(Case::Pattern);
        }
        place.begin();
        Ok(())
    }

    /// Reads a backslash at the end of a line.
    fn continued(&mut self) -> Checked {
        let is_apart = self.text[..self.at].ends_with([' ', '\t']);
        let next = self.rest()[2..].trim_start_matches([' ', '\t']);
        if !is_apart || next.starts_with('#') || self.here.is_some() {
            return Err((self.at, CONTINUED));
        }
        self.at += 2;
        Ok(())
    }

    /// Reads the next word of a list of commands.
    fn next_word(&mut self, place: &mut Place) -> Checked {
        let at = self.at;
        let word = self.word()?;
        match place.cases.last() {
            Some(Case::Word) => place.set(Case::In),
            Some(Case::In) if word.written == "in" => place.set(Case::Pattern),
            Some(Case::In) => return Err((at, PATTERN)),
            Some(Case::Pattern) if word.written == "esac" => {
                place.cases.pop();
                place.is_start = false;
            }
            Some(Case::Pattern) if self.has_value(word.written) => return Err((at, PATTERN)),
            Some(Case::Pattern) => {}
            _ if place.is_start => self.first_word(word, at, place)?,
            _ => {}
        }
        Ok(())
    }

    /// Reads the first word of a command, or a keyword or an assignment before it.
    fn first_word(&mut self, word: Word<'_>, at: usize, place: &mut Place) -> Checked {
        const KEYWORDS: &[&str] = &[
            "!", "{", "case", "do", "done", "elif", "else", "esac", "fi", "for", "if", "then",
            "until", "while", "}",
        ];

        let is_keyword = KEYWORDS.contains(&word.written);
        if is_keyword && place.is_prefixed {
            return Err((at, MISPLACED));
        }
        place.is_start = false;
        match word.written {
            "[[" => return Err((at, DOUBLE_BRACKET)),
            "coproc" | "function" | "select" => return Err((at, KEYWORD)),
            "!" | "{" | "do" | "elif" | "else" | "if" | "then" | "until" | "while" => {
                place.is_start = true;
            }
            "time" => (place.is_start, place.is_prefixed) = (true, true),
            // An option of time.
            it if place.is_prefixed && it.starts_with('-') => place.is_start = true,
            "case" => place.cases.push(Case::Word),
            "esac" => drop(place.cases.pop()),
            "[" | "test" => {
                let operands = self.operands(word.written == "[", at)?;
                if !self.used.is_bash && has_double_equals(&operands) {
                    return Err((at, DOUBLE_EQUALS));
                }
                check_operands(&operands).map_err(|it| (at, it))?;
            }
            it => match assignment::read(it).map_err(|it| (at, it))? {
                Prefix::Assignment => (place.is_start, place.is_prefixed) = (true, true),
                Prefix::Word => {}
            },
        }
        Ok(())
    }

    /// Reads the words of `[` or `test`.
    fn operands(&mut self, is_bracket: bool, begin: usize) -> Checked<Vec<Operand>> {
        let mut found = Vec::new();
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.at += 1,
                Some('\\') if self.starts("\\\n") => self.continued()?,
                Some('<' | '>') if !is_bracket => self.redirect()?,
                Some(_) if !is_bracket && self.is_descriptor() => self.redirect()?,
                None | Some('\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '#') => {
                    return if is_bracket { Err((begin, BRACKET)) } else { Ok(found) };
                }
                Some(_) => {
                    let word = self.word()?;
                    if is_bracket && word.written == "]" {
                        return Ok(found);
                    }
                    found.push(Operand::of(word));
                }
            }
        }
    }

    /// Whether the number of a redirection is next.
    fn is_descriptor(&self) -> bool {
        let mut chars = self.rest().chars();
        let number = chars.next();
        number.is_some_and(|it| it.is_ascii_digit()) && matches!(chars.next(), Some('<' | '>'))
    }

    /// Reads a redirection.
    fn redirect(&mut self) -> Checked {
        let at = self.at;
        self.at += usize::from(self.is_descriptor());
        if self.starts("<<") && !self.starts("<<<") {
            return self.here_document();
        }
        if self.starts("<(") || self.starts(">(") {
            self.bash_only(PROCESS)?;
            self.at += 2;
            return self.commands(true);
        }
        if self.starts(">&") || self.starts("<&") {
            self.at += 2;
            let target = self.word()?.written;
            let is_known =
                target == "-" || (target.len() == 1 && target.as_bytes()[0].is_ascii_digit());
            return if is_known { Ok(()) } else { Err((at, OPERATOR)) };
        }
        if self.starts("<<<") {
            self.bash_only(HERE_STRING)?;
        }
        let operators = ["<<<", ">>", ">|", "<>", "<", ">"];
        let operator = operators.iter().find(|it| self.starts(it)).map_or(1, |it| it.len());
        self.at += operator;
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
        match self.peek() {
            Some('<' | '>') if self.rest()[1..].starts_with('(') => {
                self.bash_only(PROCESS)?;
                self.at += 2;
                self.commands(true)
            }
            None | Some('\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '#') => {
                Err((at, NO_TARGET))
            }
            Some(_) => self.word().map(drop),
        }
    }

    /// Reads a word.
    fn word(&mut self) -> Checked<Word<'a>> {
        let begin = self.at;
        let mut is_bare = false;
        let mut braces = Braces::None;
        while let Some(it) = self.peek() {
            let at = self.at;
            match it {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | ')' => break,
                '(' => return Err((begin, FUNCTION)),
                '<' | '>' => {
                    let before = &self.text[begin..at];
                    let is_number = before.chars().all(|it| it.is_ascii_digit());
                    let is_named = before.starts_with('{') && before.ends_with('}');
                    let is_value = before.ends_with(is_mark);
                    if (is_number && before.len() > 1) || is_named || is_value {
                        return Err((begin, DESCRIPTOR));
                    }
                    break;
                }
                '\\' => self.escape()?,
                '\'' => self.single()?,
                '"' => self.double()?,
                '`' => return Err((at, BACKTICKS)),
                '$' => is_bare |= self.dollar(false)?,
                it if it.is_whitespace() => return Err((at, BLANK)),
                '}' if braces == Braces::List && !self.used.is_bash => return Err((begin, BRACES)),
                it => {
                    braces = braces.next(it, self.rest());
                    self.at += it.len_utf8();
                }
            }
        }
        Ok(Word { written: &self.text[begin..self.at], is_bare })
    }

    fn escape(&mut self) -> Checked {
        match self.rest()[1..].chars().next() {
            Some('\n') => self.continued(),
            Some('\t') => Err((self.at, ESCAPED_TAB)),
            None => Err((self.at, CONTINUED)),
            Some(it) => {
                self.at += 1 + it.len_utf8();
                Ok(())
            }
        }
    }

    fn single(&mut self) -> Checked {
        let inside = self.rest()[1..].find('\'').ok_or((self.at, UNCLOSED))?;
        self.within(inside + 2)
    }

    /// Moves over quotes. A line break in them is not where a here-document begins.
    fn within(&mut self, bytes: usize) -> Checked {
        if let Some(here) = &self.here
            && self.rest()[..bytes].contains('\n')
        {
            return Err((here.at, heredoc::LINE));
        }
        self.at += bytes;
        Ok(())
    }

    fn double(&mut self) -> Checked {
        let begin = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err((begin, UNCLOSED)),
                Some('"') => break,
                Some('\\') => self.escape()?,
                Some('`') => return Err((self.at, BACKTICKS)),
                Some('$') => drop(self.dollar(true)?),
                Some(it) => self.at += it.len_utf8(),
            }
        }
        let end = self.at + 1;
        self.at = begin;
        self.within(end - begin)
    }

    /// Reads `$` and what belongs to it. Returns whether that can become several words.
    fn dollar(&mut self, is_quoted: bool) -> Checked<bool> {
        let (at, rest) = (self.at, &self.rest()[1..]);
        match rest.chars().next() {
            Some('\'' | '"') if !is_quoted => Err((at, DOLLAR_QUOTE)),
            Some(it) if is_mark(it) => Err((at, NAMED)),
            Some('[') => Err((at, BASH_ARITHMETIC)),
            Some('(') if rest.starts_with("((") => self.arithmetic().map(|()| false),
            Some('(') => {
                self.at += 2;
                self.commands(true).map(|()| true)
            }
            Some('{') => self.parameter(),
            Some(it) if it.is_ascii_digit() => {
                if rest[1..].starts_with(|it: char| it.is_ascii_digit()) {
                    return Err((at, DIGITS));
                }
                self.at += 2;
                self.named(at).map(|()| true)
            }
            Some('#' | '?' | '$' | '!' | '-') => {
                self.at += 2;
                Ok(false)
            }
            Some('@' | '*') => {
                self.at += 2;
                Ok(true)
            }
            Some(it) if param::is_name_start(it) => {
                self.at += 1 + param::name_of(rest).len();
                self.named(at).map(|()| true)
            }
            _ => {
                self.at += 1;
                Ok(false)
            }
        }
    }

    /// Checks that the name of a variable ends before this place.
    fn named(&self, begin: usize) -> Checked {
        let is_longer = self.used.has_values && self.peek().is_some_and(is_mark);
        if is_longer { Err((begin, NAMED)) } else { Ok(()) }
    }

    /// Checks that bash reads the text.
    fn bash_only(&self, what: &'static str) -> Checked {
        if self.used.is_bash { Ok(()) } else { Err((self.at, what)) }
    }

    fn has_value(&self, text: &str) -> bool {
        self.used.has_values && text.contains(is_mark)
    }

    /// Reads `$((…))`.
    fn arithmetic(&mut self) -> Checked {
        let begin = self.at;
        let mut depth = 0_usize;
        self.at += 3;
        loop {
            match self.peek() {
                Some('(') => depth += 1,
                Some(')') if depth > 0 => depth -= 1,
                Some(')') if self.starts("))") => break,
                Some(it) if it.is_ascii_digit() || " +-*/%<>=!&|^~?:,".contains(it) => {}
                // The values of other types are rejected where types are known.
                Some(LAST_MARK) => {}
                _ => return Err((begin, ARITHMETIC)),
            }
            self.at += self.peek().map_or(0, char::len_utf8);
        }
        self.at += 2;
        Ok(())
    }
}
