//! Which types may grow without breaking their users.
//!
//! Errors and options are `#[non_exhaustive]`, and options have a `with_…` method for each field, so
//! that a new one breaks no program. Closed vocabularies are exhaustive, so that the compiler names
//! every place that a new member concerns.

use crate::{read, tracked};

/// Endings of the names of option structs.
const OPTIONS: [&str; 3] = ["Options", "ChromiumSettings", "Sources"];

/// Other structs that a caller fills in.
const FILLED_IN: [(&str, &str); 5] = [
    ("auth", "NewToken"),
    ("context", "Query"),
    ("events", "Draft"),
    ("events", "Query"),
    ("memory", "Compaction"),
];

/// Vocabularies that the wire and every crate know completely.
const CLOSED: [&str; 4] = ["LinkKind", "Scope", "SearchMode", "TaskType"];

/// A public type with its fields or variants.
struct Type<'a> {
    /// `enum` or `struct`.
    keyword: &'a str,
    name: &'a str,
    may_grow: bool,
    body: &'a str,
}

fn types(text: &str) -> Vec<Type<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("pub ") else { continue };
        let Some((keyword @ ("enum" | "struct"), rest)) = rest.split_once(' ') else { continue };
        let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let above = lines.iter().take(number).rev();
        let may_grow = above
            .take_while(|above| {
                above.starts_with("#[") || above.starts_with("//") || above.starts_with("    ")
            })
            .any(|above| *above == "#[non_exhaustive]");
        let (_, body) = text.split_once(*line).unwrap_or_default();
        let body = body.split("\n}").next().unwrap_or_default();
        found.push(Type { keyword, name, may_grow, body });
    }
    found
}

/// Whether a builder in this source sets the field: a method or an argument of `new`.
fn is_set(source: &str, field: &str) -> bool {
    let methods = [format!("fn with_{field}("), format!("fn with_{field}<"), without(field)];
    let new = source.split("fn new(").skip(1).filter_map(|part| part.split('{').next());
    methods.iter().any(|method| source.contains(method))
        || new
            .flat_map(|new| new.split([',', '(', '\n']))
            .any(|part| part.trim().strip_prefix(field).is_some_and(|rest| rest.starts_with(':')))
}

/// A builder that switches something off, and embedding's `offline()`.
fn without(field: &str) -> String {
    if field == "offline" { "fn offline(".to_owned() } else { format!("fn without_{field}(") }
}

#[test]
fn errors_and_options_may_grow_and_closed_vocabularies_may_not() {
    let sources: Vec<(String, String)> = tracked(".rs")
        .into_iter()
        .map(|path| (path.display().to_string(), read(&path)))
        .filter(|(path, _)| path.starts_with("crates/") && path.contains("/src/"))
        .collect();
    let (mut wrong, mut growing, mut closed) = (Vec::new(), 0, 0);
    for (path, source) in &sources {
        let of_crate = path.split('/').nth(1).unwrap_or_default();
        for Type { keyword, name, may_grow, body } in types(source) {
            let is_error = keyword == "enum" && name.ends_with("Error");
            // The structs of the wire name each field in both directions.
            let is_options = keyword == "struct"
                && of_crate != "api"
                && (OPTIONS.iter().any(|end| name.ends_with(end))
                    || FILLED_IN.contains(&(of_crate, name)));
            if is_error || is_options {
                growing += 1;
                if !may_grow {
                    wrong.push(format!("{path}: {name} lacks #[non_exhaustive]"));
                }
            }
            if CLOSED.contains(&name) {
                closed += 1;
                if may_grow {
                    wrong.push(format!("{path}: {name} is closed, but #[non_exhaustive]"));
                }
            }
            let fields =
                body.lines().filter_map(|line| line.strip_prefix("    pub ")?.split(':').next());
            for field in fields.filter(|field| is_options && !is_set(source, field)) {
                wrong.push(format!("{path}: {name} lacks with_{field}"));
            }
        }
    }
    assert!(growing > 25 && closed > 4, "found {growing} growing types and {closed} closed ones");
    assert_eq!(wrong, Vec::<String>::new());
}
