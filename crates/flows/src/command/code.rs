//! Texts that a shell may read, with values that are plain.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::LazyLock;

use regex::Regex;
use waypost_events::{Data, Number};

use super::plain::{self, is_plain_char};
use crate::template::{InvalidTemplate, Template};
use crate::{DataTypes, Unready};

/// In place of a value, where only the author's text counts.
pub(super) const MARK: char = '\u{f8ff}';

/// A text that a shell, or another program, may read as code.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    template: Template,
    /// With a mark in place of each placeholder.
    marked: String,
    /// What could end a here-document: the author's own lines, and the words after `<<`.
    ends: BTreeSet<String>,
}

/// `<<EOF`, `<<-'EOF'`, but not `<<<`.
static HERE: LazyLock<Regex> = LazyLock::new(|| constant(r"<<-?[ \t]*([^\s;|&()<>]+)"));
/// A delimiter with a value in it.
static DELIMITER: LazyLock<Regex> = LazyLock::new(|| {
    constant(&format!(r#"<<-?[ \t]*(\\?["'][^"'\n]*{MARK}|[^\s;|&()<>]*{MARK})"#))
});
/// Where bash evaluates names: `((`, `$[`, `let`, and `[[` with an operator for numbers.
static EVALUATES: LazyLock<Regex> = LazyLock::new(|| {
    constant(r"\(\(|\$\[|(?:^|[^\w-])let\b|\[\[(?s:.*?)[\s(!]-(?:eq|ne|l[te]|g[te]|v)\b")
});
/// `{1..9}`, which bash expands.
static RANGE: LazyLock<Regex> = LazyLock::new(|| constant(r#"\{[^\s{},'"]*\.\.[^\s{},'"]*\}"#));
/// What may be before a placeholder in `${`.
static OPERATOR: LazyLock<Regex> =
    LazyLock::new(|| constant(r"^(?:[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*])(?::?[-+=?]|[#%/])"));

fn constant(expression: &str) -> Regex {
    Regex::new(expression).expect("the expression is constant")
}

impl Code {
    pub(crate) fn template(&self) -> &Template {
        &self.template
    }

    pub(super) fn marked(&self) -> &str {
        &self.marked
    }

    /// The keys of its values that have no declared type.
    pub(crate) fn undeclared<'a>(&'a self, types: &'a DataTypes) -> impl Iterator<Item = &'a str> {
        let keys = self.template.references().iter().map(|reference| reference.key.as_str());
        keys.filter(|key| !types.declares(key))
    }

    /// The text with its values, which must be plain. Defaults are the author's text.
    ///
    /// # Errors
    /// If the event lacks a value, or if a value is not plain.
    pub(crate) fn render(
        &self,
        data: &Data,
        types: &DataTypes,
        allows_dash: bool,
    ) -> Result<String, Unready> {
        let text = self.template.render(data)?;
        let mut values = Vec::new();
        for reference in self.template.references() {
            let key = reference.key.as_str();
            let Some(value) = data.get(key).map(ToString::to_string) else { continue };
            plain::check(&value, allows_dash).map_err(|why| Unready::not_plain(key, &why))?;
            values.push((key, value));
        }
        let is_name = |(key, value): &&(&str, String)| {
            !types.declares(key) && Number::from_decimal(value).is_none()
        };
        let name = values.iter().find(is_name);
        if let Some((key, _)) = name.filter(|_| EVALUATES.is_match(&joined(&text))) {
            let why = "must be a number, or have a declared type, in a command with ((, let, or [[ with -eq and the like";
            return Err(Unready::not_plain(key, why));
        }
        let Some(first) = values.first() else { return Ok(text) };
        match self.made(&text, &self.template.marked(data, MARK)) {
            None => Ok(text),
            Some(what) => {
                let guilty = values.iter().find(|(_, value)| value.contains(what));
                let key = guilty.unwrap_or(first).0;
                let why = format!("would make {what:?} a part of the command");
                Err(Unready::not_plain(key, &why))
            }
        }
    }

    /// What values have made of the author's text: it is there more often than in the text with
    /// marks in place of the values. A shell reads over quotes and continued lines, so each is also
    /// counted without them.
    fn made(&self, text: &str, marked: &str) -> Option<&str> {
        let marked = (marked, joined(marked), without_quotes(marked));
        let text = (text, joined(text), without_quotes(text));
        let is_more = |count: &dyn Fn(&str) -> usize| {
            count(text.0) > count(marked.0) || count(&text.2) > count(&marked.2)
        };
        if is_more(&|it| it.matches("WAYPOST_").count()) {
            return Some("WAYPOST_");
        }
        if is_more(&|it| segments(it, ".waypost")) {
            return Some(".waypost");
        }
        if is_more(&|it| segments(it, "..")) || is_more(&|it| RANGE.find_iter(it).count()) {
            return Some("..");
        }
        // In place of a pattern, it ends `case`.
        if self.marked.contains("case")
            && is_more(&|it| it.split(|it| !is_part(it)).filter(|part| *part == "esac").count())
        {
            return Some("esac");
        }
        self.ends.iter().map(String::as_str).find(|end| {
            let count = |text: &str| text.lines().filter(|line| ending(line) == *end).count();
            count(text.0) > count(marked.0) || count(&text.1) > count(&marked.1)
        })
    }
}

fn is_part(it: char) -> bool {
    it == MARK || is_plain_char(it)
}

/// The text with its continued lines joined.
fn joined(text: &str) -> String {
    text.replace("\\\n", "")
}

fn without_quotes(text: &str) -> String {
    joined(text).replace(['\'', '"'], "")
}

/// How often a path of a text has a segment.
fn segments(text: &str, segment: &str) -> usize {
    let is_name = |c: char| c == MARK || c.is_alphanumeric() || "._-".contains(c);
    text.split(|text| !is_name(text)).filter(|part| *part == segment).count()
}

/// A line as it could end a here-document, at any depth of quoting.
fn ending(line: &str) -> &str {
    line.trim_start().trim_end_matches(['\'', '"', ')', '`', '\\'])
}

/// All that could end a here-document of a text: every line without a value, because a delimiter may
/// be written in many ways, and what follows `<<`, because its line may be missing.
fn ends(marked: &str) -> BTreeSet<String> {
    let joined = joined(marked);
    if !joined.contains("<<") {
        return BTreeSet::new();
    }
    let words = HERE.captures_iter(marked).chain(HERE.captures_iter(&joined));
    let words = words.filter_map(|word| word.get(1));
    let words = words.map(|word| word.as_str().replace(['\'', '"', '\\', '$'], ""));
    let lines = marked.lines().chain(joined.lines()).map(|line| ending(line).to_owned());
    words.chain(lines).filter(|word| !word.is_empty() && !word.contains(MARK)).collect()
}

impl FromStr for Code {
    type Err = InvalidTemplate;

    fn from_str(source: &str) -> Result<Self, InvalidTemplate> {
        let template: Template = source.parse()?;
        let mut marked = String::with_capacity(source.len());
        let mut at = 0;
        for reference in template.references() {
            let start = reference.span.start;
            marked.push_str(&source[at..start]);
            at = reference.span.end;
            if let Some(what) = problem_before(&joined(&marked)) {
                return Err(InvalidTemplate::new(source, start, what));
            }
            marked.push(MARK);
        }
        marked.push_str(&source[at..]);
        if let Some(number) = delimiter(&joined(&marked)) {
            let at = template.references().get(number).map_or(0, |reference| reference.span.start);
            let what = "the delimiter of a here-document is literal; write a word after <<";
            return Err(InvalidTemplate::new(source, at, what));
        }
        let ends = ends(&marked);
        Ok(Self { template, marked, ends })
    }
}

/// Which placeholder is a part of a here-document's delimiter. A whole word after `<<` is a number that
/// shifts, unless a line is the same.
fn delimiter(marked: &str) -> Option<usize> {
    let is_mark = |text: &str| text.chars().eq([MARK]);
    let has_line = marked.lines().any(|line| is_mark(ending(line)));
    let mut words = DELIMITER.captures_iter(marked).filter_map(|captures| captures.get(1));
    let word = words.find(|word| has_line || !is_mark(word.as_str()))?;
    Some(marked[..word.end()].matches(MARK).count() - 1)
}

/// Why a placeholder cannot follow this text.
fn problem_before(text: &str) -> Option<&'static str> {
    if text.ends_with('\\') {
        return Some("a placeholder cannot follow a backslash");
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == MARK;
    let name = text.trim_end_matches(is_part);
    let name = name.strip_suffix(['!', '#']).unwrap_or(name);
    if name.strip_suffix('{').unwrap_or(name).ends_with('$') {
        return Some(
            "a placeholder cannot follow $, ${ or the name of a variable; before it, write ${NAME}",
        );
    }
    // The expansions, and other braces, that are open at the end.
    let mut open = Vec::new();
    for (at, brace) in text.match_indices(['{', '}']) {
        if brace == "{" {
            open.push(text[..at].ends_with('$').then(|| &text[at + 1..]));
        } else if !text[..at].ends_with(['\\', '\'', '"']) {
            open.pop();
        }
    }
    let is_operand = open.into_iter().flatten().all(|inside| OPERATOR.is_match(inside));
    (!is_operand).then_some(
        "in ${…}, a placeholder can only follow an operator, as in ${NAME:-{{data.key}}}",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str, data: &str) -> Result<String, String> {
        let data: Data = serde_json::from_str(data).unwrap();
        let types = crate::definition::yaml::read("{s: slug, t: text}").unwrap();
        let code: Code = text.parse().map_err(|error: InvalidTemplate| error.to_string())?;
        code.render(&data, &types, false).map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_becomes_no_part_of_the_author_s_syntax() {
        for (text, data, what) in [
            ("cd a/{{data.x}}", r#"{"x": ".."}"#, "\"..\""),
            ("cd a/{{data.x}}", r#"{"x": "b/../../c"}"#, "\"..\""),
            ("cd ..{{data.x}}", r#"{"x": "/c"}"#, "\"..\""),
            ("cd ../{{data.x}}{{data.y}}", r#"{"x": ".", "y": "./x"}"#, "\"..\""),
            ("git log {{data.x}}..{{data.y}}", r#"{"x": "a/", "y": "/b"}"#, "\"..\""),
            ("echo {{{data.x}}}", r#"{"x": "1..9"}"#, "\"..\""),
            ("echo {a{{data.x}}}", r#"{"x": "..z"}"#, "\"..\""),
            ("echo {{data.x}}", r#"{"x": "WAYPOST_TOKEN"}"#, "\"WAYPOST_\""),
            ("echo {{data.x}}{{data.y}}", r#"{"x": "WAY", "y": "POST_X"}"#, "\"WAYPOST_\""),
            ("echo WAY{{data.x}}", r#"{"x": "POST_X"}"#, "\"WAYPOST_\""),
            ("case a in {{data.x}}) ;; esac", r#"{"x": "esac"}"#, "\"esac\""),
            ("cat <<EOF\n{{data.x}}\nEOF", r#"{"x": "EOF"}"#, "\"EOF\""),
            ("cat <<-'EOF'\n\t{{data.x}}{{data.y}}\nEOF", r#"{"x": "E", "y": "OF"}"#, "\"EOF\""),
            ("cat <<EOF\nE{{data.x}}\nEOF", r#"{"x": "OF"}"#, "\"EOF\""),
            ("cat <<EOF\nE\\\n{{data.x}}\nEOF", r#"{"x": "OF"}"#, "\"EOF\""),
            ("sh -c \"cat <<\\\"E\\\"\n{{data.x}}\nE\n\"", r#"{"x": "E"}"#, "\"E\""),
            ("cat <<$'EOF'\n{{data.x}}\nid\nEOF", r#"{"x": "EOF"}"#, "\"EOF\""),
            ("cat <<\"END OF\"\nEND {{data.x}}\nEND OF", r#"{"x": "OF"}"#, "\"END OF\""),
            ("cat <<'# END'\n# {{data.x}}\n# END", r#"{"x": "END"}"#, "\"# END\""),
            ("cat <<A<<B\nA\n{{data.x}}\nB", r#"{"x": "B"}"#, "\"B\""),
            ("grep '((' <<EOF\n{{data.s}}\nid\nEOF", r#"{"s": "EOF"}"#, "\"EOF\""),
            ("cat <<EOF\n{{data.x}}\nid", r#"{"x": "EOF"}"#, "\"EOF\""),
            ("cat <<'EOF:1'\n{{data.x}}:{{data.y}}\nEOF:1", r#"{"x": "EOF", "y": 1}"#, "EOF:1"),
            ("cat <<EOF\n\\\n{{data.x}}{{data.y}}\nEOF", r#"{"x": "E", "y": "OF"}"#, "\"EOF\""),
            ("echo \"$(cat <<E\n{{data.x}}\nE)\"", r#"{"x": "E"}"#, "\"E\""),
            ("cat a/\"{{data.x}}\".\"{{data.y}}\"", r#"{"x": ".", "y": "/b"}"#, "\"..\""),
            (
                "printenv \"{{data.x}}\"'{{data.y}}'",
                r#"{"x": "WAYPOST", "y": "_TOKEN"}"#,
                "WAYPOST_",
            ),
            ("case x in es\\\n{{data.x}}) ;; esac", r#"{"x": "ac"}"#, "\"esac\""),
            ("cat {{data.x}}", r#"{"x": ".waypost/token"}"#, "\".waypost\""),
            ("[[(1 -eq {{data.x}})]]", r#"{"x": "PATH"}"#, "must be a number"),
            ("(\\\n( {{data.x}} > 1 ))", r#"{"x": "PATH"}"#, "must be a number"),
            ("if true; then let a={{data.x}}; fi", r#"{"x": "PATH"}"#, "must be a number"),
            ("echo $(( {{data.x}} + 1 ))", r#"{"x": "PATH"}"#, "must be a number"),
            ("bash -c '[[ {{data.t}} -eq 1 ]]'", r#"{"t": "PATH"}"#, "must be a number"),
            ("let a={{data.x}}", r#"{"x": "PATH"}"#, "must be a number"),
            ("if let 'a={{data.x}}'; then b; fi", r#"{"x": "PATH"}"#, "must be a number"),
            ("X=1 builtin let a={{data.x}}", r#"{"x": "PATH"}"#, "must be a number"),
            ("[[ 1 -{{data.x}} {{data.y}} ]]", r#"{"x": "eq", "y": "PATH"}"#, "must be a number"),
            ("\"let\" a={{data.x}}", r#"{"x": "PATH"}"#, "must be a number"),
            ("[[ (-v a[{{data.x}}]) ]]", r#"{"x": "PATH"}"#, "must be a number"),
            ("sh <<'A'\ncat <<EOF{{data.x}}\nid\nEOF{{data.x}}\nA", "{}", "is literal"),
            ("sh <<'A'\ncat <\\\n<'E F{{data.x}}'\nid\nE F{{data.x}}\nA", "{}", "is literal"),
            ("sh -c \"cat <<\\\"E{{data.x}}\\\"\nid\nE{{data.x}}\"", "{}", "is literal"),
            ("sh -c 'cat << {{data.x}}\n{{data.y}}\nid\n{{data.x}}'", "{}", "is literal"),
            ("cat <\\\n<EOF\n{{data.x}}\nid\nEOF", r#"{"x": "EOF"}"#, "\"EOF\""),
            ("cat <<E\\\nF\n{{data.x}}\nid", r#"{"x": "EF"}"#, "\"EF\""),
            ("echo {{data.x}}", "{}", "no data.x"),
        ] {
            let error = render(text, data).unwrap_err();
            assert!(error.contains(what), "{text}: {error}");
        }
        for (text, data, wanted) in [
            ("git log {{data.x}}..{{data.y}}", r#"{"x": "a", "y": "b"}"#, "git log a..b"),
            ("git log {{data.x}}", r#"{"x": "a..b"}"#, "git log a..b"),
            ("cd ../{{data.x}}", r#"{"x": "a"}"#, "cd ../a"),
            ("cat <<EOF\n{{data.x}}\nEOF", r#"{"x": "EOFile"}"#, "cat <<EOF\nEOFile\nEOF"),
            ("echo $(( {{data.x}} << 4 ))", r#"{"x": 4}"#, "echo $(( 4 << 4 ))"),
            (
                "python3 -c 'print({{data.x}} << 4, 1 << {{data.x}})'",
                r#"{"x": 4}"#,
                "python3 -c 'print(4 << 4, 1 << 4)'",
            ),
            ("echo \"<<{{data.x}}>>\"", r#"{"x": "a"}"#, "echo \"<<a>>\""),
            ("cat .waypost/notes/{{data.x}}", r#"{"x": "a"}"#, "cat .waypost/notes/a"),
            ("[[ {{data.x}} == a* ]]", r#"{"x": "a"}"#, "[[ a == a* ]]"),
            ("[[ {{data.s}} -gt 1 ]]", r#"{"s": "a"}"#, "[[ a -gt 1 ]]"),
            ("echo ${X:-${Y}{{data.x}}}", r#"{"x": "a"}"#, "echo ${X:-${Y}a}"),
            ("grep '[[:space:]]{{data.x}}'", r#"{"x": "a"}"#, "grep '[[:space:]]a'"),
            ("echo ${X:-{{data.x}}}", r#"{"x": "a"}"#, "echo ${X:-a}"),
            ("echo ${1:-{{data.x}}}", r#"{"x": "a"}"#, "echo ${1:-a}"),
            ("a {{data.x | default(\"; ../b WAYPOST_\")}}", "{}", "a ; ../b WAYPOST_"),
            ("a {{data.x | default(\"\")}}", "{}", "a "),
        ] {
            assert_eq!(render(text, data).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn a_value_is_no_part_of_an_expansion() {
        for text in [
            "echo ${{data.x}}",
            "echo \"${{{data.x}}}\"",
            "echo $A{{data.x}}",
            "echo ${A{{data.x}}}",
            "echo ${!{{data.x}}}",
            "echo ${#{{data.x}}}",
            "echo ${A@{{data.x}}}",
            "echo ${A[{{data.x}}]}",
            "echo ${A:{{data.x}}}",
            "echo ${A:${B}:{{data.x}}}",
            "echo ${A[${B}+{{data.x}}]}",
            "echo ${A:${B:-{{data.x}}}}",
            "echo ${A:${B:-'}'}:{{data.x}}}",
            "echo ${A:${B#\\}}:{{data.x}}}",
            "echo $WAYPOST_EVENT_DATA_{{data.x}}",
            "echo $A{{data.x}}{{data.y}}",
            "echo \\{{data.x}}",
            "echo $A\\\n{{data.x}}",
        ] {
            let error = render(text, r#"{"x": "a", "y": "b"}"#).unwrap_err();
            assert!(error.contains("character"), "{text}: {error}");
        }
    }
}
