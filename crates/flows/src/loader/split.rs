//! The words of a text, as a shell would split it.

use std::collections::BTreeSet;

use crate::command::literals::Literals;

/// How many levels of nested texts in words are split, as in `sh -c "sh -c '…'"`.
const DEPTH_MAX: u32 = 4;
/// The bytes of texts and of the words in them that are read, whatever the length of the first text,
/// and for each of its bytes: each level of nesting reads the inner ones again.
const BYTES_MAX: usize = 64 << 10;
const BYTES_FACTOR: usize = 32;

/// The words of a text.
#[derive(Debug, Default)]
pub(super) struct Split {
    /// Quotes removed, with those of the texts in its words. They are more than a shell would find,
    /// never fewer literal ones, except for files that are only written.
    pub(super) words: BTreeSet<String>,
    /// A variable that the text sets and that changes which program a name stands for.
    pub(super) resolving: Option<String>,
    /// Variables of loops, with their values.
    pub(super) assigned: Vec<(String, String)>,
}

/// The text with one way to write the current folder.
pub(super) fn with_folder(text: &str) -> String {
    text.replace("$(pwd)", "$PWD")
}

impl Split {
    /// Nothing if the text is nested too deeply.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut split = Self::default();
        let mut bytes = BYTES_MAX + BYTES_FACTOR * text.len();
        split.add(text, DEPTH_MAX, &mut bytes)?;
        Some(split)
    }

    fn add(&mut self, text: &str, depth: u32, bytes: &mut usize) -> Option<()> {
        let text = with_folder(text);
        let Literals { mut words, resolving, assigned, is_whole } = Literals::of(&text, bytes)?;
        self.assigned.extend(assigned);
        if depth == DEPTH_MAX {
            self.resolving = resolving;
        }
        // The text may be in another language, or the grammar may differ from the shell's.
        scan(&text, true, &mut words);
        scan(&text, false, &mut words);
        if !is_whole {
            text.lines().for_each(|it| scan(it, true, &mut words));
        }
        for word in words.into_iter().filter(|it| !it.is_empty()) {
            let is_text =
                word.contains(|it: char| it.is_whitespace() || ";|&()<>`'\"\\".contains(it));
            let again = (is_text && depth > 0).then(|| word.clone());
            if self.words.insert(word)
                && let Some(inner) = again.filter(|it| *it != text)
            {
                self.add(&inner, depth - 1, bytes)?;
            }
        }
        Some(())
    }
}

/// Splits a text at blanks and operators outside quotes. With `has_comments`, as a shell does: `#` at
/// the beginning of a word starts a comment, and only a space, a tab and a line break are blanks.
fn scan(text: &str, has_comments: bool, words: &mut Vec<String>) {
    let mut word = String::new();
    let mut quote = None;
    let mut is_target = false;
    let mut is_begun = false;
    let mut last = ' ';
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '#') if has_comments && !is_begun => {
                while chars.next_if(|it| *it != '\n').is_some() {}
                continue;
            }
            (Some(it), c) if c == it => quote = None,
            (None, '\'' | '"') => {
                if last == '$' {
                    // $'…' and $"…".
                    word.pop();
                }
                quote = Some(c);
                is_begun = true;
            }
            (Some('"') | None, '\\') => match chars.next() {
                Some('\n') | None => {}
                Some(next) => {
                    word.push(next);
                    is_begun = true;
                }
            },
            (None, c) if (!has_comments && c.is_whitespace()) || " \t\n;|&()<>`".contains(c) => {
                if !word.is_empty() {
                    let found = std::mem::take(&mut word);
                    words.extend((!std::mem::take(&mut is_target)).then_some(found));
                }
                is_begun = false;
                match c {
                    '>' => is_target = last != '<',
                    '|' | '&' if last == '>' => {}
                    ' ' | '\t' => {}
                    _ => is_target = false,
                }
            }
            (_, c) => {
                word.push(c);
                is_begun = true;
            }
        }
        last = c;
    }
    words.extend((!word.is_empty() && !is_target).then_some(word));
}

#[cfg(test)]
mod tests {
    use super::super::parts::parts;
    use super::Split;

    #[test]
    fn words_are_found_as_a_shell_finds_them() {
        let words = |text: &str| {
            let split = Split::of(text).unwrap();
            let found = split.words.iter().flat_map(|it| parts(it));
            found.map(str::to_owned).collect::<Vec<_>>()
        };
        for text in [
            "sh tools/a.sh",
            "cd x && ./y; sh 'tools'/a.sh",
            "sh -c \"sh tools/a.sh x\"",
            "sh -c \"sh -c 'tools/a.sh'\"",
            "sh too\\ls/a.sh",
            "echo $(tools/a.sh)",
            "echo `tools/a.sh`",
            "sh<tools/a.sh",
            "A=tools/a.sh sh -c '$A'",
            "x --run=tools/a.sh",
            "x -ftools/a.sh",
            "x $'tools/a.sh'",
            "x $'\\x74ools\\057a.s\\150'",
            "sh -c 'tools/a.s\\h'",
            "sh -c \"sh -c 'tools/a.s\\\\h'\"",
            "sh <> tools/a.sh",
            "tee >(tools/a.sh)",
            "echo > b tools/a.sh",
            "# only if score >'0.5`\ntools/a.sh\n# and never twice, we don't want that",
            "a # don't\ntools/a.sh # and don't",
            "cat <<END\ndon't\nEND\ntools/a.sh",
            "cat <<'END' > b # \"\ntools/a.sh\nEND",
            "if a; then # don't\n  \"tools/a.sh\" x\nfi",
            "f() { tools/a.sh; } # don't",
            "a | while read x; do # it's\ntools/a.sh \"$x\"; done",
        ] {
            assert!(words(text).iter().any(|it| it == "tools/a.sh"), "{text}: {:?}", words(text));
        }
        assert!(words("# the 3\" rule\n\"my tools/a.sh\" x").contains(&"my tools/a.sh".to_owned()));
        assert_eq!(words("a 'b c'"), ["a", "b", "b c", "c"]);
        assert_eq!(words("a >> b 2>c >| d >&2; e"), ["2", "a", "e"]);
        assert_eq!(words("a >> 'b' 2>\"c\"; e"), ["2", "a", "e"]);
    }

    #[test]
    fn variables_that_change_which_program_runs_are_found() {
        for (text, name) in [
            ("PATH=bin:$PATH greet", Some("PATH")),
            ("export PATH=bin:$PATH; greet", Some("PATH")),
            ("PATH=bin\ngreet", Some("PATH")),
            ("PATH+=:bin greet", Some("PATH")),
            ("if a; then export A=b LD_PRELOAD=./a.so; fi", Some("LD_PRELOAD")),
            ("env -u A 'PATH=bin' greet", Some("PATH")),
            ("export \"PATH=bin:$PATH\"; greet", Some("PATH")),
            ("readonly 'PATH=bin'; greet", Some("PATH")),
            ("export 'PA'TH=bin; greet", Some("PATH")),
            ("command export PATH=bin; greet", Some("PATH")),
            ("eval PATH=bin; greet", Some("PATH")),
            ("for PATH in bin; do greet; done", Some("PATH")),
            ("unset PATH; : ${PATH:=bin}; greet", Some("PATH")),
            ("unset PATH; : \"${PATH=bin}\"; greet", Some("PATH")),
            ("read PATH <<END\nbin\nEND\ngreet", Some("PATH")),
            ("read -r 'PATH' < file; greet", Some("PATH")),
            ("printf -v PATH bin; greet", Some("PATH")),
            ("printf -vPATH bin; greet", Some("PATH")),
            ("echo ${PATH:-a=b} ${#PATH}", None),
            ("echo \"$PATH\" \"export PATH=a\"", None),
            ("sh -c 'PATH=bin greet'", Some("PATH")),
            ("IFS=: greet", Some("IFS")),
            ("IFS= read -r line", None),
            ("XPATH=a greet $PATH", None),
            ("echo PATH=a", None),
            ("echo 'PATH=a b'", None),
            ("# PATH=a", None),
        ] {
            assert_eq!(Split::of(text).unwrap().resolving.as_deref(), name, "{text}");
        }
    }
}
