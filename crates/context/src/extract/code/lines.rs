//! Definitions by line patterns, for languages without a grammar and files whose parsing takes too
//! long. It finds definitions in the usual style: one to a line.

use std::sync::LazyLock;

use regex::Regex;

use super::{ITEMS_MAX, Item};
use crate::{Kind, Language};

/// A longer line is not a header.
const LINE_BYTES_MAX: usize = 500;

/// The most lines of a signature, while a bracket is open.
const SIGNATURE_LINES_MAX: usize = 8;

/// Modifiers before a definition's keyword.
const BEFORE: &str = r"(?:(?:pub(?:\([a-z: ]+\))?|public|private|protected|internal|fileprivate|open|export|default|declare|abstract|final|sealed|static|async|unsafe|const|inline|override|virtual|implicit|lazy|case|data|value|inner|local|partial|readonly|extern|suspend|operator|mutating|companion|expect|actual|annotation|@\w+)\s+)*";

static TYPE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"^\s*{BEFORE}(?:class|trait|object|interface|struct|enum|union|protocol|extension|actor|module|namespace|record|defmodule|defprotocol|contract|library|message|service|input|scalar|type|newtype|typealias|impl(?:<[^>]*>)?|instance|mixin)\s+(?:class\s+)?([\w.:$]+)"
    ))
});

static FUNCTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(&format!(
        r"^\s*{BEFORE}(?:def|defp|defn|defn-|defun|fun|func|fn|function!?|sub|proc|method|rpc|macro_rules!|defmacro|macro|task)\s+(?:\([^)]*\)\s*)?(?:[\w.<>]+\.)??([\w.:$!?-]+)"
    ))
});

static VALUE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:export\s+|pub\s+)?(?:const|val|let|var|static|#\s*define|readonly|export)\s+(?:mut\s+)?([\w$]+)",
    )
});

/// `name = function(…)`, `name() {`.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?:local\s+)?([\w.$]+)\s*(?:(?:=|<-)\s*(?:async\s+)?function\b|\(\)\s*\{)")
});

/// Methods in languages that put the type before the name.
static METHOD: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s{0,16}(?:(?:public|private|protected|internal|static|final|abstract|virtual|override|async|inline|extern|synchronized|unsigned|struct|const)\s+)*[A-Za-z_][\w<>\[\],.?*&:]*(?:\s+|\s*[*&]+)([A-Za-z_~][\w:]*)\s*\([^;={}]*\)?[^;={}]*\{?\s*$",
    )
});

static SQL: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?i)^\s*create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+|unique\s+|materialized\s+)*(?:table|view|function|procedure|trigger|type|index|schema)\s+(?:if\s+not\s+exists\s+)?([\w.]+)",
    )
});

/// Sections and keys of settings.
static SETTING: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:\[+([\w.\- ]+)\]+|([A-Za-z_][\w.\-/]*)\s*:)"));

/// `resource "kind" "name"`.
static RESOURCE: LazyLock<Regex> = LazyLock::new(|| pattern(r#"^(\w+(?:\s+"[\w.-]+")+)\s*\{"#));

fn pattern(text: &str) -> Regex {
    Regex::new(text).expect("the patterns of this file are well formed")
}

/// Words that match the pattern of a method name but are not one.
const NO_NAMES: &[&str] = &[
    "if", "for", "while", "switch", "return", "catch", "else", "new", "throw", "sizeof", "do",
    "case",
];

/// The definitions of a text.
pub(super) fn items(language: Language, text: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    // Enclosing types: their indentation and names.
    let mut scopes: Vec<(usize, String)> = Vec::new();
    let mut lead: Option<usize> = None;
    let mut at = 0;
    while at < text.len() && items.len() < ITEMS_MAX {
        let end = line_end(text, at);
        let line = text[at..end].trim_end();
        let next = end + 1;
        let indent = line.len() - line.trim_start().len();
        if line.trim().is_empty() || line.len() > LINE_BYTES_MAX {
            lead = None;
        } else if is_lead(language, line.trim_start()) {
            lead = lead.or(Some(at + indent));
        } else if let Some((kind, name)) = definition(language, line) {
            scopes.retain(|(outer, _)| *outer < indent);
            let start = at + indent;
            let end = signature_end(text, start);
            let scope: Vec<&str> = scopes.iter().map(|(_, name)| name.as_str()).collect();
            let full =
                if scope.is_empty() { name.clone() } else { format!("{}.{name}", scope.join(".")) };
            items.push(Item {
                kind,
                name: full,
                lead: lead.take().unwrap_or(start)..start,
                signature: start..end,
                hole: None,
                doc: None,
                end,
                is_top_level: scopes.is_empty(),
            });
            if kind == Kind::Type {
                scopes.push((indent, name));
            }
        } else {
            lead = None;
        }
        at = next;
    }
    items
}

fn line_end(text: &str, at: usize) -> usize {
    memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |other| at + other)
}

/// Whether a line is a comment or an attribute.
fn is_lead(language: Language, line: &str) -> bool {
    let row = language.row();
    let attribute = line.starts_with("#[")
        || line.starts_with('@') && !line.contains(" class ") && !line.contains("def ");
    // In other languages, comments start like preprocessor lines.
    row.line.iter().any(|other| line.starts_with(other))
        || row.block.iter().any(|(open, _)| line.starts_with(open))
        || line.starts_with("* ")
        || line.starts_with("*/")
        || line == "*"
        || attribute
}

fn definition(language: Language, line: &str) -> Option<(Kind, String)> {
    use Language as L;
    let find = |pattern: &Regex| {
        let groups = pattern.captures(line)?;
        let name = groups.iter().skip(1).flatten().next()?;
        Some(name.as_str().trim_end_matches([':', '.']).replace("::", "."))
    };
    let kinds: [(&Regex, Kind); 4] = [
        (&TYPE, Kind::Type),
        (&FUNCTION, Kind::Function),
        (&ASSIGNED, Kind::Function),
        (&VALUE, Kind::Value),
    ];
    let patterns: &[(&Regex, Kind)] = match language {
        L::Sql => &[(&SQL, Kind::Type)],
        L::Toml | L::Yaml | L::Make => &[(&SETTING, Kind::Value)],
        L::Terraform => &[(&RESOURCE, Kind::Value)],
        L::Json | L::Css | L::Docker => &[],
        _ => &kinds,
    };
    let known = patterns.iter().find_map(|(pattern, kind)| find(pattern).map(|name| (*kind, name)));
    let typed = matches!(
        language,
        L::C | L::Cpp | L::Java | L::CSharp | L::Dart | L::Groovy | L::ObjectiveC
    );
    let method = || {
        find(&METHOD)
            .filter(|name| typed && !is_statement(line) && !NO_NAMES.contains(&name.as_str()))
    };
    let found = known.or_else(|| method().map(|name| (Kind::Function, name)))?;
    (!found.1.is_empty() && !NO_NAMES.contains(&found.1.as_str())).then_some(found)
}

fn is_statement(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default();
    NO_NAMES.contains(&first)
}

/// The end of a signature: before the body, or at the end of the line if no bracket is open.
fn signature_end(text: &str, start: usize) -> usize {
    let mut open = 0_i32;
    let mut end = start;
    for _ in 0..SIGNATURE_LINES_MAX {
        let line = line_end(text, end);
        for (at, byte) in text.as_bytes()[end..line].iter().enumerate() {
            match byte {
                b'(' | b'[' => open += 1,
                b')' | b']' => open -= 1,
                b'{' if open <= 0 => return end + at,
                _ => {}
            }
        }
        end = line;
        if open <= 0 || end >= text.len() {
            break;
        }
        end += 1;
    }
    end.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(language: Language, text: &str) -> Vec<String> {
        items(language, text)
            .iter()
            .map(|item| {
                format!(
                    "{} {} {:?}",
                    item.kind,
                    item.name,
                    text[item.lead.start..item.signature.end].trim_end()
                )
            })
            .collect()
    }

    #[test]
    fn languages_without_a_grammar() {
        assert_eq!(
            names(
                Language::Scala,
                "package a\n\n/** Logs. */\nclass Log(dir: File) extends Logging {\n  // Appends.\n  def append(a: Int,\n             b: Int): Unit = {\n    val x = 1\n  }\n}\n\nobject Log {\n  private[log] val Max = 1\n}\n"
            ),
            [
                "type Log \"/** Logs. */\\nclass Log(dir: File) extends Logging\"",
                "function Log.append \"// Appends.\\n  def append(a: Int,\\n             b: Int): Unit =\"",
                "type Log \"object Log\"",
            ]
        );
        assert_eq!(
            names(Language::Kotlin, "data class User(val id: Int)\nfun main() {\n"),
            ["type User \"data class User(val id: Int)\"", "function main \"fun main()\""]
        );
        assert_eq!(
            names(Language::Elixir, "defmodule App.User do\n  @doc \"x\"\n  def get(id) do\n"),
            [
                "type App.User \"defmodule App.User do\"",
                "function App.User.get \"@doc \\\"x\\\"\\n  def get(id) do\""
            ]
        );
        assert_eq!(
            names(Language::Lua, "local function a()\nM.b = function(x)\n"),
            ["function a \"local function a()\"", "function M.b \"M.b = function(x)\""]
        );
        assert_eq!(
            names(Language::Sql, "-- Users.\nCREATE TABLE IF NOT EXISTS users (\n  id int\n);\n"),
            ["type users \"-- Users.\\nCREATE TABLE IF NOT EXISTS users (\\n  id int\\n);\""]
        );
        assert_eq!(
            names(Language::Toml, "[package]\nname = \"a\"\n[[bin]]\n"),
            ["value package \"[package]\"", "value bin \"[[bin]]\""]
        );
        assert_eq!(
            names(Language::Terraform, "resource \"aws_s3\" \"logs\" {\n"),
            ["value resource \"aws_s3\" \"logs\" \"resource \\\"aws_s3\\\" \\\"logs\\\"\""]
        );
        assert_eq!(
            names(
                Language::Java,
                "public class A {\n  public static int size(List<A> it) {\n    if (a) {\n    return f(x);\n"
            ),
            ["type A \"public class A\"", "function A.size \"public static int size(List<A> it)\""]
        );
    }

    #[test]
    fn hostile_lines_do_no_harm() {
        for text in
            ["class", "fn (((((", "def \u{e9}(", "\u{feff}fn a", "fn a(\n\n\n\n\n\n\n\n\n\n\n"]
        {
            drop(names(Language::Zig, text));
            drop(names(Language::Java, &text.repeat(50)));
        }
    }
}
