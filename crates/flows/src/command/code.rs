//! Texts that a shell may read, with values that are plain.

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
    /// The delimiters of its here-documents, at any depth of quoting.
    delimiters: Vec<String>,
    /// Whether bash may evaluate a word of it as the name of a variable.
    evaluates: bool,
}

/// `<<EOF`, `<<-'EOF'`, but not `<<<`.
static HERE: LazyLock<Regex> = LazyLock::new(|| constant(r"(?:^|[^<])<<-?[ \t]*([^\s;|&()<>]+)"));
/// Where bash evaluates names: `((`, `$[`, `[[` and `let`. `[[:` is a part of a pattern.
static EVALUATES: LazyLock<Regex> = LazyLock::new(|| constant(r"\(\(|\$\[|\[\[(?:\s|$)|\blet\b"));
/// `{1..9}`, which bash expands.
static RANGE: LazyLock<Regex> = LazyLock::new(|| constant(r#"\{[^\s{},'"]*\.\.[^\s{},'"]*\}"#));
/// What may be before a placeholder in `${`.
static OPERATOR: LazyLock<Regex> =
    LazyLock::new(|| constant(r"^[A-Za-z_][A-Za-z0-9_]*(?::?[-+=?]|[#%/])"));

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
        let keys = self.template.references().map(|it| it.key.as_str());
        keys.filter(|it| !types.declares(it))
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
            let checked = plain::check(&value, allows_dash)
                .and_then(|()| self.check(&value, types.declares(key)));
            checked.map_err(|why| Unready::NotPlain { key: key.to_owned(), why })?;
            values.push((key, value));
        }
        let Some(first) = values.first() else { return Ok(text) };
        match self.made(&text, &self.template.marked(data, MARK)) {
            None => Ok(text),
            Some(what) => {
                let guilty = values.iter().find(|(_, value)| value.contains(what));
                let key = guilty.unwrap_or(first).0.to_owned();
                let why = format!("would make {what:?} a part of the command");
                Err(Unready::NotPlain { key, why })
            }
        }
    }

    /// Checks what this text makes of a value.
    fn check(&self, value: &str, is_declared: bool) -> Result<(), String> {
        if self.delimiters.iter().any(|it| it == value) {
            return Err("is the delimiter of a here-document".to_owned());
        }
        if self.evaluates && !is_declared && Number::from_decimal(value).is_none() {
            return Err(
                "must be a number, or have a declared type, in a command with ((, [[ or let"
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// What values have made of the author's text: it is there more often than in the text with
    /// marks in place of the values.
    fn made(&self, text: &str, marked: &str) -> Option<&str> {
        let is_more = |count: &dyn Fn(&str) -> usize| count(text) > count(marked);
        if is_more(&|it| it.matches("WAYPOST_").count()) {
            return Some("WAYPOST_");
        }
        if is_more(&parents) || is_more(&|it| RANGE.find_iter(it).count()) {
            return Some("..");
        }
        // In place of a pattern, it ends `case`.
        if self.marked.contains("case")
            && is_more(&|it| it.split(|it| !is_part(it)).filter(|it| *it == "esac").count())
        {
            return Some("esac");
        }
        let is_made = |end: &&String| is_more(&|it| ends(it, end));
        self.delimiters.iter().find(is_made).map(String::as_str)
    }
}

fn is_part(it: char) -> bool {
    it == MARK || is_plain_char(it)
}

/// How many segments `..` the paths of a text have.
fn parents(text: &str) -> usize {
    let is_name = |it: char| it == MARK || it.is_alphanumeric() || "._-".contains(it);
    text.split(|it| !is_name(it)).filter(|it| *it == "..").count()
}

/// How many lines could end a here-document.
fn ends(text: &str, delimiter: &str) -> usize {
    let text = text.replace("\\\n", "");
    let ends = text.lines().filter(|line| {
        let rest = line.trim_start().strip_prefix(delimiter);
        rest.is_some_and(|it| !it.starts_with(is_part))
    });
    ends.count()
}

impl FromStr for Code {
    type Err = InvalidTemplate;

    fn from_str(source: &str) -> Result<Self, InvalidTemplate> {
        let template: Template = source.parse()?;
        let mut marked = String::with_capacity(source.len());
        let mut at = 0;
        for placeholder in template.placeholders() {
            let start = placeholder.span.start;
            marked.push_str(&source[at..start]);
            at = placeholder.span.end;
            if let Some(what) = problem_before(&marked) {
                return Err(InvalidTemplate::new(source, start, what));
            }
            marked.push(MARK);
        }
        marked.push_str(&source[at..]);
        let delimiters = delimiters(&marked);
        if at > 0 && delimiters.iter().any(|it| it.contains(MARK)) {
            let what = "the delimiter of a here-document is literal; write a word after <<";
            return Err(InvalidTemplate::new(source, 0, what));
        }
        let evaluates = EVALUATES.is_match(&marked);
        Ok(Self { template, marked, delimiters, evaluates })
    }
}

/// The delimiters of here-documents. In arithmetic, `<<` shifts.
fn delimiters(text: &str) -> Vec<String> {
    let found = HERE.captures_iter(text).filter_map(|it| {
        let word = it.get(1)?;
        let before = &text[..word.start()];
        let is_shift = before.rfind("((").is_some_and(|open| !before[open..].contains("))"));
        (!is_shift).then(|| word.as_str().replace(['\'', '"', '\\'], ""))
    });
    found.collect()
}

/// Why a placeholder cannot follow this text.
fn problem_before(text: &str) -> Option<&'static str> {
    if text.ends_with('\\') {
        return Some("a placeholder cannot follow a backslash");
    }
    let is_part = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == MARK;
    let name = text.trim_end_matches(is_part);
    let name = name.strip_suffix(['!', '#']).unwrap_or(name);
    if name.strip_suffix('{').unwrap_or(name).ends_with('$') {
        return Some(
            "a placeholder cannot follow $, ${ or the name of a variable; before it, write ${NAME}",
        );
    }
    let inside = text.rfind("${").map(|it| &text[it + 2..]);
    let inside = inside.filter(|it| !it.contains('}'))?;
    (!OPERATOR.is_match(inside)).then_some(
        "in ${…}, a placeholder can only follow an operator, as in ${NAME:-{{data.key}}}",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(text: &str, data: &str) -> Result<String, String> {
        let data: Data = serde_json::from_str(data).unwrap();
        let types = crate::definition::yaml::read("{s: slug, t: text}").unwrap();
        let code: Code = text.parse().map_err(|it: InvalidTemplate| it.to_string())?;
        code.render(&data, &types, false).map_err(|it| it.to_string())
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
            ("cat <<EOF\n{{data.x}}\nEOF", r#"{"x": "EOF"}"#, "delimiter"),
            ("cat <<-'EOF'\n\t{{data.x}}{{data.y}}\nEOF", r#"{"x": "E", "y": "OF"}"#, "\"EOF\""),
            ("cat <<EOF\nE{{data.x}}\nEOF", r#"{"x": "OF"}"#, "\"EOF\""),
            ("cat <<EOF\nE\\\n{{data.x}}\nEOF", r#"{"x": "OF"}"#, "\"EOF\""),
            ("sh -c \"cat <<\\\"E\\\"\n{{data.x}}\nE\n\"", r#"{"x": "E"}"#, "delimiter"),
            ("echo $(( {{data.x}} + 1 ))", r#"{"x": "PATH"}"#, "must be a number"),
            ("bash -c '[[ {{data.t}} -eq 1 ]]'", r#"{"t": "PATH"}"#, "must be a number"),
            ("let a={{data.x}}", r#"{"x": "PATH"}"#, "must be a number"),
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
            ("[[ {{data.s}} == a ]]", r#"{"s": "a"}"#, "[[ a == a ]]"),
            ("grep '[[:space:]]{{data.x}}'", r#"{"x": "a"}"#, "grep '[[:space:]]a'"),
            ("echo ${X:-{{data.x}}}", r#"{"x": "a"}"#, "echo ${X:-a}"),
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
            "echo $WAYPOST_EVENT_DATA_{{data.x}}",
            "echo $A{{data.x}}{{data.y}}",
            "echo \\{{data.x}}",
            "cat <<{{data.x}}\n",
        ] {
            let error = render(text, r#"{"x": "a", "y": "b"}"#).unwrap_err();
            assert!(error.contains("character"), "{text}: {error}");
        }
    }
}
