//! Finds where a value would be the name of a command, or the number of a descriptor.
//!
//! It knows quotes, comments, continuations, here-documents, arithmetic and the order of words, and
//! reads anything else as words. It guides authors; that values are plain does not depend on it.

use super::code::MARK;

/// How deeply substitutions and subshells are read.
const DEPTH_MAX: usize = 64;
/// Words after which the name of a command comes.
const BEFORE_NAMES: [&str; 17] = [
    "!", "builtin", "command", "coproc", "do", "elif", "else", "env", "eval", "exec", "if",
    "nohup", "sudo", "then", "time", "until", "while",
];

/// What a value would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spot {
    /// The name of a command, or a part of it.
    Name,
    /// The number of a descriptor.
    Descriptor,
    /// The delimiter of a here-document.
    Delimiter,
}

pub(super) struct Lexer {
    text: Vec<char>,
    at: usize,
    depth: usize,
    /// Marks, by their places.
    found: Vec<(usize, Spot)>,
    /// The delimiters of here-documents that begin on the next line, and whether tabs may be before
    /// them.
    waiting: Vec<(String, bool)>,
}

/// A word of a command.
#[derive(Default)]
struct Word {
    /// Its characters, without quotes, with marks.
    text: String,
    /// Where it has marks.
    marks: Vec<usize>,
    is_quoted: bool,
}

impl Word {
    fn is(&self, wanted: &str) -> bool {
        !self.is_quoted && self.text == wanted
    }

    /// `NAME=…`, `NAME+=…` and `NAME[…]=…`, where no value is a part of the name.
    fn is_assignment(&self) -> bool {
        let Some((name, _)) = self.text.split_once('=') else { return false };
        let name = name.split(['+', '[']).next().unwrap_or_default();
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    }
}

/// What the next word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Name,
    Argument,
    /// A pattern of `case`.
    Pattern,
}

impl Lexer {
    /// A text with marks in place of values.
    pub(super) fn new(marked: &str) -> Self {
        let text = marked.chars().collect();
        Self { text, at: 0, depth: 0, found: Vec::new(), waiting: Vec::new() }
    }

    /// The values, by number, that are something else than arguments.
    pub(super) fn spots(mut self) -> Vec<(usize, Spot)> {
        while self.at < self.text.len() {
            self.commands(None);
            self.at += 1;
        }
        self.found.sort_unstable_by_key(|(at, _)| *at);
        let marks = self.text.iter().enumerate().filter(|(_, it)| **it == MARK);
        let marks: Vec<usize> = marks.map(|(at, _)| at).collect();
        let number = |at: usize| marks.partition_point(|mark| *mark < at);
        self.found.iter().map(|(at, spot)| (number(*at), *spot)).collect()
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.text.get(self.at + ahead).copied()
    }

    fn sees(&self, wanted: &str) -> bool {
        wanted.chars().enumerate().all(|(idx, it)| self.peek(idx) == Some(it))
    }

    /// Reads commands up to a closing character, which is left.
    fn commands(&mut self, close: Option<char>) {
        self.depth += 1;
        let mut next = Next::Name;
        let mut cases = 0_usize;
        while let Some(it) = self.peek(0).filter(|it| close != Some(*it) || next == Next::Pattern) {
            match it {
                '\n' => {
                    self.at += 1;
                    self.documents();
                    next = if next == Next::Pattern { next } else { Next::Name };
                }
                it if it.is_whitespace() => self.at += 1,
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '#' => self.skip_to('\n'),
                ';' if cases > 0 && matches!(self.peek(1), Some(';' | '&')) => {
                    self.at += 2;
                    next = Next::Pattern;
                }
                '&' if self.peek(1) == Some('>') => self.at += 1,
                '(' | '|' if next == Next::Pattern => self.at += 1,
                ';' | '&' | '|' => {
                    self.at += 1;
                    next = Next::Name;
                }
                ')' if next == Next::Pattern => {
                    self.at += 1;
                    next = Next::Name;
                }
                '(' if next == Next::Name && self.sees("((") => {
                    self.arithmetic();
                    next = Next::Argument;
                }
                '(' => {
                    self.nested(1, ')');
                    // After `f()`, the body comes.
                    next = if next == Next::Name { Next::Argument } else { Next::Name };
                }
                '<' | '>' if self.peek(1) != Some('(') => self.redirection(),
                ')' => self.at += 1,
                _ => {
                    let word = self.word();
                    next = match next {
                        Next::Pattern if word.is("esac") => {
                            cases = cases.saturating_sub(1);
                            Next::Argument
                        }
                        Next::Name if word.is("case") => {
                            self.skip_word();
                            self.skip_word();
                            cases += 1;
                            Next::Pattern
                        }
                        Next::Name if word.is("esac") => {
                            cases = cases.saturating_sub(1);
                            Next::Argument
                        }
                        Next::Name if word.is("[[") => {
                            self.test();
                            Next::Argument
                        }
                        Next::Name if word.is("{") || self.comes_before_names(&word) => Next::Name,
                        Next::Name => {
                            self.found.extend(word.marks.iter().map(|at| (*at, Spot::Name)));
                            Next::Argument
                        }
                        next => next,
                    };
                }
            }
        }
        self.depth -= 1;
    }

    fn comes_before_names(&self, word: &Word) -> bool {
        word.is_assignment()
            || (!word.is_quoted && BEFORE_NAMES.contains(&word.text.as_str()))
            // Of a descriptor: `2>file name`.
            || matches!(self.peek(0), Some('<' | '>')) && word.text.chars().all(|c| c.is_ascii_digit())
    }

    fn skip_to(&mut self, end: char) {
        while self.peek(0).is_some_and(|it| it != end) {
            self.at += 1;
        }
    }

    fn skip_word(&mut self) {
        while self.peek(0).is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.word();
    }

    /// Reads commands in parentheses or backticks, with `opening` characters before them.
    fn nested(&mut self, opening: usize, close: char) {
        self.at += opening;
        if self.depth < DEPTH_MAX {
            self.commands(Some(close));
        } else {
            self.skip_to(close);
        }
        self.at += 1;
    }

    /// Skips `((…))`.
    fn arithmetic(&mut self) {
        let mut open = 0_usize;
        while let Some(it) = self.peek(0) {
            self.at += 1;
            match it {
                '(' => open += 1,
                ')' => open = open.saturating_sub(1),
                _ => {}
            }
            if open == 0 && it == ')' {
                return;
            }
        }
    }

    /// Skips the words of `[[ … ]]`.
    fn test(&mut self) {
        while self.at < self.text.len() && !self.sees(" ]]") && !self.sees("\n]]") {
            match self.peek(0) {
                Some('\'' | '"' | '\\' | '`' | '$') => drop(self.word()),
                _ => self.at += 1,
            }
        }
        self.at += 3;
    }

    fn redirection(&mut self) {
        let is_document = self.sees("<<") && !self.sees("<<<");
        while self.peek(0).is_some_and(|it| "<>&|".contains(it)) {
            self.at += 1;
        }
        let has_tabs = is_document && self.peek(0) == Some('-');
        self.at += usize::from(has_tabs);
        while self.peek(0).is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        let target = self.word();
        if is_document {
            self.found.extend(target.marks.iter().map(|at| (*at, Spot::Delimiter)));
            self.waiting.push((target.text, has_tabs));
        }
    }

    /// Skips the here-documents that begin here.
    fn documents(&mut self) {
        for (delimiter, has_tabs) in std::mem::take(&mut self.waiting) {
            while self.at < self.text.len() {
                let start = self.at;
                self.skip_to('\n');
                let line: String = self.text[start..self.at].iter().collect();
                self.at += 1;
                let line = if has_tabs { line.trim_start_matches('\t') } else { &line };
                if line == delimiter {
                    break;
                }
            }
        }
    }

    fn word(&mut self) -> Word {
        let mut word = Word::default();
        while let Some(it) = self.peek(0) {
            match it {
                '\\' if self.peek(1) == Some('\n') => self.at += 2,
                '\\' => {
                    word.text.extend(self.peek(1));
                    self.at += 2;
                    word.is_quoted = true;
                }
                '\'' => self.quoted(&mut word, '\''),
                '"' => self.quoted(&mut word, '"'),
                '$' | '`' => self.expansion(&mut word),
                '<' | '>' if self.peek(1) == Some('(') => self.nested(2, ')'),
                '(' if word.text.ends_with(['=', '?', '*', '+', '@', '!']) => self.nested_words(),
                it if it.is_whitespace() || ";&|()<>".contains(it) => break,
                it => {
                    word.marks.extend((it == MARK).then_some(self.at));
                    word.text.push(it);
                    self.at += 1;
                }
            }
        }
        let is_number = |c: char| c == MARK || c.is_ascii_digit() || c == '{' || c == '}';
        let is_descriptor = matches!(self.peek(0), Some('<' | '>')) && !word.is_quoted;
        if is_descriptor && word.text.chars().all(is_number) {
            self.found.extend(word.marks.iter().map(|at| (*at, Spot::Descriptor)));
        }
        word
    }

    /// The words of an array, or of a pattern.
    fn nested_words(&mut self) {
        self.at += 1;
        while self.peek(0).is_some_and(|c| c != ')') {
            let before = self.at;
            self.word();
            self.at += usize::from(self.at == before);
        }
        self.at += 1;
    }

    fn quoted(&mut self, word: &mut Word, quote: char) {
        word.is_quoted = true;
        self.at += 1;
        while let Some(it) = self.peek(0).filter(|it| *it != quote) {
            match it {
                '\\' if quote == '"' => self.at += 2,
                '$' | '`' if quote == '"' => self.expansion(word),
                it => {
                    word.marks.extend((it == MARK).then_some(self.at));
                    word.text.push(it);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
    }

    fn expansion(&mut self, word: &mut Word) {
        // Its text is not known.
        word.is_quoted = true;
        if self.sees("$((") {
            self.at += 1;
            self.arithmetic();
        } else if self.sees("$(") {
            self.nested(2, ')');
        } else if self.sees("`") {
            self.nested(1, '`');
        } else if self.sees("${") {
            self.skip_to('}');
            self.at += 1;
        } else {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values that are not arguments: `@` stands for a value.
    fn spots(text: &str, wanted: Spot) -> Vec<usize> {
        let found = Lexer::new(&text.replace('@', &MARK.to_string())).spots();
        found.into_iter().filter(|(_, spot)| *spot == wanted).map(|(number, _)| number).collect()
    }

    #[test]
    fn a_value_that_is_the_name_of_a_command_is_found() {
        for text in [
            "@",
            "@ a",
            "\"@\" a",
            "./@",
            "gh-@ a",
            "A=1 @ a",
            "A=1 B=\"x y\" @",
            "@=1",
            "> f @",
            "2>f @ a",
            "a; @",
            "a && @",
            "a | @",
            "a &\n@",
            "! @",
            "if @; then :; fi",
            "if a; then @; fi",
            "while a; do @; done",
            "{ @; }",
            "( @ )",
            "((1)); @",
            "a $(@)",
            "a \"$(@ b)\"",
            "a `@`",
            "a <(@)",
            "a=(b c); @",
            "case a in a) @;; esac",
            "case a in a) b;; c|d) @;; esac",
            "case a in a) b;; esac; @",
            "a # it's\n@",
            "a <<E\n(\nE\n@",
            "a <<-'E' | b\n\t'\n\tE\n@",
            "a \\\n&& @",
            "f() { @; }",
            "exec @",
            "[[ a == b ]] && @",
            "time @",
            "\\\n@",
        ] {
            assert_eq!(spots(text, Spot::Name), [0], "{text}");
        }
        for text in [
            "a @",
            "a \\\n@",
            "a \"; @\"",
            "a '; @'",
            "a # ; @",
            "a\\; @",
            "a <<E\n@\nE",
            "a <<E\n; @\nE\nb",
            "a > @",
            "A=@ b",
            "A=\"@\"; b \"$A\"",
            "for a in @; do b; done",
            "case @ in @) a @;; @|@) b;; esac",
            "[ @ = a ] && b",
            "[[ @ == a && @ == b ]]",
            "((@)); a $((1 + @))",
            "a ${b:-@}",
            "a=(@ @)",
            "a $(b @)",
            "if [ \"@\" = \"failed\" ]; then a \"x\" \"@\"; fi",
        ] {
            assert_eq!(spots(text, Spot::Name), [0; 0], "{text}");
        }
        assert_eq!(spots("a @; @ b; c @ $(@)", Spot::Name), [1, 3]);
        let deep = format!("{}@{}", "$(".repeat(9000), ")".repeat(9000));
        assert_eq!(spots(&deep, Spot::Name), [0; 0]);
    }

    #[test]
    fn a_value_that_is_a_descriptor_is_found() {
        for text in ["a @>b", "a @<b", "a 1@>>b", "a {@}>b"] {
            assert_eq!(spots(text, Spot::Descriptor), [0], "{text}");
        }
        for text in ["a @ >b", "a x@>b", "a '@'>b", "a \"<b>@</b>\"", "a $((@<1))", "((@<1))"] {
            assert_eq!(spots(text, Spot::Descriptor), [0; 0], "{text}");
        }
    }
}
