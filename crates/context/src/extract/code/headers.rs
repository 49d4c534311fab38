//! The header of a definition: its name, and the end of its signature.

use std::ops::Range;

use tree_sitter::Node;

use crate::Kind;

/// The header of a definition or scope node.
#[derive(Debug)]
pub(super) struct Header {
    /// `None` if it is only a scope.
    pub(super) kind: Option<Kind>,
    pub(super) name: String,
    /// The end of the signature.
    pub(super) end: usize,
    /// The part omitted from the signature.
    pub(super) hole: Option<Range<usize>>,
    /// A doc comment after the signature.
    pub(super) doc: Option<Range<usize>>,
}

impl Header {
    fn new(kind: Option<Kind>, name: &str, end: usize) -> Option<Self> {
        // `a::b` becomes `a.b`, like scopes.
        let name = name.trim().replace("::", ".").replace('\\', ".");
        let is_name = !name.is_empty() && name.len() <= 200 && !name.contains('\n');
        is_name.then_some(Self { kind, name, end, hole: None, doc: None })
    }
}

fn text_of<'a>(node: Node<'_>, text: &'a str) -> &'a str {
    text.get(node.byte_range()).unwrap_or_default()
}

fn field<'t>(node: Node<'t>, name: &str) -> Option<Node<'t>> {
    node.child_by_field_name(name)
}

/// The start of the body, or without one the end of the node.
fn signature_end(node: Node<'_>) -> usize {
    field(node, "body").map_or(node.end_byte(), |field| field.start_byte())
}

/// The fields `name` and `body`, which nearly all grammars have.
fn plain(node: Node<'_>, text: &str, kind: Option<Kind>) -> Option<Header> {
    Header::new(kind, text_of(field(node, "name")?, text), signature_end(node))
}

/// The first child of a kind.
fn child<'t>(node: Node<'t>, kind: &str) -> Option<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).find(|child| child.kind() == kind)
}

/// A name without its type parameters.
fn bare(name: &str) -> &str {
    name.split(['<', '[', '(']).next().unwrap_or(name)
}

pub(super) fn rust(node: Node<'_>, text: &str, kind: Option<Kind>, _: usize) -> Option<Header> {
    match node.kind() {
        "impl_item" => {
            let name = bare(text_of(field(node, "type")?, text));
            Header::new(None, name.trim_start_matches(['&', '*']), node.start_byte())
        }
        // Tests in a file add nothing to what the file says.
        "mod_item" => plain(node, text, None)
            .filter(|plain| field(node, "body").is_some() && plain.name != "tests"),
        "macro_definition" => {
            let name = field(node, "name")?;
            Header::new(kind, text_of(name, text), name.end_byte())
        }
        _ => plain(node, text, kind),
    }
}

pub(super) fn python(
    node: Node<'_>,
    text: &str,
    kind: Option<Kind>,
    depth: usize,
) -> Option<Header> {
    match node.kind() {
        "expression_statement" => {
            let assignment = node.named_child(0).filter(|child| child.kind() == "assignment")?;
            let left = field(assignment, "left").filter(|field| field.kind() == "identifier")?;
            let name = text_of(left, text);
            let typed = field(assignment, "type").is_some();
            (depth == 0 && (is_constant(name) || typed)).then_some(())?;
            Header::new(Some(Kind::Value), name, node.end_byte())
        }
        "type_alias_statement" => {
            Header::new(kind, bare(text_of(field(node, "left")?, text)), node.end_byte())
        }
        _ => {
            let mut header = plain(node, text, kind)?;
            let body = field(node, "body")?;
            header.doc = docstring(body).map(|docstring| docstring.byte_range());
            // A comment may be between the colon and the body.
            let colon = text.get(..header.end)?.trim_end();
            header.end = colon.len();
            Some(header)
        }
    }
}

fn docstring(body: Node<'_>) -> Option<Node<'_>> {
    let first = body.named_child(0)?;
    let string = if first.kind() == "expression_statement" { first.named_child(0)? } else { first };
    (string.kind() == "string").then_some(string)
}

/// `LIKE_THIS`.
fn is_constant(name: &str) -> bool {
    name.len() > 1
        && name.bytes().any(|byte| byte.is_ascii_uppercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// JavaScript and TypeScript.
pub(super) fn script(node: Node<'_>, text: &str, kind: Option<Kind>, _: usize) -> Option<Header> {
    let function = |value: Node<'_>, name: &str| {
        let is_function = matches!(
            value.kind(),
            "arrow_function" | "function_expression" | "generator_function" | "function"
        );
        is_function.then(|| Header::new(Some(Kind::Function), name, signature_end(value)))?
    };
    match node.kind() {
        "lexical_declaration" | "variable_declaration" => {
            let declared =
                node.named_child(0).filter(|child| child.kind() == "variable_declarator")?;
            let name = field(declared, "name").filter(|field| field.kind() == "identifier")?;
            let name = text_of(name, text);
            let value = field(declared, "value");
            value
                .and_then(|value| function(value, name))
                .or_else(|| Header::new(Some(Kind::Value), name, node.end_byte()))
        }
        "public_field_definition" | "field_definition" => {
            let name = field(node, "name").or_else(|| field(node, "property"))?;
            function(field(node, "value")?, text_of(name, text))
        }
        "assignment_expression" => {
            let left = field(node, "left").filter(|field| field.kind() == "member_expression")?;
            function(field(node, "right")?, text_of(left, text))
        }
        "internal_module" | "module" => plain(node, text, None)
            .map(|plain| Header { name: plain.name.trim_matches(['"', '\'']).to_owned(), ..plain }),
        _ => plain(node, text, kind),
    }
}

pub(super) fn go(node: Node<'_>, text: &str, kind: Option<Kind>, _: usize) -> Option<Header> {
    match node.kind() {
        "method_declaration" => {
            let mut header = plain(node, text, kind)?;
            let receiver = text_of(field(node, "receiver")?, text);
            let receiver = receiver.trim_matches(['(', ')']).split_whitespace().next_back()?;
            header.name = format!("{}.{}", bare(receiver.trim_start_matches('*')), header.name);
            Some(header)
        }
        "type_spec" | "type_alias" => {
            let mut header = plain(node, text, kind)?;
            let is = field(node, "type")?;
            if matches!(is.kind(), "struct_type" | "interface_type") {
                let brace = text_of(is, text).find('{').unwrap_or(0);
                header.end = is.start_byte() + brace;
            }
            Some(header)
        }
        _ => plain(node, text, kind).filter(|plain| plain.name != "_"),
    }
}

pub(super) fn java(node: Node<'_>, text: &str, kind: Option<Kind>, _: usize) -> Option<Header> {
    match node.kind() {
        "field_declaration" | "constant_declaration" => {
            let declarator = field(node, "declarator")?;
            let head = text.get(node.start_byte()..declarator.start_byte())?;
            let fixed = head.contains("static") && head.contains("final");
            (fixed || node.kind() == "constant_declaration").then_some(())?;
            Header::new(
                Some(Kind::Value),
                text_of(field(declarator, "name")?, text),
                node.end_byte(),
            )
        }
        _ => plain(node, text, kind),
    }
}

/// C and C++.
pub(super) fn c(node: Node<'_>, text: &str, kind: Option<Kind>, _: usize) -> Option<Header> {
    match node.kind() {
        "function_definition" => {
            let (name, _) = declared(field(node, "declarator")?)?;
            // `Log<T>::open` becomes `Log.open`; `operator<` stays.
            let name = text_of(name, text);
            let name = match name.rsplit_once("::") {
                Some((scope, own)) => format!("{}.{own}", bare(scope)),
                None => name.to_owned(),
            };
            Header::new(kind, &name, signature_end(node))
        }
        "declaration" | "field_declaration" => {
            let holds = field(node, "type").filter(|other| field(*other, "body").is_some());
            if let Some(name) = holds.and_then(|held| field(held, "name")) {
                let body = holds.and_then(|hold| field(hold, "body"))?;
                return Header::new(Some(Kind::Type), text_of(name, text), body.start_byte());
            }
            let (name, is_function) = declared(field(node, "declarator")?)?;
            let is_field = node.kind() == "field_declaration";
            let kind = if is_function { Kind::Function } else { Kind::Value };
            (is_function || !is_field).then_some(())?;
            Header::new(Some(kind), text_of(name, text), node.end_byte())
        }
        "type_definition" => {
            let (name, _) = declared(field(node, "declarator")?)?;
            let mut header = Header::new(kind, text_of(name, text), node.end_byte())?;
            header.hole = field(node, "type")
                .and_then(|other| field(other, "body"))
                .map(|field| field.byte_range());
            Some(header)
        }
        "preproc_def" | "preproc_function_def" => {
            // Without a value it is an include guard.
            let value = field(node, "value")?;
            let name = text_of(field(node, "name")?, text);
            let end =
                if node.kind() == "preproc_def" { node.end_byte() } else { value.start_byte() };
            let line = text
                .get(node.start_byte()..end)?
                .find('\n')
                .map_or(end, |text| node.start_byte() + text);
            Header::new(kind, name, line)
        }
        "namespace_definition" => plain(node, text, None),
        // Only a reference to the type: `struct stat st;`.
        "struct_specifier" | "union_specifier" | "class_specifier" | "enum_specifier" => {
            field(node, "body")?;
            plain(node, text, kind)
                .map(|plain| Header { name: bare(&plain.name).to_owned(), ..plain })
        }
        _ => plain(node, text, kind),
    }
}

/// The name that a declarator declares, and whether it declares a function.
fn declared(declarator: Node<'_>) -> Option<(Node<'_>, bool)> {
    let mut node = declarator;
    let mut is_function = false;
    for _ in 0..32 {
        if node.kind() == "function_declarator" {
            is_function = true;
        }
        // `(*name)(…)` declares a pointer, not a function.
        if node.kind() == "pointer_declarator" && is_function {
            is_function = false;
        }
        node = match field(node, "declarator") {
            Some(inner) => inner,
            None if matches!(
                node.kind(),
                "parenthesized_declarator" | "reference_declarator" | "attributed_declarator"
            ) =>
            {
                node.named_child(0)?
            }
            None => return Some((node, is_function)),
        };
    }
    None
}

pub(super) fn c_sharp(node: Node<'_>, text: &str, kind: Option<Kind>, _: usize) -> Option<Header> {
    match node.kind() {
        "field_declaration" => {
            let variable = child(node, "variable_declaration")?;
            let head = text.get(node.start_byte()..variable.start_byte())?;
            (head.contains("const") || head.contains("static readonly")).then_some(())?;
            let declarator = child(variable, "variable_declarator")?;
            let name = field(declarator, "name").or_else(|| declarator.named_child(0))?;
            Header::new(Some(Kind::Value), text_of(name, text), node.end_byte())
        }
        "property_declaration" => {
            let name = field(node, "name")?;
            let rest = text.get(name.end_byte()..node.end_byte())?;
            let end = rest.find(['{', '=']).unwrap_or(rest.len());
            Header::new(kind, text_of(name, text), name.end_byte() + end)
        }
        _ => plain(node, text, kind),
    }
}

pub(super) fn php(node: Node<'_>, text: &str, kind: Option<Kind>, _: usize) -> Option<Header> {
    match node.kind() {
        "const_declaration" => {
            let name = child(node, "const_element")?.named_child(0)?;
            Header::new(kind, text_of(name, text), node.end_byte())
        }
        _ => plain(node, text, kind),
    }
}

pub(super) fn ruby(node: Node<'_>, text: &str, kind: Option<Kind>, _: usize) -> Option<Header> {
    if node.kind() == "assignment" {
        let left = field(node, "left").filter(|field| field.kind() == "constant")?;
        return Header::new(Some(Kind::Value), text_of(left, text), node.end_byte());
    }
    let name = field(node, "name")?;
    let last = field(node, "parameters").or_else(|| field(node, "superclass"));
    Header::new(kind, text_of(name, text), last.unwrap_or(name).end_byte())
}

pub(super) fn bash(node: Node<'_>, text: &str, kind: Option<Kind>, _: usize) -> Option<Header> {
    match node.kind() {
        "variable_assignment" => {
            let name = text_of(field(node, "name")?, text);
            is_constant(name).then(|| Header::new(Some(Kind::Value), name, node.end_byte()))?
        }
        _ => plain(node, text, kind),
    }
}
